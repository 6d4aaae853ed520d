"""How much memory the device takes: torch.spyre.memory_allocated() and its like, with the meanings of torch.cuda.

Allocated is what tensors hold, padding included; reserved is what the operating system has given for it, with what is
kept for later tensors. There is no other memory behind the device than that of the machine.
"""
import os

from tegula import _core
from tegula.torch.device_index import index


def memory_allocated(device=None):
    """Bytes of device memory in use, padding included."""
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device=None):
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device=None):
    """Bytes that the operating system has given: those in use, and those that are kept until empty_cache()."""
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device=None):
    return memory_stats(device)["reserved_bytes.all.peak"]


def memory_stats(device=None):
    """All that is counted, by PyTorch's names."""
    index(device)
    return _core._spyre_memory_stats()


def reset_peak_memory_stats(device=None):
    index(device)
    _core._spyre_reset_peak()


def reset_accumulated_memory_stats(device=None):
    """What was ever allocated and freed counts from 0 again."""
    index(device)
    _core._spyre_reset_accumulated()


def empty_cache():
    """What is kept for later tensors goes back to the operating system."""
    _core._spyre_empty_cache()


def _available():
    """Bytes that programs can have, by the operating system's estimate, which counts what it can let go of."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def total_memory():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def mem_get_info(device=None):
    """(free, total) bytes: the machine's."""
    index(device)
    return _available(), total_memory()


NAMES = (memory_allocated, max_memory_allocated, memory_reserved, max_memory_reserved, memory_stats,
         reset_peak_memory_stats, reset_accumulated_memory_stats, empty_cache, mem_get_info)
