"""Views on device layouts (include/tegula/view.h), judged by looking at every element.

The storage of a tensor is a table {host offset: device offset}, filled by walking over the tensor; a view is NumPy's
as_strided over host offsets. From these the definitions of the header are written down a second time: digits, carries,
ragged edges, the published coordinate rule, the first element that a naive reader gets wrong.
"""
import ctypes as C
import itertools
import json
import os
import pathlib
import random
import re
import subprocess

import numpy as np
import pytest

import tegula_c
import view_c
from view_c import BAD, CARRY, FITS, FREE, GAP, IMPOSSIBLE, LOOP, NONE, OFFSET, OUTSIDE, RAGGED, RELAYOUT

SEED = int(os.environ.get("TEGULA_SEED", "20261122"))
PUBLISHED = json.loads((pathlib.Path(__file__).resolve().parents[1] / "spec" / "spyre_views.json").read_text())


# ---- the definition -------------------------------------------------------------------------------

class Tensor:
    def __init__(self, text):
        self.text, self.desc = text, tegula_c.parse(text)
        self.notation = tegula_c.NOTATIONS[self.desc.notation]
        layout, base = self.desc.layout, view_c.view_of(self.desc)
        shape, strides, offset = view_c.fields(base)
        self.storage = {}
        for c in np.ndindex(*shape):
            host = offset + sum(a * b for a, b in zip(c, strides))
            self.storage.setdefault(host, tegula_c.offset(layout, c))
        self.base = min(self.storage, default=offset)
        self.end = max(self.storage, default=offset - 1) + 1
        self.modes = [m for m in layout.mode[:layout.nmodes] if m.into == tegula_c.TO_MEMORY]
        self.stick = self.desc.spyre.device_size[self.desc.spyre.rank - 1] if self.notation == "spyre" else 0
        self.digits = self.find_digits(layout)

    def find_digits(self, layout):
        """(host weight, device stride) of every memory mode that data moves in, by decreasing weight."""
        if self.notation == "strided":
            return [(1, 1)]
        at = {device: host for host, device in reversed(self.storage.items())}
        found = []
        for m in self.modes:
            if m.axis >= 0 and m.count > 1 and layout.offset + m.stride in at: # an expanded dimension has no weight
                found.append((at[layout.offset + m.stride] - self.base, m.stride))
        return sorted(found, reverse=True)


