"""Files and pickles: the layout travels beside host elements, which any PyTorch reads."""
import threading

import torch

from tegula import _core
from tegula.torch import memory
from tegula.torch.memory import is_spyre
from tegula.torch.patching import patch, wrap

_STATE, _CODES = "_spyre_layout", "_spyre_codes"
_restoring = threading.local()  # .layout: the layout of the tensor that is read now comes later


@patch
def saving():
    """torch.save and pickle write host elements, which any PyTorch reads; the layout travels as state beside them, and
    so do the bytes of the device where its numbers are beyond the host's type."""
    def reduce(before):
        def reduce_ex(self, proto):
            numbers = _core._spyre_describe(memory.key(self)) if type(self) is torch.Tensor and is_spyre(self) else None
            if numbers is None:
                return before(self, proto)
            self.__dict__[_STATE] = numbers
            codes = memory.codes_beyond_host(self) if self.dtype in memory.ONE_CODE else None
            if codes is not None:
                self.__dict__[_CODES] = codes.decode("latin-1")  # bytes are not what weights_only reads
            try:
                return before(self, proto)
            finally:
                # What was returned holds a copy of the dictionary.
                del self.__dict__[_STATE]
                self.__dict__.pop(_CODES, None)
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
                _restore(made, numbers)
                if codes is not None:
                    _core._spyre_set_device_bytes(memory.key(made), codes.encode("latin-1"))
            return made
        return rebuild_from_type_v2

    def with_own_state(before):
        def reduce_ex(self, proto):
            made = before(self, proto)
            if made[0] is torch._tensor._rebuild_from_type_v2 and isinstance(made[1][3], dict):
                func, new_type, args, state = made[1]
                made = (made[0], (func, new_type, args, dict(state)), *made[2:])
            return made
        return reduce_ex

    wrap(torch.Tensor, "__reduce_ex__", with_own_state)
    wrap(torch.Tensor, "__reduce_ex__", reduce)
    wrap(torch._tensor, "_rebuild_from_type_v2", rebuild)


@patch
def loading():
    """torch.load(a file of another device, map_location="spyre") gives storages of host bytes: they become tensors."""
    def make(before):
        def rebuild(*args, **kwargs):
            made = before(*args, **kwargs)
            if type(made) is torch.Tensor and is_spyre(made) and not getattr(_restoring, "layout", False):
                _settle(made)
            return made
        return rebuild

    wrap(torch._utils, "_rebuild_tensor", make)
    wrap(torch._utils, "_rebuild_tensor_v3", make)


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


def _restore(tensor, numbers):
    device_size, stride_map, dtype, arrangement, size, stride, host_dtype = numbers
    from tegula._spyre_names import DataFormats, ElementArrangement
    layout = _core.SpyreTensorLayout(device_size, stride_map, DataFormats(dtype), ElementArrangement(arrangement))
    if _core._spyre_describe(memory.key(tensor)) != tuple(numbers):
        _core._spyre_set_layout(memory.key(tensor), size, stride, host_dtype, layout)
