"""The risks of a device made from Python alone, one test or more for each, by their numbers.

    1  private interfaces of PyTorch            6  tied weights, an optimizer made before
    2  storages without an allocator            7  the device becomes the accelerator of the process
    3  the registry is keyed by addresses       8  devices, streams, generators, sharing: errors
    4  raw pointers                             9  abi3, the wheel of 2.13
    5  a storage counts host bytes              10 layouts of fakes in graphs of AOTAutograd
"""
import gc
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import warnings

import pytest
import torch

import tegula.torch
from conftest import PACKAGE
from tegula import _core
from tegula.torch import SpyreTensorLayout, memory

COLUMNS = SpyreTensorLayout((3, 4), torch.float32, [1, 0])


def sample(layout=COLUMNS):
    return torch.arange(12.0).view(3, 4).to("spyre", device_layout=layout)


def survives(attempts):
    """What became of each of them in a child: an exception's name or None. The death of the child names the last."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        warnings.simplefilter("ignore")
        for name, attempt in attempts.items():
            os.write(write_end, f"{name}=".encode())
            try:
                attempt()
                said = "None"
            except Exception as error:
                said = type(error).__name__ if str(error) else "an exception without a word"
            os.write(write_end, f"{said};".encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as file:
        said = file.read()
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"the process ended with {status} in {said.rsplit(';', 1)[-1]}"
    return dict(pair.split("=", 1) for pair in said.rstrip(";").split(";"))


def test_risk_1_private_interfaces():
    """Only a tested version of PyTorch is accepted without a word, and it has what is used of it."""
    assert tegula.torch.TESTED[0] <= tuple(map(int, torch.__version__.split(".")[:2])) < tegula.torch.TESTED[1]
    from torch._dynamo import guards
    from torch._subclasses.fake_tensor import FakeTensorConverter, FakeTensorMode
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
    used = [_setup_privateuseone_for_python_backend, guards.GuardBuilder.TENSOR_MATCH,
            torch.ops.aten.as_strided.default._op_dk, torch._C._acc.DeviceGuard, torch._C._from_dlpack,
            torch._C._swap_tensor_impl, FakeTensorMode.dispatch, FakeTensorConverter.from_real_tensor,
            torch.jit._trace._check_trace, torch._tensor._rebuild_from_type_v2, torch._C._nn._parse_to]
    assert all(map(callable, used))


def test_risk_2_storages_without_an_allocator():
    """Each of these ended the process, or does in PyTorch itself."""
    storage = sample().untyped_storage()
    said = survives({
        "UntypedStorage(n)": lambda: torch.UntypedStorage(24, device="spyre"), "new": storage.new,
        "clone": storage.clone, "TypedStorage": lambda: torch.TypedStorage(3, dtype=torch.float32, device="spyre"),
        "fill": lambda: storage.fill_(1), "one byte": lambda: storage.__setitem__(0, 1), "list": storage.tolist,
        "shared": lambda: torch.UntypedStorage._new_shared(8, device="spyre"),
        "empty_host_cache": torch.accelerator.empty_host_cache,
    })
    assert set(said.values()) == {"None"}, said
    said = survives({
        "resize": lambda: storage.resize_(100), "lazy clone": sample()._lazy_clone,
        "share": storage._share_fd_cpu_, "pin": storage.pin_memory,
        "base class": lambda: torch._C.StorageBase(10, device="spyre"),
    })
    assert "None" not in said.values(), said


def _cut(data, load):
    """Every beginning of what was saved: it loads, or it raises."""
    for n in range(0, len(data), 61):
        try:
            load(data[:n])
        except Exception:
            continue


def test_no_view_ends_the_process():
    """Lazy conjugates and negations, types that do not exist on the device, strange strides and foreign storages."""
    import io
    import pickle
    x, line = torch.rand(4, 2, device="spyre"), torch.rand(10, device="spyre")
    file = io.BytesIO()
    torch.save(x, file)
    works = survives({
        "conj": lambda: (x.conj() + 1, torch.conj_physical(x), x.resolve_conj(), x.real),
        "neg view": lambda: (x._neg_view() + 1, x._neg_view().cpu(), repr(x._neg_view()), x._neg_view().sum().item(),
                             x._neg_view().mul_(2), x._neg_view().copy_(x), x.copy_(x._neg_view()),
                             torch.zeros(4, 2)._neg_view().copy_(x), torch.resolve_neg(x._neg_view()),
                             torch.ops.aten._neg_view_copy(x), x._neg_view().t()[1:].contiguous()),
        "zero tensor": lambda: torch._efficientzerotensor((2,), device="spyre") + 1,
        "alias out of range": lambda: torch.ops.aten._reshape_alias(line, [20], [1]).cpu(),
        "swap": lambda: torch.utils.swap_tensors(torch.ones(2, device="spyre"), torch.zeros(5)),
        "data of the device": lambda: setattr(torch.ones(2, device="spyre"), "data", torch.zeros(5, device="spyre")),
        "cut pickle": lambda: _cut(pickle.dumps(x), pickle.loads),
        "cut file": lambda: _cut(file.getvalue(), lambda data: torch.load(io.BytesIO(data))),
        "other bits": lambda: (x.view(torch.int32), x.view(torch.uint16).cpu(), x.view(torch.uint8) + 1),
    })
    assert set(works.values()) == {"None"}, works
    strange = torch._C._acc.create_empty_tensor((2,), torch.float32)
    refused = survives({
        "view_as_complex": lambda: torch.view_as_complex(x), "imag": lambda: x.imag,
        "complex bits": lambda: x.view(torch.complex64), "conj of it": lambda: x.view(torch.complex64).conj().imag + 1,
        "view_as_real": lambda: torch.view_as_real(x), "complex": lambda: torch.complex(x, x), "1j": lambda: x * 1j,
        "_conj": lambda: torch.ops.aten._conj(x), "fft": lambda: torch.fft.fft(x),
        "as_strided": lambda: x.as_strided((100,), (1000,)), "negative": lambda: x.as_strided((2,), (-1,), 3),
        "offset": lambda: x.as_strided((2,), (1,), -3), "far": lambda: x.as_strided((2,), (1,), 2**61),
        "set_": lambda: line.set_(line.untyped_storage(), 0, (1000000,), (1,)), "set_ nothing": lambda: line.set_(),
        "set_ host": lambda: line.set_(torch.ones(3)), "host set_": lambda: torch.ones(3).set_(line),
        "data of the host": lambda: setattr(x, "data", torch.ones(4, 2)),
        "rebuild": lambda: torch._utils._rebuild_tensor_v2(line.storage(), 0, (3000,), (1,), False, None),
        "no storage": lambda: strange + 1, "no storage read": strange.cpu,
        "huge": lambda: torch.empty(2**50, device="spyre"), "too huge": lambda: torch.empty(2**62, 8, device="spyre"),
        "below zero": lambda: torch.empty(-1, device="spyre"), "resize_": lambda: line.resize_(2**60),
        "gather": lambda: torch.gather(line, 0, torch.tensor([100], device="spyre")),
    })
    assert "None" not in refused.values() and "an exception without a word" not in refused.values(), refused


def test_no_other_kind_of_tensor_ends_the_process():
    """Sparse, quantised, nested and shared tensors, and other devices' memory."""
    x = torch.rand(4, 2, device="spyre")
    said = survives({
        "to_sparse": x.to_sparse, "csr": x.to_sparse_csr, "mkldnn": x.to_mkldnn,
        "coo to": lambda: torch.eye(3).to_sparse().to("spyre"),
        "csr to": lambda: torch.eye(3).to_sparse_csr().to("spyre").to_dense(),
        "coo": lambda: torch.sparse_coo_tensor(torch.zeros(1, 1, device="spyre").long(), x[:1, 0], (3,)),
        "quantised": lambda: torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8).to("spyre"),
        "qint8": lambda: torch.empty(4, dtype=torch.qint8, device="spyre"),
        "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).to("spyre"),
        "cuda": x.cuda, "legacy": lambda: torch.Tensor(3, device="spyre"),
        "array": lambda: x.__array_interface__,
        "dlpack": lambda: torch.utils.dlpack.to_dlpack(x),
    })
    assert "None" not in said.values(), said


