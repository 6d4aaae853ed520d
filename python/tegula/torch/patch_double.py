"""Where PyTorch itself computes in float64, which the device has not."""
import torch

from tegula.torch.memory import is_spyre
from tegula.torch.patching import patch, wrap


@patch
def tracing():
    """torch.jit.trace compares what it made with the function in float64, which the device has not."""
    import torch.jit._trace as trace

    def make(before):
        def check(*args, **kwargs):
            try:
                return before(*args, **kwargs)
            except RuntimeError as error:
                if "Spyre backend does not support dtype torch.float64" not in str(error):
                    raise
        return check

    wrap(trace, "_check_trace", make)


@patch
def grad_scaler():
    """GradScaler("spyre") takes the reciprocal of its scale in float64, which the device has not: the CPU does that."""
    def make(before):
        def unscale_(self, optimizer):
            scale = self._scale
            if scale is None or not is_spyre(scale):
                return before(self, optimizer)
            self._scale = scale.cpu()
            try:
                return before(self, optimizer)
            finally:
                self._scale = scale
        return unscale_

    wrap(torch.amp.GradScaler, "unscale_", make)
