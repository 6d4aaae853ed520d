"""The tensors that a compiled graph is called with: what a plan depends on.

A plan is made for layouts, so they are its key, with all that says which elements of a storage each tensor has. Two
tensors may share a storage; they are then views of one input.
"""
import torch

from tegula import Layout, SpyreTensorLayout, _core
from tegula._spyre_names import DataFormats, ElementArrangement
from tegula.torch import memory


class Host:
    """All that a storage holds: the host tensor that its layout was made for."""

    def __init__(self, numbers, dtype):
        device_size, stride_map, form, arrangement, self.size, self.stride, _ = numbers
        self.layout = SpyreTensorLayout(list(device_size), list(stride_map), DataFormats(form),
                                        ElementArrangement(arrangement))
        self.dtype = dtype


class Given:
    """One tensor of the device among the inputs."""

    def __init__(self, host, tensor, anew):
        self.host, self.anew = host, anew
        self.size, self.stride = tuple(tensor.size()), tuple(tensor.stride())
        self.offset = tensor.storage_offset()

    def whole(self, tensor):
        """All of the storage of a tensor that this describes."""
        tensor = _anew(tensor) if self.anew else tensor
        return memory._as_strided._op_dk(memory.CPU, tensor, self.host.size, self.host.stride, 0)


def _numbers(tensor):
    """What the C side says of its storage; None where its elements are not those of a layout."""
    if tensor.is_neg():
        return None
    numbers = _core._spyre_describe(memory.key(tensor))
    return numbers if numbers is not None and numbers[6] == _dtype_name(tensor.dtype) else None


_names = {}


def _dtype_name(dtype):
    if dtype not in _names:
        _names[dtype] = Layout.strided((1,), dtype).dtype
    return _names[dtype]


def _anew(tensor):
    """Bytes without a layout, or seen as another type: a copy has one."""
    return memory.copy(tensor, memory.make(tensor.size(), tensor.dtype))


def describe(tensor, hosts):
    """hosts: {address of a storage: its Host}, for the tensors of one call."""
    numbers = _numbers(tensor)
    if numbers is None:
        copy = _anew(tensor)
        return Given(Host(_core._spyre_describe(memory.key(copy)), tensor.dtype), copy, True)
    address = memory.key(tensor)
    if address not in hosts:
        hosts[address] = Host(numbers, tensor.dtype)
    return Given(hosts[address], tensor, False)


def describe_all(values):
    hosts = {}
    return [describe(v, hosts) if memory.is_spyre(v) else v for v in values]


def key_of(values):
    """What a plan for these values is kept under."""
    key, seen = [], {}
    for place, value in enumerate(values):
        if not isinstance(value, torch.Tensor):
            key.append((type(value), value) if isinstance(value, (int, float, bool)) else None)
        elif memory.is_spyre(value):
            same = seen.setdefault(memory.key(value), place)
            key.append((_numbers(value), tuple(value.size()), value.stride(), value.storage_offset(), value.dtype,
                        same))
        else:
            key.append((value.device, value.dtype, tuple(value.size()), value.stride()))
    return tuple(key)


def _in_words(given):
    return f"{tuple(given.size)} strides {tuple(given.stride)} {given.host.layout}"


def differences(names, before, now):
    """What is new about the inputs, as lines of text."""
    found = []
    for name, a, b in zip(names, before, now):
        if isinstance(a, Given) and isinstance(b, Given):
            if a.host.layout != b.host.layout:
                found.append(f"{name} has the layout {b.host.layout}, and had {a.host.layout}")
            elif _in_words(a) != _in_words(b) or a.offset != b.offset:
                found.append(f"{name} is {_in_words(b)}, and was {_in_words(a)}")
        elif isinstance(b, (int, float)) and a != b:
            found.append(f"{name} is {b}, and was {a}")
    return found
