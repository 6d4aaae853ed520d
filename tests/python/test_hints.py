"""What users want: layouts of results, and splits, in HLO text and through the C interface."""
import subprocess

import pytest

import graph_c as g
import plan_hlo
import tegula_c as t
from test_plan_graph import SQUARE, STRAIGHT, addition
from test_plan_vectors import product

M = "f16[128,128]"
PLAIN = ((2, 128, 64), (64, 128, 1))
TURNED = ((2, 128, 64), (8192, 1, 128))


def want(says, body="ROOT c = {m} add(a, b)"):
    return f"ENTRY e {{ a = {M} parameter(0)\n  b = {M} parameter(1)\n  " + \
        body.replace("{m}", M) + f", frontend_attributes={{{says}}} }}"


def ops_of(answer):
    return {op["name"]: op for op in answer["ops"]}


# ---- layouts ----------------------------------------------------------------------------------------------

def test_a_layout_in_hlo():
    assert plan_hlo.plan(want('spyre_layout="spyre"'))["restickifies"] == []
    answer = plan_hlo.plan(want('spyre_layout="spyre dim_order=[1,0]"'))
    assert sorted(r["producer"] for r in answer["restickifies"]) == ["a", "b"] and answer["optimal"]
    assert ops_of(answer)["c"]["layout"].endswith("device_size=[2,128,64] stride_map=[8192,1,128]")


