"""The program of a plan: every node, copy and fill once, in an order in which it can run."""
import math

import pytest

import graph_c as g
import hlo_ctypes as hlo
import plan_oracle as o
import tegula_c as t
from test_plan_vectors import product


def program(graph, plan):
    """What the header promises of the steps, each line of it; then their names: "n0", "n0'" copied, "n0+" filled."""
    steps, nodes, names = list(plan.steps()), graph.nodes(), []
    copies, fills = list(plan.restickifies()), list(plan.paddings())
    assert [s.index for s, _ in steps if s.kind == 0] == list(range(len(nodes)))
    assert sorted(s.index for s, _ in steps if s.kind == 1) == list(range(len(copies)))
    assert sorted(s.index for s, _ in steps if s.kind == 2) == [i for i, p in enumerate(fills) if p[0] == "fill"]
    readers = {reader: i for i, copy in enumerate(copies) for reader in copy[4]}
    for i, (step, reads) in enumerate(steps):
        kind = g.STEPS[step.kind]
        assert all(0 <= r < i for r in reads)
        assert step.on_device == (step.bytes > 0 or math.prod(step.layout.device_size[:step.layout.rank]) == 0)
        if kind == "node":
            assert step.node == step.index and plan.step_of(step.node) == i
            assert (g.layout_of(step.layout) if step.on_device else None) == plan.layout(step.node)
            assert len(reads) == nodes[step.node].noperands
            for k, r in enumerate(reads):
                made = steps[r][0]
                assert made.node == g.lib.tg_graph_operand(graph.handle, step.node, k)
                if made.kind == 2:
                    assert fills[made.index][:2] == ("fill", made.node)
                    made = steps[steps[r][1][0]][0]
                assert (made.index if made.kind == 1 else None) == readers.get((step.node, k))
        else:
            # the first node behind it is its first reader
            first = next(j for j in range(i, len(steps)) if steps[j][0].kind == 0)
            assert any(i in steps[j][1] for j in range(i + 1, first + 1))
            assert steps[reads[0]][0].node == step.node and len(reads) == 1
        if kind == "restickify":
            assert step.node == copies[step.index][0] and g.layout_of(step.layout) == copies[step.index][2]
            assert steps[reads[0]][0].kind == 0
        if step.on_device:
            bits = t.lib.tg_format_bits(step.layout.device_dtype)
            assert step.bytes * 8 == math.prod(step.layout.device_size[:step.layout.rank]) * bits
        names.append(f"n{step.node}" + ("", "'", "+")[step.kind])
    return " ".join(names)


def test_copies_run_before_their_first_reader():
    """n3 = n0.t() + n1 and n4 = n1.t() @ n0 share a copy of n1; n2 = -n1 reads n1 itself."""
    shape, straight, turned = [128, 192], [(0, 192), (1, 1)], [(0, 1), (1, 128)]
    nodes = [g.Node("input", [192, 128]), g.Node("input", shape),
             g.Node("pointwise", shape, shape, [(1, 0, straight)], straight),
             g.Node("pointwise", shape, shape, [(0, 0, turned), (1, 0, straight)], straight),
             g.Node("matmul", [192, 128], [192, 128, 128], [(1, 0, [(2, 192), (0, 1)]), (0, 0, [(2, 128), (1, 1)])],
                    [(0, 128), (1, 1)])]
    with g.Graph(nodes) as graph, g.Plan(graph) as plan:
        assert program(graph, plan) == "n0 n1 n2 n1' n3 n4"


@pytest.mark.parametrize("model, wanted", [("tegula", "n0 n1 n1' n1+ n2 n3"),
                                           ("torch-spyre", "n0 n1 n1' n1+ n2 n1' n1+ n3")])
def test_a_copy_is_filled(model, wanted):
    """x @ y.t() with 150 summed up: the copy of y has 192 rows, of which 42 are zeros."""
    nodes = product([128, 150], [150, 64])
    nodes[1] = g.Node("input", [64, 150])
    nodes[2].operands[1] = (1, 0, [(2, 1), (1, 150)])
    nodes.append(g.Node("matmul", [128, 64], [128, 64, 150], nodes[2].operands, nodes[2].result))
    with g.Graph(nodes) as graph, g.Plan(graph, model=model) as plan:
        assert program(graph, plan) == wanted
        step = next(s for s, _ in plan.steps() if s.kind == 2)
        assert g.layout_of(step.layout) == ((1, 192, 64), (9600, 1, 150))
        assert step.bytes == 192 * 128


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part):
    for seed in range(part * 100, part * 100 + 100):
        nodes = o.graph_nodes(o.random_graph(seed, 3 + seed % 9))
        for model in g.MODELS:
            with g.Graph(nodes) as graph, g.Plan(graph, model=model) as plan:
                if plan.summary.feasible:
                    program(graph, plan)


# ---- outputs ----------------------------------------------------------------------------------------------

def test_outputs_of_hlo():
    """Those of the root, tuples taken apart, with the view that they are of their nodes."""
    text = ("ENTRY e {\n a = f16[4,64] parameter(0)\n n = f16[4,64] negate(a)\n t = f16[64,4] transpose(n), "
            "dimensions={1,0}\n s = f16[2,64] slice(n), slice={[2:4], [0:64]}\n"
            " p = (f16[64,4], f16[2,64]) tuple(t, s)\n"
            " ROOT r = ((f16[64,4], f16[2,64]), f16[4,64]) tuple(p, a)\n}\n")
    with hlo.Module(text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        found = [(x.node, list(x.view.shape[:2]), list(x.view.strides[:2]), x.view.offset) for x in graph.outputs()]
    assert found == [(1, [64, 4], [1, 64], 0), (1, [2, 64], [64, 1], 128), (0, [4, 64], [64, 1], 0)]


@pytest.mark.parametrize("node, shape, strides, fault", [
    (1, [4, 64], None, "node 1"), (-1, [4, 64], None, "node -1"), (0, [4, 65], None, "ends at element 260"),
    (0, [5, 64], [64, 1], "ends at element 320"), (0, [4, 64], [-64, 1], "below 0")])
def test_outputs_that_are_none(node, shape, strides, fault):
    with g.Graph([g.Node("input", [4, 64])]) as graph:
        with pytest.raises(t.TegulaError) as refused:
            graph.add_output(node, g.host_of(shape, strides))
        assert fault in refused.value.message and graph.outputs() == []
        graph.add_output(0)
        assert [x.node for x in graph.outputs()] == [0]


def test_roots_without_end():
    """Tuples of tuples: each line doubles what came before, or goes one deeper."""
    for wide in (True, False):
        again = (lambda i: f", t{i - 1}") if wide else (lambda i: "")
        lines = [f" t{i} = tuple(t{i - 1}{again(i)})" for i in range(1, 60 if wide else 300)]
        text = "ENTRY e {\n t0 = f16[] parameter(0)\n" + "\n".join(lines[:-1]) + "\n ROOT" + lines[-1] + "\n}\n"
        with hlo.Module(text) as module, g.Graph() as graph, pytest.raises(t.TegulaError) as refused:
            graph.add_hlo(module)
        assert "the root has more than" in refused.value.message
