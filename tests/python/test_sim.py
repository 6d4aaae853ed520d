"""Planned graphs on the simulated device, judged by jax on the CPU; and each operation by NumPy."""
import ctypes
import inspect
import json
import math
import subprocess

import numpy as np
import pytest

import plan_hlo
import sim_c as sim
import tegula_c as t
from made_once import made_once


def test_structs_match_the_header(tmp_path):
    lines, want = ["#include <stdio.h>", "#include <tegula/sim.h>", "int main(void) {"], []
    for name, struct in sim.STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        want.append(f"{name} {ctypes.sizeof(struct)}")
        for field, _ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
            want.append(f"{name}.{field} {getattr(struct, field).offset}")
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text("\n".join(lines + ["return 0; }"]))
    subprocess.run(["gcc", "-std=c11", f"-I{t.ROOT / 'include'}", source, "-o", program], check=True)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines() == want


NAMES = ["mlp", "mlp ragged", "matmul transposed", "batched matmul", "matrix times vector", "vector times matrix",
         "dot", "softmax", "softmax ragged", "softmax of columns", "layernorm", "layernorm ragged",
         "rms norm", "attention", "attention ragged", "attention without mask", "narrow heads", "block", "rotary",
         "conv block", "dilated conv", "transposed conv", "depthwise conv", "conv of a line", "conv of a solid",
         "grouped conv", "conv of parts", "conv of one channel", "narrow conv", "average pool", "mixture",
         "training", "language model", "cache", "rounds", "ragged rounds", "swapped", "until", "nested", "scanned",
         "branched", "branched otherwise", "reversed", "pieces", "ragged pieces", "reshapes", "column sums",
         "sum of everything", "where", "integers", "argument"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = made_once(tmp_path_factory, "sim_models.py")
    assert sorted({p.stem.rsplit(".", 1)[0] for p in folder.glob("*.hlo")}) == sorted(NAMES)
    return folder


def take(folder, name, dtype):
    data = np.load(folder / f"{name}.npz")
    inputs = [data[f"in{i}"] for i in range(sum(k.startswith("in") for k in data.files))]
    expected = [data[f"out{i}"] for i in range(sum(k.startswith("out") for k in data.files))]
    return (folder / f"{name}.{dtype}.hlo").read_text(), inputs, expected


def run(text, inputs, **how):
    with sim.Simulation(text, **how) as s:
        outputs = s.run(*inputs)
        differences = [s.difference(i) for i in range(len(outputs))]
    return outputs, differences


def judge(outputs, expected, share):
    """The largest error is below a share of the largest number."""
    assert len(outputs) == len(expected)
    for out, wanted in zip(outputs, expected):
        assert out.shape == wanted.shape
        if wanted.dtype.kind in "iub":
            assert (out == wanted).all()
            continue
        out, scale = out.astype(np.float64), max(np.abs(wanted).max(), 1e-3)
        assert np.isfinite(out).all()
        assert np.abs(out - wanted).max() <= share * scale


LOOP = """
body { p = (s32[], f16[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f16[64] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f16[64] add(x, x)
  ROOT o = (s32[], f16[64]) tuple(j, y) }
test { p = (s32[], f16[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(%s)
  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY e { i = s32[] parameter(0)
  x = f16[64] parameter(1)
  t = (s32[], f16[64]) tuple(i, x)
  ROOT w = (s32[], f16[64]) while(t), condition=test, body=body }
"""


def test_a_loop_runs_again():
    """From its inputs on, which its rounds leave as they are; also without a round."""
    x = np.arange(64, dtype=np.float16)
    with sim.Simulation(LOOP % 3) as s:
        for first in (0, 0, 2, 3, 9, 0):
            count, result = s.run(np.int32(first), x)
            rounds = max(3 - first, 0)
            assert count == first + rounds and (result == x * 2 ** rounds).all()
            assert s.difference(1).largest == 0


def test_a_loop_without_end():
    with sim.Simulation(LOOP.replace("add(i, one)", "subtract(i, i)") % 3) as s:
        with pytest.raises(t.TegulaError, match="does not end within 65536 rounds"):
            s.run(np.int32(0), np.zeros(64, np.float16))


@pytest.mark.parametrize("name", NAMES)
def test_model_in_float16(models, name):
    text, inputs, expected = take(models, name, "float16")
    outputs, differences = run(text, inputs)
    judge(outputs, expected, 2**-6)
    for d in differences:
        assert d.lost == 0 and d.largest <= 2**-6 * max(d.scale, 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_model_in_float32(models, name):
    text, inputs, expected = take(models, name, "float32")
    outputs, differences = run(text, inputs)
    judge(outputs, expected, 2**-14)
    for d in differences:
        assert d.lost == 0 and d.largest <= 2**-14 * max(d.scale, 1e-3)


# ---- published plans ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("model", ["tegula", "torch-spyre"])
def test_published_graphs(model):
    cases = json.loads((t.ROOT / "tests" / "spec" / "spyre_plans.json").read_text())["restickify"]["cases"]
    rng, count = np.random.default_rng(3), 0
    for case in cases:
        if case["cost"] is None or "cpu_sin" in case["expr"]:
            continue
        with sim.Simulation(plan_hlo.text_of(case), model=model) as s:
            s.run(*[rng.random(shape, np.float32) - 0.5 for shape, _ in s.input_shapes()])  # of millions of elements
            d = s.difference(0)
        assert d.lost == 0 and d.largest <= 2**-6 * d.scale, case
        count += 1
    assert count > 20


# ---- operation by operation -----------------------------------------------------------------------------------------

def erf(x):
    return np.vectorize(math.erf)(x)


# name: what it is, from where to where its operands go
FLOATS = {
    "abs": (np.abs, -2, 2), "acos": (np.arccos, -1, 1), "acosh": (np.arccosh, 1, 9), "asin": (np.arcsin, -1, 1),
    "asinh": (np.arcsinh, -9, 9), "atanh": (np.arctanh, -0.9, 0.9), "cbrt": (np.cbrt, -9, 9),
    "ceil": (np.ceil, -9, 9), "cosh": (np.cosh, -3, 3), "cosine": (np.cos, -9, 9), "erf": (erf, -2, 2),
    "exponential": (np.exp, -4, 4), "exponential-minus-one": (np.expm1, -1, 1), "floor": (np.floor, -9, 9),
    "log": (np.log, 0.1, 9), "log-plus-one": (np.log1p, -0.5, 9), "logistic": (lambda x: 1 / (1 + np.exp(-x)), -9, 9),
    "negate": (np.negative, -9, 9), "round-nearest-even": (np.rint, -9, 9), "rsqrt": (lambda x: x**-0.5, 0.1, 9),
    "round-nearest-afz": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), -9, 9), "sign": (np.sign, -9, 9),
    "sine": (np.sin, -9, 9), "sinh": (np.sinh, -3, 3), "sqrt": (np.sqrt, 0, 9), "tan": (np.tan, -1, 1),
    "tanh": (np.tanh, -3, 3), "add": (np.add, -9, 9), "atan2": (np.arctan2, 0.1, 9), "divide": (np.divide, 0.5, 9),
    "maximum": (np.maximum, -9, 9), "minimum": (np.minimum, -9, 9), "multiply": (np.multiply, -9, 9),
    "power": (np.power, 0.1, 3), "remainder": (np.fmod, 0.5, 9), "subtract": (np.subtract, -9, 9),
    "clamp": (lambda a, x, b: np.minimum(np.maximum(x, a), b), -9, 9),
}
INTEGERS = {
    "abs": np.abs, "negate": np.negative, "not": np.invert, "sign": np.sign, "add": np.add, "subtract": np.subtract,
    "multiply": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "maximum": np.maximum, "minimum": np.minimum, "divide": lambda x, y: np.trunc(x / y).astype(np.int32),
    "remainder": np.fmod, "clamp": lambda a, x, b: np.minimum(np.maximum(x, a), b),
}
TRUTHS = {"not": np.logical_not, "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
COMPARISONS = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
               "GE": np.greater_equal}
