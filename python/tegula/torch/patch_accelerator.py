"""What PyTorch does for accelerators: torch.accelerator, and memory that is pinned for one."""
import torch

from tegula.torch.patching import for_subclasses, on_spyre, patch, wrap


def _ours(device):
    """Whether a function of torch.accelerator is asked about the device, or about none that it names."""
    current = torch.accelerator.current_accelerator()
    return current is not None and current.type == "spyre" and (device is None or isinstance(device, int)
                                                                or on_spyre(device))


@patch
def accelerator():
    """torch.accelerator.synchronize() raises, a question about memory is an internal error, and empty_host_cache()
    ends the process: a device made from Python has no events and no allocator. Its answers are those of torch.spyre."""
    spyre = torch.spyre
    table = {
        "synchronize": spyre.synchronize,
        "set_device_index": spyre.set_device, "set_device_idx": spyre.set_device,
        "empty_cache": lambda device=None: spyre.empty_cache(), "empty_host_cache": lambda device=None: None,
        "memory_allocated": spyre.memory_allocated, "memory_reserved": spyre.memory_reserved,
        "max_memory_allocated": spyre.max_memory_allocated, "max_memory_reserved": spyre.max_memory_reserved,
        "memory_stats": spyre.memory_stats, "get_memory_info": spyre.mem_get_info,
        "reset_peak_memory_stats": spyre.reset_peak_memory_stats,
        "reset_accumulated_memory_stats": spyre.reset_accumulated_memory_stats,
        "get_device_capability": spyre.get_device_capability,
    }

    def make(ours):
        def replace(before):
            def function(device=None, /):
                if _ours(device):
                    return ours(device)
                return before() if device is None else before(device)
            return function
        return replace

    for name, ours in table.items():
        for owner in (torch.accelerator, torch.accelerator.memory):
            if hasattr(owner, name):
                wrap(owner, name, make(ours))


def _wanted(tensor, device):
    """The device that memory is pinned for; None where a subclass has its own answer."""
    if torch.overrides.has_torch_function_unary(tensor):
        return None
    return device if device is not None else torch.accelerator.current_accelerator()


_FACTORIES = ("empty", "empty_strided", "empty_like", "empty_permuted", "zeros", "zeros_like", "ones", "ones_like",
              "full", "full_like", "rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm",
              "arange", "linspace", "logspace", "eye", "tensor", "scalar_tensor")


@patch
def pinning():
    """x.pin_memory(), torch.empty(..., pin_memory=True) and DataLoader(pin_memory=True) raise: there is no allocator of
    pinned memory, nor a need."""
    def pin(before):
        def method(self, device=None):
            wanted = _wanted(self, device)
            return self if on_spyre(wanted) else before(self) if device is None else before(self, device)
        return method

    def pinned(before):
        def method(self, device=None):
            wanted = _wanted(self, device)
            return False if on_spyre(wanted) else before(self) if device is None else before(self, device)
        return method

    def made_unpinned(before):
        def function(*args, pin_memory=False, **kwargs):
            if not pin_memory:
                return before(*args, **kwargs)
            if not on_spyre(torch.accelerator.current_accelerator()):
                return before(*args, pin_memory=pin_memory, **kwargs)
            made = before(*args, **kwargs)
            if on_spyre(made.device):
                raise RuntimeError("only tensors of the CPU can be pinned")
            return made
        return function

    for name in _FACTORIES:
        wrap(torch, name, made_unpinned)
        if name.endswith("_like"):
            wrap(torch, name, for_subclasses)
        torch.jit._builtins._register_builtin(getattr(torch, name), f"aten::{name}")
    for name in ("new_empty", "new_empty_strided", "new_zeros", "new_ones", "new_full", "new_tensor"):
        wrap(torch.Tensor, name, made_unpinned)
    wrap(torch.Tensor, "pin_memory", pin)
    wrap(torch.Tensor, "is_pinned", pinned)
