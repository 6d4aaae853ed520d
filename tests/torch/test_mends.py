"""Arguments and numbers that were taken, changed or torn without a word."""
import io

import numpy
import pytest
import torch

import oracle
from tegula import _core
from tegula.torch import SpyreTensorLayout, memory

F16_MIN = torch.finfo(torch.float16).min


def strange(size=(3, 71)):
    """65536 of the device, which float16 has not, and its one code for infinity, beside ordinary numbers."""
    host = torch.arange(size[0] * size[1]).remainder(50).half().view(size)
    host[0, 0], host[1, 2], host[2, 70] = F16_MIN, -F16_MIN, -float("inf")
    return host


def codes(tensor):
    """The codes of the device of a tensor that is all of its storage, by the offsets of the host."""
    layout = tensor.device_tensor_layout()
    places = oracle.places(tensor.size(), tensor.stride(), layout.device_size, layout.stride_map)
    memory_of = numpy.frombuffer(_core._spyre_device_bytes(memory.key(tensor)), numpy.uint16)
    return {host: memory_of[device] for device, host in places.items()}


def encoded(tensor):
    return dict(enumerate(oracle.encode_dlfloat16(tensor.float().numpy()).ravel()))


WRITES = {
    "every seventh": lambda y: y.view(-1)[1::7].zero_(),
    "another type": lambda y: y.view(torch.int16)[2, 5:8].fill_(3),
    "bytes": lambda y: y.view(torch.uint8)[1, 1::6].fill_(0x11),
    "strides": lambda y: y.as_strided((3, 3), (31, 7), 5).copy_(torch.full((3, 3), 99.0)),
    "infinity": lambda y: y.view(-1)[0::71].fill_(-float("inf")),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("order", [[0, 1], [1, 0]], ids=str)
def test_elements_beside_what_is_written(name, order):
    host = strange()
    y = host.to("spyre", device_layout=SpyreTensorLayout(host.size(), host.stride(), host.dtype, order))
    before, expected = encoded(host), host.clone()
    assert codes(y) == before
    WRITES[name](expected)
    WRITES[name](y)
    changed = (expected.view(torch.int16) != host.view(torch.int16)).view(-1).tolist()
    after = encoded(expected)
    assert sum(changed) > 2 and codes(y) == {at: (after if changed[at] else before)[at] for at in before}


def test_gaps_between_strides():
    y = torch.empty_strided((3, 4), (8, 1), dtype=torch.float16, device="spyre").fill_(F16_MIN)
    line = y.as_strided((20,), (1,))
    line[1::3] = 2
    two, lowest = oracle.encode_dlfloat16([2.0, F16_MIN])
    assert codes(y) == {at: two if at % 3 == 1 else lowest for at in (8 * i + j for i in range(3) for j in range(4))}
    assert line.cpu()[4::3].tolist() == [2] * 6


BIG = 2**30


@pytest.mark.parametrize("write", [
    lambda t: t.mul_(4),
    lambda t: t.copy_(torch.tensor([5, 6, 2**40, 7])),
    lambda t: t[1:].copy_(torch.tensor([6, 2**40, 7])),
    lambda t: t.view(2, 2).t().copy_(torch.tensor([[5, 6], [-2**31 - 1, 7]])),
    lambda t: t[::3].copy_(torch.tensor([5, 2**31])),
    lambda t: torch.mul(t, 4, out=t),
    lambda t: t.index_fill_(0, torch.tensor([0, 3], device="spyre"), 2**33),
    lambda t: t.as_strided((2, 2), (1, 1)).copy_(torch.full((2, 2), 2**35)),
])
def test_a_number_that_does_not_fit_leaves_the_tensor(write):
    t = torch.tensor([1, 2, BIG, 3], device="spyre")
    with pytest.raises((OverflowError, RuntimeError)):
        write(t)
    assert t.cpu().tolist() == [1, 2, BIG, 3]


def test_bounds_of_int64():
    t = torch.tensor([[2**31 - 1, -2**31], [0, -1]]).to("spyre")
    assert t.cpu().tolist() == [[2**31 - 1, -2**31], [0, -1]]
    t[:, 1].copy_(torch.tensor([2**31 - 1, -2**31]))
    assert t.cpu().tolist() == [[2**31 - 1, 2**31 - 1], [0, -2**31]]


# ---- random numbers, loading --------------------------------------------------------------------


def test_random_numbers_of_int64():
    x = torch.empty(1000, dtype=torch.int64, device="spyre").random_()
    numbers = x.cpu()
    assert 0 <= numbers.min() < 2**27 and 2**30 < numbers.max() < 2**31
    assert torch.empty((), dtype=torch.int64, device="spyre").random_().item() < 2**31
    assert set(torch.empty(200, dtype=torch.int64, device="spyre").random_(3).cpu().tolist()) == {0, 1, 2}
    assert torch.empty(200, device="spyre").random_().cpu().max() <= 2**24
    with pytest.raises(OverflowError):
        torch.empty(100, dtype=torch.int64, device="spyre").random_(2**40, 2**41)


@pytest.mark.parametrize("options", [{}, {"shuffle": True}], ids=["in order", "shuffled"])
def test_data_loader_on_the_default_device(options):
    data = torch.utils.data.TensorDataset(torch.arange(10))
    torch.set_default_device("spyre")
    try:
        found = [x for batch, in torch.utils.data.DataLoader(data, batch_size=4, **options) for x in batch.tolist()]
    finally:
        torch.set_default_device(None)
    assert sorted(found) == list(range(10))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float16, torch.float32])