@pytest.mark.parametrize("says, body, words", [
    ('spyre_layout="spyre dim_order=[0,1,-1]"', "ROOT c = {m} add(a, b)", "c cannot have the layout"),
    ('spyre_layout="spyre dim_order=[1,0]"',
     "ROOT c = {m} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "y and the result have the columns"),
    ('spyre_layout="spyre dim_order=[1,0]"', "ROOT c = {m} cholesky(a)", "its result has the default layout"),
    ('spyre_layout="spyre dim_order=[1,0]"', "ROOT c = {m} transpose(a), dimensions={1,0}", "not for views"),
    ('spyre_layout="strides=[1,128]"', "ROOT c = {m} add(a, b)", "strides"),
    ("spyre_layout=plain", "ROOT c = {m} add(a, b)", "a quoted text"),
    ('spyre_splits="8"', "ROOT c = {m} add(a, b)", "a list like p0=8,p1=4"),
    ('spyre_splits="p0=8;"', "ROOT c = {m} add(a, b)", "a list like p0=8,p1=4"),
    ('spyre_splits="p2=8"', "ROOT c = {m} add(a, b)", "names a loop that it does not have"),
    ('spyre_splits="p0=3"', "ROOT c = {m} add(a, b)", "c: loop 0 has 128 rounds, which are no multiple of 3 slices"),
    ('spyre_tiles="p0"', "ROOT c = {m} add(a, b)", "c: spyre_tiles is to be a list like p0=8,p1=4"),
    ('spyre_tiles="p0=8,"', "ROOT c = {m} add(a, b)", "c: spyre_tiles is to be a list like p0=8,p1=4"),
    ('spyre_tiles=""', "ROOT c = {m} add(a, b)", "c: spyre_tiles is to be a list like p0=8,p1=4"),
    ('spyre_tiles=8', "ROOT c = {m} add(a, b)", "c: spyre_tiles is to be a quoted text"),
    ('spyre_tiles="p2=8"', "ROOT c = {m} add(a, b)", "c: spyre_tiles names a loop that it does not have"),
    ('spyre_tiles="p0=3"', "ROOT c = {m} add(a, b)", "c: loop 0 has 128 rounds, which are no multiple of 3 tiles"),
    ('spyre_tiles="p0=8"', "ROOT c = {m} transpose(a), dimensions={1,0}", "not for views"),
    ('spyre_tiles="p0=8"', "ROOT c = {m} cholesky(a)", "splits and tiles are of what runs on the device"),
    ('spyre_splits="p0=8"', "ROOT c = {m} cholesky(a)", "splits and tiles are of what runs on the device"),
    ('spyre_splits="p0=32,p1=2"', "ROOT c = {m} add(a, b)", "more slices than 32 cores"),
])
def test_what_cannot_be_is_an_error(says, body, words):
    done = subprocess.run([plan_hlo.TEGULA, "plan", "-"], input=want(says, body), capture_output=True, text=True)
    assert done.returncode not in (0, 3) and words in done.stderr and done.stdout == ""


@pytest.mark.parametrize("start, names", [("0", ["r"]), ("5", ["r", "r/start"])])
def test_splits_of_a_sum_that_begins_with_something(start, names):
    """The loop that is summed up is one of the sum, and not of what adds the start."""
    says = f'r = f16[128] reduce(a, z), dimensions={{0}}, to_apply=add, frontend_attributes={{spyre_splits="p1=4"}}'
    text = "add { p = f16[] parameter(0)\n q = f16[] parameter(1)\n ROOT s = f16[] add(p, q) }\n" \
           f"ENTRY e {{ a = {M} parameter(0)\n z = f16[] constant({start})\n ROOT {says} }}"
    ops = ops_of(plan_hlo.plan(text))
    assert [name for name in ops if name[0] == "r"] == names
    assert ops["r"]["splits"] == {"p0": 2, "p1": 4}
    assert plan_hlo.run(text, "--run").returncode == 0


def test_the_default_layout_of_a_boundary():
    answer = plan_hlo.plan(want('spyre_layout="spyre"', "ROOT c = {m} cholesky(a)"))
    assert ops_of(answer)["c"]["layout"].endswith("device_size=[2,128,64] stride_map=[64,128,1]")


def with_layout(nodes, layout):
    nodes[-1].layout = layout
    return nodes


@pytest.mark.parametrize("layout, cost", [(PLAIN, 0), (TURNED, 2 * 128 * 128 * 2)])
def test_a_layout_in_c(layout, cost):
    with g.Graph(with_layout(addition(STRAIGHT, STRAIGHT), layout)) as graph, g.Plan(graph) as plan:
        assert plan.layout(2) == layout and plan.summary.cost == cost and plan.fault() == ""


def test_another_order_of_the_other_dimensions():
    shape = [4, 8, 128]
    terms = [(0, 1024), (1, 128), (2, 1)]
    wanted = ((4, 2, 8, 64), (1024, 64, 128, 1))
    nodes = [g.Node("input", shape), g.Node("pointwise", shape, shape, [(0, 0, terms)], terms, layout=wanted)]
    with g.Graph(nodes) as graph, g.Plan(graph) as plan:
        assert plan.layout(1) == wanted and plan.summary.cost == 0 and plan.fault() == ""


@pytest.mark.parametrize("layout, words", [
    (((2, 128, 64), (64, 128, 1), 1), "format IEEE_FP32"),
    (((1, 128, 64), (64, 128, 1)), "TG_ERR"),  # holds half of the tensor
])
def test_layouts_that_do_not_hold_the_result(layout, words):
    with pytest.raises(t.TegulaError, match=words), g.Graph(with_layout(addition(STRAIGHT, STRAIGHT), layout)):
        pass


def test_a_rule_that_does_not_give_it():
    with g.Graph(with_layout(product(SQUARE, SQUARE), TURNED)) as graph:
        with pytest.raises(t.TegulaError, match=r"n2 cannot .*\[2,128,64\] .*the result have the columns"):
            g.Plan(graph)


# ---- splits -----------------------------------------------------------------------------------------------------

def test_splits_in_hlo():
    answer = plan_hlo.plan(want('spyre_splits="p0=8, p1=2"'))
    assert ops_of(answer)["c"]["splits"] == {"p0": 8, "p1": 2}
    both = plan_hlo.plan(want('spyre_layout="spyre dim_order=[1,0]",spyre_splits="p1=16"'))
    assert ops_of(both)["c"]["splits"] == {"p0": 2, "p1": 16}  # p0 is in sticks now: 2 of them


def test_tiles_in_hlo():
    op = ops_of(plan_hlo.plan(want('spyre_tiles="p0=8, p1=2"')))["c"]
    assert op["tiles"] == {"p0": 8, "p1": 2} and op["splits"] == {"p0": 16} and op["in_span"]
    op = ops_of(plan_hlo.plan(want('spyre_tiles="p0=8",spyre_splits="p0=2"')))["c"]
    assert op["tiles"] == {"p0": 8} and op["splits"] == {"p0": 2, "p1": 2}
    done = subprocess.run([plan_hlo.TEGULA, "plan", "--explain", "c", "-"], input=want('spyre_tiles="p0=8"'),
                          capture_output=True, text=True)
    assert "p0 in 8 tiles, one after the other" in done.stdout
