"""From a graph of torch.fx to one of the planner, and to the steps that run it.

Every operation is run on fake tensors first, with the sizes of this call. A fake's storage says which tensor a view is
of, and its strides and offset say how it looks at it: so views are no operations, as the planner has it. Each tensor
of the device is known by the number of the planner's node that makes it.

    y = x.t().reshape(4, 32)    three nodes of torch.fx, and at most one of the planner: a clone, if the reshape cuts
                                sticks
"""
import contextlib
import dataclasses
import math
import operator
import os

import torch
from torch.utils._pytree import tree_flatten, tree_leaves

import tegula
from tegula import _core
from tegula.torch import compile_calculations as calculations
from tegula.torch import compile_rules as rules
from tegula.torch import memory
from tegula.torch.compile_inputs import Given, describe
from tegula.torch.operations import hinted_layout


class CompileError(RuntimeError):
    """A graph that cannot be compiled for the device; `conflict` is the planner's, where it is the planner's reason."""

    def __init__(self, message, conflict=()):
        super().__init__(message)
        self.conflict = conflict


@dataclasses.dataclass(frozen=True)
class View:
    """Elements of the tensor that a planner's node makes."""
    index: int
    size: tuple
    stride: tuple
    offset: int


@dataclasses.dataclass
class Step:
    """What runs: `kind` is input, copy, compute or host. `results` are planner's nodes, in the order of the results."""
    kind: str
    node: torch.fx.Node
    results: list
    reads: dict  # position among the leaves of the arguments: View
    operands: list  # positions, in the order of the operands of the planner's node
    why: str = ""  # of a boundary, or a copy that the program does not ask for


@dataclasses.dataclass
class Tensor:
    """A tensor of the device that the program makes or takes."""
    size: tuple
    stride: tuple
    dtype: torch.dtype


def is_device(value):
    return isinstance(value, torch.Tensor) and value.device.type == "spyre"


_INSIDE = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(tegula.__file__) + os.sep)


def source_of(node):
    """(file, line, function, text) of the user's line that a node comes from, or None."""
    found = None
    lines = (node.meta.get("stack_trace") or "").splitlines()
    for place, text in zip(lines, [*lines[1:], ""]):
        parts = place.strip().split(", ")
        if len(parts) < 3 or not parts[0].startswith('File "') or not parts[1].startswith("line "):
            continue
        name = parts[0][6:-1]
        if found is None or not name.startswith(_INSIDE):
            found = name, int(parts[1][5:]), parts[2].removeprefix("in "), text.strip()
    return found


def place_of(node):
    """" at file.py:3 (x = y + 1)", for messages."""
    at = source_of(node)
    return "" if at is None else f" at {at[0]}:{at[1]} ({at[3]})"


def name_of(op):
    return str(op) if isinstance(op, torch._ops.OpOverload) else getattr(op, "__name__", str(op))


def _format(dtype):
    return _core._spyre_device_dtype(dtype).name


def _is_whole(fake):
    """Whether every element of the storage is one of the tensor's, once."""
    wanted = memory.dense_strides(fake)
    return all(a == b or n == 1 for a, b, n in zip(wanted, fake.stride(), fake.size())) or fake.numel() <= 1


class Call:
    """One operation on its way into the graph; what the rules of compile_rules.py work with."""

    def __init__(self, lowering, node, args, kwargs, result):
        self.lowering, self.node, self.result = lowering, node, result
        self.graph = lowering.graph
        self.leaves = leaves = tree_flatten((args, kwargs))[0]
        self.positions = [i for i, leaf in enumerate(leaves) if is_device(leaf)]
        self.tensors = [leaves[i] for i in self.positions]
        self.operands, self.reads, self.why = [], {}, ""
        arguments = node.target._schema.arguments if isinstance(node.target, torch._ops.OpOverload) else ()
        self.named = dict(zip((a.name for a in arguments), args)) | dict(kwargs)
        self.named |= {a.name: a.default_value for a in arguments
                       if a.name not in self.named and a.has_default_value()}

    def words(self):
        """What every node of the graph is told."""
        return {"shape": tuple(self.result.size()), "strides": tuple(self.result.stride()), "dtype": self.result.dtype,
                "device_dtype": _format(self.result.dtype), "name": self.node.name, "opcode": name_of(self.node.target),
                "tag": self.node, "no_stick": self._no_stick(), **self.lowering.shares.get(self.node.name, {})}

    def _no_stick(self):
        """Where a hint has chosen the stick, no other dimension of the result."""
        wanted = self.lowering.sticks.get(self.node.name)
        return () if wanted is None else [d for d in range(self.result.dim()) if d != wanted]

    def operand(self, i):
        """Device tensor i among the arguments, as an operand."""
        position = self.positions[i]
        view = self.reads.get(position)
        if view is None:
            view = self.lowering.view_of(self.tensors[i])
            if (self.node.name, position) in self.lowering.cut:
                view = self.lowering.view_of(self.lowering.copy_of(view, self.tensors[i], self.node,
                                                                   "no stick fits what is read"))
            self.reads[position] = view
        self.operands.append(position)
        return view.index, view.size, view.stride, view.offset

    def boundary(self, why):
        self.why = why
        return self.lowering.add_boundary(self, self.result, self.node.name)


