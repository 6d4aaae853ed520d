"""The kernels of whole plans, read back as the device would: every step of every loop touches the element that the
graph says, where the layout has it."""
import collections
import json

import pytest

import graph_c as g
import hlo_ctypes as hlo
import plan_oracle
import sdsc_c as s
import tegula_c as t
from sdsc_reader import Checked, Reader, place_of

EXAMPLES = t.ROOT / "examples"


def checked_text(text, **division):
    with hlo.Module(text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan, s.Bundle(plan, **division) as bundle:
            yield Checked(graph, plan, bundle).check()


def names(c):
    return [c.bundle.name(k).split("_")[1] for k in range(c.bundle.count())]


# ---- programs --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("cores", [1, 2, 7, 32])
def test_attention(cores):
    for c in checked_text((EXAMPLES / "attention.hlo").read_text(), cores=cores):
        assert names(c) == ["batchmatmul"] * 3 + ["ReStickifyOpHBM", "batchmatmul", "max", "sub", "exp", "sum",
                                                  "realdiv", "batchmatmul"]
        assert c.why == {}


RAGGED = """
most { p = f16[] parameter(0)
  q = f16[] parameter(1)
  ROOT r = f16[] maximum(p, q) }
ENTRY main {
  a = f16[2,100,150] parameter(0)
  b = f16[2,150,70] parameter(1)
  v = f16[70] parameter(2)
  w = f16[150] parameter(3)
  d = f16[2,100,70] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0},
    lhs_contracting_dims={2}, rhs_contracting_dims={1}
  vb = f16[2,100,70] broadcast(v), dimensions={2}
  s = f16[2,100,70] add(d, vb)
  low = f16[] constant(-inf)
  m = f16[2,100] reduce(s, low), dimensions={2}, to_apply=most
  mb = f16[2,100,70] broadcast(m), dimensions={0,1}
  c = pred[2,100,70] compare(s, mb), direction=GE
  e = f16[2,100,70] exponential(s)
  x = f16[2,100,70] select(c, e, s)
  g = f16[2,100] dot(a, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  u = f16[150] parameter(4), frontend_attributes={spyre_layout="spyre dim_order=[0,-1]"}
  o = f16[150,70] dot(u, v), lhs_contracting_dims={}, rhs_contracting_dims={}
  ROOT out = (f16[2,100,70], f16[2,100], f16[150,70]) tuple(x, g, o)
}
"""


@pytest.mark.parametrize("cores", [1, 3, 32])
def test_ragged(cores):
    for c in checked_text(RAGGED, cores=cores):
        assert c.why == {}
        assert names(c) == ["identity", "identity", "batchmatmul", "add", "max", "greaterequal", "exp", "where3",
                            "ReStickifyOpHBM", "identity", "identity", "batchmatmul", "mul"]
        masks = {}
        for k in range(c.bundle.count()):
            (whole,) = json.loads(c.bundle.sdsc(k)).values()
            (kernel,) = whole["dscs_"][0].values()
            if kernel["coordinateMasking_"]:
                bits = kernel["constantInfo_"]["0"]["data_"]["data_"]["[0, 0, 0]"]
                masks[kernel["computeOp_"][0]["opFuncName"]] = kernel["coordinateMasking_"], bits
        assert masks == {"max": ({"out": [[70, 58]]}, [0xFFFF])}  # nothing sums up what exp makes of padding


CONCATENATION = """
ENTRY main {
  a = f16[64,128] parameter(0)
  b = f16[1,128] parameter(1)
  n = f16[64,128] negate(a)
  ROOT r = f16[130,128] concatenate(a, b, n, b), dimensions={0}
}
"""
ROWS = [64, 1, 64, 1]


def test_pieces_of_a_concatenation():
    """Together the pieces write every element of the result once."""
    for c in checked_text(CONCATENATION, cores=4):
        i = next(i for i, (step, _) in enumerate(c.steps)
                 if g.KINDS[c.graph.nodes()[step.node].kind] == "concatenate")
        duty, numbers, why, address, _ = c.bundle.step(i)
        assert (duty, why) == ("device", "") and len(numbers) == len(ROWS)
        place, seen, want, start = place_of(c.steps[i][0], c.graph), {}, {}, 0
        for k, (number, rows) in enumerate(zip(numbers, ROWS)):
            reader = Reader(json.loads(c.bundle.sdsc(number)), [rows, 128])
            for row in range(rows):
                for column in (0, 63, 64, 127):
                    seen.setdefault(reader.address(1, [row, column]), []).append((k, row, column))
                    want[address + 2 * place((start + row) * 128 + column)] = [(k, row, column)]
            start += rows
        assert seen == want


@pytest.mark.parametrize("line, why", [
    ("ROOT r = f16[64,64] sort(a), dimensions={1}", "no operation of the device"),
    ("ROOT r = f16[64,64] custom-call(a), custom_call_target=\"f\"", "target is code of another library"),
    ("ROOT r = f16[64,64] tan(a)", "no function for tan"),
    ("w = f32[64,64] convert(a)\n ROOT r = f32[64,64] tanh(w)", "no tanh of IEEE_FP32"),
    ("w = f32[64,64] convert(a)\n ROOT r = f32[64,64] dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "no batchmatmul of IEEE_FP32"),
    ("ROOT r = s32[64,64] convert(a)", "does not convert SEN169_FP16 to IEEE_INT32"),
    ("ROOT r = f16[70,64] pad(a, z), padding=2_4x0_0", "a part of its result"),
    ("s = f16[0,64] slice(a), slice={[3:3],[0:64]}\n ROOT r = f16[0,64] negate(s)", "no elements"),
    ("b = f16[1,64] slice(a), slice={[0:1],[0:64]}\n c = f16[9,64] broadcast(z), dimensions={}\n "
     "ROOT r = f16[11,64] concatenate(b, c, b), dimensions={0}", "where its pieces begin"),
    ("i = s32[] constant(3)\n ROOT r = f16[8,64] dynamic-slice(a, i, i), dynamic_slice_sizes={8,64}",
     "no function"),
    ("s = f16[1,64] slice(a), slice={[0:1],[0:64]}\n v = f16[64] reshape(s)\n "
     "ROOT r = f16[] dot(v, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "product of two vectors"),
])
def test_what_is_for_the_host(line, why):
    text = f"ENTRY main {{\n a = f16[64,64] parameter(0)\n z = f16[] constant(0)\n {line}\n}}\n"
    for c in checked_text(text):
        assert len(c.why) == 1 and why in next(iter(c.why))


# ---- random graphs -----------------------------------------------------------------------------------------------

def test_random_graphs():
    """Views that begin anywhere, transposed and broadcast operands, sums over several dimensions, products, all core
    counts. What is for the host has a reason that a person can check."""
    reasons, kernels, hosts = collections.Counter(), 0, 0
    for seed in range(250):
        ops = plan_oracle.random_graph(seed, 8)
        with g.Graph(plan_oracle.graph_nodes(ops)) as graph, g.Plan(graph) as plan:
            if not plan.summary.feasible:
                continue
            with s.Bundle(plan, cores=1 + seed % 32) as bundle:
                c = Checked(graph, plan, bundle).check(seed)
                kernels += c.kernels
                hosts += sum(c.why.values())
                reasons.update({" ".join(w for w in why.split() if not w.isdigit()): n for why, n in c.why.items()})
    assert kernels > 800 and hosts < kernels / 5, (kernels, hosts, reasons)
