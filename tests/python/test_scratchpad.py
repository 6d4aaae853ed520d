"""The scratchpad by itself: published answers, an oracle that tries everything, and the pool of HBM."""
import ctypes
import json
import math
import random
import re
import subprocess
import time

import pytest

import memory_c as m
import plan_hlo
import tegula_c as t

CASES = json.loads((plan_hlo.ROOT / "tests" / "spec" / "spyre_memory.json").read_text())
PUBLISHED = ["greedy", "firstfit", "bestfit"]


def test_structs_match_the_header(tmp_path):
    lines, want = ["#include <stdio.h>", "#include <tegula/memory.h>", "int main(void) {"], []
    renamed = {"outside": "comes_from_outside"}
    for name, struct in m.STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        want.append(f"{name} {ctypes.sizeof(struct)}")
        for field, _ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {renamed.get(field, field)}));')
            want.append(f"{name}.{field} {getattr(struct, field).offset}")
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text("\n".join(lines + ["return 0; }"]))
    subprocess.run(["gcc", "-std=c11", f"-I{t.ROOT / 'include'}", source, "-o", program], check=True)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines() == want


# ---- published --------------------------------------------------------------------------------------------

def buffers_of(case):
    names = [b["name"] for b in case["buffers"]]
    return [m.Buffer(b["size"], b["uses"], b["first_use_is_read"], [names.index(p) for p in b["in_place_parents"]],
                     b["residency_reason"] is not None) for b in case["buffers"]]


@pytest.mark.parametrize("solver", PUBLISHED)
@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_published_addresses(case, solver):
    buffers = buffers_of(case)
    if isinstance(case[solver], str):
        with pytest.raises(t.TegulaError) as refused:
            m.place(buffers, solver, case["limit"], case["alignment"])
        assert refused.value.status == t.ERR_ARGUMENT and "cannot take the place of" in refused.value.message
        return
    found, summary = m.place(buffers, solver, case["limit"], case["alignment"])
    assert [address for address, _ in found] == case[solver]
    kept = [b for b, (address, _) in zip(buffers, found) if address is not None]
    assert (summary.kept, summary.saved_bytes) == (len(kept), sum(b.worth for b in kept))
    assert summary.bound_bytes == 2 ** 63 - 1 and not summary.optimal
    assert summary.peak_bytes == max((address + b.size for b, (address, _) in zip(buffers, found)
                                      if address is not None), default=0)


def test_two_gaps():
    """Source: torch-spyre, the example of firstfit and bestfit."""
    buffers = [m.Buffer(40, [2, 3]), m.Buffer(30, [1, 4]), m.Buffer(30, [3, 7]), m.Buffer(10, [4, 8])]
    wanted = {"greedy": [30, 0, 70, 100], "firstfit": [0, 40, 70, 0], "bestfit": [0, 40, 70, 100]}
    for solver, addresses in wanted.items():
        assert [a for a, _ in m.place(buffers, solver, 120, 1)[0]] == addresses


def test_capacity():
    constants = CASES["constants"]
    for fraction, wanted in constants["planning_size"].items():
        assert m.lx_capacity(float(fraction)) == wanted
    assert m.lx_capacity(0.2, june=True) == constants["june_planning_size_0_2"]
    assert m.lx_capacity(0, june=True) == constants["lx_bytes_per_core"]
    for fraction in (-0.01, 1.01, math.nan, math.inf, -math.inf):
        with pytest.raises(t.TegulaError):
            m.lx_capacity(fraction)


@pytest.mark.parametrize("case", CASES["hbm_pool"], ids=lambda case: str(len(case["ops"])))
def test_published_pool(case):
    with m.Pool(case["limit"]) as pool:
        for op, nbytes, address in case["ops"]:
            assert op == "alloc"
            before = pool.end
            assert pool.allocate(nbytes) == address
            assert address is not None or pool.end == before
        assert pool.end == case.get("pool_end", pool.end)


# ---- everything, tried --------------------------------------------------------------------------------------

def may_overlap(a, b, at, i, k):
    """Whether buffers i and k may be where they are."""
    if a.uses[-1] < b.uses[0] or b.uses[-1] < a.uses[0]:
        return True
    if at[i][0] + a.size <= at[k][0] or at[k][0] + b.size <= at[i][0]:
        return True
    return at[i][1] == k or at[k][1] == i