SHAPE = (5, 70)


def arity(function):
    return function.nin if isinstance(function, np.ufunc) else len(inspect.signature(function).parameters)


def element_by_element(opcode, n, dtype, result=None, more="", types=None):
    lines = [f"  p{i} = {types[i] if types else dtype}[5,70] parameter({i})" for i in range(n)]
    operands = ", ".join(f"p{i}" for i in range(n))
    return "\n".join(["ENTRY main {", *lines, f"  ROOT r = {result or dtype}[5,70] {opcode}({operands}){more}", "}"])


def draw(low, high, n, dtype=np.float16):
    """Numbers that a format of 16 bits holds, away from where functions end."""
    rng = np.random.default_rng(5)
    values = rng.uniform(low, high, (n, *SHAPE))
    return list((np.round(values * 32) / 32).clip(low, high).astype(dtype))


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("opcode", FLOATS)
def test_operation_on_floats(opcode, dtype):
    function, low, high = FLOATS[opcode]
    inputs = draw(low, high, arity(function), sim.numpy_dtype(t.lib.tg_dtype_from_name(dtype.encode(), 3)))
    if opcode == "clamp":
        inputs = [np.minimum(inputs[0], inputs[2]), inputs[1], np.maximum(inputs[0], inputs[2])]
    wide = [x.astype(np.float64) for x in inputs]
    (out,), _ = run(element_by_element(opcode, len(inputs), dtype), inputs)
    wanted = function(*wide)
    share = 2**-9 if dtype == "f16" else 2**-20
    assert np.allclose(out.astype(np.float64), wanted, rtol=share, atol=share / 64)


