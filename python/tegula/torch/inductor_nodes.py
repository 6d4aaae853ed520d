"""From Inductor's operations to a graph of the planner.

A loop nest is a node by its loops and the strides of what it loads; a call is one by the rule of its operation
(compile_rules.py). Views are no operations of Inductor's, as they are none of the planner's. What is left of the way
back is a Read for each operand: where the operation has it, so that it can be given a copy.
"""
import math

import torch

import tegula
from tegula.torch import compile_rules as rules
from tegula.torch import memory
from tegula.torch.compile_inputs import Given, describe
from tegula.torch.compile_lower import Call, CompileError, Step, Tensor, View, _format, is_device, name_of
from tegula.torch.inductor_hooks import V, ir
from tegula.torch.inductor_kernels import Nest
from tegula.torch.inductor_lower import Kernel
from tegula.torch.operations import hinted_layout

_REDUCTIONS = {"sum": "sum", "max": "max", "min": "min", "prod": "product", "any": "or", "xor_sum": "xor"}


def _on_device(buffer):
    device = buffer.get_device()
    return device is not None and device.type == "spyre"


def _view_of(tensor):
    """(name of the buffer, size, stride, offset) of an operand of a call."""
    layout = tensor.layout
    numbers = tuple(map(int, layout.size)), tuple(map(int, layout.stride)), int(layout.offset)
    return (tensor.get_name(), *numbers)


class Read:
    """One operand of a planner's node: where its operation reads it, so that it can read a copy instead."""

    def __init__(self, operation, places, name, view):
        """places: numbers of loads, or the number of an input. `loops`: those of a nest that are dimensions of view."""
        self.operation, self.places, self.name, self.view = operation, places, name, view
        self.loops = ()


class _IrCall(Call):
    """A Kernel on its way into the planner's graph; the rules take it for a Call of compile_lower.py."""

    def __init__(self, building, kernel):
        self.lowering = self.building = building
        self.graph, self.node, self.result = building.graph, kernel.node, kernel.fake
        with V.fake_mode:
            fakes = [ir.ir_node_to_tensor(x) for x in kernel.inputs]
        self.kernel, self.why, self.target = kernel, "", kernel.op_overload
        self.positions = [i for i, fake in enumerate(fakes) if is_device(fake)]
        self.tensors = [fakes[i] for i in self.positions]
        self.operands, self.reads = [], {}
        args, kwargs = kernel.opened(fakes)
        arguments = self.target._schema.arguments
        self.named = dict(zip((a.name for a in arguments), args)) | dict(kwargs)
        self.named |= {a.name: a.default_value for a in arguments
                       if a.name not in self.named and a.has_default_value()}

    def words(self):
        return super().words() | {"name": self.building.name_for(self.kernel), "opcode": name_of(self.target)}

    def operand(self, i):
        position = self.positions[i]
        read = self.building.read(self.kernel, [position], _view_of(self.kernel.inputs[position]))
        self.operands.append(read)
        return read.view.index, read.view.size, read.view.stride, read.view.offset

    def boundary(self, why):
        self.why = why
        self.operands = [self.building.read(self.kernel, [p], _view_of(self.kernel.inputs[p]))
                         for p in self.positions]
        return self.building.boundary(self.result, self.operands, self.node, self.words()["name"])