class Lowering:
    """The planner's graph and the steps of one torch.fx graph, for inputs of one kind."""

    def __init__(self, module, names=(), cut=frozenset(), apart=frozenset()):
        """names: what the user calls the inputs; cut: (name of a node, position) of reads that go through a copy;
        apart: names of nodes that are to be boundaries."""
        from torch._subclasses.fake_tensor import FakeTensorMode
        self.module, self.names, self.cut, self.apart = module, names, cut, apart
        self.graph = tegula.Graph()
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.fakes = {}     # torch.fx node: its value, with fake tensors
        self.owners = {}    # storage of a fake: index of the planner's node
        self.tensors = {}   # index: Tensor
        self.steps, self.outputs, self.output_node = [], [], None
        self.inputs = []    # for each placeholder: a View, or None where it is no tensor of the device
        self.constants = {}  # index: a tensor of the device that the module holds
        self.attributes = {}  # torch.fx node: what else the module holds
        self.hosts = {}      # id of a Host: its node's index, and the fake of all of its storage
        self.calculations = {}  # index: what tegula.Simulator is told
        self.why_not = {}    # index: why there is no calculation
        self.copied = set()  # indices of copies, whose storage is not what as_strided thinks of
        self.sticks = {node.args[0].name: node.args[1] for node in module.graph.nodes if _asks_producer(node)}
        self.shares = {node.args[0].name: _shares(node) for node in module.graph.nodes if _asks_for_shares(node)}
        self.alive = []      # a storage that dies would give its address to another one

    # ---- tensors of the device -----------------------------------------------------------------

    def own(self, fake, index):
        self.owners[fake.untyped_storage()._cdata] = index
        self.alive.append(fake)
        self.tensors[index] = Tensor(tuple(fake.size()), tuple(fake.stride()), fake.dtype)

    def view_of(self, fake):
        index = self.owners.get(fake.untyped_storage()._cdata)
        if index is None:
            raise CompileError("a tensor of unknown origin on spyre")
        return View(index, tuple(fake.size()), tuple(fake.stride()), fake.storage_offset())

    def fresh(self, size, stride, dtype):
        with self.mode:
            return torch.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="spyre")

    def add_input(self, given, node):
        """A tensor, as the program sees it, is a view of all of its storage."""
        host = given.host
        if id(host) not in self.hosts:
            whole = self.fresh(host.size, host.stride, host.dtype)
            added = self.graph.add_input(host.size, host.dtype, strides=host.stride, layout=host.layout,
                                         name=self._input_name(node), tag=node)
            self.own(whole, added.index)
            self.hosts[id(host)] = added.index, whole
        with self.mode:
            return self.hosts[id(host)][1].as_strided(given.size, given.stride, given.offset)

    def _input_name(self, node):
        number = getattr(node.meta.get("desc"), "idx", None)
        known = number is not None and number < len(self.names) and "Tangent" not in type(node.meta["desc"]).__name__
        return self.names[number] if known else node.name

    def copy_of(self, view, fake, node, why):
        """A clone of a view, for one reader or for all: as a fake."""
        made = self.fresh(fake.size(), memory.contiguous_strides(fake.size()), fake.dtype)
        added = self.graph.pointwise([(view.index, view.size, view.stride, view.offset)], kind="clone",
                                     shape=tuple(fake.size()), dtype=fake.dtype, device_dtype=_format(fake.dtype),
                                     name=f"{node.name}.copy", opcode="clone", tag=node)
        self.own(made, added.index)
        self.calculations[added.index] = calculations.CLONE
        self.copied.add(added.index)
        self.steps.append(Step("copy", node, [added.index], {0: view}, [0], why))
        return made

    def add_boundary(self, call, result, name):
        operands = []
        for position, tensor in zip(call.positions, call.tensors):
            view = call.reads[position] = self.view_of(tensor)
            extent = math.prod(self.tensors[view.index].size)
            operands.append((view.index, [(None, 1, 0, extent)] if extent else []))
        call.operands = list(call.positions)
        shape, strides = tuple(result.size()), tuple(result.stride())
        return self.graph.add("boundary", shape, result.dtype, strides=strides, loops=shape, operands=operands,
                              result=list(enumerate(strides)), device_dtype=_format(result.dtype), name=name,
                              opcode=name_of(call.node.target), tag=call.node)

    # ---- nodes of torch.fx ---------------------------------------------------------------------

    def run(self, given):
        """given: for each placeholder a Given (compile_inputs.py), or what it is if it is no tensor of the device."""
        left = iter(given)
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                self.fakes[node] = self._placeholder(node, next(left))
            elif node.op == "get_attr":
                self.fakes[node] = self._attribute(node)
            elif node.op == "output":
                self.output_node, self.outputs = node, tree_leaves(node.args[0])
            else:
                self.fakes[node] = self._operation(node)
        return self

    def _placeholder(self, node, given):
        fake = given
        view = None
        if isinstance(given, Given):
            fake = self.add_input(given, node)
            view = self.view_of(fake)
        elif isinstance(given, torch.Tensor):
            fake = self.mode.from_tensor(given)
        self.inputs.append((node, view))
        return fake

    def _attribute(self, node):
        value = operator.attrgetter(node.target)(self.module)
        if is_device(value):
            given = describe(value, {})
            fake = self.add_input(given, node)
            self.constants[self.view_of(fake).index] = given.whole(value)
            return fake
        self.attributes[node] = value
        self.steps.append(Step("host", node, [], {}, []))
        return self.mode.from_tensor(value) if isinstance(value, torch.Tensor) else value

    def _values(self, node):
        def value(argument):
            return self.fakes[argument]
        return (torch.fx.node.map_arg(node.args, value), torch.fx.node.map_arg(node.kwargs, value))

    def _operation(self, node):
        args, kwargs = self._values(node)
        if node.op != "call_function":
            raise CompileError(f"{node.op} {node.target}{place_of(node)}: only operations can be compiled")
        try:
            with self.mode, torch.no_grad(), self._sizes_of(node.target):
                result = node.target(*args, **kwargs)
        except Exception as error:
            raise CompileError(f"{name_of(node.target)}{place_of(node)}: {error}") from error
        if node.target is operator.getitem and node.args[0] in self.fakes and any(map(is_device, tree_leaves(result))):
            return result
        if any(is_device(leaf) for leaf in tree_leaves(result)):
            return self._on_device(node, args, kwargs, result)
        reads = self._reads(args, kwargs)
        self.steps.append(Step("host", node, [], reads, []))
        return result

    @contextlib.contextmanager
    def _sizes_of(self, op):
        """Rounds of a loop may have results of any size, which fake tensors keep a list of."""
        from torch.fx.experimental.symbolic_shapes import ShapeEnv
        self.mode.shape_env = ShapeEnv() if isinstance(op, torch._ops.HigherOrderOperator) else None
        try:
            yield
        finally:
            self.mode.shape_env = None

    def _reads(self, args, kwargs):
        return {i: self.view_of(leaf) for i, leaf in enumerate(tree_leaves((args, kwargs))) if is_device(leaf)}

    def _on_device(self, node, args, kwargs, result):
        if rules.is_view(node.target) and is_device(args[0]):
            return self._view(node, args[0], result)
        if node.target is torch.ops.tegula.hint.default:
            asked = node.args[0].name
            return args[0] if asked in self.sticks or asked in self.shares else self._hint(node, *args)
        written = isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable
        if written:
            raise CompileError(f"{name_of(node.target)}{place_of(node)} writes one of its arguments")
        leaves = tree_leaves(result)  # None among them, where a gradient is not wanted
        call = Call(self, node, args, kwargs, next(leaf for leaf in leaves if is_device(leaf)))
        if (len(leaves) == 1 and leaves[0] is result) or rules.makes_all(node):
            added = [self._node(call)] + [None] * (len(leaves) - 1)
            self._calculate(call, added[0].index)
        else:
            call.why = call.why or rules.reason_of(node.target, "it has several results")
            added = [self.add_boundary(call, leaf, f"{node.name}.{i}") if is_device(leaf) else None
                     for i, leaf in enumerate(leaves)]
        for made, leaf in zip(added, leaves):
            if made is not None:
                self.own(leaf, made.index)
        missing = {p: self.view_of(t) for p, t in zip(call.positions, call.tensors) if p not in call.reads}
        kind = "copy" if node.target in rules.COPIES and not call.why else "compute"
        self.steps.append(Step(kind, node, [None if n is None else n.index for n in added], call.reads | missing,
                               call.operands, call.why))
        return result

    def _node(self, call):
        """The planner's node of a call: by its rule, or a boundary."""
        if not _is_whole(call.result):
            return call.boundary("its result has holes")
        if call.node.name in self.apart:
            return call.boundary("no layouts suit it")
        rule = rules.rule_of(call.node.target)
        if rule is None:
            return call.boundary(rules.reason_of(call.node.target, "no rule knows it"))
        if call.result.numel() == 0 or any(t.numel() == 0 for t in call.tensors):
            return call.boundary("a tensor has no elements")
        before = len(self.steps)
        try:
            made = rule(call)
            if made.kind == "boundary":
                call.why = call.why or made.reason
            return made
        except tegula.Error as error:
            del self.steps[before:]
            call.operands, call.reads = [], {}
            return call.boundary(str(error))

    def _calculate(self, call, index):
        try:
            if not call.why:
                self.calculations[index] = calculations.calculation_of(call)
        except calculations.NotSimulated as error:
            self.why_not[index] = str(error)

    def _hint(self, node, tensor, stick_dim, dim_order, *shares):
        """A copy in exactly this layout: for the planner it is there, as an input is."""
        if shares != (None, None):
            name = self.graph[self.view_of(tensor).index].name
            raise CompileError(f"{' and '.join(_shares(node))}{place_of(node)} are of the operation that makes a "
                               f"tensor: {name} is an input, seen in another way, or made by an operation that has no "
                               "rule")
        made = self.fresh(tensor.size(), memory.dense_strides(tensor), tensor.dtype)
        added = self.graph.add_input(tuple(made.size()), made.dtype, strides=tuple(made.stride()), name=node.name,
                                     layout=hinted_layout(tensor, stick_dim, dim_order), tag=node)
        view = self.view_of(tensor)
        self.own(made, added.index)
        self.steps.append(Step("copy", node, [added.index], {0: view}, [], "a hint asks for this layout"))
        return made

    # ---- views ---------------------------------------------------------------------------------

    def _view(self, node, base, result):
        view = self.view_of(base)
        if node.target is torch.ops.aten.as_strided.default and view.index in self.copied:
            raise CompileError(f"as_strided{place_of(node)} of a reshape that has been copied")
        if node.target not in rules.RESHAPES or not _cuts_sticks(base, result):
            return result
        return self.copy_of(self.view_of(result), result, node, "the reshape cuts sticks")