def joined(digits, stick):
    """Neighbours that are one digit, as one, unless only one of them is inside sticks."""
    digits = list(digits)
    for i in range(len(digits) - 2, -1, -1):
        (w, s), (v, t) = digits[i], digits[i + 1]
        if w % v == 0 and s == t * (w // v) and (s < stick) == (t < stick):
            del digits[i]
    return digits


def cut(digits, x):
    """Greedy digits of the numbers x."""
    found = []
    for weight, _ in digits:
        found.append(x // weight)
        x = x % weight
    return found


def faults(digits, x):
    """What keeps the digits of the numbers x (an array over the view) from being free: carries and ragged edges."""
    found = set()
    coordinates = cut(digits, x)
    lines = [[q[tuple(slice(None) if e == d else 0 for e in range(x.ndim))] for d in range(x.ndim)]
             for q in coordinates]
    for q, alone in zip(coordinates, lines):
        total = np.full(x.shape, q[(0,) * x.ndim])
        for d, line in enumerate(alone):
            total = total + (line - line[0]).reshape([-1 if e == d else 1 for e in range(x.ndim)])
        if (total != q).any():
            found.add(CARRY)
    for d in range(x.ndim):
        moving = [w for (w, _), alone in zip(digits, lines) if len(set(alone[d].tolist())) > 1]
        if any(w % v for w, v in itertools.pairwise(moving)):
            found.add(RAGGED)
    return found


def first(flags):
    """The first coordinate in row-major order where flags holds, or None."""
    where = np.argwhere(flags)
    return tuple(int(i) for i in where[0]) if len(where) else None


def view_numbers(shape, strides, offset):
    x = np.full(shape, offset, dtype=np.int64)
    for d in range(len(shape)):
        x += (np.arange(shape[d]) * strides[d]).reshape([-1 if e == d else 1 for e in range(len(shape))])
    return x


# ---- the published rule, restated ------------------------------------------------------------------

def rule_coordinates(sizes, maps, shape, strides, offset):
    """compute_coordinates for every element of the view, or None where it refuses; one array per dimension."""
    used = [m for s, m in zip(sizes, maps) if m > 0 and s != 1]
    grid = np.indices(shape) if shape else np.zeros((0,))
    found = []
    if any(r > 1 and a < 0 for r, a in zip(shape, strides)):
        return None
    for size, stride in zip(sizes, maps):
        total = np.zeros(shape, dtype=np.int64)
        if stride > 0 and size != 1:
            larger = [m for m in used if m > stride]
            after = min(larger) if larger else None
            for d, (r, a) in enumerate(zip(shape, strides)):
                if r <= 1 or a == 0:
                    continue
                primary = max((m for m in used if m <= a), default=None)
                if stride == primary or a < stride < a * r:
                    y = a * grid[d]
                    total = total + (y if after is None or a * r <= after else y % after) // stride
            total = total + (offset if after is None else offset % after) // stride
        found.append(total)
    return found


def rule_offsets(tensor, shape, strides, offset):
    if tensor.notation == "spyre":
        spyre = tensor.desc.spyre
        sizes, maps = list(spyre.device_size[:spyre.rank]), list(spyre.stride_map[:spyre.rank])
        device = [int(np.prod(sizes[i + 1:], dtype=np.int64)) for i in range(len(sizes))]
    else:
        maps, device = zip(*tensor.digits) if tensor.digits else ((), ())
        sizes = [0] * len(maps)
    coordinates = rule_coordinates(sizes, maps, shape, strides, offset - tensor.base)
    if coordinates is None:
        return None
    start = tensor.storage[tensor.base] if tensor.storage else 0
    return start + sum((c * s for c, s in zip(coordinates, device)), np.zeros(shape, dtype=np.int64))


# ---- judging an answer ------------------------------------------------------------------------------

def evaluate(text, coord):
    """The value of "[p1, floor((p2 + 10)/64)]" at a coordinate, by Python."""
    names = {f"p{d}": value for d, value in enumerate(coord)} | {"floor": lambda x: x, "Mod": lambda a, b: a % b}
    return eval(text.replace("/", "//"), {"__builtins__": {}}, names)


def stick_kind(expression, stick):
    if expression == "0":
        return NONE, -1
    match = re.fullmatch(r"(?:p(\d+)|Mod\(p(\d+), (\d+)\))( \+ \d+)?", expression)
    if not match or (match[3] and int(match[3]) != stick):
        return BAD, -1
    return (OFFSET if match[4] else LOOP), int(match[1] or match[2])


def check_naive(naive, right, read, what):
    if read is None:
        assert naive.state == view_c.REFUSED, what
        return
    coord = first(right != read)
    if coord is None:
        assert naive.state == view_c.RIGHT, what
        return
    assert naive.state == view_c.WRONG, what
    assert tuple(naive.coord[:len(coord)]) == coord, what
    assert (naive.right, naive.read) == (right[coord], read[coord]), what


def check_free(tensor, answer, x, right, what):
    text = view_c.access(answer)
    strides = [c.stride for c in answer.device[:answer.ndevice]]
    for p in np.ndindex(*x.shape):
        assert view_c.device_offset(answer, p) == right[p], what
        values = evaluate(text, p)
        assert answer.offset + sum(q * s for q, s in zip(values, strides)) == right[p], (what, text)
    if tensor.notation == "spyre" and tensor.desc.spyre.arrangement == 0:
        assert answer.has_stick
        inside = re.split(r", (?![^(]*\))", text[1:-1])[-1]
        assert (answer.stick, answer.stick_dim) == stick_kind(inside, tensor.stick), (what, text)


def own_offsets(tensor, shape):
    try:
        target = view_c.target(tensor.desc, view_c.view(shape, [0] * len(shape)))
    except tegula_c.TegulaError: # XLA's `*` tiles do not fit all numbers of dimensions
        assert tensor.notation == "xla"
        return None
    found = np.zeros(shape, dtype=np.int64)
    for p in np.ndindex(*shape):
        found[p] = tegula_c.offset(target.layout, p)
    return found


def check(tensor, shape, strides, offset, counts=None):
    what = f"{tensor.text} as_strided({shape}, {strides}, {offset})"
    answer = view_c.judge(tensor.desc, view_c.view(shape, strides, offset))
    if counts is not None:
        counts[answer.verdict, answer.reason] = counts.get((answer.verdict, answer.reason), 0) + 1
    if 0 in shape:
        assert answer.verdict == FREE, what
        return answer
    x = view_numbers(shape, strides, offset)
    inside = np.isin(x, list(tensor.storage))
    coord = first(~inside)
    if coord is not None:
        assert answer.verdict == IMPOSSIBLE, what
        assert tuple(answer.coord[:len(shape)]) == coord and answer.host_offset == x[coord], what
        assert answer.reason == (GAP if tensor.base <= x[coord] < tensor.end else OUTSIDE), what
        assert (answer.low, answer.high) == (tensor.base, tensor.end), what
        return answer
    right = np.vectorize(tensor.storage.__getitem__, otypes=[np.int64])(x)
    apart = faults(tensor.digits, x - tensor.base)
    found = apart and faults(joined(tensor.digits, tensor.stick), x - tensor.base)
    assert answer.verdict == (RELAYOUT if found else FREE), (what, found)
    if found:
        assert answer.reason in found, (what, found)
        assert view_c.access(answer) == ""
    else:
        assert answer.joined == bool(apart), what
        check_free(tensor, answer, x, right, what)
    check_naive(answer.rule, right, rule_offsets(tensor, shape, strides, offset), what + " rule")
    check_naive(answer.own, right, own_offsets(tensor, shape), what + " own")
    return answer


# ---- small scopes -----------------------------------------------------------------------------------

SMALL = ["f32[6]{0:T(2)}", "f32[7]{0:T(4)}", "f32[5]{0:T(4)(2)}", "f32[5]", "f32[3,4]",
         "f32[3,4] strides=[1,3] offset=2", "f32[3,2] strides=[4,2]", "f32[3,3] strides=[5,2]",
         "f32[3,3] strides=[5,2] spyre", "f32[3,3] strides=[2,2]", "f32[4,3]{0,1}", "f32[4,6]{1,0:T(2,3)}",
         "f32[3,5]{1,0:T(2,3)}",
         "f32[3,5]{0,1:T(2,2)(2,1)}", "f32[3,4]{1,0:T(*,3)}", "f32[2,6]{1,0:T(*,2)}", "f32[2,3,2]{2,1,0:T(2)}",
         "f32[2,2,3]{0,2,1:T(2,2)}", "f32[2,3,3]{2,1,0:T(2)}", "f32[]", "f32[1,4]{1,0:T(1,3)}", "f32[0,3]"]


def small_views(rng, count):
    """as_strided of up to three dimensions: all of one dimension, and a sample of the others."""
    for n, stride, offset in itertools.product(range(7), range(-2, 8), range(4)):
        yield [n], [stride], offset
    for _ in range(count):
        ndim = rng.choice([0, 2, 2, 2, 3])
        yield ([rng.randrange(1, 6) for _ in range(ndim)], [rng.randrange(-1, 13) for _ in range(ndim)],
               rng.randrange(0, 9))


@pytest.mark.parametrize("text", SMALL)
def test_small_scopes(text):
    tensor, counts = Tensor(text), {}
    for shape, strides, offset in small_views(random.Random(f"{SEED} {text}"), 600):
        check(tensor, shape, strides, offset, counts)
    assert len({verdict for verdict, _ in counts}) >= 2, counts


def test_the_small_scopes_meet_everything():
    counts = {}
    for text in ["f32[3,2] strides=[4,2]", "f32[4,6]{1,0:T(2,3)}", "f32[3,5]{1,0:T(2,3)}"]:
        tensor = Tensor(text)
        for shape, strides, offset in small_views(random.Random(f"{SEED} {text}"), 600):
            check(tensor, shape, strides, offset, counts)
    assert {reason for _, reason in counts} == set(range(5)), counts


def nests(shape, strides):
    """Whether dimensions can be grouped so that each group takes the multiples of one stride up to some, and steps over
    the groups below it."""
    dims = sorted((abs(a), n) for n, a in zip(shape, strides) if n > 1 and a)
    for cuts in itertools.product([False, True], repeat=max(len(dims) - 1, 0)):
        groups = [[]]
        for dim, before in zip(dims, [False, *cuts]):
            if before:
                groups.append([])
            groups[-1].append(dim)
        below, fine = 0, True
        for group in groups:
            taken = {sum(c) for c in itertools.product(*(range(0, a * n, a) for a, n in group))}
            step = min(a for a, _ in group) if group else 1
            fine = fine and step > below and taken == set(range(0, max(taken) + 1, step))
            below += max(taken)
        if fine:
            return True
    return False


def test_random_strides():
    rng, counts, refused = random.Random(f"{SEED} strides"), {}, 0
    for _ in range(600):
        ndim = rng.randrange(1, 4)
        shape, strides = [rng.randrange(1, 5) for _ in range(ndim)], [rng.randrange(-6, 13) for _ in range(ndim)]
        offset = sum((n - 1) * -a for n, a in zip(shape, strides) if a < 0) + rng.randrange(3)
        tensor = Tensor(f"f32{shape} strides={strides} offset={offset}".replace(", ", ","))
        if not nests(shape, strides):
            refused += 1
            with pytest.raises(tegula_c.TegulaError, match="interleave"):
                check(tensor, shape, strides, offset)
            continue
        assert check(tensor, shape, strides, offset).verdict == FREE, tensor.text
        for _ in range(8):
            n = rng.randrange(0, 3)
            check(tensor, [rng.randrange(1, 5) for _ in range(n)], [rng.randrange(-3, 13) for _ in range(n)],
                  rng.randrange(0, offset + 8), counts)
    assert 50 < refused < 400 and {reason for _, reason in counts} == {FITS, OUTSIDE, GAP}, (refused, counts)


# ---- compositions -------------------------------------------------------------------------------------

COMPOSED = ["f16[3,5,70] spyre", "f16[5,150] spyre", "f16[2,6,192] spyre", "f32[4,96] spyre dim_order=[1,0]",
            "f16[7,130] spyre unit_dims=keep", "f16[3,64] spyre dim_order=[0,1,-1]", "f16[4,60] strides=[70,1] spyre",
            "f16[2,3,64] strides=[1,2,6] spyre", "f16[40,60] spyre device_size=[38,64] stride_map=[64,1]",
            "f16[2,3,128] spyre arrangement=FP32_TO_DL16", "f16[5,100] strides=[0,1] spyre", "s64[3,40] spyre",
            "f32[6,20]{1,0:T(2,8)}", "f32[4,6,10]{2,1,0:T(2,4)}", "bf16[3,8,10]{2,1,0:T(4,8)(2,1)}",
            "f16[300] spyre", "f16[4,4,4,40] spyre", "f32[12,10]"]


def some_step(rng, shape):
    """A step of a chain, as PyTorch writes it, and as NumPy does it."""
    ndim = len(shape)
    kind = rng.choice(["transpose", "slice", "slice", "reshape", "reshape", "expand", "select", "permute"])
    if kind == "transpose" and ndim >= 2:
        a, b = rng.randrange(-ndim, ndim), rng.randrange(-ndim, ndim)
        return f".transpose({a}, {b})", lambda x: x.swapaxes(a, b)
    if kind == "permute" and ndim >= 2:
        order = rng.sample(range(ndim), ndim)
        return f".permute({', '.join(map(str, order))})", lambda x: x.transpose(order)
    if kind == "slice" and ndim >= 1:
        d = rng.randrange(ndim)
        start, stop = rng.randrange(0, shape[d] // 2 + 1), rng.randrange(shape[d] // 2, shape[d] + 2)
        step = rng.choice([1, 1, 2, 3])
        index = (slice(None),) * d + (slice(start, stop, step),)
        return f"[{':, ' * d}{start}:{stop}:{step}]", lambda x: x[index]
    if kind == "select" and ndim >= 2:
        d = rng.randrange(ndim)
        if shape[d] == 0:
            return "", lambda x: x
        i = rng.randrange(-shape[d], shape[d])
        return f".select({d}, {i})", lambda x: x[(slice(None),) * d + (i,)]
    if kind == "expand" and ndim < 4:
        n = rng.randrange(1, 4)
        return f".unsqueeze(0).expand({n}{', -1' * ndim})", lambda x: np.broadcast_to(x[None], (n, *x.shape))
    numel = int(np.prod(shape, dtype=np.int64))
    if kind == "reshape" and numel:
        target = factors(rng, numel)
        return f".reshape({', '.join(map(str, target))})", lambda x: without_copy(x, target)
    return "", lambda x: x


def factors(rng, numel):
    found = []
    while numel > 1 and len(found) < 3:
        divisors = [f for f in range(2, min(numel, 200) + 1) if numel % f == 0]
        found.append(rng.choice(divisors or [numel]))
        numel //= found[-1]
    return [*found, numel] if numel > 1 or not found else found


class Copied(Exception):
    pass


def without_copy(x, shape):
    """x.reshape(shape), if that can be a view."""
    y = x.view()
    try:
        y.shape = shape
    except AttributeError:
        raise Copied from None
    return y


def host_array(tensor):
    """An int64 array whose values are host offsets, with the strides of the tensor."""
    shape, strides, offset = view_c.fields(view_c.view_of(tensor.desc))
    memory = np.arange(max(tensor.end, 1))
    return np.lib.stride_tricks.as_strided(memory[offset:], shape, [8 * s for s in strides])


@pytest.mark.parametrize("text", COMPOSED)
def test_compositions(text):
    """Chains of views: what they select is NumPy's, and the answer about them is the definition's."""
    rng, tensor, counts, copied = random.Random(f"{SEED} {text}"), Tensor(text), {}, 0
    for _ in range(40):
        base, x, chain = view_c.view_of(tensor.desc), host_array(tensor), ""
        for _ in range(rng.randrange(0, 4)):
            step, apply = some_step(rng, x.shape)
            try:
                y = apply(x)
            except Copied:
                with pytest.raises(tegula_c.TegulaError) as e:
                    view_c.parse(base, chain + step)
                assert e.value.status == tegula_c.ERR_UNREPRESENTABLE and e.value.pos == len(chain) + 1
                copied += 1
                continue
            chain, x = chain + step, y
        v = view_c.parse(base, chain)
        shape, strides, offset = view_c.fields(v)
        assert tuple(shape) == x.shape, chain
        if 0 not in shape:
            assert np.array_equal(view_numbers(shape, strides, offset), x), chain
        if x.size <= 4000:
            check(tensor, shape, strides, offset, counts)
    assert sum(counts.values()) > 10


def random_spyre(rng):
    ndim = rng.choice([1, 2, 2, 3])
    shape = [rng.choice([1, 2, 3, 5, 8]) for _ in range(ndim - 1)] + [rng.choice([1, 40, 64, 65, 128, 150, 192])]
    order = rng.sample(range(ndim), ndim)
    return f"f16{json.dumps(shape, separators=(',', ':'))} spyre dim_order={json.dumps(order, separators=(',', ':'))}"


def test_random_spyre():
    """Views that a reshape cannot make: any strides near those of the tensor."""
    rng, counts = random.Random(f"{SEED} spyre"), {}
    for _ in range(80):
        tensor = Tensor(random_spyre(rng))
        shape, strides, _ = view_c.fields(view_c.view_of(tensor.desc))
        near = [1, 2, 3, 32, 64, 128, *strides, *[2 * s for s in strides], *[s + 1 for s in strides]]
        for _ in range(8):
            ndim = rng.choice([1, 2, 2, 3])
            wanted = [rng.choice([1, 2, 3, 5, 8, 20, 64, 70]) for _ in range(ndim)]
            steps = [rng.choice(near) for _ in range(ndim)]
            offset = rng.choice([0, 0, 1, 10, 64])
            while sum(n and (n - 1) * s for n, s in zip(wanted, steps)) + offset >= tensor.end and max(wanted) > 1:
                d = wanted.index(max(wanted))
                wanted[d] = (wanted[d] + 1) // 2
            if np.prod(wanted) <= 3000:
                check(tensor, wanted, steps, offset, counts)
    assert {FREE, RELAYOUT} <= {verdict for verdict, _ in counts}, counts
    assert {CARRY, RAGGED} <= {reason for _, reason in counts}, counts


# ---- published cases ------------------------------------------------------------------------------------

@pytest.mark.parametrize("case", PUBLISHED["coordinates"], ids=lambda c: c["name"])
def test_published_coordinates(case):
    """The rule as this file restates it gives the published coordinates; the library agrees where it is exact."""
    names = [f"p{d}" for d in range(len(case["ranges"]))]
    got = rule_coordinates(case["size"], case["stride"], case["ranges"], case["steps"], case["offset"])
    for p, expected in case["samples"]:
        assert [int(c[tuple(p)]) for c in got] == expected, names
    if case["layout"] is None:
        return
    answer = view_c.judge(tegula_c.parse(case["layout"]), view_c.view(case["ranges"], case["steps"], case["offset"]))
    assert answer.verdict == FREE
    assert view_c.access(answer) == case["access"]
    assert (answer.rule.state == view_c.RIGHT) == case["exact"]


@pytest.mark.parametrize("case", PUBLISHED["sticks"], ids=lambda c: c["name"])
def test_published_stick_expressions(case):
    answer = view_c.ask(case["layout"], case["view"])
    assert answer.verdict == FREE and answer.has_stick
    assert (answer.stick in (NONE, LOOP)) == case["supported"], view_c.access(answer)


# ---- reports (spec/peers.md 1.23) -------------------------------------------------------------------------

def test_2912_dimensions_of_equal_size_are_told_apart():
    """torch-spyre #2912: dimensions matched by value. Both are 64, and the transposed one is not the other."""
    answer = view_c.ask("f16[64,64] spyre", "x.t()")
    assert (answer.verdict, answer.stick, answer.stick_dim) == (FREE, LOOP, 0)
    assert view_c.access(answer) == "[0, p1, p0]"
    assert answer.own.state == view_c.WRONG and list(answer.own.coord[:2]) == [0, 1]
    assert (answer.own.right, answer.own.read) == (64, 1)


def test_2912_an_element_arrangement_is_not_dropped():
    """#2912: what a rule reads that knows device_size and stride_map only."""
    answer = view_c.ask("f16[2,64] spyre arrangement=FP32_TO_DL16", "x")
    assert answer.verdict == FREE and answer.rule.state == view_c.WRONG
    assert list(answer.rule.coord[:2]) == [0, 4] and (answer.rule.right, answer.rule.read) == (8, 4)


def test_4021_a_kernel_that_assumes_heads_outermost():
    """#4021: [B, S, H, D] transposed to [B, H, S, D], read by a kernel that knows only the shape. With S = 1 that is
    right by luck; with two rows it is wrong from the second on. The access is free all the same."""
    one = view_c.ask("f16[2,1,512] spyre", "x.view(2, 1, 8, 64).transpose(1, 2)")
    assert (one.verdict, one.stick, one.stick_dim) == (FREE, LOOP, 3)
    assert view_c.access(one) == "[p1, p0, p3]" and one.own.state == view_c.RIGHT
    two = view_c.ask("f16[2,2,512] spyre", "x.view(2, 2, 8, 64).transpose(1, 2)")
    assert (two.verdict, two.stick, two.stick_dim) == (FREE, LOOP, 3)
    assert view_c.access(two) == "[p2, p1, p0, p3]" and two.rule.state == view_c.RIGHT
    assert two.own.state == view_c.WRONG and list(two.own.coord[:4]) == [0, 0, 1, 0]
    assert (two.own.right, two.own.read) == (8 * 2 * 64, 2 * 64)


def test_1089_expanded_columns_are_no_columns():
    """#1089: a column expanded to 128 read as if it had 128 of its own."""
    answer = view_c.ask("f16[4,1] spyre", "x.expand(4, 128)")
    assert answer.verdict == FREE and answer.stick in (NONE, LOOP)
    assert answer.own.state == view_c.WRONG and list(answer.own.coord[:2]) == [0, 1]
    assert answer.own.right == 0 and answer.own.read == 1


def test_3634_a_reshape_inside_a_stick():
    """#3634: rows of 64 halved are free to compute, but no kernel takes two variables in a stick."""
    answer = view_c.ask("f16[10,64] spyre", "x.view(10, 2, 32)")
    assert (answer.verdict, answer.stick) == (FREE, BAD)
    assert view_c.access(answer) == "[0, p0, 32*p1 + p2]"


def test_3634_a_reshape_across_sticks():
    answer = view_c.ask("f16[10,96] spyre", "x.view(10, 3, 32)")
    assert (answer.verdict, answer.reason, answer.dims) == (FREE, 0, 0)
    answer = view_c.ask("f16[10,120] spyre", "x.view(10, 3, 40)")
    assert (answer.verdict, answer.reason, answer.dims) == (RELAYOUT, CARRY, 0b110)
    assert answer.rule.state == view_c.WRONG and list(answer.rule.coord[:3]) == [0, 1, 24]


def test_3138_interleaved_halves():
    """#3138: rotary embedding takes pairs; the stick expression is that of the report, with 32 and 1 or 2 and 1."""
    answer = view_c.ask("f16[4,64] spyre", "x.view(4, 2, 32)")
    assert (answer.verdict, answer.stick) == (FREE, BAD) and view_c.access(answer).endswith("32*p1 + p2]")
    answer = view_c.ask("f16[4,64] spyre", "x[:, 0::2]")
    assert (answer.verdict, answer.stick) == (FREE, BAD) and view_c.access(answer) == "[0, p0, 2*p1]"


def test_3801_a_slice_that_starts_inside_a_stick():
    """#3801, #2207: columns from 32 on. The rule says Mod(p1, 64) + 32, past the end of the stick from column 32 on."""
    answer = view_c.ask("f16[4,128] spyre", "x[:, 32:]")
    assert (answer.verdict, answer.stick) == (FREE, BAD)
    assert view_c.access(answer) == "[floor((p1 + 32)/64), p0, Mod(p1 + 32, 64)]"
    assert answer.rule.state == view_c.WRONG and list(answer.rule.coord[:2]) == [0, 32]
    assert (answer.rule.right, answer.rule.read) == (256, 64)


def test_3801_rows_of_a_slice():
    answer = view_c.ask("f16[4,128] spyre", "x[1:3]")
    assert (answer.verdict, answer.stick, answer.rule.state) == (FREE, LOOP, view_c.RIGHT)


# ---- large, and at the limits -----------------------------------------------------------------------------

@pytest.mark.parametrize("layout, view, verdict, rule", [
    ("f16[1000000,1000,64] spyre", ".view(-1, 64)", FREE, None),
    ("f16[1000000,1000,64] spyre", ".view(-1)", FREE, None),
    ("f16[100000,1000,150] spyre", ".view(-1)", RELAYOUT, [150]),
    ("f16[100000,1000,150] spyre", ".view(-1, 50)", RELAYOUT, [1, 14]),
    ("f16[3000000000,150] spyre", "[2999999990:].view(-1, 75)", RELAYOUT, [0, 0]),
    ("f16[4096,4096,4096] spyre", ".permute(2, 0, 1)[::3, 5:, ::64]", FREE, None),
    ("f16[4096,4096,4096] spyre", ".permute(2, 0, 1)[1::3, 5:, ::64]", FREE, [21, 0, 0]),
])
def test_large(layout, view, verdict, rule):
    answer = view_c.ask(layout, view)
    assert answer.verdict == verdict
    if rule is None:
        assert answer.rule.state == view_c.RIGHT
    else:
        assert answer.rule.state == view_c.WRONG and list(answer.rule.coord[:len(rule)]) == rule


def test_the_first_element_outside_is_found_in_a_large_view():
    answer = view_c.ask("f16[3000000000,150] spyre", ".as_strided((3000000000, 150), (150, 1), 300)")
    assert (answer.verdict, answer.reason) == (IMPOSSIBLE, OUTSIDE)
    assert list(answer.coord[:2]) == [2999999998, 0] and answer.host_offset == answer.high == 450000000000


@pytest.mark.parametrize("layout, view, status", [
    ("f16[4,60] strides=[1,1] spyre", "x", "UNSUPPORTED"),
    ("f16[4]", ".as_strided((-1,), (1,))", "ARGUMENT"),
    ("f16[4]", ".as_strided((4, 4), (9223372036854775807, 1))", "OVERFLOW"),
])
def test_refused(layout, view, status):
    with pytest.raises(tegula_c.TegulaError) as e:
        view_c.ask(layout, view)
    assert tegula_c.STATUS[e.value.status] == "TG_ERR_" + status, e.value


# ---- text -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, shape, strides, offset", [
    ("", [2, 3, 4], [12, 4, 1], 0), ("x", [2, 3, 4], [12, 4, 1], 0), (" weight . mT", [2, 4, 3], [12, 1, 4], 0),
    (".T", [4, 3, 2], [1, 4, 12], 0), ("x[1].t()", [4, 3], [1, 4], 12), ("x[..., 0]", [2, 3], [12, 4], 0),
    ("x[-1, None, :, 1:-1]", [1, 3, 2], [12, 4, 1], 13), ("x[:, ::2, 3:]", [2, 2, 1], [12, 8, 1], 3),
    ("x[0, ..., -1]", [3], [4], 3), ("x[:, :, ::-1]", [2, 3, 4], [12, 4, -1], 3), ("x[5:]", [0, 3, 4], [12, 4, 1], 24),
    ("x.permute((2, 0, 1))", [4, 2, 3], [1, 12, 4], 0), ("x.flatten(1)", [2, 12], [12, 1], 0),
    ("x.flatten()", [24], [1], 0), ("x.view(-1, 2, 2)", [6, 2, 2], [4, 2, 1], 0),
    ("x.unflatten(2, (2, -1))", [2, 3, 2, 2], [12, 4, 2, 1], 0), ("x.narrow(1, -2, 2)", [2, 2, 4], [12, 4, 1], 4),
    ("x.unfold(2, 2, 1)", [2, 3, 3, 2], [12, 4, 1, 1], 0), ("x.diagonal()", [4, 2], [1, 16], 0),
    ("x.diagonal(1, 1, 2)", [2, 3], [12, 5], 1), ("x.diagonal(-1, 0, 2)", [3, 1], [4, 13], 12),
    ("x.as_strided([2, 2], [1, 3], 5)", [2, 2], [1, 3], 5), ("x.movedim(0, -1)", [3, 4, 2], [4, 1, 12], 0),
    ("x[:1].squeeze(0)", [3, 4], [4, 1], 0), ("x[:1, :1].squeeze()", [4], [1], 0),
    ("x.squeeze(1)", [2, 3, 4], [12, 4, 1], 0),
    ("x.select(1, -1)", [2, 4], [12, 1], 8), ("x[:1].expand(5, 3, 4)", [5, 3, 4], [0, 4, 1], 0),
    ("x.expand(7, -1, -1, -1)", [7, 2, 3, 4], [0, 12, 4, 1], 0), ("x.unsqueeze(-1)", [2, 3, 4, 1], [12, 4, 1, 1], 0),
    ("x.swapdims(0, 2).swapaxes(0, 1)", [3, 4, 2], [4, 1, 12], 0), ("x[1][2][3]", [], [], 23),
])
def test_text(text, shape, strides, offset):
    got = view_c.parse(view_c.view([2, 3, 4], [12, 4, 1]), text)
    assert view_c.fields(got) == (shape, strides, offset)


@pytest.mark.parametrize("text, status, pos, word", [
    ("x.t()", "PARSE", 2, "more than 2"), ("x y", "PARSE", 2, "expected `.`"), ("x.", "PARSE", 2, "name of a view"),
    ("x.contiguous()", "PARSE", 2, "not known"), ("x.transpose(0)", "PARSE", 2, "transpose(dim0, dim1)"),
    ("x.transpose(0, 3)", "PARSE", 2, "dimension 3 is not in [-3, 3)"),
    ("x.transpose(0, 1", "PARSE", 16, "expected `,`"),
    ("x[0, 0, 0, 0]", "PARSE", 11, "too many indices"), ("x[2]", "PARSE", 2, "index 2 is out of dimension 0"),
    ("x[0][a]", "PARSE", 5, "expected a number"), ("x[::0]", "PARSE", 2, "step 0"), ("x[1", "PARSE", 3, "expected `,`"),
    ("x[99999999999999999999]", "PARSE", 2, "64 bits"), ("x.permute(0, 1)", "PARSE", 2, "3"),
    ("x.permute(0, 1, 1)", "ARGUMENT", 2, "listed twice"), ("x.T.view(-1)", "UNREPRESENTABLE", 4, "PyTorch would copy"),
    ("x.view(5, -1)", "ARGUMENT", 2, "does not have the elements"), ("x.expand(3, 3, 4)", "ARGUMENT", 2, "only size 1"),
    ("x.narrow(0, 1, 2)", "PARSE", 2, "leave dimension 0"), ("x.unflatten(1, (2, 2))", "PARSE", 2, "do not make 3"),
    ("x.unfold(0, 3, 1)", "ARGUMENT", 2, "do not fit"), ("x" + "[None]" * 14, "LIMIT", 80, "limit of 16"),
    ("x.as_strided((1), (1))", None, 0, ""), ("x.as_strided(1, 1)", "PARSE", 2, "as_strided(("),
    ("x.flatten(2, 1)", "PARSE", 2, "is behind"), ("x.diagonal(0, 1, 1)", "PARSE", 2, "both"),
])
def test_text_refused(text, status, pos, word):
    base = view_c.view([2, 3, 4], [12, 4, 1])
    if status is None:
        view_c.parse(base, text)
        return
    with pytest.raises(tegula_c.TegulaError) as e:
        view_c.parse(base, text)
    assert (tegula_c.STATUS[e.value.status], e.value.pos) == ("TG_ERR_" + status, pos), e.value
    assert word in e.value.message


def test_binding(tmp_path):
    """The structs of view_c.py are those of the header."""
    lines = [f'printf("{name} %zu", sizeof({name}));' +
             "".join(f'printf(" {f[0]} %zu", offsetof({name}, {f[0]}));' for f in cls._fields_) + 'puts("");'
             for name, cls in view_c.STRUCTS.items()]
    source = tmp_path / "sizes.c"
    source.write_text("#include <stdio.h>\n#include <tegula/view.h>\nint main(void) {" + "\n".join(lines) + "}\n")
    subprocess.run(["cc", "-I", tegula_c.ROOT / "include", source, "-o", tmp_path / "sizes"], check=True)
    printed = subprocess.run([tmp_path / "sizes"], check=True, capture_output=True, text=True).stdout.splitlines()
    for line, (name, cls) in zip(printed, view_c.STRUCTS.items(), strict=True):
        words = [name, str(C.sizeof(cls))]
        for field in cls._fields_:
            words += [field[0], str(getattr(cls, field[0]).offset)]
        assert line.split() == words
