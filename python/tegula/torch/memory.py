"""Tensors of the device: making them, and moving them. What a layout means is the business of the C side."""
import torch

from tegula import _core
from tegula.torch.writing import Writing

CPU = torch._C.DispatchKey.CPU
_aten = torch.ops.aten
_as_strided = _aten.as_strided.default
_from_dlpack = torch._C._from_dlpack
_unit_dims = [False]  # whether dimensions of size 1 have a device dimension in default layouts


def keep_unit_dims(keep):
    """Whether default layouts of new tensors have device dimensions for those of size 1, as torch-spyre's have."""
    _unit_dims[0] = bool(keep)


def is_spyre(value):
    return isinstance(value, torch.Tensor) and value.device.type == "spyre"


def key(tensor):
    """What the C side knows the storage by."""
    return tensor.untyped_storage().data_ptr()


def contiguous_strides(size):
    strides, step = [], 1
    for extent in reversed(size):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def make(size, dtype, stride=None, layout=None):
    """An uninitialised tensor on the device, in the layout or the default one."""
    line = _from_dlpack(_core._spyre_alloc(size, stride, dtype, layout, _unit_dims[0]))
    return _as_strided._op_dk(CPU, line, size, contiguous_strides(size) if stride is None else stride, 0)


def make_storage(nbytes):
    """Bytes without a layout."""
    return _from_dlpack(_core._spyre_alloc_raw(nbytes)).untyped_storage()


def clone_storage(storage):
    return _from_dlpack(_core._spyre_clone(storage.data_ptr())).untyped_storage()


def clone_block(tensor):
    """A tensor like this one, in memory of its own of the same layout."""
    storage = clone_storage(tensor.untyped_storage())
    made = make((0,), tensor.dtype)
    return made.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())


def dense_strides(tensor):
    """The strides of a tensor if every element has a place of its own and none is between; else row-major ones."""
    size, stride = tensor.size(), tensor.stride()
    if tensor.is_contiguous():
        return contiguous_strides(size)
    next_stride = 1
    for step, extent in sorted(zip(stride, size)):
        if extent == 1:
            continue
        if extent == 0 or step != next_stride:
            return contiguous_strides(size)
        next_stride *= extent
    return stride


def strides_for(tensor, layout):
    """The strides of a copy in that layout: those it was made for, if it knows them."""
    known = layout._host_strides(tensor.dim()) if isinstance(layout, _core.SpyreTensorLayout) else None
    return dense_strides(tensor) if known is None else known


def layout_of(tensor):
    return _core._spyre_layout_of(key(tensor))


def _image(tensor):
    """The whole storage of a device tensor as the host sees it, and the tensor's view of that."""
    storage = tensor.untyped_storage()
    image = torch.empty(storage.nbytes(), dtype=torch.uint8)
    _core._spyre_read_image(storage.data_ptr(), image.data_ptr(), storage.nbytes())
    view = torch.empty(0, dtype=tensor.dtype)
    view.set_(image.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())
    return storage, image, view


def codes_beyond_host(tensor):
    """The bytes of the device, if the host elements would not give them back; else None. float16 has no 65536."""
    storage, image, _ = _image(tensor)
    before = _core._spyre_device_bytes(storage.data_ptr())
    again = clone_storage(storage)
    _core._spyre_write_image(again.data_ptr(), image.data_ptr(), storage.nbytes())
    return None if _core._spyre_device_bytes(again.data_ptr()) == before else before


def read(src, dst):
    """Device to host, same size and dtype."""
    if not _core._spyre_copy_out(key(src), src.size(), src.stride(), src.storage_offset(), src.dtype, dst.data_ptr(),
                                dst.stride()):
        dst.copy_(_image(src)[2])
    return dst.neg_() if src.is_neg() else dst


def _plain(tensor):
    """A tensor of the host as memory has it: nothing lazy about it."""
    if tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized:
        kind = "nested ones" if tensor.is_nested else "quantised ones" if tensor.is_quantized else tensor.layout
        raise RuntimeError(f"Spyre backend only supports strided tensors, not {kind}")
    if tensor._is_zerotensor():  # autograd's: it has no memory at all
        return torch.zeros(tensor.size(), dtype=tensor.dtype)
    return tensor.detach().resolve_conj().resolve_neg()


def write(src, dst):
    """Host to device, same size and dtype."""
    if dst.is_neg():
        src = src.neg()
    if not _core._spyre_copy_in(key(dst), dst.size(), dst.stride(), dst.storage_offset(), dst.dtype, src.data_ptr(),
                               src.stride()):
        storage, image, view = _image(dst)
        touched = torch.zeros_like(image)
        marks = torch.empty(0, dtype=_BITS[dst.element_size()])
        marks.set_(touched.untyped_storage(), dst.storage_offset(), dst.size(), dst.stride()).fill_(-1)
        view.copy_(src)
        _core._spyre_write_touched(storage.data_ptr(), image.data_ptr(), storage.nbytes(), touched.data_ptr())
    return dst


_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

ONE_CODE = (torch.float16, torch.bfloat16)  # DLFloat16 has one code for infinity and NaN


