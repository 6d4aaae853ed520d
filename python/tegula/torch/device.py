"""The device: its name, its place in PyTorch, and the module torch.spyre."""
import importlib.util
import os
import sys
import types

import torch

from tegula import _core

NAME = "spyre"
_libraries = []  # registrations end when these objects die


def real_torch_spyre():
    """Whether a torch_spyre that is not ours is loaded or installed."""
    module = sys.modules.get("torch_spyre")
    if module is not None:
        return not getattr(module, "__tegula__", False)
    try:
        spec = importlib.util.find_spec("torch_spyre")
    except (ImportError, ValueError):
        return False
    # Ours is the file torch_spyre.py, which a package of that name hides.
    return spec is not None and bool(spec.submodule_search_locations)


class _Hooks(torch._C._acc.PrivateUse1Hooks):
    def is_available(self):
        return True

    def has_primary_context(self, index):
        return True

    def is_built(self):
        return True


class _Guard(torch._C._acc.DeviceGuard):
    def type_(self):
        return torch._C._autograd.DeviceType.PrivateUse1


class _Device:
    """`with torch.spyre.device(0)`: there is one device, so nothing changes."""

    def __init__(self, device):
        self.idx = _index(device)

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return False


def _index(device):
    """0, or an error: there is one device."""
    if device is None:
        return 0
    index = device if isinstance(device, int) else torch.device(device).index or 0
    if index not in (0, -1):
        raise RuntimeError(f"there is one Spyre device, with index 0; {index} was asked for")
    return 0


def _rng_state(device=NAME):
    return torch.default_generator.get_state()


def _set_rng_state(state, device=NAME):
    torch.default_generator.set_state(state)


def _manual_seed(seed, device=None):
    """Random numbers of the device come from the generator of the CPU, which torch.manual_seed has seeded."""
    _index(device)


def _synchronize(device=None):
    """Nothing is ever under way: every operation ends before it returns."""
    _index(device)


def memory_allocated(device=None):
    """Bytes of device memory in use, padding included."""
    _index(device)
    return _core._spyre_stats()[1]


def max_memory_allocated(device=None):
    _index(device)
    return _core._spyre_stats()[2]


def memory_stats(device=None):
    """The same as a dictionary, with PyTorch's names."""
    _index(device)
    _, current, peak = _core._spyre_stats()
    return {"allocated_bytes.all.current": current, "allocated_bytes.all.peak": peak}


def reset_peak_memory_stats(device=None):
    _index(device)
    _core._spyre_reset_peak()


def _module():
    module = types.ModuleType(f"torch.{NAME}", "The simulated Spyre device of Tegula; see docs/torch.md.")
    functions = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_built": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "_is_compiled": lambda: True,
        "_is_in_bad_fork": lambda: False,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: _index(device) and None,
        "get_device_name": lambda device=None: "Spyre, simulated by Tegula",
        "synchronize": _synchronize,
        "manual_seed": _manual_seed,
        "manual_seed_all": lambda seed: None,
        "initial_seed": torch.initial_seed,
        "get_rng_state": _rng_state,
        "set_rng_state": _set_rng_state,
        "get_amp_supported_dtype": lambda: [torch.float16, torch.bfloat16],
        "memory_allocated": memory_allocated,
        "max_memory_allocated": max_memory_allocated,
        "memory_stats": memory_stats,
        "reset_peak_memory_stats": reset_peak_memory_stats,
        "empty_cache": _core._spyre_empty_cache,
        "device": _Device,
        "__tegula__": True,
    }
    for name, value in functions.items():
        setattr(module, name, value)
    return module


def _layout_name(name):
    """torch.spyre has the names of torch_spyre._C, as torch-spyre's module has."""
    from tegula.torch import torch_spyre_names
    try:
        return torch_spyre_names.NAMES[name]
    except KeyError:
        raise AttributeError(f"module 'torch.{NAME}' has no attribute '{name}'") from None


def register():
    """Make PyTorch know the device. Once: PyTorch has no way back."""
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
    module = _module()
    module.__getattr__ = _layout_name
    _setup_privateuseone_for_python_backend(NAME, module, _Hooks(), _Guard())
    _core._spyre_set_threads(max(1, min(torch.get_num_threads(), os.cpu_count() or 1)))
    from tegula.torch import autocast, fallback, kernels, operations
    _libraries.extend([kernels.register(), fallback.register(), autocast.register(), operations.register()])
