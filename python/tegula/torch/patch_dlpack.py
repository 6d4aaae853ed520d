"""Raw pointers: nobody gets one to tiled memory who would read it with host strides."""
import torch

from tegula.torch.memory import is_spyre
from tegula.torch.patching import patch, wrap

_TILED = ("the memory of a tensor on spyre is tiled, and DLPack cannot say how; take x.cpu(), or ask x.__dlpack__ for "
          "dl_device=(1, 0), the CPU")
_COPY = "the memory of a tensor on spyre is tiled: what the CPU reads is a copy, and copy=False asks for none"


@patch
def dlpack():
    """x.__dlpack__() would hand tiled memory to somebody who reads it with host strides."""
    def export(before):
        def method(self, *args, dl_device=None, **kwargs):
            if not is_spyre(self):
                return before(self, *args, dl_device=dl_device, **kwargs)
            if dl_device is not None and tuple(map(int, dl_device)) == (1, 0):
                if kwargs.pop("copy", None) is False:
                    raise BufferError(_COPY)
                return self.detach().cpu().__dlpack__(*args, **kwargs)
            raise BufferError(_TILED)
        return method

    def device(before):
        def method(self):
            return (12, 0) if is_spyre(self) else before(self)  # kDLExtDev
        return method

    def capsule(before):
        def function(tensor, *args, **kwargs):
            if is_spyre(tensor):
                raise BufferError(_TILED)
            return before(tensor, *args, **kwargs)
        return function

    wrap(torch.Tensor, "__dlpack__", export)
    wrap(torch.Tensor, "__dlpack_device__", device)
    for owner, name in ((torch, "to_dlpack"), (torch.utils.dlpack, "to_dlpack"), (torch._C, "_to_dlpack"),
                        (torch._C, "_to_dlpack_versioned")):
        wrap(owner, name, capsule)
