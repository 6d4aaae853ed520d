"""What begins or steps inside a stick has a plan whatever reads it, and the simulator gives NumPy's numbers."""
import numpy as np
import pytest

import sim_c as sim

PARTS = """add {
  p = f16[] parameter(0)
  q = f16[] parameter(1)
  ROOT r = f16[] add(p, q)
}
times {
  p = f16[] parameter(0)
  q = f16[] parameter(1)
  ROOT r = f16[] multiply(p, q)
}
"""


def cut(name, of, starts, limits, steps):
    """The line of HLO, and the shape."""
    shape = [-(-(limit - start) // step) for start, limit, step in zip(starts, limits, steps)]
    places = ", ".join(f"[{a}:{b}:{s}]" for a, b, s in zip(starts, limits, steps))
    return f"  {name} = f16[{','.join(map(str, shape))}] slice({of}), slice={{{places}}}\n", shape


def text_of(shape):
    return f"f16[{','.join(map(str, shape))}]"


def run(lines, *inputs, **options):
    text = PARTS + "ENTRY main {\n" + lines + "}\n"
    with sim.Simulation(text, **options) as s:
        outputs = s.run(*inputs)
        assert s.difference(0).lost == 0
    return np.asarray(outputs[0], np.float64)


def close(result, wanted):
    assert result.shape == wanted.shape
    assert np.abs(result - wanted).max() <= 0.02 * max(1, np.abs(wanted).max())


def data(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [(rng.integers(-4, 5, shape) / 4).astype(np.float16) for shape in shapes]


CUTS = [([128], [32], [64], [1]), ([128], [0], [128], [2]), ([200], [70], [199], [3]),
        ([8, 128], [0, 32], [8, 64], [1, 1]), ([8, 128], [2, 1], [7, 128], [1, 2]),
        ([3, 70, 100], [1, 5, 9], [3, 66, 99], [1, 1, 1])]


@pytest.mark.parametrize("shape, starts, limits, steps", CUTS)
@pytest.mark.parametrize("layout", [None, "reversed"])
def test_what_reads_a_slice_of_an_input(shape, starts, limits, steps, layout):
    order = list(range(len(shape)))[::-1]
    says = f', frontend_attributes={{spyre_layout="spyre dim_order={order}"}}' if layout else ""
    line, part = cut("s", "x", starts, limits, steps)
    head = f"  x = {text_of(shape)} parameter(0){says}\n" + line
    (x,) = data(1, shape)
    s = x[tuple(slice(*row) for row in zip(starts, limits, steps))].astype(np.float64)
    close(run(head + f"  ROOT r = {text_of(part)} tanh(s)\n", x), np.tanh(s))
    close(run(head + "  z = f16[] constant(0)\n"
              f"  ROOT r = {text_of(part[:-1])} reduce(s, z), dimensions={{{len(part) - 1}}}, to_apply=add\n", x),
          s.sum(-1))
    dims = ",".join(map(str, order[::-1]))
    close(run(head + f"  z = f16[] constant(0)\n  ROOT r = f16[] reduce(s, z), dimensions={{{dims}}}, to_apply=add\n",
              x), s.sum())


def test_products_of_slices():
    (x, y) = data(2, [128], [200])
    head = ("  x = f16[128] parameter(0)\n  y = f16[200] parameter(1)\n" + cut("a", "x", [30], [90], [1])[0] +
            cut("b", "y", [7], [127], [2])[0])
    a, b = x[30:90].astype(np.float64), y[7:127:2].astype(np.float64)
    close(run(head + "  ROOT r = f16[60,60] dot(a, b), lhs_contracting_dims={}, rhs_contracting_dims={}\n", x, y),
          np.outer(a, b))
    close(run(head + "  ROOT r = f16[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n", x, y), a @ b)


@pytest.mark.parametrize("starts, steps", [([0, 32], [1, 1]), ([3, 5], [1, 2]), ([1, 0], [2, 2])])
def test_matrices_of_slices(starts, steps):
    x, w = data(3, [40, 140], [140, 90])
    line, part = cut("a", "x", starts, [40, 140], steps)
    other, columns = cut("b", "w", [140 - part[1], 7], [140, 90], [1, 1])
    a = x[starts[0]::steps[0], starts[1]::steps[1]].astype(np.float64)
    b = w[140 - part[1]:, 7:].astype(np.float64)
    close(run("  x = f16[40,140] parameter(0)\n  w = f16[140,90] parameter(1)\n" + line + other +
              f"  ROOT r = f16[{part[0]},{columns[1]}] dot(a, b), lhs_contracting_dims={{1}}, "
              "rhs_contracting_dims={0}\n", x, w), a @ b)


def test_a_sum_over_one_place_is_in_sticks():
    (x,) = data(5, [100, 1])
    close(run("  x = f16[100,1] parameter(0)\n  z = f16[] constant(0)\n"
              "  v = f16[100] reduce(x, z), dimensions={1}, to_apply=add\n" + cut("s", "v", [11], [57], [1])[0] +
              "  ROOT r = f16[46] add(s, s)\n", x), 2 * x[11:57, 0].astype(np.float64))


def test_a_place_inside_a_stick_goes_with_everything():
    (x,) = data(4, [3, 100])
    line = cut("a", "x", [0, 13], [3, 14], [1, 1])[0] + cut("b", "a", [1, 0], [2, 1], [1, 1])[0]
    close(run("  x = f16[3,100] parameter(0)\n" + line + "  c = f16[] reshape(b)\n"
              "  d = f16[3,100] broadcast(c), dimensions={}\n  ROOT r = f16[3,100] add(x, d)\n", x),
          x.astype(np.float64) + float(x[1, 13]))


@pytest.mark.parametrize("seed", range(30))
def test_random_slices(seed):
    """Of slices; read by sums and element by element, with and without copies for reductions."""
    rng = np.random.default_rng(seed)
    shape = [int(rng.choice([3, 20, 64, 70, 128, 150])) for _ in range(1 + rng.integers(3))]
    (x,) = data(seed, shape)
    lines, value, name, part = f"  x = {text_of(shape)} parameter(0)\n", x.astype(np.float64), "x", shape
    for i in range(1 + rng.integers(2)):
        starts = [int(rng.integers(n)) for n in part]
        limits = [start + 1 + int(rng.integers(n - start)) for start, n in zip(starts, part)]
        steps = [int(rng.choice([1, 1, 2, 3])) for _ in part]
        value = value[tuple(slice(*row) for row in zip(starts, limits, steps))]
        line, part = cut(f"s{i}", name, starts, limits, steps)
        lines, name = lines + line, f"s{i}"
    d = int(rng.integers(len(part)))
    left = part[:d] + part[d + 1:]
    close(run(lines + f"  t = {text_of(part)} add({name}, {name})\n  z = f16[] constant(0)\n"
              f"  ROOT r = {text_of(left)} reduce({name}, z), dimensions={{{d}}}, to_apply=add\n", x,
              relay_reductions=bool(seed % 2)), value.sum(d))
