"""What the device has beyond PyTorch's operations."""
import torch

from tegula import SpyreTensorLayout
from tegula.torch import memory


def _target(tensor, target):
    if isinstance(target, SpyreTensorLayout):
        return target
    if not isinstance(target, int):
        raise TypeError(f"restickify needs a SpyreTensorLayout or the dimension of the stick, not {target!r}")
    rank = tensor.dim()
    if rank == 0:
        raise IndexError("a tensor without dimensions has none for its sticks to run along")
    if not -rank <= target < rank:
        raise IndexError(f"dimension {target} is not in [-{rank}, {rank})")
    stick = target % rank
    order = [d for d in range(rank) if d != stick] + [stick]
    return SpyreTensorLayout(tensor.size(), memory.dense_strides(tensor), tensor.dtype, order)


def restickify(tensor, target):
    """A copy of the tensor in another layout: a SpyreTensorLayout, or the dimension that its sticks run along."""
    if not memory.is_spyre(tensor):
        raise ValueError(f"restickify needs a tensor on spyre, not on {tensor.device}")
    return tensor.to("spyre", device_layout=_target(tensor, target), copy=True)
