"""The simulated device "spyre" for PyTorch: `import tegula.torch` registers it.

    >>> import torch, tegula.torch
    >>> y = torch.rand(5, 100, 150, dtype=torch.float16).to("spyre")
    >>> y.device_tensor_layout().device_size
    [100, 3, 5, 64]

Tensors of the device lie in memory as those of a Spyre accelerator do; operations run on the CPU. A real torch_spyre
that is in the process, or installed, owns the device: then nothing is registered. docs/torch.md tells the rest.
"""
import os

import torch

from tegula import SpyreTensorLayout
from tegula._spyre_names import DataFormats, ElementArrangement

TESTED = ((2, 13), (2, 14))  # from, to (excluded)
DEVICE = "spyre"


def _check_version():
    numbers = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if TESTED[0] <= numbers < TESTED[1] or os.environ.get("TEGULA_ANY_TORCH") == "1":
        return
    raise ImportError(
        f"tegula.torch is tested with PyTorch {'.'.join(map(str, TESTED[0]))} up to, not including, "
        f"{'.'.join(map(str, TESTED[1]))}, and this is {torch.__version__}. It depends on interfaces that PyTorch "
        "changes without notice. Install torch==2.13.0, or set TEGULA_ANY_TORCH=1 to try all the same.")


def _register():
    from tegula.torch import device, patches
    device.register()
    patches.install()


_check_version()

from tegula.torch.device import real_torch_spyre  # noqa: E402

registered = not real_torch_spyre()
if registered:
    _register()
    from tegula.torch.operations import hint, restickify

    def explain(fn, *args, backward=False, **kwargs):
        """How torch.compile runs fn with these arguments: docs/torch.md, "Compiling"."""
        from tegula.torch.compile_report import explain as tell
        return tell(fn, *args, backward=backward, **kwargs)
else:
    def restickify(tensor, target):
        raise RuntimeError("a real torch_spyre owns the device; tegula.torch has registered nothing")

    def hint(tensor, *, stick_dim=None, dim_order=None, splits=None, tiles=None):
        raise RuntimeError("a real torch_spyre owns the device; tegula.torch has registered nothing")

    def explain(fn, *args, backward=False, **kwargs):
        raise RuntimeError("a real torch_spyre owns the device; tegula.torch has registered nothing")

__all__ = ["DEVICE", "TESTED", "DataFormats", "ElementArrangement", "SpyreTensorLayout", "explain", "hint",
           "registered", "restickify"]