def test_files_of_the_old_format(dtype):
    """Their bytes come behind the tensors, whose memory holds anything until then."""
    columns = SpyreTensorLayout((600, 500), dtype, [1, 0])
    host = torch.arange(300000).remainder(200).to(dtype).view(600, 500)
    for _ in range(3):
        torch.full((300000,), 2.0, device="spyre")
        saved = {"a": host.to("spyre", device_layout=columns)}
        saved["row"] = saved["a"][3]
        file = io.BytesIO()
        torch.save(saved, file, _use_new_zipfile_serialization=False)
        file.seek(0)
        loaded = torch.load(file)
        assert torch.equal(loaded["a"].cpu(), host) and loaded["a"].device_tensor_layout() == columns
        assert loaded["row"].untyped_storage().data_ptr() == loaded["a"].untyped_storage().data_ptr()
    file = io.BytesIO()
    torch.save(host, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert torch.equal(torch.load(file, map_location="spyre").cpu(), host)


def test_files_of_the_old_format_have_every_number():
    host = strange()
    y = host.to("spyre")
    file = io.BytesIO()
    torch.save([y, torch.nn.Parameter(y)], file, _use_new_zipfile_serialization=False)
    file.seek(0)
    for loaded in torch.load(file):
        assert codes(loaded.data) == encoded(host)


# ---- what comes to the host ---------------------------------------------------------------------


def test_copies_that_may_come_later():
    x = torch.arange(6.0, device="spyre")
    assert x.to("cpu", non_blocking=True).tolist() == x.to("cpu", torch.float16, non_blocking=True).tolist()
    module = torch.nn.Linear(2, 3).to("spyre").to("cpu", non_blocking=True)
    assert module.weight.device.type == "cpu"
    assert torch.empty(6).copy_(x, non_blocking=True).tolist() == list(range(6))
    back = torch.arange(3.0).to("spyre", non_blocking=True)
    assert back.device.type == "spyre" and back.cpu().tolist() == [0, 1, 2]
    x.requires_grad_().to("cpu", non_blocking=True).sum().backward()
    assert x.grad.cpu().tolist() == [1] * 6


def test_nobody_gets_a_view_of_tiled_memory():
    x = torch.arange(6.0, device="spyre")
    with pytest.raises(BufferError, match="copy=False"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="copy=False"):
        numpy.from_dlpack(x, device="cpu", copy=False)
    assert numpy.from_dlpack(x, device="cpu").tolist() == list(range(6))


# ---- what the device refuses --------------------------------------------------------------------


def _sparse():
    return torch.arange(6.0).to_sparse()


def _cpu():
    return torch.arange(6.0)


def _on():
    return torch.arange(6.0, device="spyre")


REFUSED = {
    "quantise": lambda: torch.quantize_per_tensor(_on(), 0.1, 0, torch.qint8),
    "quantise channels": lambda: torch.quantize_per_channel(_on().view(2, 3), _on()[1:3], torch.zeros(
        2, dtype=torch.int64, device="spyre"), 0, torch.qint8),
    "quantised": lambda: torch.quantize_per_tensor(_cpu(), 0.1, 0, torch.qint8).to("spyre"),
    "empty quantised": lambda: torch.empty(2, dtype=torch.qint8, device="spyre"),
    "sparse": lambda: _on().to_sparse(),
    "a sparse one": lambda: _sparse().to("spyre"),
    "make sparse": lambda: torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (4,), device="spyre"),
    "empty sparse": lambda: torch.empty(2, layout=torch.sparse_coo, device="spyre"),
    "csr": lambda: _on().view(2, 3).to_sparse_csr(),
    "sparse product": lambda: torch.sparse.mm(_cpu().view(2, 3).to_sparse(), _on().view(3, 2)),
    "sparse gradient": lambda: torch.nn.Embedding(4, 2, sparse=True).to("spyre")(
        torch.tensor([1], device="spyre")).sum().backward(),
    "nested": lambda: torch.nested.nested_tensor([_on(), _on()[:2]]),
    "nested there": lambda: torch.nested.nested_tensor([_cpu(), _cpu()[:2]], device="spyre") * 2,
    "a nested one": lambda: torch.nested.nested_tensor([_cpu(), _cpu()[:2]]).to("spyre"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_kinds_of_tensors_that_the_device_has_not(name):
    with pytest.raises(RuntimeError, match="only supports strided tensors") as error:
        REFUSED[name]()
    assert len(str(error.value)) < 200


def _grown(device, work):
    y = torch.arange(12.0, device=device)
    try:
        work(y)
    except RuntimeError as error:
        return str(error).split(".")[0]
    finally:
        kept = y.cpu()
    return kept


OVERLAPS = {
    "add_": lambda y: y[1:].add_(y[:-1]),
    "out": lambda y: torch.add(y[:5], 1, out=y[2:7]),
    "copy_": lambda y: y[1:].copy_(y[:-1]),
    "copy_ of all": lambda y: y.copy_(y.view(3, 4).t().reshape(12)),
    "copy_ broadcast": lambda y: y.copy_(y[:1]),
    "copy_ itself": lambda y: y.copy_(y.view(12)),
    "halves": lambda y: y[:6].add_(y[6:]),
    "steps": lambda y: y[::2].add_(y[1::2]),
    "steps that meet": lambda y: y[::2].add_(y[:6]),
    "itself": lambda y: torch.mul(y.view(3, 4), 2, out=y.view(3, 4)),
    "turned": lambda y: torch.add(y[:9].view(3, 3).t(), 1, out=y[:9].view(3, 3)),
    "scatter": lambda y: y.scatter_(0, torch.zeros(12, dtype=torch.int64, device=y.device), y.detach()),
    "index_put": lambda y: y.index_put_((torch.tensor([0, 1], device=y.device),), y[1:3]),
    "cumsum": lambda y: torch.cumsum(y[:5], 0, out=y[2:7]),
    "foreach": lambda y: torch._foreach_add_([y[:4], y[2:6]], [y[4:8], y[8:12]]),
    "foreach apart": lambda y: torch._foreach_add_([y[:4], y[4:8]], [y[8:], y[8:]]),
    "expanded": lambda y: y[:1].expand(3).add_(1),
    "expanded fill_": lambda y: y[:1].expand(3).fill_(7),
    "product": lambda y: torch.mm(y[:4].view(2, 2), y[:4].view(2, 2), out=y[4:8].view(2, 2)),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_what_the_cpu_makes_of_shared_elements(name):
    """It refuses most, and the device does what it does."""
    wanted, got = _grown("cpu", OVERLAPS[name]), _grown("spyre", OVERLAPS[name])
    if isinstance(wanted, str):
        assert got == wanted
    else:
        assert torch.equal(got, wanted)


def test_infinity_in_shared_elements():
    """Operands are read as one, with the numbers that the host has not."""
    host = torch.tensor([1.0, -float("inf"), F16_MIN, 4.0]).half()
    y = host.to("spyre")
    y[::2].add_(y[1::2])
    host[::2].add_(host[1::2])
    assert codes(y) == encoded(host)


def test_indices_of_another_device():
    """PyTorch's rule, which it has in the kernels of its devices."""
    c, i = _cpu(), torch.tensor([1, 2], device="spyre")
    for work in (lambda: c[i], lambda: c[i > 1], lambda: c.index_put_((i,), torch.ones(2)), lambda: c[i].sum()):
        with pytest.raises(RuntimeError, match="indices should be either on cpu"):
            work()
    with pytest.raises(RuntimeError, match="same device"):
        c.index_put_((i.cpu(),), torch.ones(2, device="spyre"))
    assert _on()[i.cpu()].cpu().tolist() == [1, 2]
    c[i.cpu()] = torch.tensor(9.0, device="spyre")
    assert c.tolist() == [0, 9, 9, 3, 4, 5]


def test_streams_that_use_a_tensor():
    x = _on()
    for stream in (torch.spyre.Stream(), torch.Stream("spyre"), torch.spyre.current_stream()):
        assert x.record_stream(stream) is None


def test_memory_that_is_not_there():
    with pytest.raises(MemoryError, match=f"256 bytes of device memory, and {4 * (2**45 + 2)} of the host's image"):
        torch.empty_strided((2, 2), (2**45, 1), device="spyre")