class Building:
    """The planner's graph of Inductor's operations."""

    def __init__(self, graph, lowering, given, names, sticks, apart):
        self.ir, self.nodes, self.given, self.names, self.sticks = graph, lowering.nodes, given, names, sticks
        self.shares = {}
        self.apart, self.whys = apart, lowering.whys
        self.last = {node: name for name, node in self.nodes.items()}
        self.graph = tegula.Graph()
        self.at = {}       # name of a buffer: (planner's node, offset of the buffer in what that node makes)
        self.tensors = {}  # planner's node: Tensor
        self.reads = {}    # planner's node: its operands, as Read
        self.hosts = {}    # id of a Host: its node
        self.sources = {}  # planner's node of an input: (name of a buffer, its Host)
        self.steps = []

    def run(self):
        placeholders = [node for node in self.ir.module.graph.nodes if node.op == "placeholder"]
        for name, node, given in zip(self.ir.graph_inputs, placeholders, self.given, strict=True):
            if isinstance(given, Given):
                self._input(name, node, given)
        output = next(iter(reversed(self.ir.module.graph.nodes)))
        for name, value in self.ir.constants.items():
            if is_device(value):
                self._input(name, output, describe(value, {}))
        for operation in self.ir.operations:
            self._operation(operation)
        return self

    def _input(self, name, node, given):
        host = given.host
        if id(host) not in self.hosts:
            made = self.graph.add_input(host.size, host.dtype, strides=host.stride, layout=host.layout,
                                        name=self._input_name(name, node), tag=node)
            self.hosts[id(host)] = made.index
            self.tensors[made.index] = Tensor(host.size, host.stride, host.dtype)
            self.sources[made.index] = name, host
        self.at[name] = self.hosts[id(host)], given.offset

    def _input_name(self, name, node):
        number = getattr(node.meta.get("desc"), "idx", None)
        known = number is not None and number < len(self.names) and "Tangent" not in type(node.meta["desc"]).__name__
        return self.names[number] if known else name

    def name_for(self, operation):
        """The name of the torch.fx node for the last of the operations that it became."""
        own = operation.get_operation_name()
        node = self.nodes[own]
        return node.name if own == self.last[node] else f"{node.name}.{own}"

    def read(self, operation, places, view):
        name, size, stride, offset = view
        index, base = self.at[name]
        return Read(operation, places, name, View(index, size, stride, offset + base))

    def boundary(self, fake, reads, node, name):
        operands = []
        for read in reads:
            extent = math.prod(self.tensors[read.view.index].size)
            operands.append((read.view.index, [(None, 1, 0, extent)] if extent else []))
        shape, strides = tuple(fake.size()), tuple(fake.stride())
        return self.graph.add("boundary", shape, fake.dtype, strides=strides, loops=shape, operands=operands,
                              result=list(enumerate(strides)), device_dtype=_format(fake.dtype), name=name,
                              opcode=name_of(node.target), tag=node)

    # ---- operations ------------------------------------------------------------------------------

    def _operation(self, operation):
        if not isinstance(operation, ir.Buffer) or isinstance(operation.layout, (ir.MultiOutputLayout, ir.NoneLayout)):
            return
        if not _on_device(operation):
            return
        node = self.nodes[operation.get_operation_name()]
        if isinstance(operation, Kernel):
            made, reads, why = self._call(operation)
        elif isinstance(operation, ir.MultiOutput):
            made, reads, why = self._one_of_many(operation, node)
        elif isinstance(operation, ir.ComputedBuffer):
            made, reads, why = self._nest(operation, node)
        else:
            raise CompileError(f"spyre-inductor has no place for {type(operation).__name__}")
        layout = operation.layout
        self.at[operation.get_name()] = made.index, 0
        self.tensors[made.index] = Tensor(tuple(map(int, layout.size)), tuple(map(int, layout.stride)), layout.dtype)
        self.reads[made.index] = reads
        kind = "copy" if why and isinstance(operation, Kernel) and operation.copies else "compute"
        self.steps.append(Step(kind, node, [made.index], {}, [], why))

    def _call(self, kernel):
        call = _IrCall(self, kernel)
        why = self.whys.get(kernel.get_operation_name(), "")
        if kernel.op_overload is torch.ops.tegula.hint.default:
            return self._hint(call), [], "a hint asks for this layout"
        fake = kernel.fake
        rule = rules.rule_of(kernel.op_overload)
        if call.node.name in self.apart:
            made = call.boundary("no layouts suit it")
        elif rule is None:
            made = call.boundary("no rule knows it")
        elif fake.numel() == 0 or any(t.numel() == 0 for t in call.tensors):
            made = call.boundary("a tensor has no elements")
        elif memory.dense_strides(fake) != tuple(fake.stride()) and fake.numel() > 1:
            made = call.boundary("its result has holes")
        else:
            try:
                made = rule(call)
            except tegula.Error as error:
                call.operands = []
                made = call.boundary(str(error))
        return made, call.operands, call.why or why

    def _hint(self, call):
        """For the planner it is there, as an input is."""
        args, _ = call.kernel.opened(call.tensors)
        fake = call.result
        return self.graph.add_input(tuple(fake.size()), fake.dtype, strides=tuple(fake.stride()),
                                    name=self.name_for(call.kernel), layout=hinted_layout(*args[:3]), tag=call.node)

    def _one_of_many(self, operation, node):
        many = operation.inputs[0]
        reads = [self.read(many, [i], _view_of(x)) for i, x in enumerate(many.inputs) if _on_device(x)]
        with V.fake_mode:
            fake = ir.ir_node_to_tensor(operation)
        return self.boundary(fake, reads, node, self.name_for(operation)), reads, "it has several results"

    def _nest(self, buffer, node):
        nest, name = Nest(buffer), self.name_for(buffer)
        layout = buffer.layout
        loads = [(load, places) for load, places in nest.operands() if load.name in self.at]
        reads = [self._read_of_load(buffer, nest, load, places) for load, places in loads]
        with V.fake_mode:
            fake = ir.ir_node_to_tensor(buffer)
        if node.name in self.apart:
            return self.boundary(fake, reads, node, name), reads, "no layouts suit it"
        if any(load.strides is None for load, _ in loads):
            return self.boundary(fake, reads, node, name), reads, "what it reads is no view"
        words = {"loops": nest.size, "strides": tuple(fake.stride()), "device_dtype": _format(fake.dtype), "name": name,
                 "operands": [(read.view.index, [(n, s) for n, s in enumerate(load.strides) if s], read.view.offset)
                              for (load, _), read in zip(loads, reads)],
                 "result": list(enumerate(fake.stride())), "opcode": name_of(node.target), "tag": node,
                 "no_stick": self._no_stick(name, fake)}
        if not loads:
            kind = "constant"
        elif isinstance(buffer.data, ir.Reduction):
            kind, words["reduction"] = "reduce", _REDUCTIONS[buffer.data.reduction_type]
        else:
            same = self.tensors[reads[0].view.index].dtype == layout.dtype
            kind = "clone" if nest.is_copy and same and _copies(node.target) else "pointwise"
        try:
            return self.graph.add(kind, tuple(fake.size()), fake.dtype, **words), reads, ""
        except tegula.Error as error:
            return self.boundary(fake, reads, node, name), reads, str(error)

    def _read_of_load(self, buffer, nest, load, places):
        loops = () if load.strides is None else [n for n, s in enumerate(load.strides) if s]
        view = load.name, tuple(nest.size[n] for n in loops), tuple(load.strides[n] for n in loops), load.offset
        read = self.read(buffer, places, view)
        read.loops = loops
        return read

    def _no_stick(self, name, fake):
        wanted = self.sticks.get(name)
        return () if wanted is None else [d for d in range(fake.dim()) if d != wanted]


def _copies(op):
    return rules.rule_of(op) in (rules.clone, rules.convert)
