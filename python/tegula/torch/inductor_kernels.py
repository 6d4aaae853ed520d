"""Loop nests of Inductor as Python: a line for each value.

Inductor says what a nest calculates by calling `ops`: the body is run once with a handler that writes a line for each
call, and remembers which elements are loaded. A load whose place is a sum of loops times strides takes a view; any
other takes its places one by one.

    relu(x.t() + y)  ->  tmp0 = load(arg0_1, 0, (70, 6), (1, 70))
                         tmp1 = load(arg1_1, 0, (70, 6), (6, 1))
                         tmp2 = tmp0 + tmp1
                         tmp3 = torch.relu(tmp2)
                         store(buf0, tmp3)
"""
import torch

from tegula.torch.compile_lower import CompileError
from tegula.torch.inductor_hooks import DefaultHandler, OpsValue, V, ir, pexpr, sympy

_INFIX = {"add": "+", "sub": "-", "mul": "*", "mul_rn": "*", "truediv": "/", "int_truediv": "/", "div_rn": "/",
          "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and_": "&", "or_": "|", "xor": "^",
          "lshift": "<<", "rshift": ">>"}
_CALLS = {"mod": "torch.fmod", "identity": "", "libdevice_abs": "torch.abs"}
_TO_INT = {"floor_to_int": "floor", "ceil_to_int": "ceil", "trunc_to_int": "trunc", "round_to_int": "round"}
_ROUNDED = {"floordiv": "floor", "truncdiv": "trunc"}


class Load:
    """Elements that a nest reads: of a buffer, at an expression of its loops."""

    def __init__(self, name, index, loops, masked):
        self.name, self.index, self.loops = name, sympy.sympify(index), loops
        self.strides, self.offset = None, 0
        if not masked:
            self._as_view()

    def _as_view(self):
        rest = sympy.expand(self.index)
        strides = [rest.coeff(loop, 1) for loop in self.loops]
        offset = sympy.expand(rest - sum(s * loop for s, loop in zip(strides, self.loops)))
        if all(s.is_Integer and s >= 0 for s in strides) and offset.is_Integer and offset >= 0:
            self.strides, self.offset = tuple(map(int, strides)), int(offset)

    @property
    def key(self):
        return self.name, str(self.index)


class Nest:
    """The loops of a buffer that Inductor computes: `lines` of Python, `loads` in the order of the calls."""

    def __init__(self, buffer):
        data = buffer.data
        if not isinstance(data, (ir.Pointwise, ir.Reduction)) or isinstance(buffer.layout,
                                                                            ir.MutationLayoutSHOULDREMOVE):
            raise CompileError(f"spyre-inductor has no kernel for {type(data).__name__}, {buffer.get_name()}")
        self.buffer, self.data = buffer, data
        self.ranges = tuple(map(int, data.ranges))
        self.summed = tuple(map(int, getattr(data, "reduction_ranges", ())))
        self.size = self.ranges + self.summed
        self.symbols = [sympy.Symbol(f"i{n}", integer=True, nonnegative=True) for n in range(len(self.size))]
        self.lines, self.loads, self.used = [], [], set()
        handler = _Writer(self)
        with V.set_ops_handler(handler):
            self.value = handler.text(data.inner_fn(*self.arguments()))

    def arguments(self):
        """What the body is called with: loops of size 1 are 0."""
        index = [loop if size > 1 else sympy.S.Zero for loop, size in zip(self.symbols, self.size)]
        kept = len(self.ranges)
        return (index[:kept], index[kept:]) if isinstance(self.data, ir.Reduction) else (index,)

    @property
    def is_copy(self):
        return len(self.lines) == len(self.loads) == 1 and isinstance(self.data, ir.Pointwise)

    def operands(self):
        """Loads without those that are there already: [(load, its places in self.loads)]."""
        found = {}
        for place, load in enumerate(self.loads):
            found.setdefault(load.key, (load, []))[1].append(place)
        return list(found.values())

    def source(self):
        names = list(dict.fromkeys([load.name for load in self.loads]))
        out = self.buffer.get_name()
        lines = [f"    i{n} = loop({n}, {len(self.size)}, {self.size[n]})" for n in sorted(self.used)]
        lines += ["    " + line for line in self.lines]
        value = self.value
        if self.summed or isinstance(self.data, ir.Reduction):
            value = f"reduce({self.data.reduction_type!r}, {value}, {self.size}, {len(self.ranges)}, {self.data.dtype})"
        lines.append(f"    store({out}, {value})")
        return "\n".join([f"def KERNEL({', '.join([*names, out])}):", *lines]), [*names, out]


