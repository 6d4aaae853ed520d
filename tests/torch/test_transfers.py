"""Transfers: what lies in device memory, by an oracle of its own, and every view of it."""
import copy
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import decode_dlfloat16, encode_dlfloat16, places
from tegula import _core
from tegula.torch import DataFormats, SpyreTensorLayout, memory

CASES = json.loads((Path(__file__).resolve().parent.parent / "spec/spyre_layouts.json").read_text())
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8,
          torch.bool)


def device_memory(tensor, dtype):
    return np.frombuffer(_core._spyre_device_bytes(memory.key(tensor)), dtype)


def host_tensor(size, stride, offset=0, dtype=torch.float16):
    span = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride))
    line = (torch.arange(span) % 1000 + 1).to(dtype)
    return line.as_strided(size, stride, offset)


@pytest.mark.parametrize("case", CASES["roundtrip"] + CASES["roundtrip_known_bad_upstream"], ids=str)
def test_published_layouts(case):
    """Every published layout: device memory as the definition of stride_map says, and the way back."""
    layout = SpyreTensorLayout(case["device_size"], case["stride_map"], DataFormats.SEN169_FP16)
    x = host_tensor(case["size"], case.get("host_strides_actual", case["stride"]), case.get("host_storage_offset", 0))
    y = x.to("spyre", device_layout=layout)
    assert torch.equal(y.cpu(), x)  # 1, ..., 1000: DLFloat16 has these numbers up to 1024
    assert y.device_tensor_layout() == layout
    if math.prod(case["size"]) <= 20000:
        found = device_memory(y, np.uint16)
        assert len(found) == math.prod(case["device_size"])
        dense = x.contiguous().view(-1) if list(case["stride"]) == list(x.contiguous().stride()) else \
            torch.empty_strided(x.size(), case["stride"], dtype=x.dtype).copy_(x).as_strided((x.numel(),), (1,))
        expected = places(case["size"], case["stride"], case["device_size"], case["stride_map"])
        codes = encode_dlfloat16(dense.float().numpy())
        for at, host_offset in expected.items():
            assert found[at] == codes[host_offset]


def test_the_loop_nest_of_the_seed():
    """device[i*65536 + j*64 + k] = host[j*256 + i*64 + k] for a (1024, 256) tensor. Source: the newest document."""
    host = torch.rand(1024, 256, dtype=torch.float16)
    found = device_memory(host.to("spyre"), np.uint16).reshape(4, 1024, 64)
    codes = encode_dlfloat16(host.float().numpy()).reshape(1024, 4, 64)
    assert (found == codes.transpose(1, 0, 2)).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type_comes_back(dtype):
    x = (torch.rand(5, 70) * 250 - (0 if dtype in (torch.uint8, torch.bool) else 125)).to(dtype)
    back = x.to("spyre").cpu()
    assert back.dtype == dtype
    if dtype == torch.float16 or dtype == torch.bfloat16:
        expected = decode_dlfloat16(encode_dlfloat16(x.float().numpy()))
        assert torch.equal(back, torch.from_numpy(expected).to(dtype))
    else:
        assert torch.equal(back, x)


@pytest.mark.parametrize("dtype", (torch.float8_e4m3fn, torch.float8_e5m2fnuz), ids=str)
def test_bytes_of_small_floats_come_back(dtype):
    x = torch.arange(256).to(torch.uint8).view(dtype)
    finite = ~x.float().isnan()
    back = x.to("spyre").cpu()
    assert torch.equal(back.float()[finite], x.float()[finite])


def test_published_dlfloat16_values():
    for case in CASES["dlfloat16"]["encode"]:
        x = torch.tensor([float(case["value"])])
        y = x.to(torch.bfloat16).to("spyre")
        if x.to(torch.bfloat16).item() == x.item():
            assert device_memory(y, np.uint16)[0] == int(case["dlf16"], 16)
    for case in CASES["dlfloat16"]["decode"]:
        assert np.array_equal(decode_dlfloat16([int(case["dlf16"], 16)])[0], float(case["value"]), equal_nan=True)


