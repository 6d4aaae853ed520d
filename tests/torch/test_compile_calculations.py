"""Each operation that the simulated device knows, by itself, against the CPU in float64: what it calculates, of which
types, and that it did not run on the CPU. Those of one kind share a graph, as most of the time goes into making one;
each has its own result in it."""
import functools
import math

import pytest
import torch
from torch.nn import functional as F

from tegula.torch import compile_backend, compile_calculations

SHAPE = (5, 70)


def compiled(function, *given):
    torch._dynamo.reset()
    programs = []
    with compile_backend.watching(lambda compiled, program, new, again: programs.append(program)):
        result = torch.compile(function, backend="spyre", fullgraph=True)(*given)
    program, = programs
    return result, program


def draw(low, high, dtype=torch.float32):
    """Numbers of both sides of 0 where there are any; those of 16 bits are numbers of the device."""
    if dtype == torch.bool:
        return torch.rand(SHAPE) < 0.5
    if not dtype.is_floating_point:
        return torch.randint(int(low), int(high) + 1, SHAPE, dtype=dtype)
    return (torch.rand(SHAPE) * (high - low) + low).to(dtype).to("spyre").cpu()


class Together:
    """One graph that has the results of all these functions: {name: (function, what it is called with)}. Where there is
    no such graph, or a part of it runs on the CPU, each function has a graph of its own, which tells whose fault it is;
    test_one_graph fails as well, so that none is lost."""

    def __init__(self, cases):
        self.cases, self.error = cases, None
        inputs = list({id(x): x for _, given in cases.values() for x in given}.values())
        places = {id(x): i for i, x in enumerate(inputs)}
        called = [(function, [places[id(x)] for x in given]) for function, given in cases.values()]

        def run(*inputs):
            return [function(*[inputs[i] for i in where]) for function, where in called]

        try:
            self.made, self.program = compiled(run, *[x.to("spyre") for x in inputs])
            assert not self.program.fallbacks, self.program.fallbacks
        except Exception as error:
            self.error = error

    def result(self, name):
        """Of the function of that name, and the number of steps to it."""
        if self.error:
            function, given = self.cases[name]
            made, program = compiled(function, *[x.to("spyre") for x in given])
            assert not program.fallbacks, program.fallbacks
            return made, len(program.steps)
        place = list(self.cases).index(name)
        found, row = set(), [self.program.outputs[place]]
        while row:
            node = row.pop()
            if node not in found:
                found.add(node)
                row += node.all_input_nodes
        return self.made[place], sum(step.node in found for step in self.program.steps)


def judge(together, name):
    """Half a unit in the last place for each rounding: 2^-10 of the result in DLFloat16, which has 9 fraction bits, and
    some more where float32 itself errs."""
    function, given = together.cases[name]
    made, steps = together.result(name)
    wanted = function(*[x.double() if x.is_floating_point() else x for x in given])
    assert made.size() == wanted.size() and made.dtype == function(*given).dtype
    if not made.dtype.is_floating_point:
        assert torch.equal(made.cpu().to(wanted.dtype), wanted)
        return
    share = (2.0**-10 if made.dtype == torch.float16 else 2.0**-20) * steps
    error, scale = (made.cpu().double() - wanted).abs(), wanted.abs().max()
    assert (error <= 1.01 * share * wanted.abs() + 2.0**-21 * scale + 2.0**-31).all(), (error / wanted.abs()).max()