def test_risk_3_stale_entries():
    """No address finds the layout of its last owner: threads make, use and drop tensors, forward and backward."""
    problems = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        try:
            for _ in range(60):
                rows, columns = (int(n) for n in torch.randint(1, 40, (2,), generator=generator))
                x = torch.rand(rows, columns, generator=generator)
                order = [1, 0] if seed % 2 else [0, 1]
                layout = SpyreTensorLayout((rows, columns), torch.float32, order)
                y = x.to("spyre", device_layout=layout).requires_grad_()
                z = (y.exp() * y.t().contiguous().t()).sum()
                z.backward()
                expected = x.exp() * (x + 1)
                if not torch.allclose(y.grad.cpu(), expected, rtol=1e-4) or not torch.equal(y.detach().cpu(), x):
                    problems.append((seed, rows, columns))
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


_LAYOUTS_FROM_THREADS = """
import sys, threading
sys.path.insert(0, {package!r})
import torch, tegula.torch
from torch_spyre._C import SpyreTensorLayout, set_spyre_tensor_layout
numbers = torch.arange(2048 * 1024).remainder(500).view(2048, 1024).half()
before = torch.spyre.memory_allocated()
x = numbers.to("spyre")
one = torch.spyre.memory_allocated() - before
layouts = [SpyreTensorLayout((2048, 1024), torch.float16, order) for order in ([0, 1], [1, 0])]
def work(k):
    for i in range(60):
        set_spyre_tensor_layout(x, layouts[(i + k) % 2])
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
assert torch.equal(x.cpu(), numbers) and torch.spyre.memory_allocated() - before == one
del x
torch.spyre.empty_cache()
assert torch.spyre.memory_allocated() == before and torch.spyre.memory_reserved() == 0
"""


