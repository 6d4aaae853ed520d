"""Programs with loops, run round by round in the memory that was planned: every step finds what was made for it."""
import pytest

import graph_c as g
import hlo_ctypes as hlo
import memory_c as m
import tegula_c as t

SWAP = """
cond { p = (f16[128,256], f16[128,256], f16[256,128], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=3
  n = s32[] constant(6)
  ROOT lt = pred[] compare(i, n), direction=LT
}
body { p = (f16[128,256], f16[128,256], f16[256,128], s32[]) parameter(0)
  a = f16[128,256] get-tuple-element(p), index=0
  b = f16[128,256] get-tuple-element(p), index=1
  w = f16[256,128] get-tuple-element(p), index=2
  i = s32[] get-tuple-element(p), index=3
  one = s32[] constant(1)
  j = s32[] add(i, one)
  m = f16[128,128] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  q = f16[128,256] dot(m, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  s = f16[128,256] add(q, b)
  z = f16[128,256] negate(s)
  y = f16[128,256] tanh(z)
  ROOT t = (f16[128,256], f16[128,256], f16[256,128], s32[]) tuple(y, a, w, j)
}
ENTRY e { x = f16[128,256] parameter(0)
  w = f16[256,128] parameter(1)
  zero = s32[] constant(0)
  nx = f16[128,256] negate(x)
  t = (f16[128,256], f16[128,256], f16[256,128], s32[]) tuple(x, nx, w, zero)
  l = (f16[128,256], f16[128,256], f16[256,128], s32[]) while(t), condition=cond, body=body
  r = f16[128,256] get-tuple-element(l), index=0
  b = f16[128,256] get-tuple-element(l), index=1
  ROOT o = f16[128,256] add(r, b)
}
"""

# A loop in a loop; what the inner one hands on, turned, is handed on by the outer one.
NESTED = """
icond { p = (f16[128,128], f16[128,128]) parameter(0)
  ROOT c = pred[] constant(true)
}
inner { p = (f16[128,128], f16[128,128]) parameter(0)
  a = f16[128,128] get-tuple-element(p), index=0
  w = f16[128,128] get-tuple-element(p), index=1
  d = f16[128,128] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  n = f16[128,128] exponential(d)
  ROOT t = (f16[128,128], f16[128,128]) tuple(n, w)
}
outer { p = (f16[128,128], f16[128,128], f16[128,128]) parameter(0)
  a = f16[128,128] get-tuple-element(p), index=0
  w = f16[128,128] get-tuple-element(p), index=1
  k = f16[128,128] get-tuple-element(p), index=2
  v = f16[128,128] negate(w)
  s = (f16[128,128], f16[128,128]) tuple(a, v)
  l = (f16[128,128], f16[128,128]) while(s), condition=icond, body=inner
  r = f16[128,128] get-tuple-element(l), index=0
  x = f16[128,128] transpose(r), dimensions={1,0}
  y = f16[128,128] add(x, k)
  z = f16[128,128] transpose(w), dimensions={1,0}
  ROOT t = (f16[128,128], f16[128,128], f16[128,128]) tuple(y, z, k)
}
ocond { p = (f16[128,128], f16[128,128], f16[128,128]) parameter(0)
  ROOT c = pred[] constant(true)
}
ENTRY e { a = f16[128,128] parameter(0)
  w = f16[128,128] parameter(1)
  k = f16[128,128] parameter(2)
  t = (f16[128,128], f16[128,128], f16[128,128]) tuple(a, w, k)
  ROOT l = (f16[128,128], f16[128,128], f16[128,128]) while(t), condition=ocond, body=outer
}
"""