# name of the operation: (function, bounds of each operand)
UNARY = {
    "abs": (torch.abs, -3, 3), "acos": (torch.acos, -0.9, 0.9), "acosh": (torch.acosh, 1.1, 4),
    "asin": (torch.asin, -0.9, 0.9), "asinh": (torch.asinh, -3, 3), "atan": (torch.atan, -3, 3),
    "atanh": (torch.atanh, -0.9, 0.9), "ceil": (torch.ceil, -3, 3), "cos": (torch.cos, -3, 3),
    "cosh": (torch.cosh, -3, 3), "erf": (torch.erf, -2, 2), "exp": (torch.exp, -5, 5), "exp2": (torch.exp2, -5, 5),
    "expm1": (torch.expm1, -1, 1), "floor": (torch.floor, -3, 3), "log": (torch.log, 0.1, 9),
    "log10": (torch.log10, 0.1, 9), "log1p": (torch.log1p, -0.5, 3), "log2": (torch.log2, 0.1, 9),
    "neg": (torch.neg, -3, 3), "reciprocal": (torch.reciprocal, 0.3, 3), "relu": (torch.relu, -3, 3),
    "round": (torch.round, -3, 3), "rsqrt": (torch.rsqrt, 0.3, 9), "sigmoid": (torch.sigmoid, -5, 5),
    "sign": (torch.sign, -3, 3), "sgn": (torch.sgn, -3, 3), "sin": (torch.sin, -3, 3), "sinh": (torch.sinh, -3, 3),
    "sqrt": (torch.sqrt, 0, 9), "square": (torch.square, -3, 3), "tan": (torch.tan, -1, 1),
    "tanh": (torch.tanh, -3, 3), "trunc": (torch.trunc, -3, 3),
    "pow": (lambda x: x**2 + x**3 * 0, -3, 3), "pow of 2.5": (lambda x: x**2.5, 0, 4),
    "pow of halves": (lambda x: x**0.5, 0, 4), "gelu": (F.gelu, -3, 3),
    "gelu with tanh": (lambda x: F.gelu(x, approximate="tanh"), -3, 3), "silu": (F.silu, -3, 3),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.3), -3, 3), "elu": (lambda x: F.elu(x, 1.5), -3, 3),
    "hardtanh": (lambda x: F.hardtanh(x, -2, 1), -3, 3), "hardsigmoid": (F.hardsigmoid, -4, 4),
    "hardswish": (F.hardswish, -4, 4), "softplus": (F.softplus, -3, 25),
    "clamp": (lambda x: x.clamp(-1, 2), -3, 3), "clamp_min": (lambda x: x.clamp_min(-1), -3, 3),
    "clamp_max": (lambda x: x.clamp_max(1), -3, 3), "rsub": (lambda x: torch.rsub(x, 2.5), -3, 3),
    "add": (lambda x: torch.add(x, 0.1, alpha=3), 0, 3), "mul": (lambda x: x * 0.1, -3, 3),
    "div": (lambda x: x / 3, -3, 3), "remainder": (lambda x: x % 0.75, -3, 3),
    "fmod": (lambda x: torch.fmod(x, 0.75), -3, 3), "floor_divide": (lambda x: x // 0.75, -3, 3),
    "truncating": (lambda x: torch.div(x, 0.75, rounding_mode="trunc"), -3, 3),
    "masked_fill": (lambda x: x.masked_fill(x > 1, 7.5), -3, 3),
    "where": (lambda x: torch.where(x > 1, x, -2.5), -3, 3),
}
BINARY = {
    "add": (lambda x, y: torch.add(x, y, alpha=0.5), 0, 3), "sub": (lambda x, y: torch.sub(x, y, alpha=-2), 0, 3),
    "mul": (torch.mul, -3, 3), "div": (torch.div, 0.5, 3), "maximum": (torch.maximum, -3, 3),
    "minimum": (torch.minimum, -3, 3), "atan2": (torch.atan2, -3, 3), "pow": (torch.pow, 0.5, 3),
    "remainder": (torch.remainder, 0.5, 3), "fmod": (torch.fmod, 0.5, 3),
    "floor_divide": (torch.floor_divide, 0.5, 3), "clamp": (lambda x, y: torch.clamp(x, min=y), -3, 3),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.25), 1, 3),
    "addcmul": (lambda x, y: torch.addcmul(x, x, y, value=0.5), 0, 3),
    "addcdiv": (lambda x, y: torch.addcdiv(x, x, y, value=0.5), 0.5, 3),
    "where": (lambda x, y: torch.where(x > y, x, y), -3, 3), "rsub": (torch.rsub, 0, 1),
    "the other way": (lambda x, y: torch.where(x > y.t()[:5].t()[:, :1], x, 1 - x), 0, 1),
}


