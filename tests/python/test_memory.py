"""Where the tensors of a plan live: what each core reads is what it has written, counted element by element; lives and
addresses are judged a second time here."""
import itertools
import math
import random

import numpy as np
import pytest

import graph_c as g
import hlo_ctypes as hlo
import memory_c as m
import plan_hlo
import plan_oracle as o
import tegula_c as t
from test_plan_vectors import dense

GIB = 1 << 30
ATTENTION = (plan_hlo.ROOT / "examples" / "attention.hlo").read_text()


# ---- the rules, told again -----------------------------------------------------------------------------

def check(graph, plan, memory):
    assert memory.fault() == ""
    steps, rows = list(plan.steps()), memory.rows()
    outputs = {plan.step_of(x.node) for x in graph.outputs()}
    last = list(range(len(steps)))
    for i, (_, reads) in enumerate(steps):
        for r in reads:
            last[r] = i
    if not outputs:
        outputs = {i for i in range(len(steps)) if last[i] == i}
    for i in outputs:
        last[i] = len(steps) - 1
    spaces = {"lx": [], "pool": [], "own": []}
    for i, row in enumerate(rows):
        assert (row.first, row.last) == (i, last[i])
        home = m.HOMES[row.home]
        assert memory.why(i) != ""
        if home in spaces:
            spaces[home].append((0, 10 ** 9, row) if home == "own" else (row.first, row.last, row))
            assert row.address % 128 == 0 and row.bytes % 128 == 0
        if home != "lx":
            continue
        assert steps[i][0].kind == 0 and i not in outputs
        if row.in_place_of >= 0:
            parent = rows[row.in_place_of]
            assert parent.last == i and parent.address == row.address and parent.bytes >= row.bytes
            assert row.in_place_of in steps[i][1]
    for home, space in spaces.items():
        for (a, b, x), (c, d, y) in itertools.combinations(space, 2):
            apart = b < c or d < a or x.address + x.bytes <= y.address or y.address + y.bytes <= x.address
            assert apart or home == "lx" and (x.first == y.in_place_of or y.first == x.in_place_of)
    s = memory.summary
    assert [len(spaces[home]) for home in ("lx", "pool", "own")] == [s.lx_count, s.pool_count, s.own_count]
    assert s.lx_peak == max([x.address + x.bytes for *_, x in spaces["lx"]], default=0) <= s.lx_capacity
    assert all(x.address + x.bytes <= s.pool_peak for *_, x in spaces["pool"])
    readers = [{j for j, (_, reads) in enumerate(steps) if i in reads} for i in range(len(steps))]
    saved = traffic = 0
    for i, (step, _) in enumerate(steps):
        made = m.REASONS[rows[i].reason] not in ("input", "constant")
        moved = step.bytes * (len(readers[i]) + made)
        saved += moved if m.HOMES[rows[i].home] == "lx" else 0
        traffic += moved if m.HOMES[rows[i].home] in ("pool", "own", "none") else 0
    assert (saved, traffic) == (s.saved_bytes, s.traffic_bytes)


def core_slices(node, layouts, splits, core):
    """The range of each loop that a core has. Loops in sticks are cut at sticks of 64."""
    terms = [access[2] for access in node.operands] + [node.result]
    stick = {loop for of, layout in zip(terms, layouts) if layout for loop, step, *_ in of if step == layout[1][-1]}
    summed = [loop for loop in range(len(node.ranges)) if loop not in {loop for loop, *_ in node.result}]
    order = summed + [x for x in range(len(node.ranges)) if x not in summed] if node.kind == "matmul" else \
        list(range(len(node.ranges)))
    out = [None] * len(node.ranges)
    for loop in order:
        n, unit = node.ranges[loop], 64 if loop in stick else 1
        chunk = math.ceil(n / unit) // splits[loop] * unit if splits[loop] > 1 else n
        part = core % splits[loop]
        core //= splits[loop]
        out[loop] = range(part * chunk, min(n, (part + 1) * chunk))
    return out


def touched(access, slices):
    """Host elements, as a set."""
    _, offset, terms = access
    index = np.array([offset])
    for loop, step, *_ in terms:
        index = np.unique((index[:, None] + np.array(slices[loop]) * step).ravel())
    return set(index.tolist())


