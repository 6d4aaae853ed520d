"""The operations that cannot run on a copy: those that make tensors, view them, copy them, or give them memory.

PyTorch builds the rest of its tensor operations (to, clone, contiguous, transpose, slice, ...) from these; all others
go to fallback.py. Views run PyTorch's own kernel of the CPU, which looks at sizes and strides and at no element.
"""
import functools

import torch

from tegula.torch import cells, memory
from tegula.torch.fallback import run_on_cpu
from tegula.torch.memory import CPU, is_spyre, make
from tegula.torch.patch_nested import nested_from_mask

_aten = torch.ops.aten


def _check_factory(layout, device, pin_memory):
    if device is not None and device.index not in (None, 0):
        raise RuntimeError(f"there is one Spyre device, with index 0; {device} was asked for")
    if layout not in (None, torch.strided):
        raise RuntimeError(f"Spyre backend only supports strided tensors, not {layout}")
    if pin_memory:
        raise RuntimeError("only tensors of the CPU can be pinned")


def _strides(size, memory_format):
    """The host strides of a memory format; None for row-major ones. torch.empty refuses the others (patch_layouts.py):
    here they are what operations ask for that keep the format of their input."""
    if memory_format in (None, torch.contiguous_format, torch.preserve_format):
        return None
    return torch.empty(size, device="meta", memory_format=memory_format).stride()


def _empty(size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    _check_factory(layout, device, pin_memory)
    return make(size, dtype or torch.get_default_dtype(), _strides(size, memory_format))


def _empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    _check_factory(layout, device, pin_memory)
    return make(size, dtype or torch.get_default_dtype(), stride)


def _metadata(op):
    """The kernel of the CPU, which does no more than make or change a view."""
    def run(*args, **kwargs):
        return op._op_dk(CPU, *args, **kwargs)
    return run


def _set_storage(self, storage, offset, size, stride=()):
    """PyTorch would give a tensor its new size and then fail to make the storage longer."""
    stride = stride or memory.contiguous_strides(size)
    last = 0 if 0 in size else offset + 1 + sum((n - 1) * step for n, step in zip(size, stride))
    if storage.device.type == "spyre" and last * self.element_size() > storage.nbytes():
        raise RuntimeError(f"sizes {list(size)}, strides {list(stride)} and offset {offset} need "
                           f"{last * self.element_size()} bytes of a storage of {storage.nbytes()}, which cannot grow")
    return _aten.set_.source_Storage_storage_offset._op_dk(CPU, self, storage, offset, size, stride)


def _refused(dtype):
    raise RuntimeError(f"Spyre backend does not support dtype {dtype}")


def _view_dtype(tensor, dtype):
    """Bytes as another type. A complex one has no format, and views of conjugates end in PyTorch's own code."""
    if dtype.is_complex:
        _refused(dtype)
    return _aten.view.dtype._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, tensor, dtype)


def _view_as_complex(tensor):
    _refused(_COMPLEX.get(tensor.dtype, "complex"))


_COMPLEX = {torch.float16: torch.complex32, torch.float32: torch.complex64}


def _resize_(self, size, *, memory_format=None):
    size = torch.Size(size)
    if self.size() == size:
        return self
    stride = _strides(size, memory_format) or memory.contiguous_strides(size)
    bytes_needed = size.numel() * self.element_size()
    storage, offset = self.untyped_storage(), self.storage_offset()
    if offset * self.element_size() + bytes_needed > storage.nbytes():
        # A storage cannot grow: what its layout maps is fixed. What was there comes first in the new one.
        grown = make(size, self.dtype)
        kept = storage.nbytes() // self.element_size()
        if kept:
            line = _aten.as_strided.default._op_dk(CPU, self, (kept,), (1,), 0)
            total = offset + size.numel()
            if offset:
                grown = make((total,), self.dtype)
            memory.copy(line, _aten.as_strided.default._op_dk(CPU, grown, (kept,), (1,), 0))
        storage = grown.untyped_storage()
    return _aten.set_.source_Storage_storage_offset._op_dk(CPU, self, storage, offset, size, stride)


def _copy_from(src, dst, non_blocking=False):
    return memory.copy(src, dst)


