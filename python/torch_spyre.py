"""torch_spyre by Tegula's simulated device, for programs that were written for the real one.

A file and not a package: where the real torch_spyre is installed, Python finds its folder first, so nothing of it is
hidden or overwritten.
"""
import sys
import types

__tegula__ = True  # before the next line, which looks whether a real one is being imported
__path__ = []  # torch_spyre._C can be imported

import tegula.torch  # noqa: E402
from tegula.torch import torch_spyre_names  # noqa: E402


def _module_c():
    module = types.ModuleType("torch_spyre._C", "The names of torch_spyre._C that Tegula has; see docs/torch.md.")
    for name, value in torch_spyre_names.NAMES.items():
        setattr(module, name, value)
    module.__all__ = sorted(torch_spyre_names.NAMES)
    return module


_C = sys.modules["torch_spyre._C"] = _module_c()
restickify = tegula.torch.restickify