def sticks(elements, shape, layout):
    """Of host elements the first one in the stick of each."""
    step = layout[1][-1]
    d = next((d for d, s in dense(shape) if s == step and shape[d] > 1), None)
    return {e - (e // step % shape[d] % 64) * step for e in elements} if step > 0 and d is not None else elements


def check_cores(nodes, graph, plan, memory, cores):
    """Every core reads from LX the sticks that it has written there, and core_div_mismatch is said of nothing else."""
    steps, rows, kept = list(plan.steps()), memory.rows(), 0
    division = [plan.divide(n, cores=cores)[0] for n in range(len(nodes))]

    def cores_of(n):
        read = [steps[r][0] for r in steps[plan.step_of(n)][1]]
        layouts = [g.layout_of(s.layout) for s in read] + [plan.layout(n)]
        return [core_slices(nodes[n], layouts, division[n], core) for core in range(math.prod(division[n]))]

    for i, (step, _) in enumerate(steps):
        reason = m.REASONS[rows[i].reason]
        if reason not in ("kept", "footprint", "spilled", "division"):
            continue
        made = nodes[step.node]
        if math.prod(made.shape) > 40000:
            continue

        def seen(access, n):
            return [sticks(touched(access, s), made.shape, plan.layout(step.node)) for s in cores_of(n)]

        written = seen((0, 0, made.result), step.node)
        readers = [steps[rows[i].because_of]] if reason == "division" else \
            [reader for reader in steps if i in reader[1]]
        agree = True
        for reader, reads in readers:
            for k, r in enumerate(reads):
                if r == i:
                    agree = agree and seen(nodes[reader.node].operands[k], reader.node) == written
        assert agree == (reason != "division"), (i, reason)
        if reason == "kept":
            kept += 1
            assert rows[i].bytes >= max(map(len, written)) * 128
    return kept


@pytest.mark.parametrize("part", range(6))
def test_random_graphs(part):
    kept = divided = placed = 0
    for seed in range(part * 100, part * 100 + 100):
        rng = random.Random(seed)
        nodes = o.graph_nodes(o.random_graph(seed, 4 + seed % 8))
        with g.Graph(nodes) as graph, g.Plan(graph, model=rng.choice(g.MODELS)) as plan:
            if not plan.summary.feasible:
                continue
            cores = rng.choice([1, 2, 4, 7, 32])
            for solver in m.SOLVERS:
                lx = rng.choice([None, 0, 256, 4096, 65536])
                with m.Memory(graph, plan, solver, lx, cores=cores) as memory:
                    check(graph, plan, memory)
                    placed += memory.summary.lx_count
                    if solver == "exact":
                        kept += check_cores(nodes, graph, plan, memory, cores)
                        divided += sum(m.REASONS[row.reason] == "division" for row in memory.rows())
                        best = memory.summary
                        assert best.saved_bytes <= best.bound_bytes
                        assert best.optimal == (best.saved_bytes == best.bound_bytes)
    assert kept > 5 and divided > 2 and placed > 30


# ---- one reason after the other ----------------------------------------------------------------------------

def reasons(text, **params):
    """{name or name' of a copy: (home, reason, why)}"""
    with hlo.Module(text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        names = [str(n.name) for n in graph.nodes()]
        with g.Plan(graph) as plan, m.Memory(graph, plan, **params) as memory:
            check(graph, plan, memory)
            return {names[s.node] + ("", "'", "+")[s.kind]: (m.HOMES[row.home], m.REASONS[row.reason], memory.why(i))
                    for i, ((s, _), row) in enumerate(zip(plan.steps(), memory.rows()))}


def test_attention():
    found = reasons(ATTENTION)
    assert {name for name, (home, *_) in found.items() if home == "lx"} == {"top", "below", "powers", "total"}
    assert found["k"] == ("pool", "restickify", "read by a restickify, which works from HBM to HBM, for the copy of k")
    assert found["k'"] == ("pool", "restickify", "written by a restickify, which works from HBM to HBM")
    assert found["scores"] == ("pool", "division", "top slices it in another way")
    assert found["out"] == ("own", "output", "a result of the graph is wanted in HBM")
    assert found["x"] == ("own", "input", "an input comes in HBM")
    assert found["low"] == ("own", "constant", "a constant comes in HBM")


CHAIN = ("ENTRY e {\n a = f16[128,256] parameter(0)\n b = f16[128,256] negate(a)\n c = f16[128,256] exponential(b)\n"
         " d = f16[128,256] negate(c)\n u = f16[128,256] negate(c)\n"
         " s = f16[128,256] custom-call(d), custom_call_target=\"s\"\n"
         " x = f16[128,256] add(b, d)\n ROOT r = f16[128,256] abs(x)\n}\n")


def test_chain():
    found = reasons(CHAIN)
    assert found["b"][:2] == ("lx", "kept") and found["x"][:2] == ("lx", "kept")
    assert found["d"] == ("pool", "no kernel", "s, which reads it, is no kernel of the device")
    assert found["s"] == ("pool", "no kernel", "made by what is no kernel of the device")
    assert found["u"] == ("pool", "unread", "no consumer reads it from LX")


def test_room():
    """A core's piece is 2048 bytes of 65536: with less there is no room for any, with 4095 for one at a time."""
    found = reasons(CHAIN, lx_bytes=2047)
    assert found["b"][:2] == ("pool", "footprint")
    assert found["b"][2] == "a core's piece of 65536 bytes is more than LX has, 2047"
    found = reasons(CHAIN, lx_bytes=4095)
    homes = [found[name][:2] for name in "bcx"]
    assert sorted(homes) == [("lx", "kept"), ("lx", "kept"), ("pool", "spilled")]


def test_in_place():
    """x takes the place of its first operand: two at once would not fit."""
    text = ("ENTRY e {\n a = f16[128,256] parameter(0)\n b = f16[128,256] negate(a)\n c = f16[128,256] negate(b)\n"
            " ROOT d = f16[128,256] negate(c)\n}\n")
    for solver in m.SOLVERS:
        found = reasons(text, lx_bytes=2048, solver=solver)
        assert found["c"] == ("lx", "kept", "its readers slice it as its producer does; in the place of b")
    turned = text.replace("negate(b)", "add(b, b)").replace("128,256", "256,256")
    turned = turned.replace(" c =", " t = f16[256,256] transpose(b), dimensions={1,0}\n c =")
    turned = turned.replace("(b, b)", "(b, t)")
    assert all("in the place of b" not in why for *_, why in reasons(turned).values())


def test_fill_and_gather():
    found = reasons("ENTRY e {\n a = f16[64,150] parameter(0)\n b = f16[150,64] parameter(1)\n"
                    " n = f16[150,64] negate(b)\n"
                    " ROOT r = f16[64,64] dot(a, n), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n")
    assert found["n"] == ("pool", "fill", "read by a fill, for the filled copy of n")
    assert found["n+"] == ("pool", "fill", "written by a fill")
    found = reasons("ENTRY e {\n a = f16[64,128] parameter(0)\n i = s32[8,1] parameter(1)\n n = f16[64,128] negate(a)\n"
                    " r = f16[8,128] gather(n, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                    "index_vector_dim=1, slice_sizes={1,128}\n ROOT s = f16[8,128] negate(r)\n}\n", cores=1)
    assert found["n"][1:] == ("no kernel", "r reads it by index") or found["n"][1] == "restickify"


# ---- HBM ----------------------------------------------------------------------------------------------------

def negations(sizes, arguments=1):
    """Inputs of 128 bytes, and each size in sticks written and read once; every second one is read again later."""
    nodes = [g.Node("input", [64]) for _ in range(arguments)]
    for n in sizes:
        shape = [n, 64]
        nodes.append(g.Node("clone", shape, shape, [(len(nodes) - 1, 0, [(1, 1)])], dense(shape)))
    return nodes


def homes(nodes, **params):
    with g.Graph(nodes) as graph, g.Plan(graph) as plan, m.Memory(graph, plan, **params) as memory:
        check(graph, plan, memory)
        return [(m.HOMES[r.home], r.address) for r in memory.rows()], memory.summary


def test_pool_follows_the_program():
    """3, 2, 1 and 1 sticks one after the other: the third fits into the first hole, the last one is the result."""
    found, summary = homes(negations([3, 2, 1, 1]))
    assert found == [("own", 16 * GIB), ("pool", 0), ("pool", 384), ("pool", 0), ("own", 32 * GIB)]
    assert summary.pool_peak == 640
    found, _ = homes(negations([3, 2, 1, 1]), pool_bytes=384)
    assert found == [("own", 16 * GIB), ("pool", 0), ("own", 16 * GIB + 128), ("pool", 0), ("own", 32 * GIB)]


def test_segments():
    """Six arguments have segments of their own; seven share."""
    found, _ = homes(negations([1], arguments=5))
    assert [address for _, address in found] == [16 * GIB * (i + 1) for i in range(6)]
    found, _ = homes(negations([1], arguments=6))
    assert [address for _, address in found] == [16 * GIB + 128 * i for i in range(7)]


def test_what_does_not_fit():
    rows = 16 * GIB // 128
    found, summary = homes([g.Node("input", [rows, 64])] + negations([rows + 1])[1:])
    assert found[0] == ("own", 16 * GIB) and found[1] == ("none", -1)
    assert (summary.none_count, summary.none_bytes) == (1, 16 * GIB + 128)
    found, summary = homes([g.Node("input", [rows, 64]) for _ in range(7)])
    assert [home for home, _ in found] == ["own"] * 6 + ["none"]


def test_refused_plans():
    """One that is not feasible, one of another graph, and one from before the graph grew."""
    bad = [g.Node("input", [64, 64, 64]), g.Node("input", [64, 64]),
           g.Node("reduce", [64, 64], [64, 64, 64], [(0, 0, dense([64, 64, 64]))], [(0, 64), (1, 1)]),
           g.Node("pointwise", [64, 64], [64, 64], [(2, 0, dense([64, 64])), (1, 0, dense([64, 64]))],
                  dense([64, 64]))]
    with g.Graph(bad) as graph, g.Graph(negations([1])) as other, g.Plan(graph) as plan, g.Plan(other) as fine:
        assert not plan.summary.feasible
        for of, planned in ((graph, plan), (graph, fine)):
            with pytest.raises(t.TegulaError) as refused:
                m.Memory(of, planned)
            assert refused.value.status == t.ERR_ARGUMENT and "the plan is not feasible" in refused.value.message
        other.add(g.Node("input", [64]))
        with pytest.raises(t.TegulaError):
            m.Memory(other, fine)


@pytest.mark.parametrize("params", [{"lx_bytes": -1}, {"pool_bytes": -1}, {"pool_bytes": 16 * GIB + 1}, {"cores": 33},
                                    {"max_branches": -1}])
def test_refused_params(params):
    with pytest.raises(t.TegulaError) as refused:
        homes(negations([1]), **params)
    assert refused.value.status == t.ERR_ARGUMENT