def test_risk_3_layouts_set_by_many_threads():
    """The GIL is away while elements move, so two threads may replace the same block."""
    script = _LAYOUTS_FROM_THREADS.format(package=PACKAGE)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_risk_3_leaks():
    """All storages go when their tensors do, on whatever thread."""
    gc.collect()
    torch.spyre.empty_cache()
    before, held = _core._spyre_stats()[:2], torch.spyre.memory_reserved()
    model = torch.nn.Linear(9, 9).to("spyre")
    for _ in range(20):
        model(torch.rand(5, 9).to("spyre")).square().mean().backward()
    model = None
    capsule = _core._spyre_alloc((3, 4), None, torch.float32, None)
    del capsule  # that nobody took
    gc.collect()
    assert _core._spyre_stats()[:2] == before
    torch.spyre.empty_cache()
    assert torch.spyre.memory_reserved() == held
    torch.spyre.reset_peak_memory_stats()
    x = torch.empty(64, 64, device="spyre")
    assert torch.spyre.max_memory_allocated() - before[1] >= x.numel() * 4 <= torch.spyre.memory_allocated()


def test_risk_4_raw_pointers():
    """The memory is tiled. data_ptr() is a name of the storage; what hands memory on by itself is refused."""
    x = sample()
    assert x.data_ptr() == memory.key(x) and x[1].untyped_storage().data_ptr() == memory.key(x)
    for export in (x.__dlpack__, lambda: torch.to_dlpack(x), lambda: torch._C._to_dlpack_versioned(x)):
        with pytest.raises(BufferError):
            export()
    for read in (x.numpy, lambda: memoryview(x)):
        with pytest.raises(TypeError):
            read()


def test_risk_4_foreign_addresses():
    for address in (0, 1, torch.ones(3).untyped_storage().data_ptr()):
        with pytest.raises(RuntimeError, match="not the storage of a Spyre tensor"):
            _core._spyre_layout_of(address)
    x = sample()
    with pytest.raises(ValueError, match="without memory"):
        _core._spyre_copy_in(memory.key(x), (3, 4), (4, 1), 0, torch.float32, 0, (4, 1))
    with pytest.raises(ValueError, match="4 bytes for a storage of 48"):
        _core._spyre_read_image(memory.key(x), torch.empty(1).data_ptr(), 4)
    address = memory.key(x)
    del x
    with pytest.raises(RuntimeError, match="not the storage of a Spyre tensor"):
        _core._spyre_layout_of(address)