FLOATS = {"f32": torch.float32, "f16": torch.float16}


@functools.cache
def of_one(dtype):
    """Functions of the same bounds have the same operand."""
    drawn = {bounds: draw(*bounds, FLOATS[dtype]) for bounds in {(low, high): 0 for _, low, high in UNARY.values()}}
    return Together({name: (function, [drawn[low, high]]) for name, (function, low, high) in UNARY.items()})


@functools.cache
def of_two(dtype):
    bounds = {(low, high): 0 for _, low, high in BINARY.values()}
    drawn = {pair: [draw(*pair, FLOATS[dtype]), draw(*pair, FLOATS[dtype])] for pair in bounds}
    return Together({name: (function, drawn[low, high]) for name, (function, low, high) in BINARY.items()})


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_of_one(name, dtype):
    judge(of_one(dtype), name)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_of_two(name, dtype):
    judge(of_two(dtype), name)


COMPARISONS = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}


TYPES = {str(dtype)[6:]: dtype for dtype in (torch.float32, torch.float16, torch.int32, torch.int64, torch.bool)}


@functools.cache
def comparisons(dtype):
    x, y = draw(-3, 3, TYPES[dtype]), draw(-3, 3, TYPES[dtype])
    y[0] = x[0]
    return Together({name: (function, [x, y]) for name, function in COMPARISONS.items()})


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison(name, dtype):
    judge(comparisons(dtype), name)


def test_comparison_with_numbers():
    """As a number of the tensor's type: 0.1 is equal to itself in 16 bits, and 65504 is what the device has of it."""
    x = torch.tensor([0.1, 1 / 3, 65504.0, -65504.0, 8.0] * 14).half().to("spyre")
    for number in (0.1, 1 / 3, 65504, torch.finfo(torch.float16).min):
        made, program = compiled(lambda x, number=number: x == number, x)
        assert not program.fallbacks and made.sum() == 14


TRUTHS = {
    "logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor,
    "logical_not": lambda x, y: torch.logical_not(x), "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor, "bitwise_not": lambda x, y: torch.bitwise_not(x), "any": lambda x, y: x.any(-1),
    "all": lambda x, y: (x | y).all(0), "sum": lambda x, y: x.sum(-1), "cat": lambda x, y: torch.cat([x, y]),
    "where": lambda x, y: torch.where(x, y, ~y), "add": lambda x, y: x + y, "mul": lambda x, y: x * y,
}


@functools.cache
def on_truth():
    given = [draw(0, 1, torch.bool), draw(0, 1, torch.bool)]
    return Together({name: (function, given) for name, function in TRUTHS.items()})


@pytest.mark.parametrize("name", TRUTHS)
def test_on_truth(name):
    judge(on_truth(), name)