def _preserved_strides(tensor):
    """Dense strides in the order of a tensor's, by PyTorch's own rule where they are not dense already."""
    size, stride = tensor.size(), tensor.stride()
    if tuple(dense_strides(tensor)) == tuple(stride):
        return stride
    return torch.empty_like(torch.empty_strided(size, stride, device="meta")).stride()


def _settled(copy):
    """65504, the largest float16, is 65536 on the device, and that is infinity to the host: here it is 65504 again."""
    largest = torch.full((), torch.finfo(copy.dtype).max, dtype=copy.dtype)
    return torch.where(copy.isinf(), largest.copysign(copy), copy)


def _as_operand(copy):
    """The code that is infinity or NaN, and a NaN to the host, as infinity with its sign."""
    infinity = torch.full((), float("inf"), dtype=copy.dtype)
    return torch.where(copy.isnan(), infinity.copysign(copy), _settled(copy))


def _same(copy):
    return copy


def to_cpu(tensor, convert=_same):
    """A copy on the host, through convert. Its strides are in the order of the tensor's, and what is repeated stays so:
    then PyTorch lays out the results of operations as it does on every device."""
    size, stride = tensor.size(), tensor.stride()
    if tensor.is_contiguous():
        made = torch.empty_strided(size, contiguous_strides(size), dtype=tensor.dtype, device="cpu")
        return convert(read(tensor, made))
    once = [1 if s == 0 else n for n, s in zip(size, stride)]
    if list(size) != once:
        tensor = _as_strided._op_dk(CPU, tensor, once, stride, tensor.storage_offset())
    copy = read(tensor, torch.empty_strided(once, _preserved_strides(tensor), dtype=tensor.dtype, device="cpu"))
    return convert(copy).expand(size)


def once(copy, tensor):
    """Both without what repeats in both of them: an element that stands for many is written once."""
    if copy.size() != tensor.size() or 0 not in copy.stride():
        return copy, tensor
    size = [1 if a == b == 0 else n for n, a, b in zip(copy.size(), copy.stride(), tensor.stride())]
    return (copy.as_strided(size, copy.stride()),
            _as_strided._op_dk(CPU, tensor, size, tensor.stride(), tensor.storage_offset()))


def _converted(tensor, convert):
    if tensor.dtype in ONE_CODE and _core._spyre_converts(key(tensor), tensor.dtype):
        return to_cpu(tensor, lambda copy: copy if copy.isfinite().all() else convert(copy))
    return to_cpu(tensor)


def value(tensor):
    """A copy of what the device holds, as near as the type comes: finite where the device's number is."""
    return _converted(tensor, _settled)


def operand(tensor):
    """A copy for an operation: value(), and the one code that DLFloat16 has for infinity and NaN is infinity. So masks
    of -inf and of finfo.min work on the device, and do not survive the way to the host."""
    return _converted(tensor, _as_operand)


def undefined(tensor):
    """Host memory for what an operation writes into a tensor, all of it; None where it could not."""
    if tensor.is_contiguous():
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")
    if any(s == 0 and n > 1 for n, s in zip(tensor.size(), tensor.stride())):
        return None
    return torch.empty_strided(tensor.size(), _preserved_strides(tensor), dtype=tensor.dtype, device="cpu")


def to_spyre(tensor, layout=None):
    """A copy on the device."""
    tensor = _plain(tensor)
    return write(tensor, make(tensor.size(), tensor.dtype, dense_strides(tensor), layout))


def _copied_on_device(src, dst):
    """Device to device in one plan, in the format of the device; False if no plan says it."""
    return (src.dtype == dst.dtype and src.is_neg() == dst.is_neg() and _core._spyre_copy_device(
        key(dst), dst.stride(), dst.storage_offset(), key(src), src.stride(), src.storage_offset(), dst.size(),
        dst.dtype))


def is_dense(tensor):
    return tensor.is_contiguous() or tuple(dense_strides(tensor)) == tuple(tensor.stride())


def _check_overlap(src, dst):
    """PyTorch's rule, and its words: dense tensors that share a part of their memory are not copied to each other."""
    if key(src) != key(dst) or src.numel() == 0 or dst.numel() == 0 or not (is_dense(src) and is_dense(dst)):
        return
    (a, b), (c, d) = ((t.storage_offset() * t.element_size(), (t.storage_offset() + t.numel()) * t.element_size())
                      for t in (src, dst))
    same = (a, b) == (c, d) and src.stride() == dst.stride()
    if a < d and c < b and not same:
        raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer "
                           "to a single memory location. Please clone() the tensor before performing the operation.")


def copy(src, dst):
    """What Tensor.copy_ does, where at least one of both is on the device."""
    if not is_spyre(dst):
        return _copy(src, dst)
    if is_spyre(src):
        _check_overlap(src, dst)
    with Writing((dst,)):
        return _copy(src, dst)


def _copy(src, dst):
    if src.size() != dst.size():
        src = src.expand(dst.size())
    if not is_spyre(dst):
        if src.dtype == dst.dtype and not dst.is_neg():
            return read(src, dst)
        return dst.copy_(to_cpu(src))
    if is_spyre(src):
        if _copied_on_device(src, dst):
            return dst
        src = value(src)
    src = _plain(src)
    return write(src if src.dtype == dst.dtype else src.to(dst.dtype), dst)