def most_saved(buffers, capacity, alignment):
    """Every address and every parent of every buffer, from the rules alone."""
    n = len(buffers)
    best, at = 0, [None] * n
    order = sorted(range(n), key=lambda i: (buffers[i].uses[0], not buffers[i].outside, -len(buffers[i].uses)))
    left = [sum(buffers[i].worth for i in order[k:]) for k in range(n + 1)]

    def go(k, saved):
        nonlocal best
        if saved + left[k] <= best:
            return
        if k == n:
            best = saved
            return
        i = order[k]
        b = buffers[i]
        choices = []
        if not b.barred and b.size <= capacity:
            handed = {at[x][1] for x in order[:k] if at[x] is not None}
            choices += [(at[p][0], p) for p in b.parents if at[p] is not None and p not in handed]
            choices += [(address, None) for address in range(0, capacity - b.size + 1, alignment)]
        for choice in choices:
            at[i] = choice
            if all(at[x] is None or may_overlap(buffers[x], b, at, x, i) for x in order[:k]):
                go(k + 1, saved + b.worth)
        at[i] = None
        go(k + 1, saved)

    go(0, 0)
    return best


def random_buffers(rng, n, ticks, most):
    buffers = []
    for _ in range(n):
        first = rng.randrange(ticks)
        uses = sorted({first, *(first + rng.randrange(5) for _ in range(rng.randrange(4)))})
        b = m.Buffer(rng.randint(1, most), uses, rng.random() < .15, barred=rng.random() < .05,
                     saved=rng.choice([0, 0, 0, rng.randint(1, 40)]))
        if not b.outside and b.saved == 0 and len(b.uses) == 0:
            b.saved = 1
        if not b.outside:
            b.parents = [i for i, p in enumerate(buffers) if p.uses[-1] == first and p.size >= b.size and
                         (p.outside or len(p.uses) > 1) and rng.random() < .7]
            rng.shuffle(b.parents)
        if b.outside and len(b.uses) == 1:
            b.saved = b.saved or 3
        buffers.append(b)
    return buffers


@pytest.mark.parametrize("part", range(6))
def test_exact_is_optimal(part):
    """Small sets: as much as any placement saves, which is more than the published solvers find now and then."""
    better = searched = 0
    for seed in range(part, 1500, 6):
        rng = random.Random(seed)
        alignment = rng.choice([1, 1, 2, 3])
        buffers, capacity = random_buffers(rng, rng.randint(2, 7), rng.randint(2, 6), 5), rng.randint(4, 9)
        wanted = most_saved(buffers, capacity, alignment)
        _, exact = m.place(buffers, "exact", capacity, alignment)
        assert exact.saved_bytes == exact.bound_bytes == wanted and exact.optimal, f"seed {seed}"
        others = [m.place(buffers, solver, capacity, alignment)[1].saved_bytes for solver in PUBLISHED]
        assert max(others) <= wanted, f"seed {seed}"
        better += max(others) < wanted
        searched += exact.branches > 0
    assert better > 10 and searched > 10


@pytest.mark.parametrize("part", range(4))
def test_middle_sized_sets(part):
    """Bounds hold, more search is no worse, and nothing is worse than what is published."""
    proven = 0
    for seed in range(part, 160, 4):
        rng = random.Random(10000 + seed)
        buffers = random_buffers(rng, rng.randint(20, 120), rng.randint(10, 60), 2000)
        capacity = rng.randint(1000, 9000)
        others = [m.place(buffers, solver, capacity)[1].saved_bytes for solver in PUBLISHED]
        saved = 0
        for branches in (1, 100, 5000):
            _, s = m.place(buffers, "exact", capacity, max_branches=branches)
            assert max(others) <= s.saved_bytes <= s.bound_bytes <= sum(b.worth for b in buffers if not b.barred)
            assert s.saved_bytes >= saved and s.branches <= branches
            saved = s.saved_bytes
        proven += s.optimal
    assert proven > 5


def test_many_buffers():
    """100000 buffers of a chain of layers: each solver in seconds."""
    rng = random.Random(5)
    n = 100000
    rows = m.array([m.Buffer(rng.randrange(1, 400) * 128, sorted({i, i + 1, i + rng.randint(1, 6)}))
                    for i in range(n)])
    for solver in range(len(m.SOLVERS)):
        out, summary, params = (m.Placement * n)(), m.Summary(), m.Params(solver, 200000)
        begin = time.process_time()
        assert m.lib.tg_scratchpad_place(out, summary, rows, n, params, None) == t.OK
        assert time.process_time() - begin < 10  # it takes 0.1 s; the exact one, whose search has a limit, 1.2 s
        assert summary.kept > 60000


