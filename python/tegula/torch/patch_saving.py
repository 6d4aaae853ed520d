"""Files and pickles: the layout travels beside host elements, which any PyTorch reads."""
import threading

import torch

from tegula import _core
from tegula.torch import memory
from tegula.torch.memory import is_spyre
from tegula.torch.patching import patch, wrap

_STATE, _CODES = "_spyre_layout", "_spyre_codes"
_restoring = threading.local()  # .layout: the layout of the tensor that is read now comes later


def _with_state(made, added):
    """What __reduce_ex__ gives, with more state; the tensor itself, which other threads may see, has none of it."""
    func, args = made[:2]
    if func is torch._tensor._rebuild_from_type_v2:
        func, kind, args, state = args
        added = {**state, **added}
    else:
        kind = torch.Tensor
    return (torch._tensor._rebuild_from_type_v2, (func, kind, args, added), *made[2:])


@patch
def saving():
    """torch.save and pickle write host elements, which any PyTorch reads; the layout travels as state beside them, and
    so do the bytes of the device where its numbers are beyond the host's type."""
    def reduce(before):
        def reduce_ex(self, proto):
            numbers = _core._spyre_describe(memory.key(self)) if type(self) is torch.Tensor and is_spyre(self) else None
            made = before(self, proto)
            if numbers is None:
                return made
            codes = memory.codes_beyond_host(self) if self.dtype in memory.ONE_CODE else None
            added = {_STATE: numbers}
            if codes is not None:
                added[_CODES] = codes.decode("latin-1")  # bytes are not what weights_only reads
            return _with_state(made, added)
        return reduce_ex

    def rebuild(before):
        def rebuild_from_type_v2(func, new_type, args, state):
            if not isinstance(state, dict) or _STATE not in state:
                return before(func, new_type, args, state)
            state = dict(state)
            numbers, codes = state.pop(_STATE), state.pop(_CODES, None)
            _restoring.layout = True
            try:
                made = before(func, new_type, args, state)
            finally:
                _restoring.layout = False
            if is_spyre(made):
                _when_read(lambda: _restore(made, numbers, codes))
            return made
        return rebuild_from_type_v2

    wrap(torch.Tensor, "__reduce_ex__", reduce)
    wrap(torch._tensor, "_rebuild_from_type_v2", rebuild)


@patch
def loading():
    """torch.load(a file of another device, map_location="spyre") gives storages of host bytes: they become tensors."""
    def make(before):
        def rebuild(*args, **kwargs):
            made = before(*args, **kwargs)
            if type(made) is torch.Tensor and is_spyre(made) and not getattr(_restoring, "layout", False):
                _when_read(lambda: _settle(made))
            return made
        return rebuild

    def legacy(before):
        def load(*args, **kwargs):
            outer, _restoring.later = getattr(_restoring, "later", None), []
            try:
                loaded = before(*args, **kwargs)
                for lay_out in _restoring.later:
                    lay_out()
                return loaded
            finally:
                _restoring.later = outer
        return load

    wrap(torch._utils, "_rebuild_tensor", make)
    wrap(torch._utils, "_rebuild_tensor_v3", make)
    wrap(torch.serialization, "_legacy_load", legacy)


def _when_read(lay_out):
    """Files of before PyTorch 1.6 have the bytes of all storages behind the tensors: their memory still holds
    anything, and a layout waits for the end of the file."""
    later = getattr(_restoring, "later", None)
    lay_out() if later is None else later.append(lay_out)


def _settle(tensor):
    """A storage of host bytes gets the default layout: of the tensor if that is all of it, and else of its elements in
    a line."""
    key, nbytes = memory.key(tensor), tensor.untyped_storage().nbytes()
    if _core._spyre_describe(key) is not None or nbytes == 0:
        return
    size, stride, item = tensor.size(), tensor.stride(), tensor.element_size()
    if tensor.numel() * item != nbytes or tuple(memory.dense_strides(tensor)) != tuple(stride):
        size, stride = (nbytes // item,), (1,)
    _core._spyre_set_layout(key, size, stride, tensor.dtype, None)


def _restore(tensor, numbers, codes):
    device_size, stride_map, dtype, arrangement, size, stride, host_dtype = numbers
    from tegula._spyre_names import DataFormats, ElementArrangement
    layout = _core.SpyreTensorLayout(device_size, stride_map, DataFormats(dtype), ElementArrangement(arrangement))
    if _core._spyre_describe(memory.key(tensor)) != tuple(numbers):
        _core._spyre_set_layout(memory.key(tensor), size, stride, host_dtype, layout)
    if codes is not None:
        _core._spyre_set_device_bytes(memory.key(tensor), codes.encode("latin-1"))
