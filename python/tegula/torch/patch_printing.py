"""How tensors of the device are printed."""
import torch

from tegula.torch.memory import is_spyre
from tegula.torch.patching import patch, wrap


@patch
def printing():
    """A tensor prints from one copy on the CPU, and not from twenty operations, some in float64, of the device."""
    def make(before):
        def text(self, *, tensor_contents=None):
            if not is_spyre(self) or type(self).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
                return before(self, tensor_contents=tensor_contents)
            if torch._C._functorch.is_functorch_wrapped_tensor(self):
                return before(self, tensor_contents=tensor_contents)
            with torch._C.DisableTorchFunctionSubclass():
                copy = self.detach().cpu()
                copy = copy if isinstance(self, torch.nn.Parameter) else copy.as_subclass(type(self))
            said = before(copy, tensor_contents=tensor_contents)
            suffix = f", device='{self.device}'"
            if self.grad_fn is not None:
                suffix += f", grad_fn=<{type(self.grad_fn).__name__}>"
            elif self.requires_grad:
                suffix += ", requires_grad=True"
            return said[:-1] + suffix + ")"
        return text

    wrap(torch._tensor_str, "_str", make)
