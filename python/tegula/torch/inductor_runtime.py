"""What generated programs call. Arithmetic is that of the CPU, in float32 where a type has 16 bits; every result is
rounded by the format of the device, where it is stored.

A kernel works on whole loop nests at once: each value is a tensor with one dimension for each loop, of size 1 where
it does not depend on it.
"""
import math

import torch

from tegula import SpyreTensorLayout
from tegula._spyre_names import DataFormats, ElementArrangement
from tegula.torch import fallback, memory
from tegula.torch.torch_spyre_names import spyre_empty_with_layout

_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


# ---- calls of operations ------------------------------------------------------------------------


def run(op, out, *args, **kwargs):
    """The result of an operation, in a tensor that has its layout."""
    memory.copy(fallback.results_on_cpu(op, args, kwargs), out)


def copy(out, tensor):
    memory.copy(tensor, out)


def whole(tensor, size, stride):
    """All of the storage of an input."""
    return memory._as_strided._op_dk(memory.CPU, tensor, size, stride, 0)


# ---- kernels ------------------------------------------------------------------------------------


def _computed(tensor):
    wider = _WIDER.get(tensor.dtype)
    return tensor if wider is None else tensor.to(wider)


def load(tensor, offset, size, stride):
    """Elements at offset + sum of loop * stride, counted from where the tensor begins."""
    at = tensor.storage_offset() + offset
    if not memory.is_spyre(tensor):
        return _computed(tensor.as_strided(size, stride, at))
    return _computed(memory.operand(memory._as_strided._op_dk(memory.CPU, tensor, size, stride, at)))


def gather(tensor, index):
    """Elements anywhere: those outside of the storage are not asked for by what reads them, and are any."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    if memory.is_spyre(tensor):
        line = memory.operand(memory._as_strided._op_dk(memory.CPU, tensor, (count,), (1,), 0))
    else:
        line = tensor.as_strided((count,), (1,), 0)
    return _computed(line[(torch.as_tensor(index) + tensor.storage_offset()).clamp(0, count - 1)])


def store(out, value):
    value = torch.as_tensor(value).to(out.dtype)
    memory.copy(value.expand(out.size()) if value.dim() else value, out)


def loop(place, loops, size):
    """0, 1, ... along one of the loops."""
    return torch.arange(size).view([size if i == place else 1 for i in range(loops)])


def constant(value, dtype):
    return torch.tensor(value, dtype=_WIDER.get(dtype, dtype))


def to_dtype(value, dtype):
    return torch.as_tensor(value).to(_WIDER.get(dtype, dtype))


def index(value, dtype):
    return torch.as_tensor(value).to(_WIDER.get(dtype, dtype))


_REDUCE = {
    "sum": lambda x, dtype: x.sum(-1, dtype=dtype),
    "prod": lambda x, dtype: x.prod(-1, dtype=dtype),
    "max": lambda x, dtype: x.amax(-1),
    "min": lambda x, dtype: x.amin(-1),
    "any": lambda x, dtype: x.any(-1),
    "xor_sum": lambda x, dtype: (x.sum(-1) % 2).to(torch.bool),
}


def reduce(how, value, size, kept, dtype):
    """Over all loops but the first `kept`."""
    value = torch.as_tensor(value).expand(size).reshape([*size[:kept], math.prod(size[kept:])])
    return _REDUCE[how](value, _WIDER.get(dtype, dtype))


def inside(value, size):
    """Negative places count from the end."""
    return torch.where(value < 0, value + size, value)


__all__ = ["DataFormats", "ElementArrangement", "SpyreTensorLayout", "constant", "copy", "gather", "index", "inside",
           "load", "loop", "reduce", "run", "spyre_empty_with_layout", "store", "to_dtype", "whole"]
