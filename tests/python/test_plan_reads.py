"""What the steps of a bundle read is all that they need, and what is loaded before them stays there.

A reader of bundle.json knows no more than that: it loads inputs and constants, and runs steps on what they read. Here
one does so with numpy, by the functions that the kernels name."""
import json
import subprocess

import numpy as np
import pytest

import plan_hlo
import sim_c as sim
from test_plan_out import written

REDUCTIONS = {"add": ("sum", np.sum, np.add), "maximum": ("max", np.max, np.maximum),
              "minimum": ("min", np.min, np.minimum), "multiply": ("prod", np.prod, np.multiply)}
KERNELS = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum, "mul": np.multiply}
KERNELS |= {name: lambda x, of=of: of(x, axis=1) for name, of, _ in REDUCTIONS.values()}


def reduction(opcode, start, shape="f16[64,70]", dimension=1, result="f16[64]"):
    return f"""
f {{ a = f16[] parameter(0)
  b = f16[] parameter(1)
  ROOT c = f16[] {opcode}(a, b) }}
ENTRY e {{ p = {shape} parameter(0)
  z = f16[] {start}
  ROOT r = {result} reduce(p, z), dimensions={{{dimension}}}, to_apply=f }}
"""


def replay(bundle, inputs, constants):
    """The outputs, from what the steps read and nothing else."""
    values = {row["buffer"]: inputs[row["name"]] for row in bundle["inputs"]}
    values |= {row["buffer"]: constants[row["name"]] for row in bundle["constants"]}
    for step in bundle["steps"]:
        assert step["runs_on"] == "device" and len(step["kernels"]) == 1
        kernel = step["kernels"][0].removesuffix(".json").split("_", 1)[1]
        values[step["writes"]] = KERNELS[kernel](*(values[i] for i in step["reads"]))
    return [values[row["buffer"]] for row in bundle["outputs"]]


@pytest.mark.parametrize("opcode, start", [
    ("add", 5), ("add", -0.5), ("maximum", 0), ("maximum", -65504), ("minimum", 0.25), ("add", None),
    ("maximum", None), ("minimum", None)])
def test_a_reduction_starts_where_it_is_told(tmp_path, opcode, start):
    """With a constant, and with one that comes in (None)."""
    p = np.linspace(-1, 2, 64 * 70).reshape(64, 70)
    told = f"constant({start})" if start is not None else "parameter(1)"
    bundle = written(tmp_path, reduction(opcode, told))
    z = 3.0 if start is None else float(start)
    (result,) = replay(bundle, {"p": p, "z": z}, {"z": z})
    _, of, join = REDUCTIONS[opcode]
    assert (result == join(of(p, axis=1), z)).all()


@pytest.mark.parametrize("opcode, start", [
    ("add", "0"), ("add", "-0"), ("maximum", "-inf"), ("minimum", "inf"), ("add", "0.0")])
def test_a_neutral_start_is_no_kernel(tmp_path, opcode, start):
    bundle = written(tmp_path, reduction(opcode, f"constant({start})"))
    assert [step["kernels"] for step in bundle["steps"]] == [[f"0_{REDUCTIONS[opcode][0]}.json"]]


INTEGERS = [("add", "0", True), ("add", "1", False), ("multiply", "1", True), ("multiply", "0", False),
            ("maximum", "-2147483648", True), ("maximum", "0", False), ("minimum", "2147483647", True),
            ("minimum", "-1", False), ("and", "-1", True), ("and", "1", False), ("or", "0", True), ("or", "1", False),
            ("xor", "0", True), ("xor", "-1", False)]


@pytest.mark.parametrize("opcode, start, neutral", INTEGERS)
def test_neutral_integers(opcode, start, neutral):
    """Whether a start makes a step of its own, and the numbers. Over rows: a product never runs over the stick."""
    text = reduction(opcode, f"constant({start})", dimension=0, result="f16[70]").replace("f16", "s32")
    of = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
          "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[opcode]
    p = np.random.default_rng(1).integers(-3, 4, (64, 70)).astype(np.int32)
    p[p == 0] = 1
    with sim.Simulation(text) as s:
        names = [str(n.name) for n in s.graph.nodes()]
        (result,) = s.run(p)
    assert ("r/start" not in names) == neutral
    with np.errstate(over="ignore"):
        assert (result == of(of.reduce(p, axis=0, dtype=np.int32), np.int32(int(start)))).all()


WINDOWS = """
f { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] %s(a, b) }
ENTRY e { p = f32[8,64] parameter(0)
  z = f32[] constant(%s)
  ROOT r = f32[%d,64] reduce-window(p, z), window={size=2x1 stride=2x1 pad=%s}, to_apply=f }
"""