def test_all_halves():
    """All 65536 float16 numbers, against the definition."""
    x = torch.arange(65536).to(torch.int32).to(torch.int16).view(torch.float16)
    back = x.to("spyre").cpu().float().numpy()
    codes = encode_dlfloat16(x.float().numpy())
    expected = torch.from_numpy(decode_dlfloat16(codes)).to(torch.float16).float().numpy()
    assert np.array_equal(back, expected, equal_nan=True)


def test_numbers_without_a_place():
    for value in (2**31, -2**31 - 1):
        with pytest.raises(OverflowError, match=str(value)):
            torch.tensor([1, value]).to("spyre")
    for dtype in (torch.float64, torch.complex64, torch.uint16):
        with pytest.raises(RuntimeError, match=f"does not support dtype {dtype}"):
            torch.zeros(2, dtype=dtype).to("spyre")


# ---- views, drawn at random --------------------------------------------------------------------


@st.composite
def base_and_view(draw):
    """A tensor of the CPU, and the same chain of views of it and of its copy on the device."""
    rank = draw(st.integers(0, 4))
    size = draw(st.lists(st.sampled_from([1, 2, 3, 5, 31, 64, 65]), min_size=rank, max_size=rank))
    while math.prod(size) > 20000:
        size.pop()
    dtype = draw(st.sampled_from(DTYPES))
    base = (torch.arange(math.prod(size)) % (2 if dtype is torch.bool else 120)).to(dtype).view(size)
    base = base.permute(draw(st.permutations(range(len(size))))) if size else base
    order = draw(st.one_of(st.none(), st.permutations(range(base.dim()))))
    on_device = base.to("spyre") if order is None else base.to("spyre", device_layout=SpyreTensorLayout(
        base.size(), memory.dense_strides(base), dtype, list(order)))
    return base.clone(), on_device, draw(st.lists(st.sampled_from(sorted(STEPS)), max_size=4)), draw(st.randoms())


def _slice(x, r):
    d = r.randrange(x.dim())
    start = r.randrange(x.size(d) + 1)
    return d, slice(start, r.randrange(start, x.size(d) + 1), r.choice((1, 1, 2, 3)))


def _step_slice(x, y, r):
    if x.dim() == 0:
        return x, y
    d, piece = _slice(x, r)
    index = (slice(None),) * d + (piece,)
    return x[index], y[index]


def _step_select(x, y, r):
    if x.dim() == 0 or 0 in x.size():
        return x, y
    d = r.randrange(x.dim())
    i = r.randrange(x.size(d))
    return x.select(d, i), y.select(d, i)


def _step_permute(x, y, r):
    order = list(range(x.dim()))
    r.shuffle(order)
    return x.permute(order), y.permute(order)


def _step_unsqueeze(x, y, r):
    d = r.randrange(x.dim() + 1)
    return x.unsqueeze(d), y.unsqueeze(d)


def _step_expand(x, y, r):
    size = [3 if n == 1 else n for n in x.size()]
    return x.expand(size), y.expand(size)


def _step_flatten(x, y, r):
    try:
        return x.view(-1), y.view(-1)
    except RuntimeError:
        return x, y


def _step_split(x, y, r):
    for d, n in enumerate(x.size()):
        for f in (2, 3, 5, 31):
            if n > f and n % f == 0:
                return x.unflatten(d, (f, -1)), y.unflatten(d, (f, -1))
    return x, y


def _step_bits(x, y, r):
    other = {torch.float16: torch.int16, torch.float32: torch.int32, torch.bfloat16: torch.int16}.get(x.dtype)
    return (x.view(other), y.view(other)) if other else (x, y)


STEPS = {name[6:]: step for name, step in dict(globals()).items() if name.startswith("_step_")}