@pytest.mark.parametrize("op", ["select_scatter", "slice_scatter", "index_put"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_risk_5_storage_bytes(op, backend):
    """A storage counts host bytes: functionalised graphs flatten it."""
    def run(x):
        if op == "select_scatter":
            return torch.select_scatter(x * 1, torch.ones_like(x[0]), 0, 1)
        if op == "slice_scatter":
            return torch.slice_scatter(x * 1, torch.ones_like(x[:, :2]), 1, 1, 3)
        y = x * 1
        y[:, 1] += 5
        return y

    x = torch.rand(5, 70, dtype=torch.float16)
    y = x.to("spyre")
    assert y.untyped_storage().nbytes() == 700
    assert torch.equal(torch.compile(run, backend=backend)(y).cpu(), run(y).cpu())


def test_risk_6_tied_weights():
    """PyTorch's other ways part them. (test_patches.py moves modules in all the ways there are.)"""
    a, b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    b.weight = a.weight
    weight, optimizer = a.weight, torch.optim.SGD(a.parameters(), lr=1.0)
    model = torch.nn.Sequential(a, b).to("spyre")
    assert a.weight is b.weight is weight is optimizer.param_groups[0]["params"][0]
    model(torch.ones(1, 4, device="spyre")).sum().backward()
    optimizer.step()
    assert torch.equal(a.weight.cpu(), b.weight.cpu())
    assert torch.__future__.get_swap_module_params_on_conversion() is False


_SWITCHES = """
import os, sys, torch, tegula_autoload
tegula_autoload.MARKER = "/nowhere"
for switch in sys.argv[1:]:
    if os.fork() == 0:
        os.environ.update({} if switch == "unset" else {"TEGULA_SPYRE": switch})
        tegula_autoload.autoload()
        print(switch, torch.accelerator.current_accelerator(), "tegula.torch" in sys.modules, flush=True)
        os._exit(0)
    os.wait()
"""


def test_risk_7_the_accelerator():
    """`import torch` alone makes nothing the accelerator of the process, unless it is told to: one that has imported it
    has a child for each state of the switch."""
    off = ["unset", "0", "False", "no", "OFF"]
    environment = {k: v for k, v in os.environ.items() if k != "TEGULA_SPYRE"} | {"PYTHONPATH": PACKAGE}
    done = subprocess.run([sys.executable, "-c", _SWITCHES, *off, "1"], capture_output=True, text=True, check=False,
                          env=environment)
    assert done.stdout.splitlines() == [*(f"{switch} None False" for switch in off), "1 spyre True"], done.stderr


@pytest.mark.parametrize("dtype", [torch.complex32, torch.complex64, torch.float64, torch.uint16, torch.bits8,
                                   torch.float8_e8m0fnu])
def test_risk_8_types_without_a_format(dtype):
    with pytest.raises(RuntimeError, match=f"Spyre backend does not support dtype {dtype}"):
        torch.empty(2, dtype=dtype, device="spyre")


def test_risk_8_errors_not_crashes():
    """What a Python-made device cannot do is an error with words."""
    for attempt in (lambda: torch.Generator(device="spyre"), lambda: torch.zeros(2, device="spyre:1"),
                    lambda: torch.spyre.set_device(1), lambda: torch.zeros(2, device="spyre").to_sparse(),
                    lambda: torch.zeros(2, device="spyre") + torch.zeros(2),
                    lambda: torch.zeros(3, device="spyre").untyped_storage().resize_(100),
                    lambda: torch.zeros(2, device="spyre", pin_memory=True)):
        with pytest.raises((RuntimeError, NotImplementedError, TypeError)):
            attempt()
    message = "Expected all tensors to be on the same device"
    with pytest.raises(RuntimeError, match=message):
        torch.ones(3, 3, device="spyre") @ torch.ones(3, 3)
    assert (torch.ones(3, device="spyre") * torch.tensor(2.0)).sum().item() == 6
    assert torch.arange(5.0, device="spyre")[torch.tensor([1, 3])].cpu().tolist() == [1, 3]


def test_risk_3_fork():
    """A child has the tensors of its parent, and moves its own, large ones included."""
    x = torch.rand(3000, 2000).to("spyre")
    child = os.fork()
    if child == 0:
        os._exit(0 if torch.equal((x.cpu().to("spyre")).cpu(), x.cpu()) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_risk_8_streams_and_sharing():
    """Streams order nothing, since nothing is ever under way; nobody can wait for an event; memory is not shared."""
    stream, event, x = torch.Stream("spyre"), torch.Event("spyre"), torch.ones(3, device="spyre")
    stream.synchronize(), stream.wait_stream(stream), event.record(stream)
    assert stream.query() and torch.accelerator.current_stream().device.type == "spyre"
    with stream:
        assert (x + 1).sum().item() == 6
    with pytest.raises(RuntimeError, match="support synchronizing events"):
        event.synchronize()
    assert x.share_memory_() is x
    from multiprocessing.reduction import ForkingPickler
    with pytest.raises(RuntimeError, match="cannot go to another process"):
        ForkingPickler.dumps(x)


def test_risk_9_one_extension_for_every_python():
    assert _core.__file__.endswith(".abi3.so")
    assert not sysconfig.get_config_var("Py_GIL_DISABLED"), "abi3 is not for free-threaded Python"


def test_risk_10_layouts_in_graphs():
    """AOTAutograd makes fakes anew, without layouts; what runs are the real tensors, with theirs."""
    torch._dynamo.reset()
    seen = []

    def look(graph, inputs):
        from torch._dynamo.backends.common import aot_autograd

        def forward(graph, fakes):
            seen.append([f.device_tensor_layout() for f in fakes])
            return graph.forward
        seen.append(inputs[0].device_tensor_layout())
        return aot_autograd(fw_compiler=forward)(graph, inputs)

    x = sample()
    y = torch.compile(lambda v: v.t() + v.t(), backend=look)(x)
    assert seen[0] == COLUMNS and x.device_tensor_layout() == COLUMNS
    assert torch.equal(y.cpu(), 2 * x.cpu().t())


def test_is_set_to():
    """A question about the memory of both, which copies on the CPU cannot answer."""
    x = torch.arange(6.0, device="spyre").view(2, 3)
    assert x.is_set_to(x.view(2, 3)) and x.is_set_to(torch.empty(0, device="spyre").set_(x))
    for other in (x.clone(), x[:1], x.t(), x.view(3, 2), torch.empty(2, 3, device="spyre")):
        assert not x.is_set_to(other)
