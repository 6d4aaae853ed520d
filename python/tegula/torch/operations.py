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


# ---- hints -------------------------------------------------------------------------------------


def _hinted_order(rank, stick_dim, dim_order):
    if dim_order is not None:
        return list(dim_order)
    return [d for d in range(rank) if d != stick_dim] + [stick_dim]


def hinted_layout(tensor, stick_dim, dim_order):
    """The layout that a hint asks for."""
    order = _hinted_order(tensor.dim(), stick_dim, dim_order)
    return SpyreTensorLayout(tensor.size(), memory.dense_strides(tensor), tensor.dtype, order)


def _pieces(rank, given, what, pieces):
    """{dimension: pieces} as a list, with 0 where nothing is asked for."""
    if given is None:
        return None
    wanted = [0] * rank
    for dim, count in given.items():
        if not -rank <= dim < rank:
            raise IndexError(f"{what}: dimension {dim} is not in [-{rank}, {rank})")
        if type(count) is not int or count < 1:
            raise ValueError(f"{what}: dimension {dim} in {count!r} {pieces}; a number from 1 on is needed")
        wanted[dim % rank] = count
    return wanted


def hint(tensor, *, stick_dim=None, dim_order=None, splits=None, tiles=None):
    """The same numbers, in a layout of the caller's choice: with this dimension in the sticks, or with the device
    dimensions in this order, the last one in the sticks. Without torch.compile it is a copy. A compiled graph makes the
    tensor that way at once, where it can: then a stick_dim costs nothing, and the planner sees it. splits={0: 8} asks
    how the operation that makes the tensor is shared out: dimension 0 of the result in 8 slices, each for a core;
    tiles={0: 4} that it is done in 4 tiles of dimension 0, one after the other, of which the slices are then. An
    impossible hint is a CompileError. Tensors of other devices are left alone."""
    if tensor.device.type != "spyre":
        return tensor
    rank = tensor.dim()
    if stick_dim is not None and dim_order is not None or stick_dim is dim_order is splits is tiles is None:
        raise TypeError("hint needs stick_dim or dim_order, and not both, or splits, or tiles")
    work = _pieces(rank, splits, "splits", "slices"), _pieces(rank, tiles, "tiles", "tiles")
    if stick_dim is not None:
        if not -rank <= stick_dim < rank:
            raise IndexError(f"dimension {stick_dim} is not in [-{rank}, {rank})")
        return torch.ops.tegula.hint(tensor, stick_dim % rank, None, *work)
    if dim_order is None:
        return torch.ops.tegula.hint(tensor, None, None, *work)
    if splits is not None or tiles is not None:
        raise TypeError("a dim_order is a copy; splits and tiles are of the operation that makes a tensor: not both")
    if sorted(dim_order) != list(range(rank)):
        raise ValueError(f"dim_order {list(dim_order)} is no order of the dimensions of {list(tensor.size())}")
    return torch.ops.tegula.hint(tensor, None, list(dim_order), None, None)


def _hint_on_device(tensor, stick_dim, dim_order, splits, tiles):
    if stick_dim is dim_order is None:
        return tensor.clone()
    made = memory.make(tensor.size(), tensor.dtype, memory.dense_strides(tensor),
                       hinted_layout(tensor, stick_dim, dim_order))
    return memory.copy(tensor, made)


def _hint_of_fake(tensor, stick_dim, dim_order, splits, tiles):
    return torch.empty_strided(tensor.size(), memory.dense_strides(tensor), dtype=tensor.dtype, device=tensor.device)


def _restickify_into(tensor, out):
    """out has the layout that is wanted."""
    return memory.copy(tensor, out)


def _restickify_anew(tensor, device_size, stride_map):
    form = tensor.device_tensor_layout().device_dtype
    return restickify(tensor, SpyreTensorLayout(device_size, stride_map, form))


def _restickify_of_fake(tensor, device_size, stride_map):
    return torch.empty_strided(tensor.size(), memory.dense_strides(tensor), dtype=tensor.dtype, device=tensor.device)


def register():
    """The operations tegula::hint and tegula::restickify, which compiled graphs see."""
    library = torch.library.Library("tegula", "DEF")
    library.define("hint(Tensor tensor, int? stick_dim, int[]? dim_order, int[]? splits, int[]? tiles) -> Tensor")
    library.impl("hint", _hint_on_device, "PrivateUse1")
    library.impl("hint", _hint_of_fake, "Meta")
    torch.library.register_autograd("tegula::hint", lambda context, gradient: (gradient, *[None] * 4), lib=library)
    library.define("restickify(Tensor tensor, int[] device_size, int[] stride_map) -> Tensor")
    library.impl("restickify", _restickify_anew, "PrivateUse1")
    library.impl("restickify", _restickify_of_fake, "Meta")
    torch.library.register_autograd("tegula::restickify", lambda context, gradient: (gradient, None, None), lib=library)
    library.define("restickify.out(Tensor tensor, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("restickify.out", _restickify_into, "PrivateUse1")
    return library