def _is_made(node):
    return node.op == "call_function" and not rules.is_view(node.target)


def _asks_producer(node):
    """Whether a hint is about the stick of what an operation has just made, so that it can be made that way."""
    if node.target is not torch.ops.tegula.hint.default or node.args[1] is None:
        return False
    return _is_made(node.args[0]) and rules.takes_stick(node.args[0].target)


def _shares(node):
    """What a hint says of how an operation is shared out, {"splits": {loop: slices}, "tiles": {loop: tiles}}: loops are
    dimensions of the result first."""
    given = zip(("splits", "tiles"), node.args[3:])
    return {what: {dim: n for dim, n in enumerate(counts) if n} for what, counts in given if counts is not None}


def _asks_for_shares(node):
    """Whether a hint says how an operation is shared out, which can be if a rule knows it. A stick that is asked for
    has to be the operation's own, too."""
    if node.target is not torch.ops.tegula.hint.default or not _shares(node):
        return False
    known = _is_made(node.args[0]) and rules.rule_of(node.args[0].target) is not None
    return known and (node.args[1] is None or _asks_producer(node))


def _fastest(fake):
    """The size of the dimension whose elements follow each other."""
    return next((n for n, step in zip(fake.size(), fake.stride()) if step == 1 and n > 1), None)


def _cuts_sticks(before, after):
    """Whether a reshape cuts the dimension that can lie in sticks into pieces, or joins it from pieces, that are not
    whole sticks."""
    a, b = _fastest(before), _fastest(after)
    stick = _core._spyre_elems_per_stick(before.dtype)
    return a != b and a is not None and b is not None and (a % stick != 0 or b % stick != 0)
