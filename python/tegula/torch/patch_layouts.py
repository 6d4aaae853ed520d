"""device_layout= in the functions that make tensors, and device_tensor_layout() to ask for it."""
import functools

import torch

from tegula.torch import memory
from tegula.torch.memory import is_spyre
from tegula.torch.patching import for_subclasses, on_spyre, patch, wrap


@patch
def device_tensor_layout():
    """Tensor.device_tensor_layout(): torch-spyre's. None for tensors of other devices, and for bytes without one."""
    def layout(self):
        """The SpyreTensorLayout of a tensor on spyre, else None."""
        if self.device.type != "spyre":
            return None
        if type(self) not in (torch.Tensor, torch.nn.Parameter):
            from tegula.torch import fake
            if fake.is_fake(self):
                return fake.layout_of(self)
        return memory.layout_of(self)

    torch.Tensor.device_tensor_layout = layout


def _place(like, device_layout, source=None):
    """An uninitialised tensor on the device with the size, strides and dtype of `like`, which may be on any device; a
    fake one where the tensor that it is made from is."""
    if not on_spyre(like.device) and like.device.type != "meta":
        raise ValueError(f"device_layout needs the device spyre, not {like.device}")
    from tegula.torch import fake
    mode = fake.mode_for(like if source is None else source)
    if mode is not None:
        return fake.empty(mode, like, device_layout)
    return memory.make(like.size(), like.dtype, like.stride(), device_layout)


@patch
def to_with_layout():
    """x.to("spyre", device_layout=...): the seeds', and torch-spyre's."""
    def make(before):
        def to(self, *args, device_layout=None, **kwargs):
            if device_layout is None:
                return before(self, *args, **kwargs)
            copy = kwargs.pop("copy", False)
            if args and isinstance(args[0], torch.Tensor):
                args = (args[0].device, args[0].dtype, *args[1:])
            device, dtype, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)
            device, dtype = device or self.device, dtype or self.dtype
            if not on_spyre(device):
                raise ValueError(f"device_layout needs the device spyre, not {device}")
            if not copy and is_spyre(self) and dtype == self.dtype and self.device_tensor_layout() == device_layout:
                return self
            stride = memory.strides_for(self, device_layout)
            like = torch.empty_strided(self.size(), stride, dtype=dtype, device="meta")
            return _place(like, device_layout, self).copy_(self, non_blocking)
        return to

    wrap(torch.Tensor, "to", make)


def _factory(before, fill):
    """A function that makes tensors, with device_layout=. Its arguments are read by PyTorch itself, on meta."""
    def factory(*args, device_layout=None, **kwargs):
        if device_layout is None:
            return before(*args, **kwargs)
        device = kwargs.pop("device", None)
        requires_grad = kwargs.pop("requires_grad", False)
        if device is None:
            device = args[0].device if args and isinstance(args[0], torch.Tensor) else torch.get_default_device()
        if not on_spyre(device):
            raise ValueError(f"device_layout needs the device spyre, not {device}")
        made = _place(before(*args, device="meta", **kwargs), device_layout)
        value = fill(args, kwargs)
        if value is not None:
            made.fill_(value)
        return made.requires_grad_(requires_grad)
    return factory


def _contiguous_only(before):
    """torch-spyre's rule, and its words, for a tensor that is asked for."""
    def empty(*args, memory_format=torch.contiguous_format, **kwargs):
        if memory_format in (torch.contiguous_format, torch.preserve_format):
            return before(*args, **kwargs)
        if on_spyre(kwargs.get("device") or torch.get_default_device()):
            raise RuntimeError(f"Spyre backend only supports contiguous memory format, not {memory_format}")
        return before(*args, memory_format=memory_format, **kwargs)
    return empty


def _fill_value(args, kwargs):
    """The value of full(size, value) and new_full(self, size, value): the last positional one."""
    return kwargs["fill_value"] if "fill_value" in kwargs else args[-1]


_FACTORIES = {
    "empty": lambda args, kwargs: None, "empty_strided": lambda args, kwargs: None,
    "zeros": lambda args, kwargs: 0, "ones": lambda args, kwargs: 1, "full": _fill_value,
    "empty_like": lambda args, kwargs: None, "zeros_like": lambda args, kwargs: 0, "ones_like": lambda args, kwargs: 1,
    "full_like": _fill_value,
}
_METHODS = {
    "new_empty": lambda args, kwargs: None, "new_empty_strided": lambda args, kwargs: None,
    "new_zeros": lambda args, kwargs: 0, "new_ones": lambda args, kwargs: 1, "new_full": _fill_value,
}


@patch
def factories_with_layout():
    """torch.empty(..., device_layout=...) and its like."""
    from torch.utils._device import _device_constructors
    _device_constructors()  # remembers the functions as they are; it must not see ours
    for name, fill in _FACTORIES.items():
        wrap(torch, name, functools.partial(_factory, fill=fill))
    wrap(torch, "empty", _contiguous_only)
    for name in _FACTORIES:
        if name.endswith("_like"):
            wrap(torch, name, for_subclasses)
    for name in _FACTORIES:  # torch.jit.script knows PyTorch's functions as objects
        torch.jit._builtins._register_builtin(getattr(torch, name), f"aten::{name}")
    for name, fill in _METHODS.items():
        wrap(torch.Tensor, name, functools.partial(_factory, fill=fill))


@patch
def clone_with_layout():
    """x.clone(device_layout=...) and x.contiguous(device_layout=...)."""
    def clone(before):
        def method(self, *args, device_layout=None, **kwargs):
            if device_layout is None:
                return before(self, *args, **kwargs)
            return self.to(self.device, device_layout=device_layout, copy=True)
        return method

    def contiguous(before):
        def method(self, *args, device_layout=None, **kwargs):
            made = before(self, *args, **kwargs)
            return made if device_layout is None else made.to(made.device, device_layout=device_layout)
        return method

    wrap(torch.Tensor, "clone", clone)
    wrap(torch.Tensor, "contiguous", contiguous)
