"""The planner against its definition: all plans tried on small graphs, HiGHS on larger ones, and a verifier that knows
only the rules."""
import os

import pytest

import graph_c as g
import plan_oracle as o

SMALL = int(os.environ.get("TEGULA_PLANS", "1500"))


def judge(ops, seed, wanted, **params):
    with g.Graph(o.graph_nodes(ops)) as graph, g.Plan(graph, **params) as plan:
        s = plan.summary
        assert s.feasible == (wanted is not None), f"seed {seed}: oracle {wanted}, feasible {s.feasible}"
        if wanted is None:
            return check_conflict(graph, plan, seed)
        assert s.optimal and s.cost == s.lower_bound == s.restickify_bytes, f"seed {seed}"
        assert s.cost == wanted, f"seed {seed}: oracle {wanted}, planner {s.cost}"
        assert plan.fault() == "", f"seed {seed}: {plan.fault()}"
        assert sum(ops[node].times * bytes_ for node, *_, bytes_, _ in plan.restickifies()) == s.cost
        for method in ("greedy", "beam"):
            with g.Plan(graph, method=method, **params) as other:
                if other.summary.feasible:
                    assert other.summary.cost >= s.cost, f"seed {seed}: {method}"
                    assert other.fault() == "", f"seed {seed}: {method}: {other.fault()}"


def check_conflict(graph, plan, seed):
    """The conflict is there, in order, and of operations alone."""
    nodes = plan.conflict()
    assert nodes and nodes == sorted(set(nodes)), f"seed {seed}: {nodes}"
    kinds = [g.KINDS[info.kind] for info in graph.nodes()]
    assert all(kinds[node] not in ("input", "constant", "clone") for node in nodes), f"seed {seed}: {nodes}"


@pytest.mark.parametrize("part", range(10))
def test_small_graphs(part):
    answers = []
    for seed in range(part, SMALL, 10):
        ops = o.random_graph(seed, 5 + seed % 4)
        answers.append(o.cheapest(ops))
        judge(ops, seed, answers[-1])
    assert any(answers) and None in answers  # copies are needed, and some graphs have no plan


@pytest.mark.parametrize("part", range(4))
def test_small_graphs_in_loops(part):
    """With searches, and values that are carried on from round to round."""
    answers = []
    for seed in range(part, SMALL, 4):
        ops = o.random_graph(3000000 + seed, 5 + seed % 3, o.random_loop_op)
        answers.append(o.cheapest(ops))
        judge(ops, seed, answers[-1])
    assert any(answers) and None in answers


@pytest.mark.parametrize("part", range(4))
def test_operands_of_reductions_may_be_copied(part):
    """Into layouts with a dimension in the sticks that is summed up, too."""
    better = 0
    for seed in range(part, SMALL, 4):
        ops = o.random_graph(4000000 + seed, 5 + seed % 3)
        wanted = o.cheapest(ops, relay=True)
        judge(ops, seed, wanted, relay_reductions=True)
        better += wanted != o.cheapest(ops)
    assert better


@pytest.mark.parametrize("seed", range(20))
def test_highs_agrees(seed):
    ops = o.random_graph(1000000 + seed, 14 + 4 * (seed % 6))
    judge(ops, seed, o.milp(ops))


def test_oracles_agree():
    for seed in range(60):
        ops = o.random_graph(2000000 + seed, 6)
        assert o.cheapest(ops) == o.milp(ops), f"seed {seed}"
