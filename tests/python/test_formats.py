"""Operations and data formats: what the device has kernels for (torch-spyre's list), what is left to the host, and how
elements stand in sticks after conversions."""
import re

import pytest

import graph_c as g
import plan_hlo
import rules_c as r
import tegula_c as t
from test_plan_vectors import dense, reduction

FP16, FP32, INVALID, FP8, INT32 = 0, 1, 2, 3, 12
LISTED = """add subtract multiply select divide maximum reduce abs negate exponential logistic sqrt rsqrt exx2
    layernormnorm layernormscale topk floor minimum compare""".split()
MOVED = "concatenate slice pad gather scatter transpose reshape copy dynamic-slice while conditional".split()
NOT_LISTED = "dot convolution tanh log power sine erf reduce-window sort and or remainder what-is-this".split()


@pytest.mark.parametrize("opcode", LISTED + MOVED + NOT_LISTED)
def test_kernels(opcode):
    assert r.has_kernel(opcode, FP16)
    assert r.has_kernel(opcode, FP32) == (opcode not in NOT_LISTED)
    for number in (FP8, INT32):
        assert r.has_kernel(opcode, number) == (opcode in MOVED)


@pytest.mark.parametrize("source, to, kernel", [
    ("f16", "bf16", "identity"), ("bf16", "f16", "identity"), ("f16", "pred", "identity"), ("f32", "pred", "identity"),
    ("f16", "f32", "dl16tofp32"), ("bf16", "f32", "dl16tofp32"), ("f32", "f16", "fp32todl16"),
    ("f32", "bf16", "fp32todl16"), ("f8e4m3fn", "f16", "fp8todl16"), ("s32", "s32", "identity"),
    ("s32", "f32", None), ("f32", "s32", None), ("f16", "f8e4m3fn", None), ("pred", "f16", None), ("s8", "f16", None)])
def test_casts(source, to, kernel):
    assert r.cast_kernel(source, to) == kernel


# ---- in a graph -----------------------------------------------------------------------------------------------

def ops_of(text, *options, status=0):
    answer = plan_hlo.plan(f"ENTRY e {{ {text} }}", "--device-formats", *options, status=status)
    return {op["name"]: op for op in answer.get("ops", [])}, answer


@pytest.mark.parametrize("text, reason", [
    ("x = f32[64,128] parameter(0)\n ROOT r = f32[64,128] tanh(x)", "the device has no tanh in IEEE_FP32"),
    ("x = f32[64,128] parameter(0)\n ROOT r = f32[64,128] sqrt(x)", None),
    ("x = f16[64,128] parameter(0)\n ROOT r = f16[64,128] tanh(x)", None),
    ("x = s32[64,128] parameter(0)\n ROOT r = s32[64,128] add(x, x)", "the device has no add in IEEE_INT32"),
    ("x = s32[64,128] parameter(0)\n ROOT r = f32[64,128] convert(x)", "the host converts s32 to f32"),
    ("x = bf16[64,128] parameter(0)\n y = bf16[128,64] parameter(1)\n ROOT r = f32[64,64] dot(x, y), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}", "the device has no dot in IEEE_FP32"),
    ("x = f32[64,128] parameter(0)\n y = f32[64,128] parameter(1)\n ROOT r = pred[64,128] compare(x, y), direction=LT",
     None),
])
def test_what_is_left_to_the_host(text, reason):
    ops, _ = ops_of(text)
    assert ops["r"].get("reason") == reason
    assert plan_hlo.plan(f"ENTRY e {{ {text} }}")["boundaries"] == []  # layouts alone have no objection


def test_places_that_a_search_finds_are_numbers():
    ops, _ = ops_of("x = f32[64,128] parameter(0), frontend_attributes={spyre_layout=\"spyre dim_order=[1,0]\"}\n"
                    "  ROOT b = (f32[64,8], s32[64,8]) topk(x), k=8, largest=true")
    assert {ops["b#0"]["kind"], ops["b#1"]["kind"]} == {"search"}


TURNED = "x = {0}[128,128] parameter(0)\n t = {0}[128,128] transpose(x), dimensions={{1,0}}\n" \
         " ROOT r = {0}[128,128] add(x, t)"


def test_only_16_bits_are_restickified():
    assert len(ops_of(TURNED.format("f16"))[1]["restickifies"]) == 1
    _, answer = ops_of(TURNED.format("f32"), status=3)
    reasons = {x["reason"] for c in answer["conflict"] for x in c["operands"]}
    assert "the device restickifies SEN169_FP16 alone" in reasons
    assert plan_hlo.plan(f"ENTRY e {{ {TURNED.format('f32')} }}")["feasible"]


