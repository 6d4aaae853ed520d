"""What graphs do at the edges of tensors: negative and inner padding, windows of one place, single elements. Numbers
are whole and small, so those of the simulated device are those of NumPy, which is told the definition alone."""
import itertools
import json
import subprocess

import numpy as np
import pytest

import plan_hlo
import sim_c as sim

INNER = [(low, high, inner) for low in (-3, -2, -1, 0, 2) for high in (-4, -1, 0, 1) for inner in (0, 1, 2)]


def run(text, *inputs):
    with sim.Simulation(text) as s:
        assert s.plan.fault() == ""
        outputs = s.run(*inputs)
        assert s.difference(0).lost == 0 and s.difference(0).largest == 0
    return outputs


def padded(x, value, low, high, inner):
    """Along dimension 0: spread out, then with edges, then without what is cut."""
    spread = np.full((max((len(x) - 1) * (inner + 1) + 1, 0), *x.shape[1:]), value)
    spread[::inner + 1] = x
    edges = [np.full((max(n, 0), *x.shape[1:]), value) for n in (low, high)]
    return np.concatenate([edges[0], spread, edges[1]])[max(-low, 0):][:max(len(spread) + low + high, 0)]


@pytest.mark.parametrize("rows", [1, 3, 4])
def test_padding_cuts_what_is_spread_out(rows):
    x = np.arange(1, 64 * rows + 1).reshape(rows, 64) % 100
    for low, high, inner in INNER:
        if (rows - 1) * (inner + 1) + 1 + low + high < 0:
            continue
        wanted = padded(x, 7, low, high, inner)
        (result,) = run(f"""ENTRY e {{ p = f16[{rows},64] parameter(0)
  v = f16[] constant(7)
  ROOT r = f16[{len(wanted)},64] pad(p, v), padding={low}_{high}_{inner}x0_0 }}""", x)
        assert result.shape == wanted.shape and (result == wanted).all(), (low, high, inner)


def test_nothing_is_sliced_from_behind_the_end():
    (result,) = run("""ENTRY e { p = f16[1,64] parameter(0)
  s = f16[0,64] slice(p), slice={[1:1], [0:64]}
  ROOT r = f16[0,64] negate(s) }""", np.ones((1, 64)))
    assert result.shape == (0, 64)


def test_a_single_element_is_written_within_a_stick():
    (result,) = run("""ENTRY e { p = f16[1,1] parameter(0)
  v = f16[] constant(0)
  ROOT r = f16[6,4] pad(p, v), padding=0_5x1_2 }""", np.full((1, 1), 3))
    wanted = np.zeros((6, 4))
    wanted[0, 1] = 3
    assert (result == wanted).all()


@pytest.mark.parametrize("padding", ["0_0_9223372036854775807", "1_0_5", "9223372036854775807_0", "0_0_-1",
                                     "-9223372036854775808_9223372036854775807_9223372036854775807"])
def test_padding_that_does_not_fit(tmp_path, padding):
    (tmp_path / "graph.hlo").write_text(f"""ENTRY e {{ p = f16[4] parameter(0)
  v = f16[] constant(0)
  ROOT r = f16[4] pad(p, v), padding={padding} }}""")
    done = subprocess.run([plan_hlo.TEGULA, "plan", tmp_path / "graph.hlo"], capture_output=True, text=True)
    assert done.returncode == 2 and "its padding does not fit its result" in done.stderr


WINDOW = """
f { a = f16[] parameter(0)
  b = f16[] parameter(1)
  ROOT c = f16[] add(a, b) }
ENTRY e { p = f16[4,64] parameter(0)
  z = f16[] constant(0)
  ROOT r = f16[4,64] reduce-window(p, z), window={size=1x1 stride=%dx1 pad=%d_%dx0_0 lhs_dilate=%dx1}, to_apply=f }
"""


@pytest.mark.parametrize("step, low, high, spread", [(1, 0, 0, 1), (1, 1, -1, 1), (1, -1, 1, 1), (2, 2, 1, 1),
                                                     (2, 1, 2, 1), (2, 0, 0, 2), (2, 0, 1, 2), (3, 1, 2, 2)])
def test_windows_of_one_place_move(step, low, high, spread):
    x = np.arange(1, 257).reshape(4, 64) % 90
    wanted = padded(x, 0, low, high, spread - 1)[::step]
    assert wanted.shape == x.shape
    (result,) = run(WINDOW % (step, low, high, spread), x)
    assert (result == wanted).all()


