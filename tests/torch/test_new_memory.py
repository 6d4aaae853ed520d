"""Memory that was somebody else's: what no element is written to is 0, in memory and in files."""
import io
import pickle

import numpy as np
import pytest
import torch

from tegula import _core
from tegula.torch import SpyreTensorLayout, memory

SECRET = 0x2BADC0DE
SHAPES = [((3, 70), None), ((700, 1000), None), ((700, 1000), [1, 0]), ((30000, 40), None), ((2100, 3), None),
          ((5, 130, 900), [1, 0, 2]), ((1024, 3, 50), [0, 2, 1])]


def leave_secrets(storage_bytes):
    """Memory of that size, and of sizes that the allocator may give out in its place, with something in it."""
    sizes = [n for n in (storage_bytes, storage_bytes + 128, -(-storage_bytes // (1 << 20)) << 20) for _ in range(4)]
    kept = [torch.full((n // 4,), SECRET, dtype=torch.int32, device="spyre") for n in sizes]
    assert all(SECRET.to_bytes(4, "little") in _core._spyre_device_bytes(memory.key(t)) for t in kept)


def device_bytes(x):
    return _core._spyre_device_bytes(memory.key(x))


@pytest.mark.parametrize("size, order", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.int8, torch.int64], ids=str)
def test_padding_is_zero(size, order, dtype):
    layout = None if order is None else SpyreTensorLayout(size, dtype, order)
    ones = torch.ones(size, dtype=dtype)
    width = {torch.float16: np.uint16, torch.int8: np.uint8, torch.int64: np.uint32}[dtype]
    need = len(device_bytes(torch.empty(size, dtype=dtype, device="spyre", device_layout=layout)))
    for make in (lambda: torch.empty(size, dtype=dtype, device="spyre", device_layout=layout).fill_(1),
                 lambda: ones.to("spyre", device_layout=layout), lambda: torch.ones(size, dtype=dtype, device="spyre"),
                 lambda: pickle.loads(pickle.dumps(ones.to("spyre", device_layout=layout)))):
        leave_secrets(need)
        assert np.count_nonzero(np.frombuffer(device_bytes(make()), width)) == ones.numel()


def test_gaps_are_zero():
    """Host elements between the strides of a tensor."""
    leave_secrets(700 * 3000 * 4)
    x = torch.empty_strided((700, 1000), (3000, 2), device="spyre").fill_(1)
    line = x.as_strided((x.untyped_storage().nbytes() // 4,), (1,)).cpu()
    assert torch.count_nonzero(line).item() == x.numel()


def saved(values):
    x = values.to("spyre")
    y = torch.empty_strided(values.size(), (3 * values.size(1), 1), dtype=values.dtype, device="spyre").copy_(values)
    file = io.BytesIO()
    torch.save({"x": x, "y": y, "p": torch.nn.Parameter(x)}, file)
    return file.getvalue(), pickle.dumps(x), device_bytes(x)


@pytest.mark.parametrize("size", [(700, 1000), (3, 70)])
def test_files_have_the_same_bytes(size):
    """Two files of the same numbers are the same, those with the bytes of the device as well: 65504 needs them."""
    values = torch.full(size, 65504.0, dtype=torch.float16)
    first = saved(values)
    for _ in range(3):
        leave_secrets(len(first[2]))
        again = saved(values)
        assert again[::2] == first[::2]  # a pickle of a storage has its address
        assert all(SECRET.to_bytes(4, "little") not in data for data in again)