def write(buffer):
    return Nest(buffer).source()


class _Writer(DefaultHandler):
    """Writes a line for each call. Values are names of lines."""

    def __init__(self, nest):
        self.nest, self.masks = nest, 0

    def line(self, expression):
        name = f"tmp{len(self.nest.lines)}"
        self.nest.lines.append(f"{name} = {expression}")
        return name

    def text(self, value):
        value = value.value if isinstance(value, OpsValue) else value
        if isinstance(value, sympy.Basic):
            return self.places(value)
        return value if isinstance(value, str) else repr(value)

    def places(self, expression):
        """An expression of loops; in Python, loops are tensors."""
        expression = sympy.sympify(expression)
        self.nest.used |= {n for n, loop in enumerate(self.nest.symbols) if loop in expression.free_symbols}
        return pexpr(expression)

    def load(self, name, index):
        load = Load(name, index, self.nest.symbols, self.masks > 0)
        self.nest.loads.append(load)
        if load.strides is None:
            return self.line(f"gather({name}, {self.places(index)})")
        size = tuple(n if s else 1 for n, s in zip(self.nest.size, load.strides))
        stride = tuple(s or 1 for s in load.strides)
        return self.line(f"load({name}, {load.offset}, {size}, {stride})")

    def constant(self, value, dtype):
        return self.line(f"constant({_number(value)}, {dtype})")

    def index_expr(self, expr, dtype):
        return self.line(f"index({self.places(expr)}, {dtype})")

    def to_dtype(self, x, dtype, src_dtype=None, use_compute_types=True):
        return self.line(f"to_dtype({x}, {dtype})")

    def masked(self, mask, body, other):
        self.masks += 1
        value = self.text(body())
        self.masks -= 1
        return self.line(f"torch.where({mask}, {value}, {other if isinstance(other, str) else _number(other)})")

    def indirect_indexing(self, x, size, check=True, wrap_neg=True):
        name = self.line(f"inside({x}, {self.places(size)})") if wrap_neg else x
        return sympy.Symbol(name, integer=True)

    def reduction(self, dtype, src_dtype, reduction_type, value):
        raise CompileError("spyre-inductor has no kernel for a reduction within another nest")

    def _default(self, name, args, kwargs):
        args = [self.text(a) for a in args]
        if name in _INFIX:
            return self.line(f"{args[0]} {_INFIX[name]} {args[1]}")
        if name == "fma":
            return self.line(f"{args[0]} * {args[1]} + {args[2]}")
        if name in _ROUNDED:
            return self.line(f"torch.div({args[0]}, {args[1]}, rounding_mode={_ROUNDED[name]!r})")
        if name in _TO_INT:
            return self.line(f"torch.{_TO_INT[name]}({args[0]}).to({args[1]})")
        call = _CALLS.get(name, f"torch.{name}" if hasattr(torch, name) else
                          f"torch.special.{name}" if hasattr(torch.special, name) else None)
        if call is None or kwargs:
            raise CompileError(f"spyre-inductor has no kernel for {name}")
        return self.line(f"{call}({', '.join(args)})")


def _number(value):
    """A number in Python, which has no word for infinity."""
    return f"float({str(value)!r})" if isinstance(value, float) and value - value != 0 else repr(value)