@pytest.mark.parametrize("opcode, start, pad, names", [
    ("add", "0", "0_0x0_0", ["r"]), ("add", "5", "0_0x0_0", ["r", "r/start"]), ("maximum", "0", "1_1x0_0",
                                                                                ["r", "r/start"]),
    ("add", "0", "1_1x0_0", ["r"])])
def test_windows_start_there_too(opcode, start, pad, names):
    padded = pad != "0_0x0_0"
    p = np.linspace(-2, 1, 8 * 64).reshape(8, 64).astype(np.float32)
    with sim.Simulation(WINDOWS % (opcode, start, 5 if padded else 4, pad)) as s:
        assert [str(n.name) for n in s.graph.nodes()][2:] == names
        (result,) = s.run(p)
    rows = np.vstack([np.full((1, 64), float(start)), p, np.full((1, 64), float(start))]) if padded else p
    pairs = rows.reshape(-1, 2, 64)
    wanted = REDUCTIONS[opcode][2](REDUCTIONS[opcode][1](pairs, axis=1), float(start))
    assert np.abs(result - wanted).max() < 1e-6


def test_a_padded_window_counts_its_start_more_than_once(tmp_path):
    """So the host does it, and reads what it starts with."""
    bundle = written(tmp_path, WINDOWS % ("add", "5", 5, "1_1x0_0"))
    (step,) = bundle["steps"]
    assert step["runs_on"] == "host" and [row["buffer"] for row in step["reads"]] == [0, 1]


# ---- the host ---------------------------------------------------------------------------------------------------

HOST = [
    ("ROOT r = f16[70,192] pad(p, v), padding=2_4x64_64", "pv"),
    ("ROOT r = f16[8,64] dynamic-slice(p, i, j), dynamic_slice_sizes={8,64}", "pij"),
    ("ROOT r = f16[64,64] dynamic-update-slice(p, q, i, j)", "pqij"),
    ("ROOT r = f16[64,64] gather(p, k), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,64}", "pk"),
    ("w = (f16[64], s32[64]) reduce(p, o, v, i), dimensions={1}, to_apply=best\n"
     " ROOT r = f16[64] get-tuple-element(w), index=0", "povi"),
]
PARAMETERS = """
best { a = f16[] parameter(0)
  b = s32[] parameter(1)
  c = f16[] parameter(2)
  d = s32[] parameter(3)
  t = pred[] compare(a, c), direction=GT
  x = f16[] select(t, a, c)
  y = s32[] select(t, b, d)
  ROOT o = (f16[], s32[]) tuple(x, y) }
ENTRY e { p = f16[64,64] parameter(0)
  v = f16[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  q = f16[8,64] parameter(4)
  k = s32[64] parameter(5)
  o = s32[64,64] parameter(6)
  %s }
"""


@pytest.mark.parametrize("line, operands", HOST)
def test_the_host_is_told_all_operands(tmp_path, line, operands):
    bundle = written(tmp_path, PARAMETERS % line)
    names = {row["id"]: row["name"] for row in bundle["buffers"]}
    for step in bundle["steps"]:
        if step["runs_on"] == "host" and step["kind"] == "node":
            read = [names[row["buffer"]].removesuffix(" restickified") for row in step["reads"]]
            assert read == list(operands)
            assert all(row["dci"] for row in step["reads"])
    assert any(step["runs_on"] == "host" for step in bundle["steps"])


# ---- what is loaded before --------------------------------------------------------------------------------------

IOTA = """
ENTRY e {
  x = f16[128,128] parameter(0)
  t = f16[128,128] transpose(x), dimensions={1,0}
  a = f16[128,128] add(x, t)
  h = f16[] constant(2)
  w = f16[128,128] broadcast(h), dimensions={}
  b = f16[128,128] multiply(a, w)
  i = f16[128,128] iota(), iota_dimension=1
  ROOT r = f16[128,128] add(b, i) }
"""


def test_no_step_writes_over_what_is_loaded_before(tmp_path):
    bundle = written(tmp_path, IOTA)
    buffers = {row["id"]: row for row in bundle["buffers"]}
    assert [row["name"] for row in bundle["constants"]] == ["h", "i"]
    for row in bundle["constants"] + bundle["inputs"]:
        mine = buffers.pop(row["buffer"])
        for other in buffers.values():
            apart = (mine["address"] + mine["bytes"] <= other["address"] or
                     other["address"] + other["bytes"] <= mine["address"])
            assert mine["memory"] == "hbm" and (other["memory"] != "hbm" or apart)


# ---- nothing at all ---------------------------------------------------------------------------------------------

