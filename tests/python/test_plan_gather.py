"""A gather moves whole sticks: what finds plans and what judges them ask for the same, with rows and without."""
import itertools

import pytest

import graph_c as g
import plan_hlo


def graph(layout, shape, table_terms, result, ranges, result_terms):
    return [g.Node("input", shape, layout=layout),
            g.Node("gather", result, ranges, [(0, 0, table_terms)], result_terms)]


def judged(nodes):
    """Feasible, and what the verifier says of what was found."""
    with g.Graph(nodes) as one, g.Plan(one) as plan:
        return plan.summary.feasible, plan.fault() if plan.summary.feasible else ""


def test_rows_in_common_have_a_plan():
    nodes = graph(None, [64, 128], [(-1, 128, 0, 64), (1, 1)], [10, 128], [10, 128], [(0, 128), (1, 1)])
    assert judged(nodes) == (True, "")


SINGLE = graph(None, [64], [(-1, 1, 0, 64)], [10], [10], [(0, 1)])


def test_single_elements_are_picked_from_any_layout():
    """There is no loop that walks table and result: the host picks them, and the result is sparse."""
    assert judged(SINGLE) == (True, "")
    with g.Graph(SINGLE) as one, g.Plan(one) as plan:
        assert plan.layout(1)[1][-1] == -1


def test_a_plan_with_rows_is_none_without():
    """The result is in sticks, or is not: the verifier tells that of another graph with the same tensors."""
    rows = graph(None, [64], [(0, 1)], [64], [64], [(0, 1)])
    single = graph(None, [64], [(-1, 1, 0, 64)], [64], [64], [(0, 1)])
    for planned, other in ((rows, single), (single, rows)):
        with g.Graph(planned) as one, g.Plan(one) as plan, g.Graph(other) as two:
            assert plan.fault() == ""
            plan.graph = two
            assert "a gather has a loop within its rows" in plan.fault()
            plan.graph = one


TABLE = """ENTRY main {
  t = f16[6,70,128] parameter(0), frontend_attributes={spyre_layout="spyre dim_order=%s"}
  i = s32[5] parameter(1)
  ROOT r = f16[5,6,128] gather(t, i), offset_dims={1,2}, collapsed_slice_dims={1}, start_index_map={1},
    index_vector_dim=1, slice_sizes={6,1,128}
}
"""


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_a_table_in_any_layout_is_read_right(order):
    """As torch-spyre plans it, too: what does not lie in sticks as the result does is picked by the host."""
    for model in ("tegula", "torch-spyre"):
        done = plan_hlo.run(TABLE % list(order), "--run", "--model", model)
        assert done.returncode == 0, done.stderr