INTEGERS = {
    "add": lambda x, y: torch.add(x, y, alpha=3), "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "neg": lambda x, y: -x, "abs": lambda x, y: x.abs(), "sign": lambda x, y: x.sign(), "pow": lambda x, y: x**2,
    "maximum": torch.maximum, "minimum": torch.minimum, "div": lambda x, y: x / 7, "floor": lambda x, y: x // 7,
    "floor below 0": lambda x, y: x // -7, "trunc": lambda x, y: torch.div(x, 7, rounding_mode="trunc"),
    "remainder": lambda x, y: x % 7, "remainder below 0": lambda x, y: x % -7, "fmod": lambda x, y: torch.fmod(x, 7),
    "clamp": lambda x, y: x.clamp(-3, 5), "where": lambda x, y: torch.where(x > y, x, y), "sum": lambda x, y: x.sum(-1),
    "amax": lambda x, y: x.amax(-1), "amin": lambda x, y: x.amin(0), "any": lambda x, y: (x & 6).any(-1),
    "all": lambda x, y: (x | 1).all(-1), "bitwise_and": lambda x, y: x & y, "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y, "bitwise_not": lambda x, y: ~x, "logical_not": lambda x, y: x.logical_not(),
    "logical_and": lambda x, y: x.logical_and(y), "relu": lambda x, y: x.relu(), "cat": lambda x, y: torch.cat([x, y]),
    "with floats": lambda x, y: x * 0.5 + y.float(), "sqrt": lambda x, y: x.abs().sqrt(),
    "arange": lambda x, y: x + torch.arange(5, 145, 2, device=x.device), "exponents": lambda x, y: 2.0**x,
}


@functools.cache
def on_integers(dtype):
    given = [draw(-9, 9, TYPES[dtype]), draw(-9, 9, TYPES[dtype])]
    return Together({name: (function, given) for name, function in INTEGERS.items()})


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", INTEGERS)
def test_on_integers(name, dtype):
    judge(on_integers(dtype), name)


def conversion(to):
    return lambda x: x.to(to) if x.dtype != to else x.clone()


@functools.cache
def conversions(dtype):
    x = draw(-3, 3, TYPES[dtype])
    return Together({name: (conversion(to), [x]) for name, to in TYPES.items()})


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_conversion(dtype, to):
    judge(conversions(dtype), to)


@pytest.mark.parametrize("make, dtype", [
    *((make, dtype) for make in (of_one, of_two) for dtype in FLOATS), (on_truth, None),
    *((make, dtype) for make in (comparisons, conversions) for dtype in TYPES),
    *((on_integers, dtype) for dtype in ("int32", "int64"))], ids=lambda x: getattr(x, "__name__", str(x)))
def test_one_graph(make, dtype):
    """All of them can be one graph, which runs on the device."""
    together = make(dtype) if dtype else make()
    if together.error:
        raise together.error


BACKWARD = {
    "gelu_backward": F.gelu, "gelu_backward with tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu_backward": F.silu, "sigmoid_backward": torch.sigmoid, "tanh_backward": torch.tanh,
    "threshold_backward": torch.relu,
}


@pytest.mark.parametrize("name", BACKWARD)
def test_backward(name):
    """As PyTorch differentiates, in float64."""
    x, programs = draw(-3, 3), []
    given, wanted = x.to("spyre").requires_grad_(), x.double().requires_grad_()
    torch._dynamo.reset()
    with compile_backend.watching(lambda compiled, program, new, again: programs.append(program)):
        (torch.compile(BACKWARD[name], backend="spyre")(given) ** 2).sum().backward()
    (BACKWARD[name](wanted) ** 2).sum().backward()
    assert len(programs) == 2 and not any(program.fallbacks for program in programs)
    assert (given.grad.cpu() - wanted.grad).abs().max() < 2**-18


MADE = {
    "full": lambda x: torch.full((5, 70), -1.5, device=x.device) + x, "zeros": lambda x: torch.zeros_like(x) - x,
    "ones": lambda x: torch.ones(70, device=x.device) / x,
    "arange": lambda x: torch.arange(-7, 63, device=x.device) * x,
    "arange of floats": lambda x: torch.arange(0.5, 35.5, 0.5, device=x.device) + x,
    "new_full": lambda x: x.new_full((70,), 2.5) * x,
    "scalar_tensor": lambda x: x + torch.scalar_tensor(2.0, device=x.device),
    "sum": lambda x: x.sum(-1), "sum of all": lambda x: x.sum(), "mean": lambda x: x.mean((0, 1)),
    "mean along": lambda x: x.mean(-1, keepdim=True), "amax": lambda x: x.amax(-1), "amin": lambda x: x.amin(0),
    "max": lambda x: x.max(), "min": lambda x: x.min(), "prod": lambda x: x.prod(0), "any": lambda x: (x > 2.9).any(-1),
    "cat": lambda x: torch.cat([x, x[:, 6:], x * 2], -1), "mm": lambda x: x @ x.t(), "mv": lambda x: x @ x[0],
    "bmm": lambda x: x.view(5, 7, 10) @ x.view(5, 10, 7), "dot": lambda x: x[0] @ x[1],
    "convolution": lambda x: F.conv1d(x.view(1, 5, 70), x.view(7, 5, 10)[:, :, :3], stride=2, padding=1, dilation=2),
}


