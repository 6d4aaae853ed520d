"""Which operations become loops of Inductor's, and which are called as they are.

Loops: what is done element by element, reductions, constants and copies, where Inductor has loops for it. Calls: all
else that makes a tensor of the device. Views are Inductor's. Every result is made at once, in the strides that PyTorch
promises, so that each has a layout of its own.
"""
import operator

import torch
from torch.utils._pytree import tree_leaves

from tegula.torch import compile_rules as rules
from tegula.torch.compile_lower import (CompileError, _asks_producer, _cuts_sticks, _is_whole, _shares, is_device,
                                        name_of,
                                        place_of)
from tegula.torch.inductor_hooks import DeviceKernel, fallback_handler, fallbacks, ir, lowerings

_aten = torch.ops.aten
_REDUCED = {_aten.sum.default, _aten.sum.dim_IntList, _aten.amax.default, _aten.amin.default, _aten.prod.default,
            _aten.prod.dim_int, _aten.any.default, _aten.any.dim, _aten.any.dims}


class Kernel(DeviceKernel):
    """An operation that is called, with the node of torch.fx that it comes from; `copies`: it only moves elements."""

    def __init__(self, layout, op, inputs, constants, opened, node, fake, copies=False):
        super().__init__(layout, op, inputs, constants, opened)
        self.node, self.fake, self.copies = node, fake, copies

    def text(self, arguments):
        out = self.codegen_reference()
        if self.copies:
            return f"copy({out}, {arguments[0]})"
        return f"run({', '.join([f'torch.ops.{self.op_overload}', out, *arguments])})"


class Restickify(DeviceKernel):
    """A copy of all of a tensor in another layout."""

    def __init__(self, layout, source, host):
        """host: (size, stride) of the storage of an input, None where the buffer is all of it."""
        super().__init__(layout, torch.ops.tegula.restickify.out, [source], [], lambda tensors, _: (tensors, {}))
        self.host = host

    def codegen(self, wrapper):
        text = self.inputs[0].codegen_reference()
        if self.host is not None:
            text = f"whole({text}, {self.host[0]}, {self.host[1]})"
        wrapper.writeline(f"torch.ops.tegula.restickify.out({text}, out={self.codegen_reference()})")


def fixed(fake):
    return ir.FixedLayout(fake.device, fake.dtype, list(fake.size()), list(fake.stride()))


def call(node, op, args, kwargs, fake, copies=False):
    """A box of Inductor's with the result of a call."""
    example, tensors, constants, opened, _ = ir.ExternKernel.process_kernel(op, *args, **kwargs)
    if tuple(example.stride()) != tuple(fake.stride()):
        example = fake
    made = Kernel(fixed(example), op, tensors, constants, opened, node, example, copies)
    return ir.TensorBox.create(made)


def clone(node, view, fake):
    """A copy of a buffer, or of a view of one."""
    opened = lambda tensors, constants: (tensors, {})  # noqa: E731
    return Kernel(fixed(fake), _aten.clone.default, [view], [], opened, node, fake, copies=True)


def realized(box, fake):
    """The result of a lowering in a buffer of its own, with the strides of `fake`."""
    if isinstance(box, ir.TensorBox) and isinstance(box.data, ir.StorageBox):
        box.realize()
        if isinstance(box.data.data.get_output_spec(), ir.FlexibleLayout):
            ir.as_storage_and_layout(box, freeze=True, exact_strides=list(fake.stride()))
    return box


def _has_loops(op):
    if op not in lowerings or op in fallbacks:
        return False
    rule = rules.rule_of(op)
    return rule in (rules.pointwise, rules.clone, rules.convert, rules.constant) or op in _REDUCED


class Lowering:
    """lower() of a Graph. `nodes`: {name of an operation of Inductor's: the node of torch.fx that it comes from};
    `whys`: {the same: why the program copies there}; `copied`: names of buffers that a reshape has made."""

    def __init__(self):
        self.nodes, self.whys, self.copied = {}, {}, set()

    def __call__(self, graph, target, args, kwargs):
        node, before = graph.current_node, len(graph.operations)
        made = self._lower(graph, node, target, args, kwargs)
        for operation in graph.operations[before:]:
            self.nodes[operation.get_operation_name()] = node
        return made

    def _lower(self, graph, node, target, args, kwargs):
        value = node.meta.get("val")
        leaves = [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]
        if target is operator.getitem:
            return graph.by_inductor(target, args, kwargs)
        if not isinstance(target, torch._ops.OpOverload):
            raise CompileError(f"{name_of(target)}{place_of(node)}: the backend spyre-inductor compiles no subgraphs")
        if target._schema.is_mutable:
            raise CompileError(f"{name_of(target)}{place_of(node)} writes one of its arguments")
        if rules.is_view(target):
            return self._view(graph, node, target, args, kwargs)
        if target is torch.ops.tegula.hint.default and _shares(node):
            raise CompileError(f"hint{place_of(node)}: the backend spyre-inductor shares no work out: no "
                               f"{' and '.join(_shares(node))}")
        if target is torch.ops.tegula.hint.default:
            return args[0] if _asks_producer(node) else call(node, target, args, kwargs, value, copies=True)
        if not any(map(is_device, leaves)) or not isinstance(value, torch.Tensor):
            return fallback_handler(target, add_to_fallback_set=False)(*args, **kwargs)
        return self._on_device(graph, node, target, args, kwargs, value)

    def _on_device(self, graph, node, target, args, kwargs, value):
        read = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, ir.TensorBox)]
        plain = (_is_whole(value) and value.numel() > 0 and
                 all(box.get_device().type == "spyre" and 0 not in box.get_size() for box in read))
        if not plain or not _has_loops(target):
            return call(node, target, args, kwargs, value)
        if rules.rule_of(target) is rules.constant:  # Inductor writes it where it is read
            return graph.by_inductor(target, args, kwargs | {"dtype": value.dtype})
        return realized(graph.by_inductor(target, args, kwargs), value)

    def _view(self, graph, node, target, args, kwargs):
        base, result = node.args[0].meta["val"], node.meta["val"]
        if target is _aten.as_strided.default:
            self._check_storage(graph, base, args[0], node)
        box = graph.by_inductor(target, args, kwargs)
        if not is_device(base) or target not in rules.RESHAPES or not _cuts_sticks(base, result):
            return box
        fake = torch.empty_like(result, memory_format=torch.contiguous_format)
        made = call(node, _aten.clone.default, (box,), {"memory_format": torch.contiguous_format}, fake, copies=True)
        self.whys[made.data.data.get_operation_name()] = "the reshape cuts sticks"
        self.copied.add(made.get_name())
        return made

    def _check_storage(self, graph, base, box, node):
        """as_strided counts from the beginning of a storage; here it has to be that of the buffer."""
        storage = base.untyped_storage()._cdata
        inside = [fake for fake in graph.example_inputs if is_device(fake) and fake.storage_offset() > 0]
        if any(fake.untyped_storage()._cdata == storage for fake in inside):
            raise CompileError(f"as_strided{place_of(node)} of an input that is not all of its storage")
        if box.get_name() in self.copied:
            raise CompileError(f"as_strided{place_of(node)} of a reshape that has been copied")