@pytest.mark.parametrize("dtype, opcode, start", [
    ("s32", "maximum", -40), ("s32", "minimum", 40), ("s8", "maximum", -40), ("s8", "minimum", 40),
    ("u8", "minimum", 40), ("u32", "maximum", 3), ("s32", "and", 5), ("f16", "maximum", -40)])
def test_a_reduction_of_nothing_is_its_start(dtype, opcode, start):
    (result,) = run(f"""f {{ a = {dtype}[] parameter(0)
  b = {dtype}[] parameter(1)
  ROOT c = {dtype}[] {opcode}(a, b) }}
ENTRY e {{ p = {dtype}[4,0] parameter(0)
  z = {dtype}[] constant({start})
  ROOT r = {dtype}[4] reduce(p, z), dimensions={{1}}, to_apply=f }}""", np.zeros((4, 0)))
    assert (result == start).all()


@pytest.mark.parametrize("line, kind", [
    ("ROOT c = f16[] add(a, b)", "reduce"), ("ROOT c = f16[] add(b, a)", "reduce"),
    ("x = f32[] convert(a)\n y = f32[] convert(b)\n z = f32[] add(x, y)\n ROOT c = f16[] convert(z)", "reduce"),
    ("x = f16[] multiply(b, b)\n ROOT c = f16[] add(a, x)", "boundary"), ("ROOT c = f16[] add(a, a)", "boundary"),
    ("x = f16[] constant(2)\n ROOT c = f16[] maximum(a, x)", "boundary")])
def test_a_sum_is_of_both_parameters(tmp_path, line, kind):
    (tmp_path / "graph.hlo").write_text(f"""f {{ a = f16[] parameter(0)
 b = f16[] parameter(1)
 {line} }}
ENTRY e {{ p = f16[64,70] parameter(0)
  z = f16[] constant(0)
  ROOT r = f16[64] reduce(p, z), dimensions={{1}}, to_apply=f }}""")
    done = subprocess.run([plan_hlo.TEGULA, "plan", tmp_path / "graph.hlo", "--json"], capture_output=True, check=True)
    assert json.loads(done.stdout)["ops"][-1]["kind"] == kind


@pytest.mark.parametrize("left, right", [*itertools.product(["0,1", "1,0"], repeat=2)])
def test_products_over_two_dimensions(left, right):
    """The loop of the sticks of the left operand may be any of them, and end within a stick."""
    x = np.arange(400).reshape(20, 20) % 3 - 1
    y = np.arange(800).reshape(20, 20, 2) % 5 - 2
    for order in ("[0,1]", "[1,0]"):
        (result,) = run(f"""ENTRY e {{
  x = f16[20,20] parameter(0), frontend_attributes={{spyre_layout="spyre dim_order={order}"}}
  y = f16[20,20,2] parameter(1)
  ROOT r = f16[2] dot(x, y), lhs_contracting_dims={{{left}}}, rhs_contracting_dims={{{right}}} }}""", x, y)
        assert (result == np.einsum("ab,abc->c" if left == right else "ab,bac->c", x, y)).all()


def test_a_table_of_copies_has_no_rows(tmp_path):
    """Only the dimension that is picked is in memory, and lies in sticks."""
    (tmp_path / "graph.hlo").write_text("""ENTRY e { p = f16[100] parameter(0)
  t = f16[2,100] broadcast(p), dimensions={1}
  i = s32[70] parameter(1)
  ROOT r = f16[2,70] gather(t, i), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1,
    slice_sizes={2,1} }""")
    done = subprocess.run([plan_hlo.TEGULA, "plan", tmp_path / "graph.hlo", "--json"], capture_output=True, check=True)
    row = json.loads(done.stdout)["ops"][-1]
    assert row["kind"] == "boundary" and "picks single elements" in row["reason"]


def test_rows_are_picked_of_a_dimension_of_one(tmp_path):
    """There is nothing to pick, so the table may lie as it does."""
    text = """ENTRY e { p = f16[192,1] parameter(0)
  i = s32[3] parameter(1)
  ROOT r = f16[192,3] gather(p, i), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1,
    slice_sizes={192,1} }"""
    x = np.arange(192).reshape(192, 1)
    (result,) = run(text, x, np.array([0, 1, 0]))
    assert (result == np.repeat(x, 3, 1)).all()
    (tmp_path / "graph.hlo").write_text(text)
    done = subprocess.run([plan_hlo.TEGULA, "plan", tmp_path / "graph.hlo", "--json"], capture_output=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["restickify_bytes"] == 0 and answer["ops"][-1]["kind"] == "gather"