# ---- refused ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("buffers, message", [
    ([m.Buffer(0, [1])], "buffer 0 has 0 bytes"),
    ([m.Buffer(2 ** 60 + 1, [1])], "buffer 0 has"),
    ([m.Buffer(1, [])], "0 uses"),
    ([m.Buffer(1, [-1])], "ticks begin at 0"),
    ([m.Buffer(1, [2 ** 63 - 1])], "ticks begin at 0"),
    ([m.Buffer(1, [3, 3])], "at tick 3 after tick 3"),
    ([m.Buffer(1, [1], saved=-1)], "saves -1"),
    ([m.Buffer(1, [1], parents=[1])], "no such parent"),
    ([m.Buffer(1, [1], parents=[0])], "no such parent"),
    ([m.Buffer(1, [1, 2]), m.Buffer(1, [2], True, [0])], "comes from outside"),
    ([m.Buffer(1, [1, 2]), m.Buffer(1, [3], parents=[0])], "begins at tick 3, that ends after tick 2"),
    ([m.Buffer(1, [2]), m.Buffer(1, [2], parents=[0])], "never read"),
    ([m.Buffer(1, [1, 2]), m.Buffer(2, [2], parents=[0])], "of 2 bytes cannot take the place of buffer 0 of 1"),
])
def test_refused_buffers(buffers, message):
    for solver in m.SOLVERS:
        with pytest.raises(t.TegulaError) as refused:
            m.place(buffers, solver, 10)
        assert refused.value.status == t.ERR_ARGUMENT and message in refused.value.message


def test_sums_that_do_not_fit():
    with pytest.raises(t.TegulaError) as refused:
        m.place([m.Buffer(1, [1], saved=2 ** 60)] * 3, "exact", 10)
    assert refused.value.status == t.ERR_OVERFLOW
    assert m.place([m.Buffer(2 ** 59, [1]), m.Buffer(2 ** 59, [1])], "exact", 2 ** 60)[1].kept == 2
    for capacity, alignment in ((-1, 0), (2 ** 60 + 1, 0), (1, -1), (1, 2 ** 60 + 1)):
        with pytest.raises(t.TegulaError):
            m.place([], "exact", capacity, alignment)
    assert m.place([], "exact", 0)[1].optimal


# ---- the verifier can say no --------------------------------------------------------------------------------

PARENT, HEIR, LATE = m.Buffer(4, [0, 2]), m.Buffer(2, [2, 3], parents=[0]), m.Buffer(4, [2])


@pytest.mark.parametrize("placements, fault", [
    ([(0, None), (0, 0), (4, None)], ""),
    ([(0, None), (4, None), (6, None)], ""),
    ([(0, None), (0, None), (4, None)], "buffer 1 overlaps: buffer 0"),
    ([(0, None), (0, 0), (2, None)], "buffer 2 overlaps: buffer 0"),
    ([(0, None), (2, 0), (6, None)], "is not where its parent is"),
    ([(None, None), (0, 0), (6, None)], "is not where its parent is"),
    ([(0, None), (None, 0), (6, None)], "takes a place without having one"),
    ([(0, None), (4, 2), (4, None)], "one that is no parent"),
    ([(0, None), (0, 0), (7, None)], "is not aligned"),
    ([(0, None), (0, 0), (8, None)], "reaches beyond the end"),
])
def test_verifier(placements, fault):
    found = m.fault(placements, [PARENT, HEIR, LATE], 10, 2 if "aligned" in fault else 1)
    assert fault in found and bool(fault) == bool(found)


def test_verifier_of_twice_and_barred():
    assert "handed over before" in m.fault([(0, None), (0, 0), (0, 0)], [PARENT, HEIR, HEIR], 10, 1)
    assert "has to live elsewhere" in m.fault([(0, None)], [m.Buffer(1, [0], barred=True)], 10, 1)


# ---- the pool ------------------------------------------------------------------------------------------------

def test_pool_reuses_what_is_free():
    with m.Pool(100) as pool:
        assert [pool.allocate(n) for n in (30, 20, 40)] == [0, 30, 50]
        pool.release(0, 30)
        pool.release(50, 40)
        assert pool.allocate(35) == 50  # the first that is large enough
        assert pool.allocate(30) == 0
        assert pool.allocate(11) is None and pool.allocate(10) == 90 and pool.allocate(5) == 85
        assert pool.end == 100


def test_pool_does_not_join():
    with m.Pool(100) as pool:
        assert [pool.allocate(50), pool.allocate(50)] == [0, 50]
        pool.release(0, 50)
        pool.release(50, 50)
        assert pool.allocate(60) is None and pool.allocate(50) == 0


@pytest.mark.parametrize("address, nbytes, message", [
    (0, 11, "were never taken"), (-1, 5, "were never taken"), (5, 0, "were never taken"), (2, 4, "are free already")])
def test_pool_refuses(address, nbytes, message):
    with m.Pool(100) as pool:
        pool.allocate(10)
        pool.release(0, 4)
        with pytest.raises(t.TegulaError) as refused:
            pool.release(address, nbytes)
        assert re.search(message, refused.value.message)
        with pytest.raises(t.TegulaError):
            pool.allocate(0)
    with pytest.raises(t.TegulaError):
        m.Pool(-1)