@pytest.mark.parametrize("name", MADE)
def test_of_other_kinds(name):
    x = draw(0.5, 3)
    made, program = compiled(MADE[name], x.to("spyre"))
    wanted = MADE[name](x.double())
    assert not program.fallbacks
    assert (made.cpu().double() - wanted.double()).abs().max() <= 2**-20 * wanted.double().abs().max()


WINDOWS = {  # function, sizes, why it is not simulated; as float32 has whole sticks of 32
    "1d": (lambda x, w: F.conv1d(x, w, stride=2, padding=1, dilation=2), [(2, 5, 17), (7, 5, 3)], None),
    "3d": (lambda x, w: F.conv3d(x, w, stride=(2, 1, 1), padding=(1, 2, 0)), [(2, 5, 5, 6, 4), (7, 5, 3, 2, 3)], None),
    "depthwise": (lambda x, w: F.conv2d(x, w, groups=6, padding=1), [(2, 6, 5, 6), (6, 1, 3, 3)], None),
    "multiplier": (lambda x, w: F.conv2d(x, w, groups=3), [(2, 3, 5, 6), (96, 1, 3, 3)], None),
    "grouped": (lambda x, w: F.conv2d(x, w, groups=2, padding=1), [(1, 64, 4, 5), (64, 32, 3, 3)], None),
    "small groups": (lambda x, w: F.conv2d(x, w, groups=2), [(2, 6, 5, 6), (4, 3, 3, 3)],
                     "its groups of channels are not whole sticks"),
    "transposed": (lambda x, w: F.conv_transpose2d(x, w, stride=(2, 3), padding=1, output_padding=(1, 0),
                                                   dilation=(2, 1)), [(2, 5, 5, 6), (5, 7, 3, 2)], None),
    "transposed depthwise": (lambda x, w: F.conv_transpose2d(x, w, stride=2, groups=6), [(2, 6, 5, 6), (6, 1, 3, 2)],
                             None),
    "transposed grouped": (lambda x, w: F.conv_transpose1d(x, w, stride=2, groups=2), [(1, 64, 5), (64, 32, 3)], None),
    "one channel": (lambda x, w: F.conv2d(x, w), [(2, 1, 5, 6), (3, 1, 2, 2)], "a single channel cannot lie in sticks"),
    "repeated": (lambda x, w: F.conv2d(x[:, :1].expand(-1, 5, -1, -1), w), [(2, 3, 5, 6), (7, 5, 2, 2)], None),
    "max": (lambda x: F.max_pool2d(x, 3, 2, 1), [(2, 5, 9, 8)], None),
    "max of more": (lambda x: F.max_pool2d(x, (3, 2), 2, 1, 1, ceil_mode=True), [(2, 5, 9, 8)], None),
    "max of fewer": (lambda x: F.max_pool2d(x, 2, 1, 0, 2), [(5, 9, 8)], None),
    "max 1d": (lambda x: F.max_pool1d(x, 2), [(2, 5, 9)], None),
    "max 3d": (lambda x: F.max_pool3d(x, 2), [(2, 5, 4, 6, 4)], None),
    "places of the largest": (lambda x: F.max_pool2d(x, 2, return_indices=True)[1], [(2, 5, 4, 6)],
                              "it has several results"),
    "one image": (lambda x: F.max_pool2d(x, 2), [(1, 1, 4, 6)], "none of its dimensions can lie in sticks"),
    "mean": (lambda x: F.avg_pool2d(x, 3, 2, 1), [(2, 5, 9, 8)], None),
    "mean of a number": (lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5), [(2, 5, 9, 8)], None),
    "mean 1d": (lambda x: F.avg_pool1d(x, 2), [(2, 5, 8)], None),
    "mean 3d": (lambda x: F.avg_pool3d(x, 2), [(2, 5, 4, 6, 4)], None),
    "mean of what is there": (lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), [(2, 5, 9, 8)],
                              "its windows have different numbers of elements"),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name):
    function, sizes, why = WINDOWS[name]
    given = [torch.randn(size) for size in sizes]
    made, program = compiled(function, *(x.to("spyre") for x in given))
    wanted = function(*(x.double() for x in given))
    assert [said for _, said in program.fallbacks] == ([why] if why else [])
    assert (made.cpu().double() - wanted).abs().max() <= 2**-19 * wanted.abs().max()


