"""What operations read and write: numbers at the ends of the formats, memory that was somebody else's, strides."""
import pytest
import torch

from tegula.torch import SpyreTensorLayout

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)
HALF = torch.float16


def leave_behind(*size):
    """Device memory whose last owner wrote bits that are no small integers."""
    torch.full(size, -1.5e38, device="spyre")


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_memory_of_others_is_never_read(dtype):
    """An operation that only writes reads nothing, and what was never written is not an error."""
    size, small = (3, 300), torch.ones(3, 300).to(dtype)
    moved = small.to("spyre")
    makers = {
        "zeros": lambda: torch.zeros(size, dtype=dtype, device="spyre"),
        "full": lambda: torch.full(size, 1, dtype=dtype, device="spyre"),
        "fill_": lambda: torch.empty(size, dtype=dtype, device="spyre").fill_(1),
        "zero_": lambda: torch.empty(size, dtype=dtype, device="spyre").zero_(),
        "a part": lambda: torch.empty(size, dtype=dtype, device="spyre")[:, 2:5].fill_(1),
        "zeros_like": lambda: torch.zeros_like(moved),
        "copy_": lambda: torch.empty(size, dtype=dtype, device="spyre").copy_(moved),
        "pad": lambda: torch.nn.functional.pad(moved, (1, 1)),
        "out=": lambda: torch.eq(moved, moved, out=torch.empty(size, dtype=torch.bool, device="spyre")),
        "cat": lambda: torch.cat([moved, moved], 1),
        "where": lambda: torch.where(moved > 0, moved, moved),
    }
    expected = {"zeros": 0, "zero_": 0, "zeros_like": 0, "a part": 9, "pad": 900, "cat": 1800}
    for name, make in makers.items():
        leave_behind(*size)
        leave_behind(3, 600)
        assert make().cpu().to(torch.int64).sum().item() == expected.get(name, 900), name
    for read in (repr, torch.Tensor.cpu, torch.Tensor.clone, lambda x: x.to(torch.float32), lambda x: x + 1):
        leave_behind(*size)
        read(torch.empty(size, dtype=dtype, device="spyre"))
        read(torch.empty_strided((3, 300), (1000, 1), dtype=dtype, device="spyre"))


def test_an_output_that_is_an_input_is_read():
    x = torch.arange(6.0, device="spyre")
    torch.add(x, 1, out=x)
    assert x.cpu().tolist() == [1, 2, 3, 4, 5, 6]
    torch.add(x[:3], x[3:], out=x[3:])
    assert x.cpu().tolist() == [1, 2, 3, 5, 7, 9]
    values, places = torch.empty(0, device="spyre"), torch.empty(0, dtype=torch.int64, device="spyre")
    torch.sort(x, descending=True, out=(values, places))
    assert values.cpu().tolist() == [9, 7, 5, 3, 2, 1] and places.cpu().tolist() == [5, 4, 3, 2, 1, 0]


def test_the_largest_half_is_finite_on_the_device():
    """65504 is 65536 in DLFloat16, which float16 cannot say: the host reads infinity, and an operation 65504. So a
    mask of finfo.min is one, copied, viewed and added to; a row that is masked wholly is as on the CPU."""
    low = torch.finfo(HALF).min
    scores = torch.rand(3, 4, dtype=HALF)
    hidden = torch.tensor([[False, True, True, True], [False, False, True, True], [True, True, True, True]])
    on_cpu = scores.masked_fill(hidden, low).softmax(-1)
    y, there = scores.to("spyre"), hidden.to("spyre")
    mask = torch.full((3, 4), low, dtype=HALF, device="spyre") * there
    results = [y.masked_fill(there, low), y + mask, y.masked_fill(there, low)[:, :].clone(),
               torch.cat([y.masked_fill(there, low)[:, :2], y.masked_fill(there, low)[:, 2:]], 1),
               y.masked_fill(there, low).t().contiguous().t(), torch.where(there, low, y)]
    for masked in results:
        torch.testing.assert_close(masked.softmax(-1).cpu(), on_cpu, rtol=2e-3, atol=1e-3)
        assert not masked.isinf().any() and not masked.isnan().any()
        assert torch.equal(masked.float().cpu() <= low, hidden)
    assert torch.full((2,), low, dtype=HALF, device="spyre").cpu().tolist() == [float("-inf")] * 2
    attended = torch.nn.functional.scaled_dot_product_attention(
        *[torch.rand(1, 2, 4, 8, dtype=HALF, device="spyre") for _ in range(3)],
        attn_mask=torch.full((4, 4), low, dtype=HALF, device="spyre").triu(1))
    assert attended.isfinite().all()


def test_a_row_that_is_masked_wholly():
    """The only NaN, as with -inf on the CPU."""
    low = float("-inf")
    rows = torch.tensor([[low, low], [low, 1.0]], dtype=HALF, device="spyre").softmax(-1)
    assert rows[0].isnan().all() and rows[1].cpu().tolist() == [0, 1]


def test_memory_without_a_layout_has_the_numbers_of_the_host():
    line = torch.empty(0, dtype=HALF, device="spyre").set_(torch.UntypedStorage(6, device="spyre"))
    line.copy_(torch.tensor([float("inf"), float("nan"), 65504.0], dtype=HALF))
    assert (line > 1).cpu().tolist() == [True, False, True] and line.cpu()[::2].tolist() == [float("inf"), 65504]
    assert line.isnan().cpu().tolist() == [False, True, False]


VIEWS = {
    "columns": lambda v: v.t()[:, ::2], "rows": lambda v: v[:, ::2].t(), "dense": lambda v: v.t(),
    "expanded": lambda v: v[0].expand(6, 8), "expanded in between": lambda v: v.t()[:, None, :3].expand(8, 2, 3),
    "of three": lambda v: v.view(2, 3, 8).permute(2, 0, 1)[::2], "overlapping": lambda v: v.as_strided((3, 4), (1, 2)),
    "twice expanded": lambda v: v.view(1, 6, 8, 1).expand(3, 6, 8, 2).permute(3, 1, 0, 2),
}


@pytest.mark.parametrize("name", VIEWS)
def test_strides_of_results(name):
    """PyTorch keeps the order of the input's strides in what element-wise operations make."""
    x = torch.rand(6, 8)
    y = x.to("spyre")
    for run in (lambda v: v + 1, lambda v: v.exp(), lambda v: v * v, lambda v: v.clone(), lambda v: v > 0.5,
                lambda v: torch.where(v > 0.5, 1.0, 0.0), lambda v: v.to(HALF), torch.zeros_like,
                lambda v: v.sum(0, keepdim=True), lambda v: v.softmax(0), lambda v: v + torch.ones_like(v)):
        on_cpu, on_device = run(VIEWS[name](x)), run(VIEWS[name](y))
        assert on_device.stride() == on_cpu.stride()
        torch.testing.assert_close(on_device.cpu(), on_cpu, rtol=2e-3, atol=1e-4)


def test_a_stick_of_halves_holds_what_it_should():
    """The number in memory, and not only what comes back: 65504 is code 0x5E00, which is 65536."""
    import numpy as np

    from tegula import _core
    from tegula.torch import memory
    y = torch.full((1,), 65504.0, dtype=HALF, device="spyre")
    assert y.device_tensor_layout() == SpyreTensorLayout((1,), HALF)
    assert np.frombuffer(_core._spyre_device_bytes(memory.key(y)), np.uint16)[0] == (31 + 16) << 9