# ---- arrangements ------------------------------------------------------------------------------------------------

NORM = """x = bf16[64,128] parameter(0)
  w = {w} parameter(1)
  f = f32[64,128] convert(x)
  b = f32[64,128] broadcast(w), dimensions={{{d}}}
  m = f32[64,128] multiply(f, b)
  ROOT r = bf16[64,128] convert(m)"""


def test_staggered_until_it_is_converted_back():
    ops, _ = ops_of("x = bf16[64,128] parameter(0)\n f = f32[64,128] convert(x)\n n = f32[64,128] negate(f)\n"
                    " ROOT r = bf16[64,128] convert(n)")
    assert [ops[name].get("arrangement") for name in "xfnr"] == [None, "DL16_TO_FP32", "DL16_TO_FP32", None]


def test_dense_ones_do_not_go_with_staggered_ones():
    """A scalar has one element for all of a stick: it goes with anything."""
    ops, _ = ops_of(NORM.format(w="f32[128]", d=1))
    assert ops["m"]["reason"] == "its operands have elements in different arrangements"
    ops, _ = ops_of(NORM.format(w="f32[]", d=""))
    assert ops["m"]["kind"] == "pointwise" and ops["m"]["arrangement"] == "DL16_TO_FP32"


def test_both_ways():
    ops, _ = ops_of("x = f32[64,128] parameter(0)\n y = bf16[64,128] parameter(1)\n h = bf16[64,128] convert(x)\n"
                    " s = bf16[64,128] add(h, y)\n a = bf16[64,128] negate(h)\n ROOT r = f32[64,128] convert(a)")
    assert ops["a"]["arrangement"] == "FP32_TO_DL16" and "arrangement" not in ops["r"]
    assert ops["s"]["reason"] == "its operands have elements in different arrangements"


def test_an_arrangement_of_a_plan():
    shape = [64, 128]
    nodes = [g.Node("input", shape), g.Node("input", shape, dtype="f32"),
             g.Node("pointwise", shape, shape, [(0, 0, dense(shape))], dense(shape), dtype="f32", opcode="convert"),
             g.Node("pointwise", shape, shape, [(1, 0, dense(shape)), (2, 0, dense(shape))], dense(shape),
                    dtype="f32", opcode="add")]
    with g.Graph(nodes) as graph:
        with g.Plan(graph) as plan:
            assert plan.arrangements() == (["STANDARD", "STANDARD", "DL16_TO_FP32", "STANDARD"], [3])
        graph.make_boundary(3, "so")
        with g.Plan(graph) as plan:
            assert plan.arrangements()[1] == []
        with pytest.raises(t.TegulaError, match="node 0 is an input"):
            graph.make_boundary(0, "")
        with pytest.raises(t.TegulaError, match="no node 4"):
            graph.make_boundary(4, "")
        assert re.match("boundary", g.KINDS[graph.nodes()[3].kind]) and str(graph.nodes()[3].reason) == "so"


# ---- layer norms -------------------------------------------------------------------------------------------------

def layer_norm(layout=None):
    shape = [4, 8, 128]
    rows = [(0, 8), (1, 1)]
    stats = reduction(shape, [2], False)
    stats[0].layout = layout
    stats[1].kind = "statistics"
    return [*stats, g.Node("input", [128]),
            g.Node("normalize", shape, shape, [(0, 0, dense(shape)), (1, 0, rows), (2, 0, [(2, 1)])], dense(shape))]


@pytest.mark.parametrize("layout, copies", [
    (None, 0),
    (((4, 1, 128, 64), (1024, 8192, 1, 128)), 1),  # the 8 rows in the sticks: one copy, for both readers
])
def test_layer_norm(layout, copies):
    with g.Graph(layer_norm(layout)) as graph, g.Plan(graph) as plan:
        assert plan.summary.feasible and plan.summary.optimal and plan.fault() == ""
        assert [len(readers) for *_, readers in plan.restickifies()] == [2] * copies
        assert plan.arrangements() == (["STANDARD", "EXX2", "STANDARD", "STANDARD"], [])
        assert plan.layout(1) == ((8, 1, 4, 64), (1, -1, 8, -1)) and plan.stick(1) == 2 and plan.stick(3) == 2