EMPTY = [
    (reduction("add", "constant(0)", "f16[64,0]"), [(64, 0)], np.zeros(64)),
    (reduction("add", "constant(5)", "f16[64,0]"), [(64, 0)], np.full(64, 5)),
    (reduction("add", "constant(0)", "f16[0,64]", result="f16[0]"), [(0, 64)], np.zeros(0)),
    ("ENTRY e { p = f16[0,64] parameter(0)\n"
     " ROOT c = f16[64,64] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={0} }", [(0, 64)],
     np.zeros((64, 64))),
    ("ENTRY e { p = f16[64,0] parameter(0)\n q = f16[0,70] parameter(1)\n"
     " ROOT c = f16[64,70] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0} }", [(64, 0), (0, 70)],
     np.zeros((64, 70))),
    ("ENTRY e { p = f16[0,64] parameter(0)\n q = f16[5,64] parameter(1)\n"
     " ROOT r = f16[5,64] concatenate(p, q), dimensions={0} }", [(0, 64), (5, 64)], np.ones((5, 64))),
    ("ENTRY e { q = f16[5,64] parameter(0)\n p = f16[0,64] parameter(1)\n"
     " ROOT r = f16[10,64] concatenate(q, p, q), dimensions={0} }", [(5, 64), (0, 64)], np.ones((10, 64))),
    ("ENTRY e { p = f16[0,64] parameter(0)\n v = f16[] constant(2)\n"
     " ROOT r = f16[3,64] pad(p, v), padding=1_2x0_0 }", [(0, 64)], np.full((3, 64), 2)),
]


@pytest.mark.parametrize("text, shapes, wanted", EMPTY)
def test_tensors_without_elements(tmp_path, text, shapes, wanted):
    with sim.Simulation(text) as s:
        (result,) = s.run(*(np.ones(shape, np.float16) for shape in shapes))
        difference = s.difference(0)
    assert result.shape == wanted.shape and (result == wanted).all()
    assert difference.lost == 0 and difference.largest == 0
    (tmp_path / "graph.hlo").write_text(text)
    done = subprocess.run([plan_hlo.TEGULA, "plan", tmp_path / "graph.hlo", "--run", "--json"], capture_output=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    assert [row["right"] for row in json.loads(done.stdout)["outputs"]] == [True]


# ---- the scratchpad ---------------------------------------------------------------------------------------------

def test_bytes_of_a_core_and_of_all(tmp_path):
    """In bundle.json they have two names; tegula.plan/1 says those of a core."""
    text = (plan_hlo.ROOT / "examples" / "attention.hlo").read_text()
    bundle = written(tmp_path, text)
    done = subprocess.run([plan_hlo.TEGULA, "plan", tmp_path / "graph.hlo", "--memory", "--json"], capture_output=True,
                          timeout=60)
    told = {row["step"]: row for row in json.loads(done.stdout)["memory"]["tensors"]}
    scratch = [row for row in bundle["buffers"] if row["memory"] == "lx"]
    assert len(scratch) == 4
    for row in bundle["buffers"]:
        assert ("core_bytes" in row) == (row in scratch) == (told[row["id"]]["home"] == "lx")
    for row in scratch:
        assert row["core_bytes"] == told[row["id"]]["bytes"] and row["bytes"] == 32 * row["core_bytes"]


# ---- pieces ------------------------------------------------------------------------------------------------

# a piece of [2,1] has its rows in the stick, and one that begins inside a stick can have nothing else there
@pytest.mark.parametrize("rows, sizes, copied", [
    *(((), sizes, 0) for sizes in ((64, 64), (128, 64), (64, 10), (64, 64, 3), (64, 1))), ((), (64, 70, 3), None),
    *(((2,), sizes, 0) for sizes in ((64, 64), (128, 64), (64, 10), (64, 64, 3))), ((2,), (64, 1), 1),
    ((2,), (64, 70, 3), 3)])
def test_pieces_of_one_stick(rows, sizes, copied):
    """A piece that is one stick, or a part of the last one, lies in a stick as those of several do."""
    whole = ",".join(map(str, (*rows, sum(sizes))))
    text = "ENTRY e {\n" + "".join(f" p{i} = f16[{','.join(map(str, (*rows, n)))}] parameter({i})\n"
                                   for i, n in enumerate(sizes))
    text += f" ROOT c = f16[{whole}] concatenate({', '.join(f'p{i}' for i in range(len(sizes)))}), "
    answer = plan_hlo.plan(text + f"dimensions={{{len(rows)}}} }}")
    op = next(op for op in answer["ops"] if op["name"] == "c")
    assert op["kind"] == ("boundary" if copied is None else "concatenate")
    assert len(answer["restickifies"]) == (copied or 0)
    pieces = [np.random.default_rng(0).integers(-99, 99, (*rows, n)).astype(np.float16) for n in sizes]
    with sim.Simulation(text + f"dimensions={{{len(rows)}}} }}") as s:
        (result,) = s.run(*pieces)
    assert (result == np.concatenate(pieces, -1)).all()