def _copy_from_and_resize(src, dst):
    if dst.size() != src.size():
        dst.resize_(src.size())
    return memory.copy(src, dst)


def _local_scalar_dense(tensor):
    return memory.to_cpu(tensor).item()


def _to_copy(tensor, *, non_blocking=False, **kwargs):
    """A copy to the host that may come later asks for pinned memory, of which there is none; this one is never late."""
    return _aten._to_copy.default._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, tensor, **kwargs)


def _random_(tensor, *, generator=None):
    """All numbers that a type has: of int64 the device has those of 32 bits."""
    if tensor.dtype == torch.int64:
        return run_on_cpu(_aten.random_.to, tensor, 2**31, generator=generator)
    return run_on_cpu(_aten.random_.default, tensor, generator=generator)


def _record_stream(tensor, stream):
    """Memory must outlive what a stream still does with it: nothing is under way in any."""


def _convolution(*args):
    return _aten.convolution.default(*args)


def _convolution_backward(grad, x, weight, stride, padding, dilation, transposed, output_padding, groups, mask):
    bias_sizes = [weight.size(1) * groups if transposed else weight.size(0)] if mask[2] else None
    return _aten.convolution_backward.default(grad, x, weight, bias_sizes, stride, padding, dilation, transposed,
                                              output_padding, groups, mask)


def _on_cpu(run):
    """Tensors of the device are copied to the CPU for run, and its results back."""
    def wrapped(*args):
        results = run(*[memory.to_cpu(a) if is_spyre(a) else a for a in args])
        if isinstance(results, torch.Tensor):
            return memory.to_spyre(results)
        return tuple(None if r is None else memory.to_spyre(r) for r in results)
    return wrapped


VIEWS = ("as_strided", "view", "_reshape_alias", "unfold", "set_.source_Storage", "set_.source_Tensor", "set_",
         "is_set_to")


# What makes nested tensors from plain ones, on any device.
_NESTING = ("_nested_tensor_from_tensor_list", "_nested_view_from_buffer")


def _not_nested(*args, **kwargs):
    raise RuntimeError("Spyre backend only supports strided tensors, not nested ones")


# Keys under which PyTorch has made an operation from others; where the CPU has a kernel for the whole, that is taken.
_COMPOSITE = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd")


def _whole_on_cpu():
    """The operations that would come to the fallback in pieces, or behind a result of no use to them."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    for qualified in torch._C._dispatch_get_all_op_names():
        namespace, _, name = qualified.partition("::")
        if namespace != "aten" or not has(qualified, "CPU") or not any(has(qualified, key) for key in _COMPOSITE):
            continue
        op = _overload(name)
        if not any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns):
            yield name, functools.partial(run_on_cpu, op)


def _overload(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(_aten, packet), overload or "default")


def register():
    library = torch.library.Library("aten", "IMPL")
    table = dict(_whole_on_cpu())
    table |= {name: _metadata(_overload(name)) for name in VIEWS}
    table |= {
        "empty.memory_format": _empty,
        "empty_strided": _empty_strided,
        "set_.source_Storage_storage_offset": _set_storage,
        "view.dtype": _view_dtype,
        "view_as_complex": _view_as_complex,
        "resize_": _resize_,
        "_copy_from": _copy_from,
        "_copy_from_and_resize": _copy_from_and_resize,
        "_local_scalar_dense": _local_scalar_dense,
        "_to_copy": _to_copy,
        "random_": _random_,
        "record_stream": _record_stream,
        "_nested_tensor_from_mask": nested_from_mask,
        "convolution_overrideable": _on_cpu(_convolution),
        "convolution_backward_overrideable": _on_cpu(_convolution_backward),
    }
    table |= {name: _on_cpu(run) for name, run in cells.KERNELS.items()}
    table |= dict.fromkeys(_NESTING, _not_nested)
    for name, run in table.items():
        library.impl(name, run, "PrivateUse1")
    # Lazily negated tensors (Tensor._neg_view): PyTorch makes plain ones of them with these, over and over.
    for name in ("_copy_from", "_copy_from_and_resize", "_local_scalar_dense"):
        library.impl(name, table[name], "Negative")
    return library
