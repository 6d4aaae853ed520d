"""The device: its name, its place in PyTorch, and the module torch.spyre."""
import collections
import importlib.util
import os
import sys
import types

import torch

from tegula import _core
from tegula.torch import device_memory, device_streams
from tegula.torch.device_index import index

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


class device:
    """`with torch.spyre.device(0)`: there is one device, so nothing changes."""

    def __init__(self, device):
        self.idx = index(device)

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return False


class device_of(device):
    """The same, with the device of a tensor, if that is one of this kind."""

    def __init__(self, tensor):
        super().__init__(tensor.device if tensor.device.type == NAME else None)


DeviceProperties = collections.namedtuple("DeviceProperties", "name total_memory stick_bytes simulated")


def get_device_name(device=None):
    index(device)
    return "Spyre, simulated by Tegula"


def get_device_properties(device=None):
    """Name, bytes of memory (the machine's), bytes of a stick, and that it is simulated."""
    return DeviceProperties(get_device_name(device), device_memory.total_memory(), 128, True)


def get_device_capability(device=None):
    """What torch.accelerator.get_device_capability() tells: the types that have a format on the device."""
    index(device)
    dtypes = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    return {"supported_dtypes": set(filter(_has_format, dtypes))}


def _has_format(dtype):
    if str(dtype).startswith("torch.q"):  # quantised: there are formats, and PyTorch has no such tensors here
        return False
    try:
        _core._spyre_check((1,), None, dtype, None)
    except (RuntimeError, ValueError):
        return False
    return True


def set_device(device):
    index(device)


def synchronize(device=None):
    """Nothing is ever under way: every operation ends before it returns."""
    index(device)


# ---- random numbers: they come from the generator of the CPU ----


def get_rng_state(device=NAME):
    index(device)
    return torch.default_generator.get_state()


def set_rng_state(new_state, device=NAME):
    index(device)
    torch.default_generator.set_state(new_state)


def manual_seed(seed):
    """Seeds the generator of the CPU, whose numbers the device has."""
    torch.default_generator.manual_seed(int(seed))


def seed():
    torch.default_generator.seed()


def initial_seed():
    return torch.default_generator.initial_seed()


def _module():
    module = types.ModuleType(f"torch.{NAME}", "The simulated Spyre device of Tegula; see docs/torch.md.")
    named = (device, device_of, get_device_name, get_device_properties, get_device_capability, set_device, synchronize,
             get_rng_state, set_rng_state, manual_seed, seed, initial_seed, *device_memory.NAMES, *device_streams.NAMES)
    table = {value.__name__: value for value in named}
    table |= {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_built": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "_is_compiled": lambda: True,
        "_is_in_bad_fork": lambda: False,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "manual_seed_all": manual_seed,
        "seed_all": seed,
        "get_rng_state_all": lambda: [get_rng_state()],
        "set_rng_state_all": lambda states: set_rng_state(states[0]),
        "is_bf16_supported": lambda: True,
        "is_current_stream_capturing": lambda: False,
        "get_amp_supported_dtype": lambda: [torch.float16, torch.bfloat16],
        "__tegula__": True,
    }
    for name, value in table.items():
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
