"""Products of views: what is summed up is a part of a dimension, several dimensions, begins somewhere, goes in steps.
Every plan runs, and NumPy says what comes of it."""
import numpy as np
import pytest

import console  # noqa: F401, the package of the build folder
import plan_hlo
import sim_c as sim
import tegula
import tegula_c as t

SIZES = [2, 3, 4, 5, 13, 64, 77, 100, 128, 150, 154, 192, 300]


def listed(numbers):
    return ",".join(map(str, numbers))


class Views:
    """Tensors of HLO, and what NumPy makes of them."""

    def __init__(self, rng):
        self.rng, self.program, self.inputs = rng, plan_hlo.Program(), []

    def below(self, n):
        return int(self.rng.integers(n))

    def parameter(self, name, shape):
        self.inputs.append((self.rng.standard_normal(shape) / 4).astype(np.float16))
        return self.program.parameter(name, list(shape)), self.inputs[-1].astype(np.float64)

    def reshape(self, x, shape):
        return x[0].put(list(shape), f"reshape({x[0].name})"), x[1].reshape(shape)

    def split(self, x, d, n):
        return self.reshape(x, x[1].shape[:d] + (x[1].shape[d] // n, n) + x[1].shape[d + 1:])

    def permute(self, x, order):
        return x[0].permute(list(order)), x[1].transpose(order)

    def slice(self, x, places):
        made = x[1][tuple(slice(*p) for p in places)]
        text = ",".join(f"[{a}:{b}:{step}]" for a, b, step in places)
        return x[0].put(list(made.shape), f"slice({x[0].name}), slice={{{text}}}"), made

    def dot(self, x, y, sums, batches=((), ())):
        letters = iter("abcdefghijklmnopqrstuvwxyz")
        names = [[next(letters) for _ in side[1].shape] for side in (x, y)]
        for of in (sums, batches):
            for a, b in zip(*of):
                names[1][b] = names[0][a]
        batch = [names[0][a] for a in batches[0]]
        own = [n for side in names for n in side if n not in batch and (n in names[0]) != (n in names[1])]
        made = np.einsum(f"{''.join(names[0])},{''.join(names[1])}->{''.join(batch + own)}", x[1], y[1], optimize=True)
        text = (f"dot({x[0].name}, {y[0].name}), lhs_contracting_dims={{{listed(sums[0])}}}, "
                f"rhs_contracting_dims={{{listed(sums[1])}}}, lhs_batch_dims={{{listed(batches[0])}}}, "
                f"rhs_batch_dims={{{listed(batches[1])}}}")
        return x[0].put(list(made.shape), text), made

    def run(self, result, seed=0):
        with sim.Simulation(self.program.text(), seed=seed) as s:
            made, = s.run(*self.inputs)
        np.testing.assert_allclose(made, result[1], rtol=2**-7, atol=2**-9 + np.abs(result[1]).max(initial=0) / 64)


def draw_view(v, name, shape):
    x = v.parameter(name, shape)
    for _ in range(v.below(4)):
        shape, way = x[1].shape, v.below(4)
        d = v.below(len(shape))
        splits = [n for n in range(2, shape[d]) if shape[d] % n == 0]
        if way == 0 and splits:
            x = v.split(x, d, splits[v.below(len(splits))])
        elif way == 1:
            x = v.permute(x, v.rng.permutation(len(shape)).tolist())
        elif way == 2 and len(shape) > 1:
            d = v.below(len(shape) - 1)
            x = v.reshape(x, shape[:d] + (shape[d] * shape[d + 1],) + shape[d + 2:])
        elif way == 3:
            first = v.below(2) * (shape[d] // 2)
            x = v.slice(x, [(first, n, 1 + v.below(5) // 4) if k == d else (0, n, 1) for k, n in enumerate(shape)])
    return x


def draw_product(seed):
    """None where it would be large."""
    v = Views(np.random.default_rng(seed))
    x = draw_view(v, "a", [SIZES[v.below(len(SIZES))] for _ in range(1 + v.below(3))])
    ndim, own = x[1].ndim, [(2, 3, 13, 64, 70, 128)[v.below(6)] for _ in range(v.below(3))]
    dims = v.rng.permutation(ndim).tolist()
    nsums = min(ndim, v.below(3))
    sums, batches = dims[:nsums], dims[nsums:nsums + v.below(2)]
    tags = [*sums, *batches, *range(ndim, ndim + len(own))]
    order = v.rng.permutation(len(tags)).tolist()
    shape = [(*x[1].shape, *own)[tags[i]] for i in order]
    whole = [np.prod(shape[i:i + 2]) for i in range(0, len(shape), 2)] if v.below(3) == 0 else shape
    if x[1].size > 200000 or np.prod(shape) > 200000 or x[1].size * np.prod(own) > 10**7:
        return None
    y = v.reshape(v.parameter("b", tuple(map(int, whole))), tuple(shape))
    there = [[order.index(i) for i in places] for places in (range(nsums), range(nsums, nsums + len(batches)))]
    return v, v.dot(x, y, (sums, there[0]), (batches, there[1]))


@pytest.mark.parametrize("seeds", [range(i, i + 50) for i in range(0, 200, 50)], ids=str)
def test_random_products(seeds):
    count = 0
    for seed in seeds:
        drawn = draw_product(seed)
        if drawn is None:
            continue
        try:
            drawn[0].run(drawn[1], seed)
        except t.TegulaError as error: # a slice from within a stick on
            assert "not feasible" in str(error) and "slice(" in drawn[0].program.text(), (seed, str(error))
            continue
        count += 1
    assert count > len(seeds) // 2


def views():
    return Views(np.random.default_rng(5))


def test_the_right_operand_has_parts_of_a_dimension():
    """[300,256] read as [3,100,256]: behind the hundredth row comes the next part, and no room for zeros."""
    v = views()
    x, y = v.parameter("x", (3, 20, 100)), v.split(v.parameter("y", (300, 256)), 0, 100)
    v.run(v.dot(x, y, ([2], [1]), ([0], [0])))


def test_a_vector_is_summed_with_parts_of_a_dimension():
    v = views()
    v.run(v.dot(v.split(v.parameter("x", (52, 70)), 0, 4), v.parameter("y", (4,)), ([1], [0])))


def test_a_sum_that_begins_within_a_dimension():
    v = views()
    y = v.slice(v.parameter("y", (300, 64)), [(150, 300, 1), (0, 64, 1)])
    v.run(v.dot(v.parameter("x", (20, 150)), y, ([1], [0])))


@pytest.mark.parametrize("shape", [(2, 300), (300, 2), (70, 100), (128, 3)])
def test_a_sum_over_two_dimensions(shape):
    """Lanes behind the end count as zeros, whichever of the two loops is the inner one."""
    v = views()
    x, y = v.parameter("x", shape), v.parameter("y", (*shape[::-1], 64))
    v.run(v.dot(x, y, ([1, 0], [0, 1])))


def test_parts_that_are_whole_sticks_need_no_copy():
    v = views()
    x, y = v.parameter("x", (20, 128)), v.split(v.parameter("y", (384, 64)), 0, 128)
    v.run(v.dot(x, y, ([1], [1])))
    told = plan_hlo.plan(v.program.text())
    assert [op["kind"] for op in told["ops"]] == ["input", "input", "matmul"] and not told["restickifies"]


def test_no_room_for_zeros_is_a_reason():
    """A hundred rows of three hundred are summed up: the next ones come right behind them."""
    graph = tegula.Graph()
    x, y = graph.add_input((3, 20, 100), "f16"), graph.add_input((300, 256), "f16")
    graph.matmul(x, (y, (3, 100, 256), (25600, 256, 1), 0))
    with pytest.raises(tegula.PlanInfeasible) as caught:
        graph.plan()
    reasons = [row.reason for row in caught.value.conflict[0].obstacles]
    assert reasons[0] is None and "there is no room for zeros" in reasons[1]


# ---- nothing is summed up ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes, batches", [
    (((77,), (100,)), ((), ())), (((64,), (64,)), ((), ())), (((13, 70), (3,)), ((), ())), (((2,), (3, 154)), ((), ())),
    (((4, 77), (4, 100)), ((0,), (0,))), (((1, 70), (5, 1)), ((), ())), (((), (70,)), ((), ()))])
def test_outer_product(shapes, batches):
    """No tensor leaves its sticks for a loop that it does not have: one of them is multiplied out."""
    v = views()
    v.run(v.dot(v.parameter("x", shapes[0]), v.parameter("y", shapes[1]), ((), ()), batches))


def test_a_sum_of_one_term():
    v = views()
    v.run(v.dot(v.parameter("x", (77, 1)), v.parameter("y", (1, 100)), ([1], [0])))


@pytest.mark.parametrize("dtype, kinds", [("f16", ["input", "input", "pointwise", "pointwise"]),
                                          ("f32", ["input", "input", "clone", "pointwise"])])
@pytest.mark.parametrize("product", ["dot(a, b), lhs_contracting_dims={}, rhs_contracting_dims={}", "multiply(x, y)"])
def test_vectors_multiply_each_with_each(dtype, kinds, product):
    """The device copies a format into other sticks, or the host writes it so; the smaller tensor is multiplied out."""
    text = """ENTRY main {
  a = f16[77] parameter(0)
  b = f16[100] parameter(1)
  x = f16[77,100] broadcast(a), dimensions={0}
  y = f16[77,100] broadcast(b), dimensions={1}
  ROOT r = f16[77,100] """ + product + "\n}\n"
    told = plan_hlo.plan(text.replace("f16", dtype), "--device-formats")
    assert [op["kind"] for op in told["ops"]] == kinds and told["ops"][-1]["opcode"] == "multiply"
    assert sum(len(r["consumers"]) for r in told["restickifies"]) == (dtype == "f16")
    done = plan_hlo.run(text.replace("f16", dtype), "--run")
    assert done.returncode == 0, done.stdout