class Run:
    """`known` has what the program means, by steps, `places` what is in memory: (space, address, bytes) -> value."""

    def __init__(self, graph, plan, memory):
        self.kinds = [g.KINDS[n.kind] for n in graph.nodes()]
        self.steps, self.rows = list(plan.steps()), memory.rows()
        self.loops = [(plan.step_of(x.first - 1) + 1 if x.first else 0, plan.step_of(x.end - 1)) for x in graph.loops()]
        self.known, self.places, self.count = {}, {}, 0

    def carries(self, i):
        step, _ = self.steps[i]
        return step.kind == 0 and self.rows[i].in_place_of >= 0 and m.REASONS[self.rows[i].reason] in (
            "loop", "output", "host") or step.kind == 0 and self.kinds[step.node] == "carry"

    def place(self, i):
        row = self.rows[i]
        if m.HOMES[row.home] == "host":
            while self.rows[i].in_place_of >= 0:
                i = self.rows[i].in_place_of
            return "host", i * 128, 128
        return "lx" if m.HOMES[row.home] == "lx" else "hbm", row.address, row.bytes

    def step(self, i):
        reads = self.steps[i][1][1:] if self.carries(i) else self.steps[i][1]
        for r in reads:
            assert self.places.get(self.place(r)) == self.known[r], f"step {i} does not find what step {r} made"
        value = tuple(self.known[r] for r in reads)
        self.count += 1
        self.known[i] = value[0] if self.carries(i) else hash((i, value)) if reads else hash((i, self.count))
        space, address, size = self.place(i)
        for other in [p for p in self.places if p[0] == space and p[1] < address + size and address < p[1] + p[2]]:
            del self.places[other]
        self.places[space, address, size] = self.known[i]

    def span(self, first, last, rounds, loops):
        i = first
        while i <= last:
            inner = next((x for x in loops if x[0] == i), None)
            if inner is None:
                self.step(i)
                i += 1
                continue
            rest = loops[loops.index(inner) + 1:]
            for _ in range(rounds):
                self.span(*inner, rounds, rest)
                carried = {self.steps[k][1][0]: self.known[k] for k in range(inner[0], inner[1] + 1)
                           if self.carries(k) and self.steps[k][1][0] < inner[0]}
                self.known.update(carried)
            i = inner[1] + 1

    def rounds(self, rounds):
        self.span(0, len(self.steps) - 1, rounds, self.loops)


def check_rounds(graph, plan, memory):
    for rounds in (1, 2, 3):
        Run(graph, plan, memory).rounds(rounds)


@pytest.mark.parametrize("text", [SWAP, NESTED], ids=["swap", "nested"])
@pytest.mark.parametrize("solver", m.SOLVERS)
@pytest.mark.parametrize("lx_bytes", [None, 0, 4096])
def test_rounds(text, solver, lx_bytes):
    with hlo.Module(text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan, m.Memory(graph, plan, solver, lx_bytes=lx_bytes) as memory:
            assert plan.fault() == "" and memory.fault() == ""
            check_rounds(graph, plan, memory)
            carried = [row for row, (step, _) in zip(memory.rows(), plan.steps())
                       if step.kind == 0 and g.KINDS[graph.nodes()[step.node].kind] == "carry"]
            assert len(carried) == {SWAP: 3, NESTED: 3}[text] and all(row.in_place_of >= 0 for row in carried)


def test_loops_of_a_graph():
    with hlo.Module(NESTED) as module, g.Graph() as graph:
        graph.add_hlo(module)
        names = [str(n.name) for n in graph.nodes()]
        found = [(names[x.first], names[x.end - 1], names[x.test]) for x in graph.loops()]
        assert found == [("l/c", "l/next#1", "l/c"), ("l/l/c", "l/l/next#0", "l/l/c")]


@pytest.mark.parametrize("first, end, test", [(-1, 2, -1), (1, 1, -1), (2, 1, -1), (0, 9, -1), (0, 2, 8), (0, 2, -2),
                                              (2, 5, -1), (0, 2, -1)])
def test_loops_that_are_none(first, end, test):
    dense = [(0, 128), (1, 1)]
    nodes = [g.Node("input", (128, 128))] + [
        g.Node("pointwise", (128, 128), (128, 128), [(k, 0, dense)], dense) for k in range(7)]
    with g.Graph(nodes) as graph:
        graph.add_loop(1, 4)
        graph.add_loop(1, 3)
        graph.add_loop(4, 8, 2)
        with pytest.raises(t.TegulaError) as caught:
            graph.add_loop(first, end, test)
        assert caught.value.status == t.STATUS.index("TG_ERR_ARGUMENT")
        assert [(x.first, x.end, x.test) for x in graph.loops()] == [(1, 4, -1), (1, 3, -1), (4, 8, 2)]
