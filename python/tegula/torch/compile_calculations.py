"""What an operation of PyTorch calculates, as the simulated device is told it (tegula.Simulator, docs/python.md).

The planner has to know how an operation reads and writes; here stands which function it is. Operations that work
element by element are formulas: several steps between two roundings, as PyTorch has them. What is not here, or asks
for more than the device does, runs on the CPU, and the report names it. To add an operation: a row in the tables.
"""
import math

import torch

from tegula.torch import compile_windows

_aten = torch.ops.aten


class NotSimulated(Exception):
    """Why an operation has no calculation."""


def is_device(value):
    return isinstance(value, torch.Tensor) and value.device.type == "spyre"


def _is_real(dtype):
    return dtype.is_floating_point or dtype == torch.bool


def _in(dtype):
    """The type that numbers of this type are calculated in; truth values are numbers, as the device has them."""
    return "f32" if _is_real(dtype) else "s32" if dtype == torch.int32 else "s64"


_HALVES = (torch.float16, torch.bfloat16)  # DLFloat16 on the device


class Formula:
    """Steps about the operands of a call. What steps and operands are called is text: "$3" is value 3."""

    def __init__(self, call):
        self.call, self.steps = call, []
        self.places = {id(tensor): place for place, tensor in reversed(list(enumerate(call.tensors)))}
        self.dtype = call.result.dtype

    def __getitem__(self, name):
        """An argument: an operand, or a number."""
        value = self.call.named.get(name)
        if is_device(value):
            return self._operand(value)
        if isinstance(value, (bool, int, float)):
            return float(value)
        if value is None:
            return None
        raise NotSimulated(f"its {name} is a tensor of the host" if isinstance(value, torch.Tensor)
                           else f"its {name} is {value}")

    def _operand(self, tensor):
        """In 16 bits the largest number stands for infinity: in float32 it is that again."""
        x = f"${self.places[id(tensor)]}"
        if tensor.dtype not in _HALVES or self.dtype != torch.float32:
            return x
        return self("select", self("eq", self("abs", x), math.inf), self("divide", x, 0.0), x)

    def __call__(self, op, *values):
        self.steps.append((op, *values))
        return f"${len(self.call.tensors) + len(self.steps) - 1}"

    def common(self, *names):
        """The type in which PyTorch compares or adds these arguments."""
        values = [self.call.named[name] for name in names]
        return torch.result_type(*values) if len(values) == 2 else values[0].dtype

    def whole(self):
        return not _is_real(self.dtype)


# ---- element by element ------------------------------------------------------------------------


def _same(op, *names):
    """An operation that the device has as it is."""
    def formula(f):
        f(op, *[f[name] for name in names])
    return formula


def _logical(op, *names):
    def formula(f):
        f.dtype = torch.bool
        f(op, *[f("ne", f[name], 0.0) for name in names])
    return formula


def _scaled(f, value, factor):
    return value if factor in (None, 1.0) else f("multiply", value, factor)


def _add(f):
    f("or" if f.dtype == torch.bool else "add", f["self"], _scaled(f, f["other"], f["alpha"]))


def _sub(f):
    f("subtract", f["self"], _scaled(f, f["other"], f["alpha"]))


def _rsub(f):
    f("subtract", f["other"], _scaled(f, f["self"], f["alpha"]))


def _bitwise(op):
    def formula(f):
        f(op, f["self"], f["other"])
    return formula


def _divisor(f):
    """PyTorch refuses to divide integers by 0, and the device does not look."""
    if f.whole() and (not isinstance(f["other"], float) or f["other"] == 0):
        raise NotSimulated("integers are divided by what may be 0")
    return f["other"]


def _fixed(f, rest, divisor):
    """Whether a rest has another sign than the divisor."""
    return f("and", f("ne", rest, 0.0), f("xor", f("lt", rest, 0.0), f("lt", divisor, 0.0)))