@pytest.mark.parametrize("opcode", INTEGERS)
def test_operation_on_integers(opcode):
    function = INTEGERS[opcode]
    inputs = [np.where(x == 0, 3, x) for x in draw(-50, 50, arity(function), np.int32)]
    (out,), differences = run(element_by_element(opcode, len(inputs), "s32"), inputs)
    assert (out == function(*inputs)).all()
    assert differences[0].largest == 0


@pytest.mark.parametrize("opcode", TRUTHS)
def test_operation_on_truth(opcode):
    function = TRUTHS[opcode]
    inputs = [x > 0 for x in draw(-1, 1, arity(function))]
    (out,), differences = run(element_by_element(opcode, len(inputs), "pred"), inputs)
    assert (out == function(*inputs)).all()
    assert differences[0].largest == 0


@pytest.mark.parametrize("dtype", ["f16", "f32", "s32"])
@pytest.mark.parametrize("direction", COMPARISONS)
def test_comparison(direction, dtype):
    inputs = draw(-3, 3, 2, sim.numpy_dtype(t.lib.tg_dtype_from_name(dtype.encode(), 3)))
    inputs[1] = np.where(inputs[1] > 0, inputs[0], inputs[1])
    (out,), _ = run(element_by_element("compare", 2, dtype, "pred", f", direction={direction}"), inputs)
    assert (out == COMPARISONS[direction](*inputs)).all()


@pytest.mark.parametrize("to", ["f16", "bf16", "f32", "s32", "s8", "pred"])
@pytest.mark.parametrize("source", ["f16", "f32", "s32", "pred"])
def test_conversion(source, to):
    x, = draw(-9, 9, 1, sim.numpy_dtype(t.lib.tg_dtype_from_name(source.encode(), len(source))))
    (out,), _ = run(element_by_element("convert", 1, source, to), [x])
    wanted = x.astype(sim.numpy_dtype(t.lib.tg_dtype_from_name(to.encode(), len(to))))
    assert (out == wanted).all()


def test_select():
    truth, x, y = draw(-1, 1, 3)
    (out,), _ = run(element_by_element("select", 3, "f16", types=["pred", "f16", "f16"]), [truth > 0, x, y])
    assert (out == np.where(truth > 0, x, y)).all()


@pytest.mark.parametrize("values", ["{ { 1, -2.5, 3e-2 }, { 4, 5.5, inf } }", "{{1,-2.5,.03},/*i1=1*/{4,5.5,inf}}"])
def test_constant(values):
    text = f"ENTRY main {{\n  ROOT c = f32[2,3] constant({values})\n}}"
    (out,), _ = run(text, [])
    assert (out == np.array([[1, -2.5, 0.03], [4, 5.5, np.inf]], np.float32)).all()
