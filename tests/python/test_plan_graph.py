"""The interface of graphs: the binding, what the verifier refuses, what a plan says of itself."""
import ctypes
import subprocess

import pytest

import graph_c as g
import plan_oracle as o
import tegula_c as t


def check_structs(tmp_path, header, structs):
    """What the binding says of structs is what the header has."""
    lines = ["#include <stdio.h>", f"#include <{header}>", "int main(void) {"]
    want, renamed = [], {"source": "from"}
    for name, struct in structs.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        want.append(f"{name} {ctypes.sizeof(struct)}")
        for field, _ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {renamed.get(field, field)}));')
            want.append(f"{name}.{field} {getattr(struct, field).offset}")
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text("\n".join(lines + ["return 0; }"]))
    subprocess.run(["gcc", "-std=c11", f"-I{t.ROOT / 'include'}", source, "-o", program], check=True)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines() == want


def test_structs_match_the_header(tmp_path):
    check_structs(tmp_path, "tegula/graph.h", g.STRUCTS)


# ---- the verifier ---------------------------------------------------------------------------------------------

SQUARE = [128, 128]
STRAIGHT, TURNED = [(0, 128), (1, 1)], [(0, 1), (1, 128)]


def addition(first, second, **more):
    return [g.Node("input", SQUARE), g.Node("input", SQUARE),
            g.Node("pointwise", SQUARE, SQUARE, [(0, 0, first), (1, 0, second)], STRAIGHT, **more)]


def product(second):
    return [g.Node("input", SQUARE), g.Node("input", SQUARE),
            g.Node("matmul", SQUARE, [128, 128, 128], [(0, 0, [(0, 128), (2, 1)]), (1, 0, second)], STRAIGHT)]


def clone(kind):
    return [g.Node("input", SQUARE), g.Node(kind, SQUARE, SQUARE, [(0, 0, TURNED)], STRAIGHT)]


COLUMNS, TURNED_COLUMNS = [(2, 128), (1, 1)], [(2, 1), (1, 128)]


@pytest.mark.parametrize("planned, judged, fault", [
    (addition(STRAIGHT, STRAIGHT), addition(TURNED, STRAIGHT), "do not agree"),
    (addition(TURNED, STRAIGHT), addition(STRAIGHT, STRAIGHT), "do not agree"),
    (addition(STRAIGHT, STRAIGHT), addition(STRAIGHT, STRAIGHT, no_stick=2), "must not be there"),
    (addition(STRAIGHT, STRAIGHT), addition([(0, 128), (1, 2, 64)], STRAIGHT), "cannot be expressed"),
    (product(COLUMNS), product(TURNED_COLUMNS), "a product wants"),
    (product(TURNED_COLUMNS), product(COLUMNS), "a product wants"),
    (clone("pointwise"), clone("clone"), "does not have the default layout"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_verifier_refuses_plans_of_other_graphs(planned, judged, fault):
    with g.Graph(planned) as graph, g.Plan(graph) as plan:
        assert plan.summary.feasible and plan.fault() == ""
        with g.Graph(judged) as other:
            plan.graph = other
            assert fault in plan.fault()
            plan.graph = graph


def test_nothing_is_a_plan_of_nothing():
    with g.Graph() as graph, g.Plan(graph) as plan:
        assert plan.summary.feasible and plan.summary.optimal and plan.summary.cost == 0 and plan.fault() == ""


def test_infeasible_plans_are_none():
    ops = next(ops for ops in (o.random_graph(seed, 6) for seed in range(1000)) if o.cheapest(ops) is None)
    with g.Graph(o.graph_nodes(ops)) as graph, g.Plan(graph) as plan:
        assert not plan.summary.feasible and plan.fault() == "the plan: it is not feasible"
        assert plan.layout(0) is None and list(plan.restickifies()) == []


# ---- conflicts ----------------------------------------------------------------------------------------------------

def test_conflicts_are_smallest():
    """Without any one of its nodes (taken out of the demands: made a clone) a conflict is none."""
    tried = 0
    for seed in range(400):
        ops = o.random_graph(seed, 7)
        with g.Graph(o.graph_nodes(ops)) as graph, g.Plan(graph) as plan:
            if plan.summary.feasible:
                continue
            conflict = plan.conflict()
        tried += 1
        # Nodes outside of the conflict ask for nothing; what their results may be stays as it is.
        of, found = o.all_ways(ops)
        for left_out in [None, *conflict]:
            asking = [i for i in conflict if i != left_out]
            assert has_plan(ops, of, found, asking) == (left_out is not None), f"seed {seed}: {conflict}"
    assert tried > 20


def has_plan(ops, of, found, asking):
    """Is there a stick for every tensor such that the asking nodes can work?"""
    def go(i, sticks):
        if i == len(ops):
            return True
        for out in of[i]:
            ways = [c for o_, c in found[i] if o_ == out] if i in asking else [None]
            if any(c is None or all(sticks[n] == s for (n, _), (s, _) in zip(ops[i].operands, c)) for c in ways) and \
                    go(i + 1, [*sticks, out]):
                return True
        return False
    return go(0, [])