def _div(f):
    mode = f.call.named.get("rounding_mode")
    if mode is None:
        return f("divide", f["self"], f["other"])
    x, divisor = f["self"], _divisor(f)
    if mode == "trunc":
        return f("divide", x, divisor) if f.whole() else _trunc_of(f, f("divide", x, divisor))
    return _floor_divide(f, x, divisor)


def _floor_divide(f, x, divisor):
    rest = f("remainder", x, divisor)
    fix = _fixed(f, rest, divisor)
    if f.whole():
        return f("subtract", f("divide", x, divisor), fix)
    near = f("subtract", f("divide", f("subtract", x, rest), divisor), fix)
    return f("select", f("eq", divisor, 0.0), f("divide", x, divisor), f("floor", f("add", near, 0.5)))


def _remainder(f):
    x, divisor = f["self"], _divisor(f)
    rest = f("remainder", x, divisor)
    f("select", _fixed(f, rest, divisor), f("add", rest, divisor), rest)


def _fmod(f):
    f("remainder", f["self"], _divisor(f))


def _trunc_of(f, x):
    return f("select", f("lt", x, 0.0), f("ceil", x), f("floor", x))


def _trunc(f):
    x = f["self"]
    f("copy", x) if f.whole() else _trunc_of(f, x)


def _rounding(op):
    def formula(f):
        f("copy" if f.whole() else op, f["self"])
    return formula


def _round(f):
    if f.call.named.get("decimals"):
        raise NotSimulated("it rounds to decimals")
    _rounding("round_even")(f)


def _pow(f):
    x, power = f["self"], f["exponent"]
    if f.whole() and power != 2:
        raise NotSimulated("a power of integers")
    if power == 2:
        f("multiply", x, x)
    elif power == 0.5:
        f("sqrt", x)
    elif power == -0.5:
        f("rsqrt", x)
    else:
        f("power", x, power)


def _sign(f):
    """The CPU gives NaN none."""
    x = f["self"]
    f("sign", x) if f.whole() else f("select", f("eq", x, x), f("sign", x), 0.0)


def _clamp(f):
    x = f["self"]
    for op, bound in (("maximum", f["min"]), ("minimum", f["max"])):
        x = x if bound is None else f(op, x, bound)
    if not f.steps:
        f("copy", x)


def _rounded(number, dtype):
    """A number as a tensor of this type has it on the device; PyTorch compares with numbers of the tensor's type."""
    if not dtype.is_floating_point or not math.isfinite(number):
        return number
    number = torch.tensor(number, dtype=dtype).item()
    if dtype not in _HALVES or not math.isfinite(number):
        return number
    fraction, exponent = math.frexp(number)  # DLFloat16: 9 bits of fraction, halves away from zero
    return math.copysign(math.ldexp(math.floor(abs(fraction) * 1024 + 0.5), exponent - 10), number)


def _compare(op):
    def formula(f):
        f.dtype = f.common("self", "other")
        values = [f["self"], f["other"]]
        f(op, *[_rounded(v, f.dtype) if isinstance(v, float) else v for v in values])
    return formula


def _is_nan(f):
    f.dtype = f.common("self")
    if f.dtype != torch.float32:
        raise NotSimulated("in 16 bits the device has one code for infinity and NaN")
    f("ne", f["self"], f["self"])


def _is_inf(f):
    _is_nan(f)
    f.steps.clear()
    f("eq", f("abs", f["self"]), math.inf)


def _log_to(base):
    def formula(f):
        f("multiply", f("log", f["self"]), 1 / math.log(base))
    return formula


def _addc(op):
    def formula(f):
        f("add", f["self"], _scaled(f, f(op, f["tensor1"], f["tensor2"]), f["value"]))
    return formula


def _fma(f):
    f("add", f("multiply", f["a"], f["b"]), f["c"])


def _lerp(f):
    f("add", f["self"], f("multiply", f["weight"], f("subtract", f["end"], f["self"])))