@settings(max_examples=300)
@given(base_and_view())
def test_views_of_the_device_are_views_of_the_cpu(drawn):
    """Reading a view, and writing through it: the device holds what the CPU holds, for the view and for the base."""
    x, y, steps, r = drawn
    base_x, base_y = x, y
    for name in steps:
        x, y = STEPS[name](x, y, r)
    assert (x.size(), x.storage_offset()) == (y.size(), y.storage_offset())
    assert torch.equal(y.cpu(), x)
    value = (torch.arange(x.numel()) % 2).to(x.dtype).view(x.size())
    if not any(s == 0 and n > 1 for s, n in zip(x.stride(), x.size())):
        x.copy_(value)
        y.copy_(value)
        assert torch.equal(y.cpu(), x)
        assert torch.equal(base_y.cpu(), base_x)
    assert base_y.device_tensor_layout() == y.device_tensor_layout()


@settings(max_examples=100)
@given(base_and_view(), base_and_view())
def test_copies_between_tensors_of_the_device(drawn, other):
    """copy_ with another type, another layout, and a broadcast."""
    x, y, steps, r = drawn
    for name in steps:
        x, y = STEPS[name](x, y, r)
    dst = torch.zeros((2, *x.size()), dtype=other[0].dtype)
    on_device = dst.to("spyre")
    dst.copy_(x % 2 if x.dtype != torch.bool else x)
    on_device.copy_(y % 2 if x.dtype != torch.bool else y)
    assert torch.equal(on_device.cpu(), dst)


def test_a_pair_of_layouts_moves_on_the_device():
    x = torch.rand(70, 130, dtype=torch.float16)
    y = x.to("spyre")
    for order in ([1, 0], [0, 1]):
        z = y.to("spyre", device_layout=SpyreTensorLayout((70, 130), torch.float16, order), copy=True)
        assert torch.equal(z.cpu(), y.cpu())