GROUPS = "its groups of channels are not whole sticks"
DIFFERENTIATED = {  # what runs on the CPU; the function is that of WINDOWS
    "1d": [], "3d": [], "transposed": [], "depthwise": [GROUPS], "grouped": [], "transposed grouped": [],
    "one channel": ["a single channel cannot lie in sticks"] * 2, "mean": [], "mean of a number": [], "mean 3d": [],
    "mean of what is there": [WINDOWS["mean of what is there"][2], "no rule knows it"],
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_of_windows(name):
    """In pieces that are convolutions again, against PyTorch in float64."""
    function, sizes, _ = WINDOWS[name]
    numbers, programs = [torch.randn(size) for size in sizes], []
    given = [x.to("spyre").requires_grad_() for x in numbers]
    wanted = [x.double().requires_grad_() for x in numbers]
    torch._dynamo.reset()
    with compile_backend.watching(lambda compiled, program, new, again: programs.append(program)):
        (torch.compile(function, backend="spyre")(*given) ** 2).sum().backward()
    (function(*wanted) ** 2).sum().backward()
    for a, b in zip(given, wanted):
        assert (a.grad.cpu() - b.grad).abs().max() <= 2**-18 * b.grad.abs().max()
    assert [why for program in programs for _, why in program.fallbacks] == DIFFERENTIATED[name]


def test_every_formula_has_a_test():
    tables = (UNARY, BINARY, COMPARISONS, TRUTHS, INTEGERS, BACKWARD)
    elsewhere = {"true_divide", "isnan", "isinf", "fma"}  # the last one where optimizers are
    tested = {name.split(" ")[0] for table in tables for name in table} | elsewhere
    assert set(compile_calculations._FORMULAS) <= tested


@pytest.mark.parametrize("op", [torch.addmm, torch.baddbmm])
@pytest.mark.parametrize("alpha, beta", [(2, 3), (0.5, 1), (1, 0.9), (2.7, -1.9), (-2.5, 1.5), (0, 0)])
def test_factors_of_integers(op, alpha, beta):
    """They are integers: what is behind their point is dropped."""
    torch._dynamo.reset()
    sizes = [(3, 5), (3, 4), (4, 5)] if op is torch.addmm else [(2, 3, 5), (2, 3, 4), (2, 4, 5)]
    given = [torch.randint(-5, 5, size, dtype=torch.int32) for size in sizes]
    run = torch.compile(lambda *given: op(*given, alpha=alpha, beta=beta), backend="spyre", fullgraph=True)
    assert torch.equal(run(*[value.to("spyre") for value in given]).cpu(), op(*given, alpha=alpha, beta=beta))


# ---- places ------------------------------------------------------------------------------------


def test_places_that_are_none():
    """PyTorch refuses them; a place below 0 counts from the end where PyTorch lets it."""
    table, places = torch.rand(7, 70).to("spyre"), torch.tensor([1, -1, 6, -7]).to("spyre")
    made, program = compiled(lambda t, i: t[i], table, places)
    assert not program.fallbacks and torch.equal(made.cpu(), table.cpu()[places.cpu()])
    for function, wrong in ((lambda t, i: t[i], 7), (lambda t, i: t[i], -8), (lambda t, i: F.embedding(i, t), -1),
                            (lambda t, i: t.index_select(0, i), 7), (lambda t, i: t.gather(0, i.view(1, 1)), -1)):
        with pytest.raises(IndexError, match=f"index {wrong} is out of range"):
            compiled(function, table, torch.tensor([wrong]).to("spyre"))


def test_places_of_single_elements():
    """Of a vector, and of rows of one element: the data says the lane, too."""
    places = torch.tensor([199, 0, 65, 33, 1, 31, 32])
    for size, dtype in (((200,), torch.float32), ((200, 1), torch.float16), ((200,), torch.int64)):
        table = torch.arange(200).view(size).to(dtype)
        for function in (lambda t, i: t[i], lambda t, i: t.index_select(0, i), lambda t, i: t.roll(3, 0)):
            made, program = compiled(function, table.to("spyre"), places.to("spyre"))
            assert not program.fallbacks and torch.equal(made.cpu(), function(table, places))


# ---- infinity and NaN ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["f32", "f16"])
def test_masks_that_are_infinite(dtype):
    """They come from the host, are made, and are compared with."""
    scores, mask = draw(-3, 3, dtype), torch.zeros(SHAPE, dtype=dtype).masked_fill(torch.rand(SHAPE) < 0.3, -math.inf)

    def run(scores, mask):
        masked = scores + mask
        again = torch.where(masked == -math.inf, -math.inf, scores)
        return again.softmax(-1), (mask.clone() == -math.inf).sum(), (scores + mask.view(70, 5).view(5, 70)).softmax(-1)

    made, program = compiled(run, scores.to("spyre"), mask.to("spyre"))
    wanted = run(scores.double(), mask.double())
    assert not program.fallbacks and made[1].item() == wanted[1].item()
    for a, b in ((made[0], wanted[0]), (made[2], wanted[2])):
        assert (a.cpu() - b).abs().max() < (2**-9 if dtype == torch.float16 else 2**-20)


def test_infinity_and_nan_in_32_bits():
    x = torch.tensor([1.0, math.inf, -math.inf, math.nan, 0.0] * 14)

    def run(x):
        return x.isnan(), x.isinf(), x + 1, x * 0, x.clamp(-1, 1), x.sign(), x.sgn()

    made, program = compiled(run, x.to("spyre"))
    assert not program.fallbacks
    for a, b in zip(made, run(x), strict=True):
        torch.testing.assert_close(a.cpu(), b, equal_nan=True)
    _, program = compiled(lambda x: x.isnan(), x.half().to("spyre"))
    assert [why for _, why in program.fallbacks] == ["in 16 bits the device has one code for infinity and NaN"]


def test_integers_that_do_not_fit():
    """The device has 32 bits for an int64; what is larger is an error, as it is on the way there."""
    x = torch.full((70,), 2**20).to("spyre")
    for function in (lambda x: x * 4096, lambda x: x * x, lambda x: (x * 2047).sum()):
        with pytest.raises(OverflowError, match="does not fit"):
            compiled(function, x)
    made, _ = compiled(lambda x: x * 2047 - 1, x)
    assert (made.cpu() == 2**20 * 2047 - 1).all()
    y = torch.full((70,), 2**20, dtype=torch.int32)
    made, _ = compiled(lambda x: x * 4096, y.to("spyre"))
    assert torch.equal(made.cpu(), y * 4096)