# ---- activations -------------------------------------------------------------------------------


def _gelu_parts(f, x):
    """The normal distribution up to x, and for tanh the steps that its derivative needs."""
    if f.call.named.get("approximate", "none") == "none":
        return f("multiply", f("add", f("erf", f("multiply", x, math.sqrt(0.5))), 1.0), 0.5)
    inner = f("multiply", f("multiply", x, math.sqrt(2 / math.pi)),
              f("add", f("multiply", f("multiply", x, x), 0.044715), 1.0))
    return f("multiply", f("add", f("tanh", inner), 1.0), 0.5)


def _gelu(f):
    x = f["self"]
    f("multiply", x, _gelu_parts(f, x))


def _gelu_backward(f):
    x, below = f["self"], _gelu_parts(f, f["self"])
    if f.call.named.get("approximate", "none") == "none":
        bell = f("multiply", f("exp", f("multiply", f("multiply", x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
    else:  # 2 below (1 - below) inner'
        slope = f("multiply", f("add", f("multiply", f("multiply", x, x), 3 * 0.044715), 1.0), math.sqrt(2 / math.pi))
        bell = f("multiply", f("multiply", f("multiply", below, f("subtract", 1.0, below)), 2.0), slope)
    f("multiply", f["grad_output"], f("add", below, f("multiply", x, bell)))


def _silu(f):
    f("multiply", f["self"], f("logistic", f["self"]))


def _silu_backward(f):
    x, s = f["self"], f("logistic", f["self"])
    slope = f("add", f("multiply", x, f("subtract", 1.0, s)), 1.0)
    f("multiply", f["grad_output"], f("multiply", s, slope))


def _leaky_relu(f):
    f("select", f("gt", f["self"], 0.0), f["self"], f("multiply", f["self"], f["negative_slope"]))


def _elu(f):
    x, scale = f["self"], f["scale"]
    below = f("multiply", f("expm1", f("multiply", x, f["input_scale"])), f["alpha"])
    f("select", f("gt", x, 0.0), f("multiply", x, scale), f("multiply", below, scale))


def _hardtanh(f):
    f("minimum", f("maximum", f["self"], f["min_val"]), f["max_val"])


def _sixth(f, x):
    return f("divide", f("minimum", f("maximum", f("add", x, 3.0), 0.0), 6.0), 6.0)


def _hardsigmoid(f):
    _sixth(f, f["self"])


def _hardswish(f):
    f("multiply", f["self"], _sixth(f, f["self"]))


def _softplus(f):
    x, beta = f["self"], f["beta"]
    soft = f("divide", f("log1p", f("exp", f("multiply", x, beta))), beta)
    f("select", f("gt", f("multiply", x, beta), f["threshold"]), x, soft)


def _sigmoid_backward(f):
    y = f["output"]
    f("multiply", f["grad_output"], f("multiply", y, f("subtract", 1.0, y)))


def _tanh_backward(f):
    f("multiply", f["grad_output"], f("subtract", 1.0, f("multiply", f["output"], f["output"])))


def _threshold_backward(f):
    f("select", f("le", f["self"], f["threshold"]), 0.0, f["grad_output"])


_FLOATS = {name: name for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp",
                                   "expm1", "log", "log1p", "reciprocal", "rsqrt", "sin", "sinh", "sqrt", "tan",
                                   "tanh")} | {"sigmoid": "logistic"}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")

_FORMULAS = {
    **{name: _same(op, "self") for name, op in _FLOATS.items()},
    **{name: _compare(name) for name in _COMPARISONS},
    "abs": _same("abs", "self"), "neg": _same("negate", "self"), "relu": _same("relu", "self"), "sign": _sign,
    "ceil": _rounding("ceil"), "floor": _rounding("floor"), "trunc": _trunc, "round": _round,
    "add": _add, "sub": _sub, "rsub": _rsub, "mul": _same("multiply", "self", "other"), "div": _div,
    "true_divide": _div, "remainder": _remainder, "fmod": _fmod, "pow": _pow,
    "maximum": _same("maximum", "self", "other"), "minimum": _same("minimum", "self", "other"),
    "atan2": _same("atan2", "self", "other"), "clamp": _clamp, "clamp_min": _clamp, "clamp_max": _clamp,
    "where": _same("select", "condition", "self", "other"),
    "masked_fill": _same("select", "mask", "value", "self"),
    "logical_and": _logical("and", "self", "other"), "logical_or": _logical("or", "self", "other"),
    "logical_xor": _logical("xor", "self", "other"), "logical_not": _logical("not", "self"),
    "bitwise_and": _bitwise("and"), "bitwise_or": _bitwise("or"), "bitwise_xor": _bitwise("xor"),
    "bitwise_not": _same("not", "self"), "isnan": _is_nan, "isinf": _is_inf,
    "log2": _log_to(2), "log10": _log_to(10), "exp2": lambda f: f("power", 2.0, f["self"]),
    "addcmul": _addc("multiply"), "addcdiv": _addc("divide"), "lerp": _lerp, "fma": _fma,
    "gelu": _gelu, "gelu_backward": _gelu_backward, "silu": _silu, "silu_backward": _silu_backward,
    "leaky_relu": _leaky_relu, "elu": _elu, "hardtanh": _hardtanh, "hardsigmoid": _hardsigmoid,
    "hardswish": _hardswish, "softplus": _softplus, "sigmoid_backward": _sigmoid_backward,
    "tanh_backward": _tanh_backward, "threshold_backward": _threshold_backward,
}


def _formula(call):
    made = Formula(call)
    _FORMULAS[call.node.target.overloadpacket.__name__](made)
    if not call.tensors:
        raise NotSimulated("it reads no tensor of the device")
    return {"op": "formula", "steps": made.steps, "dtype": _in(made.dtype)}


def _copy(call):
    if not call.tensors:
        raise NotSimulated("it comes from the host")
    made = Formula(call)
    if call.named.get("self") is call.tensors[0] and made["self"] != "$0":
        return {"op": "formula", "steps": made.steps, "dtype": "f32"}
    real = _is_real(call.tensors[0].dtype) or _is_real(call.result.dtype)
    return {"op": "copy", "dtype": "f32" if real else "s64"}


# ---- known beforehand --------------------------------------------------------------------------


def _bytes_of(number, dtype):
    return bytes(torch.tensor([number], dtype=dtype).untyped_storage())


def _constant(number=None):
    def calculation(call):
        value = number
        if value is None:
            value = call.named.get("fill_value", call.named.get("s"))
        if not isinstance(value, (bool, int, float)):
            raise NotSimulated("the host knows its number")
        return {"op": "constant", "data": _bytes_of(value, call.result.dtype)}
    return calculation


def _arange(call):
    start, step = call.named.get("start", 0), call.named.get("step", 1)
    return {"op": "iota", "loop": 0, "dtype": _in(call.result.dtype),
            "steps": [("multiply", "$0", step), ("add", "$1", start)]}


# ---- sums and products -------------------------------------------------------------------------


def _reduction(how):
    def calculation(call):
        x, result = call.tensors[0], call.result
        if len(call.tensors) > 1:
            raise NotSimulated("it is a reduction of several tensors")
        if x.dim() == 0:
            return _copy(call)
        if how in ("or", "and"):
            return {"op": "reduce", "reduction": how, "dtype": "f32"}
        if x.dtype.is_floating_point and not result.dtype.is_floating_point:
            raise NotSimulated("it sums up floats as integers")
        made = {"op": "reduce", "reduction": "sum" if how == "mean" else how, "dtype": _in(result.dtype)}
        if how == "mean":
            made["steps"] = [("divide", "$0", x.numel() // result.numel())]
        return made
    return calculation


def _product(call):
    return {"op": "product", "dtype": _in(call.result.dtype)}


def _average(call):
    return {"op": "reduce", "reduction": "sum", "dtype": "f32",
            "steps": [("divide", "$0", compile_windows.divisor_of_pool(call))]}


def _largest(call):
    return {"op": "reduce", "reduction": "max", "dtype": _in(call.result.dtype)}


# ---- what data picks, and pieces ---------------------------------------------------------------


def _pick(dim, loops, rule):
    """Operand 0 at the place along dim that operand 1 says, which runs in these loops."""
    def calculation(call):
        table, along = call.tensors[0], dim(call)
        if len(call.tensors) != 2:
            raise NotSimulated("it picks by several tensors")
        if table.dim() == 0:
            return _copy(call)
        view = call.reads[call.positions[1]]
        terms = [(loop, step) for loop, step in zip(loops(call, along), view.stride) if step > 0]
        return {"op": "copy", "dtype": "f32" if _is_real(table.dtype) else "s64",
                "indices": [(0, table.stride(along), table.size(along) - 1, (view.index, terms, view.offset), rule)]}
    return calculation


def _dim(call):
    return call.named["dim"] % max(call.tensors[0].dim(), 1)


def _place_of_index(call):
    return next(d for d, i in enumerate(call.named["indices"]) if i is not None)


_embedding = _pick(lambda call: 0, lambda call, along: range(call.tensors[1].dim()), "strict")
_index_select = _pick(_dim, lambda call, along: [along], "strict")
_index = _pick(_place_of_index, lambda call, along: range(along, along + call.tensors[1].dim()), "wrap")
_gather = _pick(_dim, lambda call, along: range(call.tensors[0].dim()), "strict")


def _cat(call):
    dim, first, pieces = call.named.get("dim", 0) % call.result.dim(), 0, []
    for place, tensor in enumerate(call.tensors):
        pieces.append((place, dim, first, tensor.size(dim)))
        first += tensor.size(dim)
    return {"op": "pieces", "pieces": pieces, "dtype": "f32" if _is_real(call.result.dtype) else "s64"}


_OTHERS = {
    **dict.fromkeys(("clone", "lift_fresh_copy", "_to_copy", "alias", "detach"), _copy),
    **dict.fromkeys(("full", "full_like", "new_full", "scalar_tensor"), _constant()),
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros", "empty", "empty_like", "empty_strided", "new_empty",
                     "new_empty_strided", "empty_permuted"), _constant(0)),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), _constant(1)),
    "arange": _arange, "sum": _reduction("sum"), "mean": _reduction("mean"), "amax": _reduction("max"),
    "max": _reduction("max"), "amin": _reduction("min"), "min": _reduction("min"), "prod": _reduction("product"),
    "any": _reduction("or"), "all": _reduction("and"), **dict.fromkeys(("mm", "bmm", "mv", "dot"), _product),
    "convolution": _product,
    **dict.fromkeys(("avg_pool2d", "avg_pool3d"), _average),
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices"), _largest),
    "embedding": _embedding, "index_select": _index_select, "index": _index, "_unsafe_index": _index,
    "gather": _gather, "cat": _cat,
}
CLONE = {"op": "copy"}
_PRIMS = ("prims.fma.default",)  # Dynamo's addcmul_; there only when it has been used


def calculation_of(call):
    """What tegula.Simulator is told, or NotSimulated. pre: a rule of compile_rules.py has made a node of the call."""
    op = call.node.target
    known = isinstance(op, torch._ops.OpOverload) and (op.namespace == "aten" or str(op) in _PRIMS)
    name = op.overloadpacket.__name__ if known else None
    if any(isinstance(leaf, torch.Tensor) and not is_device(leaf) for leaf in call.leaves):
        raise NotSimulated("a tensor of the host takes part")
    if name in _OTHERS:
        return _OTHERS[name](call)
    if name in _FORMULAS:
        return _formula(call)
    raise NotSimulated("the simulated device has no such operation")