def test_overlapping_and_gappy_strides():
    for size, stride in (((3, 4), (8, 1)), ((3, 4), (1, 0)), ((5, 3), (1, 1)), ((2, 100), (200, 1)), ((4,), (0,))):
        y = torch.empty_strided(size, stride, device="spyre")
        x = torch.empty_strided(size, stride)
        assert y.stride() == stride and y.untyped_storage().nbytes() == x.untyped_storage().nbytes()
        for at, flat in ((x, x.untyped_storage()), (y, y.untyped_storage())):
            line = at.as_strided((flat.nbytes() // 4,), (1,))
            line.copy_(torch.arange(line.numel(), dtype=torch.float32))
        assert torch.equal(y.cpu(), x)
        if stride in ((8, 1), (200, 1)):
            y[1:].fill_(7)
            x[1:].fill_(7)
            assert torch.equal(y.cpu(), x)
        elif 0 in stride:
            y.fill_(7)
            x.fill_(7)
            assert torch.equal(y.cpu(), x)
            with pytest.raises(RuntimeError, match="single memory location"):
                y.copy_(torch.zeros(size))


def test_many_dimensions():
    x = torch.arange(2.0**10).view((2,) * 10 + (1,) * 20)
    with pytest.raises(ValueError, match="16"):
        x.to("spyre")
    y = torch.arange(2.0**10).to("spyre").view((2,) * 10 + (1,) * 20)
    assert torch.equal(y.cpu(), x)
    assert torch.equal(y.view(-1).cpu(), x.view(-1))


def blocks_of_one_shape(r, size):
    """The same numbers on the CPU and on the device, in permuted dimensions and with room between them. Both as the
    tensor, and as all elements of its storage in order."""
    order = r.permutation(len(size))
    stride, step = [0] * len(size), 1
    for d in order:
        stride[d] = step * int(r.integers(1, 3))
        step = stride[d] * size[d]
    both = []
    total = 1 + sum((n - 1) * s for n, s in zip(size, stride))
    numbers = torch.from_numpy(r.permutation(total)).to(torch.float32)
    for device in ("cpu", "spyre"):
        made = torch.empty_strided(size, stride, device=device)
        line = made.as_strided((total,), (1,))
        line.copy_(numbers)
        both.append((made, line))
    return both


@pytest.mark.parametrize("seed", range(60))
def test_copies_between_blocks_of_equal_shapes(seed):
    """A coordinate of one block need not be the same element of the storage as in the other."""
    r = np.random.default_rng(seed)
    size = [int(n) for n in ([3, 3], [2, 3, 4], [4, 4, 4], [5, 1, 5], [70, 70], [2, 3])[seed % 6]]
    (x, line_x), (y, line_y) = blocks_of_one_shape(r, size)
    (to_x, to_line_x), (to_y, to_line_y) = blocks_of_one_shape(r, size)
    perm = [int(d) for d in r.permutation(len(size))]
    assert torch.equal(y.permute(perm).clone().cpu(), x.permute(perm).clone())
    assert torch.equal(line_y.clone().cpu(), line_x)
    assert torch.equal(y.contiguous().cpu(), x)
    to_x.copy_(x)
    to_y.copy_(y)
    assert torch.equal(to_line_y.cpu(), to_line_x)
    n = min(line_x.numel(), to_line_x.numel())
    to_line_x[:n].copy_(line_x[:n])
    to_line_y[:n].copy_(line_y[:n])
    assert torch.equal(to_line_y.cpu(), to_line_x)
    assert torch.equal(to_y.cpu(), to_x)


@pytest.mark.parametrize("size", ((3, 3), (70, 70), (3, 3, 3)), ids=str)
def test_copies_of_transposed_blocks(size):
    """All permutations of a dense block onto all others: the storages are lines of as many elements."""
    x = torch.arange(float(math.prod(size))).view(size)
    for axes in itertools.permutations(range(len(size))):
        y = x.permute(axes).to("spyre")
        for view in itertools.permutations(range(len(size))):
            turned, expected = y.permute(view), x.permute(axes).permute(view)
            assert torch.equal(turned.clone().cpu(), expected)
            assert torch.equal(torch.zeros(size, device="spyre").copy_(turned).cpu(), expected)


def test_what_lies_between_strides_is_copied():
    line = torch.empty_strided((2, 3), (4, 1), device="spyre").as_strided((7,), (1,))
    line.copy_(torch.arange(7.))
    other = torch.empty_strided((2, 3), (4, 1), device="spyre").as_strided((7,), (1,)).fill_(9)
    assert line.clone().tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert other.copy_(line).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert copy.deepcopy(line).tolist() == [0, 1, 2, 3, 4, 5, 6]  # its storage is cloned


INTO_REPEATED = {
    "fill_": lambda x, at: x.fill_(2), "zero_": lambda x, at: x.zero_(),
    "masked_fill_": lambda x, at: x.masked_fill_(at([True, False, True]), 5),
    "masked_fill_ rows": lambda x, at: x.masked_fill_(at([[False], [False], [True], [False]]), 5),
    "masked_fill_ tensor": lambda x, at: x.masked_fill_(at([True, False, True]), at(5.0)),
    "index_fill_": lambda x, at: x.index_fill_(1, at([1]), 5), "a row": lambda x, at: x[1].fill_(5),
    "index_put_": lambda x, at: x.index_put_((at([1]),), at(5.0)),
    "fill_ negated": lambda x, at: torch._neg_view(x).fill_(2), "fill_ tensor": lambda x, at: x.fill_(at(2.0)),
    "copy_": lambda x, at: x.copy_(at([1.0, 2.0, 3.0])), "add_": lambda x, at: x.add_(1),
    "copy_ repeated": lambda x, at: x.copy_(x.clone()[:1].expand(4, 3)), "uniform_": lambda x, at: x.uniform_(),
    "masked_scatter_": lambda x, at: x.masked_scatter_(at([True, False, True]), at([1.0] * 12)),
}


@pytest.mark.filterwarnings("ignore:Use of")
@pytest.mark.parametrize("name", INTO_REPEATED)
def test_writing_where_elements_stand_for_many(name):
    """What the CPU writes the device writes, and the rest of the memory stays; what the CPU refuses it refuses."""
    found = []
    for device in ("cpu", "spyre"):
        base = torch.arange(6.0).view(2, 3).to(device)
        try:
            result = INTO_REPEATED[name](base[1:].expand(4, 3), lambda value: torch.tensor(value, device=device))
            found.append((base.tolist(), result.tolist()))
        except RuntimeError as error:
            assert "single memory location" in str(error)
            found.append(None)
    assert found[0] == found[1]


DIRECT = {
    "transposed": lambda x: x.t().contiguous(), "clone": lambda x: x.t().clone(), "rows": lambda x: x[3:9].contiguous(),
    "sticks": lambda x: x[:, 64:128].contiguous(), "one row": lambda x: x[5].clone(),
    "every other": lambda x: x[::2].contiguous(), "repeated": lambda x: x[:1].expand(4, -1).contiguous(),
    "cut": lambda x: x.view(6, 10, 2, 64).permute(2, 0, 1, 3).contiguous(),
    "into strides": lambda x: torch.empty_strided(x.size(), (1, 60), dtype=x.dtype, device=x.device).copy_(x),
    "into gaps": lambda x: torch.empty_strided(x.size(), (300, 2), dtype=x.dtype, device=x.device).copy_(x),
    "into a part": lambda x: torch.empty(80, 3, 128, dtype=x.dtype, device=x.device)[10:70, 1].copy_(x),
    "into a stick": lambda x: torch.empty(60, 128, dtype=x.dtype, device=x.device)[:, :64].copy_(x[:, 64:]),
    "broadcast": lambda x: torch.empty(3, 60, 128, dtype=x.dtype, device=x.device).copy_(x),
    "none": lambda x: x[:0].clone(), "number": lambda x: x[2, 3].clone(),
}


@pytest.mark.parametrize("name", DIRECT)
@pytest.mark.parametrize("dtype", (torch.float16, torch.float32, torch.int64), ids=str)
def test_copies_of_one_type_stay_on_the_device(name, dtype, monkeypatch):
    """One plan from layout to layout: nothing is read by the host, and no number is rounded."""
    x = (torch.randperm(60 * 128) % 2000).to(dtype).view(60, 128)
    y = x.to("spyre")
    expected = DIRECT[name](y.cpu())

    def on_host(*args):
        raise AssertionError("the copy went through the host")

    for function in ("read", "write", "to_cpu"):
        monkeypatch.setattr(memory, function, on_host)
    made = DIRECT[name](y)
    monkeypatch.undo()
    assert made.stride() == expected.stride() and torch.equal(made.cpu(), expected)


def test_copies_keep_what_the_host_has_not():
    """The codes of the device, also those that float16 has no number for."""
    x = torch.tensor([[65504.0, -65504.0, float("inf")], [float("-inf"), 1.0, 0.0]], dtype=torch.float16).to("spyre")
    codes = sorted(device_memory(x, np.uint16).tolist())
    for copied in (x.t().contiguous(), x.clone(), torch.empty_strided((2, 3), (7, 2), dtype=x.dtype,
                                                                     device="spyre").copy_(x)):
        assert sorted(c for c in device_memory(copied, np.uint16).tolist() if c) == [c for c in codes if c]


def test_copies_onto_themselves():
    """PyTorch refuses copies between dense tensors that share a part of their memory; others are read first."""
    line, x = torch.arange(200.0), torch.arange(200.0).to("spyre")
    square = torch.arange(4900.0).view(70, 70).to("spyre")
    for work in (lambda: x[1:].copy_(x[:-1]), lambda: x[:-64].copy_(x[64:]), lambda: square.copy_(square.t())):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            work()
    assert torch.equal(x.cpu(), line) and torch.equal(square.cpu(), torch.arange(4900.0).view(70, 70))
    line[2::2] = line[1:-1:2].clone()
    x[2::2].copy_(x[1:-1:2])
    assert torch.equal(x.copy_(x.view(200)).cpu(), line)
