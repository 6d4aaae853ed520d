"""The names of torch_spyre._C that have a meaning without the accelerator; torch.spyre answers to them as well."""
import torch

from tegula import SpyreTensorLayout, _core
from tegula._spyre_names import DataFormats, ElementArrangement
from tegula.torch import memory
from tegula.torch.writing import Writing


def _tensor_on_device(tensor):
    if not memory.is_spyre(tensor):
        raise RuntimeError(f"a tensor on spyre is needed, not one on {tensor.device}")
    return tensor


def get_spyre_tensor_layout(tensor):
    return _tensor_on_device(tensor).device_tensor_layout()


def set_spyre_tensor_layout(tensor, layout):
    """Give the storage of a tensor that is all of it another layout; the elements stay what they are."""
    with Writing((_tensor_on_device(tensor),)):
        _core._spyre_set_layout(memory.key(tensor), tensor.size(), tensor.stride(), tensor.dtype, layout)


def empty_with_layout(size, layout, dtype=None, device=None, pin_memory=None, memory_format=None):
    return memory.make(torch.Size(size), dtype or torch.get_default_dtype(), layout=layout)


def spyre_empty_with_layout(size, stride, dtype, layout):
    return memory.make(torch.Size(size), dtype, tuple(stride), layout)


def to_with_layout(tensor, layout):
    return tensor.to("spyre", device_layout=layout)


def as_strided_with_layout(tensor, size, stride, offset, layout):
    """A view; its layout is that of the storage, which must be the one given."""
    view = _tensor_on_device(tensor).as_strided(size, stride, offset)
    if view.device_tensor_layout() != layout:
        raise RuntimeError("the layout of a view is that of its storage")
    return view


def copy_host_to_device(src, dst):
    _tensor_on_device(dst).copy_(src)


def copy_device_to_host(src, dst):
    dst.copy_(_tensor_on_device(src))


def get_device_dtype(dtype):
    return _core._spyre_device_dtype(dtype)


def get_elem_in_stick(dtype):
    return _core._spyre_elems_per_stick(dtype)


_downcast_warning = [False]


def get_downcast_warning():
    return _downcast_warning[0]


def set_downcast_warning(value):
    """Kept for programs that set it: a number that does not fit is an error here, so there is nothing to warn of."""
    _downcast_warning[0] = bool(value)


def start_runtime():
    """The device needs no starting."""


def free_runtime():
    """The device needs no end."""


NAMES = {name: value for name, value in dict(globals()).items()
         if name in {"DataFormats", "ElementArrangement", "SpyreTensorLayout"} or
         (callable(value) and getattr(value, "__module__", None) == __name__ and not name.startswith("_"))}
