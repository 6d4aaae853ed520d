"""One test for each change that patches.py and fake.py make in PyTorch, and for what PyTorch itself must keep doing."""
import argparse
import concurrent.futures
import copy
import io
import multiprocessing
import multiprocessing.reduction
import os
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch

import tegula.torch
from conftest import PACKAGE, ROOT
from tegula import _core
from tegula.torch import DataFormats, SpyreTensorLayout, memory, patch_layouts, patches

COLUMNS = SpyreTensorLayout((3, 4), torch.float32, [1, 0])


def sample(layout=COLUMNS):
    return torch.arange(12.0).view(3, 4).to("spyre", device_layout=layout)


def test_every_patch_has_its_test():
    names = {name.removeprefix("test_patch_") for name in globals() if name.startswith("test_patch_")}
    assert {patch.__name__ for patch in patches.INSTALLED} <= names


def test_patch_storage_new():
    """torch.UntypedStorage(n, device="spyre") ended the process, and so did storage.new()."""
    storage = torch.UntypedStorage(24, device="spyre")
    assert (storage.nbytes(), storage.device.type) == (24, "spyre")
    assert bytes(storage.cpu()) == bytes(24)
    assert torch.UntypedStorage(device="spyre").nbytes() == 0
    assert bytes(torch.UntypedStorage([1, 2, 3], device="spyre").cpu()) == b"\1\2\3"
    assert storage.new().device.type == "spyre" and storage.new().nbytes() == 0
    assert torch.UntypedStorage(8).device.type == "cpu" and torch.UntypedStorage([1, 2]).nbytes() == 2
    assert torch.UntypedStorage(8, device="cpu").new().device.type == "cpu"
    x = torch.empty(0, device="spyre").set_(storage, 0, (2, 3), (3, 1))
    x.copy_(torch.arange(6.0).view(2, 3))
    assert x.cpu().tolist() == [[0, 1, 2], [3, 4, 5]] and x.device_tensor_layout() is None
    with pytest.raises((ValueError, RuntimeError)):
        torch.UntypedStorage(-1, device="spyre")


def test_patch_storage_clone():
    x = sample()
    cloned = torch.empty(0, device="spyre").set_(x.untyped_storage().clone(), 0, (3, 4), (4, 1))
    for other in (copy.deepcopy(x), cloned):
        assert other.device_tensor_layout() == COLUMNS and torch.equal(other.cpu(), x.cpu())
        assert memory.key(other) != memory.key(x)
    both = copy.deepcopy({"base": x, "view": x[1]})
    both["base"].zero_()
    assert both["view"].sum().item() == 0 and x[1].sum().item() == 22


def test_patch_parameter_deepcopy():
    for data in (sample(), sample().t(), sample()[1:, ::2], torch.empty(0, 3, device="spyre")):
        p = torch.nn.Parameter(data, requires_grad=data.numel() > 6)
        q = copy.deepcopy(p)
        assert type(q) is torch.nn.Parameter and q.requires_grad == p.requires_grad and q.stride() == p.stride()
        assert q.device_tensor_layout() == p.device_tensor_layout() and torch.equal(q.cpu(), p.cpu())
        before = p.detach().cpu()
        q.data.zero_()
        assert torch.equal(p.cpu(), before)
    negated = torch.nn.Parameter(torch._neg_view(sample()))
    assert torch.equal(copy.deepcopy(negated).cpu(), negated.cpu())
    layer = torch.nn.Linear(4, 3, device="spyre")
    layer.weight.data = sample()
    layer.register_buffer("kept", sample())
    layer.tied = layer.weight
    other = copy.deepcopy(layer)
    assert other.tied is other.weight and other.weight is not layer.weight
    assert other.weight.device_tensor_layout() == other.kept.device_tensor_layout() == COLUMNS
    assert torch.equal(other.weight.cpu(), layer.weight.cpu())
    on_host = torch.nn.Parameter(torch.ones(2, 3).t())
    assert torch.equal(copy.deepcopy(on_host), on_host)


def test_patch_device_tensor_layout():
    x = sample()
    assert x.device_tensor_layout() == x.t().device_tensor_layout() == x[1, 2:].device_tensor_layout() == COLUMNS
    assert torch.zeros(3).device_tensor_layout() is None
    assert torch.nn.Parameter(x).device_tensor_layout() == COLUMNS


def test_patch_to_with_layout():
    x = torch.arange(12.0).view(3, 4)
    y = x.to("spyre", device_layout=COLUMNS)
    assert y.to("spyre", device_layout=COLUMNS) is y
    assert y.to("spyre", device_layout=COLUMNS, copy=True) is not y
    for moved in (x.to(device="spyre", device_layout=COLUMNS), x.to(torch.device("spyre", 0), device_layout=COLUMNS),
                  x.to(y, device_layout=COLUMNS), y.to(torch.float32, device_layout=COLUMNS),
                  x.double().to("spyre", torch.float32, device_layout=COLUMNS)):
        assert moved.device_tensor_layout() == COLUMNS and torch.equal(moved.cpu(), x)
    w = torch.rand(3, 4, requires_grad=True)
    w.to("spyre", device_layout=COLUMNS).square().sum().backward()
    assert torch.allclose(w.grad, 2 * w.detach())
    for bad, error in (("cpu", ValueError), ("meta", ValueError)):
        with pytest.raises(error, match="needs the device spyre"):
            x.to(bad, device_layout=COLUMNS)
    with pytest.raises(TypeError, match="SpyreTensorLayout"):
        x.to("spyre", device_layout=[1, 2])


def test_a_layout_of_another_tensor():
    """What a layout was made for is known where it was made from a size, or asked of a tensor."""
    x = torch.arange(12.0).view(3, 4)
    y = torch.ones(4, 3, device="spyre")
    for size in ((4, 3), (12,), (2, 4), (30, 40), (3, 5)):
        for layout in (SpyreTensorLayout(size, torch.float32), torch.ones(size, device="spyre").device_tensor_layout()):
            for attempt in (lambda: x.to("spyre", device_layout=layout),
                            lambda: torch.empty(3, 4, device="spyre", device_layout=layout),
                            lambda: y.clone().t().contiguous().clone(device_layout=layout)):
                with pytest.raises(ValueError) as error:
                    attempt()
                assert str(size) in str(error.value) and "(3, 4)" in str(error.value)
    with pytest.raises(ValueError, match=r"strides \(4, 1\), and this one has size \(3, 4\) and strides \(1, 3\)"):
        torch.empty_strided((3, 4), (1, 3), device="spyre", device_layout=COLUMNS)
    for dtype in (torch.float16, torch.int32):
        with pytest.raises(ValueError, match="f32 is IEEE_FP32 on the device") as error:
            x.to("spyre", device_layout=SpyreTensorLayout((3, 4), dtype))
        assert SpyreTensorLayout((3, 4), dtype).device_dtype.name in str(error.value)
    explicit = SpyreTensorLayout(COLUMNS.device_size, COLUMNS.stride_map, DataFormats.SEN169_FP16)
    with pytest.raises(ValueError, match="SEN169_FP16"):
        x.to("spyre", device_layout=explicit)
    with pytest.raises(ValueError, match="every host element is reachable"):
        torch.ones(100).to("spyre", device_layout=SpyreTensorLayout([1, 32], [1, 1], DataFormats.IEEE_FP32))
    # Dimensions of size 1 say nothing; pickle keeps the value alone; and the value does not know of the tensor.
    column = SpyreTensorLayout((3, 1, 4), torch.float32, [2, 1, 0])
    assert torch.equal(x.to("spyre", device_layout=column).cpu(), x)
    assert x.to("spyre", device_layout=pickle.loads(pickle.dumps(COLUMNS))).device_tensor_layout() == COLUMNS
    assert SpyreTensorLayout(COLUMNS.device_size, COLUMNS.stride_map, COLUMNS.device_dtype) == COLUMNS


def test_a_layout_brings_its_strides():
    """The layout of a dense tensor, for a transposed one: sticks run along the dimension that was asked for."""
    x = torch.rand(100, 200)
    y = x.t().to("spyre", device_layout=SpyreTensorLayout((200, 100), torch.float32))
    assert y.stride() == (100, 1) and torch.equal(y.cpu(), x.t())
    found = np.frombuffer(_core._spyre_device_bytes(memory.key(y)), np.float32)
    assert np.array_equal(found[:32], x.t()[0, :32].numpy())


def test_patch_factories_with_layout():
    made = [torch.empty(3, 4, device="spyre", device_layout=COLUMNS),
            torch.empty((3, 4), device="spyre", device_layout=COLUMNS),
            torch.empty_strided((3, 4), (4, 1), device="spyre", device_layout=COLUMNS),
            torch.zeros(3, 4, device="spyre", device_layout=COLUMNS),
            torch.full((3, 4), 2.0, device="spyre", device_layout=COLUMNS),
            sample().new_empty((3, 4), device_layout=COLUMNS),
            sample().new_empty_strided((3, 4), (4, 1), device_layout=COLUMNS),
            sample().new_zeros((3, 4), device_layout=COLUMNS), sample().new_full((3, 4), 2.0, device_layout=COLUMNS),
            torch.empty_like(sample(), device_layout=COLUMNS)]
    assert all(m.device_tensor_layout() == COLUMNS and m.size() == (3, 4) and m.is_spyre for m in made)
    assert made[3].sum().item() == 0 and made[4].sum().item() == 24 and made[8].sum().item() == 24
    assert torch.ones(3, 4, device="spyre", device_layout=COLUMNS, requires_grad=True).requires_grad
    with torch.device("spyre"):
        assert torch.empty(3, 4).is_spyre
        assert torch.empty(3, 4, device_layout=COLUMNS).device_tensor_layout() == COLUMNS
    with pytest.raises(ValueError, match="needs the device spyre"):
        torch.empty(3, 4, device_layout=COLUMNS)
    with pytest.raises(RuntimeError, match="only supports contiguous memory format"):
        torch.empty(1, 2, 3, 4, device="spyre", memory_format=torch.channels_last)
    assert torch.empty(1, 2, 3, 4, memory_format=torch.channels_last).stride() == (24, 1, 8, 2)
    assert torch.jit.script(_scripted)(torch.ones(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", [*patch_layouts._FACTORIES, *(f"Tensor.{m}" for m in patch_layouts._METHODS),
                                  "Tensor.to", "Tensor.clone", "Tensor.contiguous", "Tensor.is_pinned",
                                  "Tensor.__repr__"])
def test_replaced_functions_are_found_by_name(name):
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function


def test_replaced_functions_and_lazy_modules():
    for conversion in ("cpu", torch.float16, "spyre"):
        assert isinstance(torch.nn.LazyLinear(3).to(conversion).weight, torch.nn.parameter.UninitializedParameter)
    model = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.LazyBatchNorm1d()).to("spyre")
    assert model(torch.ones(2, 4, device="spyre")).shape == (2, 3) and model[0].weight.device.type == "spyre"


class Handled(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, function, kinds, args=(), kwargs=None):
        cls.seen.append(function)
        return super().__torch_function__(function, kinds, args, kwargs or {})


@pytest.mark.parametrize("name", ["zeros_like", "empty_like", "ones_like", "full_like", "Tensor.is_pinned",
                                  "Tensor.clone", "Tensor.to", "Tensor.contiguous", "Tensor.new_zeros"])
def test_replaced_functions_and_subclasses(name):
    """__torch_function__ is given what torch has by the name, and its answer counts."""
    x = torch.ones(2).as_subclass(Handled)
    further = {"Tensor.to": (torch.float16,), "Tensor.new_zeros": ((2,),), "full_like": (3.0,)}.get(name, ())
    function = getattr(torch.Tensor, name.removeprefix("Tensor."), None) if "." in name else getattr(torch, name)
    Handled.seen.clear()
    made = function(x, *further)
    assert Handled.seen == [function]
    assert made is False if name == "Tensor.is_pinned" else type(made) is Handled


def _scripted(x):
    return torch.zeros(2) + torch.empty(0).sum() * x


def test_patch_clone_with_layout():
    x = torch.arange(12.0).view(3, 4).to("spyre")
    assert x.clone(device_layout=COLUMNS).device_tensor_layout() == COLUMNS
    assert x.contiguous(device_layout=COLUMNS).device_tensor_layout() == COLUMNS
    assert x.contiguous() is x and torch.equal(x.t().contiguous(device_layout=SpyreTensorLayout(
        (4, 3), torch.float32, [1, 0])).cpu(), x.cpu().t())


def test_patch_printing():
    x = sample()
    assert repr(x) == repr(x.cpu())[:-1] + ", device='spyre:0')"
    assert repr(x.requires_grad_()).endswith("device='spyre:0', requires_grad=True)")
    assert "grad_fn=<MulBackward0>" in repr(x * 2)
    assert repr(torch.nn.Parameter(x.detach())).startswith("Parameter containing:\ntensor([[ 0.,")
    assert f"{x[0, 1]:.2f}" == "1.00"
    assert "spyre" in repr(torch.func.vmap(lambda v: (repr(v), v)[1])(x.detach()))


def test_printing_of_subclasses():
    class Named(torch.Tensor):
        pass

    x = torch.ones(2, device="spyre")
    assert repr(x.as_subclass(Named)) == "Named([1., 1.], device='spyre:0')"
    assert torch._tensor_str._str(x) == "tensor([1., 1.], device='spyre:0')"
    assert repr(torch.nn.Parameter(x)).startswith("Parameter containing:\ntensor([1., 1.], device='spyre:0'")
    handled = x.as_subclass(Handled)
    assert repr(handled) == "Handled([1., 1.], device='spyre:0')"


def test_patch_grad_scaler():
    weights = []
    for device in ("cpu", "spyre"):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 2).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler(device, init_scale=128.0, growth_interval=2)
        for step in range(5):
            optimizer.zero_grad()
            loss = model(torch.ones(2, 4, device=device)).square().mean()
            scaler.scale(loss * (float("inf") if step == 3 else 1.0)).backward()
            if step % 2:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        assert scaler.get_scale() == 128.0  # twice up to 256, and once back
        weights.append(model.weight.detach().cpu())
    torch.testing.assert_close(*weights)
    with torch.autocast("spyre", dtype=torch.float16):
        loss = model(torch.ones(2, 4, device="spyre")).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(model.weight.cpu(), weights[1])


class OnDevice(torch.utils.data.Dataset):
    def __init__(self, wrap):
        self.wrap = wrap

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return self.wrap(torch.full((2,), float(i), device="spyre"))


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        yield {"x": torch.ones(2, device="spyre")}


def _in_object(batch):
    return argparse.Namespace(x=batch[0])


@pytest.mark.parametrize("data, collate", [
    (OnDevice(lambda x: x), None), (OnDevice(lambda x: {"x": [x]}), None), (OnDevice(lambda x: x), _in_object),
    (Stream(), None)])
def test_patch_sharing(data, collate):
    loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=1, collate_fn=collate, timeout=60)
    with pytest.raises(RuntimeError, match="cannot go to another process"):
        list(loader)
    assert len(list(torch.utils.data.DataLoader(data, batch_size=2, collate_fn=collate))) >= 1
    with pytest.raises(RuntimeError, match="cannot go to another process"):
        multiprocessing.reduction.ForkingPickler.dumps(torch.nn.Parameter(sample()))


class Holder:
    def __init__(self, inside):
        self.inside = [{"here": inside}]

    def __reduce__(self):
        return Holder, (self.inside[0]["here"],)


@pytest.mark.parametrize("kind", ["Queue", "JoinableQueue", "SimpleQueue"])
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_patch_queues(kind, start, capfd):
    """put() raises; before, a thread printed something, and whoever waited for the tensor did so forever."""
    queue = getattr(torch.multiprocessing.get_context(start), kind)()
    x = sample()
    for sent in (x, {"x": [x]}, Holder(x), torch.nn.Parameter(x), torch.nn.Linear(2, 2).to("spyre"), (1, x.t()),
                 x.untyped_storage()):
        with pytest.raises(RuntimeError, match="cannot go to another process"):
            queue.put(sent)
    ours, theirs = multiprocessing.Pipe()
    for sent in (Holder(torch.ones(2)), np.ones(3), "word", theirs):
        queue.put(sent)
    assert torch.equal(queue.get().inside[0]["here"], torch.ones(2))
    assert queue.get().sum() == 3 and queue.get() == "word"
    queue.get().send("through a connection")
    assert ours.recv() == "through a connection"
    if kind != "SimpleQueue":
        queue.put(lambda: None)  # no tensor: as ever
        queue.close()
        queue.join_thread()
        assert "an't pickle" in (said := capfd.readouterr().err) and "spyre" not in said


def test_executors_and_pools_get_the_error():
    x = sample()
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
        with pytest.raises(RuntimeError, match="cannot go to another process"):
            executor.submit(abs, x).result(60)
        assert executor.submit(abs, -3).result(60) == 3
    with context.Pool(1) as pool:
        with pytest.raises(RuntimeError, match="cannot go to another process"):
            pool.apply_async(abs, (x,)).get(60)
        assert pool.apply(abs, (-3,)) == 3


def test_patch_saving(tmp_path):
    """The layout travels; a PyTorch without Tegula reads the same file as plain tensors."""
    x = sample()
    whole = {"x": x, "view": x[1:], "plain": torch.ones(2), "p": torch.nn.Parameter(sample()), "h": x.half()}
    path = tmp_path / "t.pt"
    torch.save(whole, path)
    for weights_only in (True, False):
        read = torch.load(path, weights_only=weights_only)
        assert torch.equal(read["x"].cpu(), x.cpu()) and torch.equal(read["h"].cpu(), x.cpu().half())
        for name in ("x", "view", "p"):
            assert read[name].device_tensor_layout() == COLUMNS, name
        read["x"][1, 1] = -1
        assert read["view"][0, 1].item() == -1
        assert read["x"].__dict__ == {} and x.__dict__ == {}
    on_cpu = torch.load(path, map_location="cpu")
    assert torch.equal(on_cpu["view"], x.cpu()[1:]) and on_cpu["x"].device.type == "cpu"
    other = subprocess.run([sys.executable, "-c", "import torch, sys; t = torch.load(sys.argv[1], map_location='cpu'); "
                            "print(t['x'].tolist(), t['view'][0, 1].item())", path], capture_output=True, text=True)
    assert other.stdout == f"{x.cpu().tolist()} 5.0\n", other.stderr
    again = pickle.loads(pickle.dumps(x))
    assert again.device_tensor_layout() == COLUMNS and torch.equal(again.cpu(), x.cpu())
    x.note = "kept"
    assert pickle.loads(pickle.dumps(x)).note == "kept"


def codes_of(x):
    """The codes of a (2, 3) tensor in 16 bits, without padding."""
    memory_bytes = _core._spyre_device_bytes(memory.key(x))
    return memory_bytes[:6] + memory_bytes[128:134]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_saving_keeps_what_the_host_has_not(dtype, tmp_path):
    """65536 of the device is infinity to float16, and the one code is NaN: their bytes come back."""
    largest = torch.finfo(dtype).max
    x = torch.tensor([[largest, -largest, 1.0], [float("inf"), float("-inf"), float("nan")]], dtype=dtype).to("spyre")
    codes = codes_of(x)
    path = tmp_path / "x.pt"
    torch.save({"x": x, "row": x[1], "p": torch.nn.Parameter(x)}, path)
    for weights_only in (True, False):
        read = torch.load(path, weights_only=weights_only)
        assert all(codes_of(t) == codes for t in read.values())
    again = pickle.loads(pickle.dumps(x))
    assert codes_of(again) == codes and again.__dict__ == x.__dict__ == {}
    assert torch.load(path, map_location="cpu")["x"].__dict__ == {}
    function, arguments = x.__reduce_ex__(2)
    arguments[3]["_spyre_codes"] = "0"
    with pytest.raises(ValueError, match="bytes for a device memory of"):
        function(*arguments)


def test_patch_loading(tmp_path):
    """A file of the CPU, read to the device, holds tensors of the device."""
    base = torch.arange(12).view(3, 4)
    saved = {"half": base.half() / 4, "view": base.half()[1:, 1:], "t": base.float().t(), "long": base - 6,
             "p": torch.nn.Parameter(base.float()), "fp8": base.to(torch.float8_e4m3fn), "none": torch.empty(0, 3)}
    saved["row"] = saved["half"][2]
    path = tmp_path / "t.pt"
    torch.save(saved, path)
    for options in ({}, {"weights_only": False}, {"mmap": True}):
        read = torch.load(path, map_location="spyre", **options)
        for name, expected in saved.items():
            assert read[name].device.type == "spyre" and torch.equal(read[name].cpu().float(), expected.float()), name
        for name in ("half", "long", "p"):
            assert read[name].device_tensor_layout() == saved[name].detach().to("spyre").device_tensor_layout(), name
        assert all(t.device_tensor_layout() is not None for n, t in read.items() if n != "none")
        assert (read["half"] + read["half"]).cpu().equal(saved["half"] * 2)
        read["half"].zero_()
        assert read["row"].cpu().sum() == 0
    torch.save(torch.ones(2, dtype=torch.float64), path)
    with pytest.raises(RuntimeError, match="does not support dtype torch.float64"):
        torch.load(path, map_location="spyre")


def test_state_dict_round_trip():
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.BatchNorm1d(7)).to("spyre")
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.BatchNorm1d(7)).to("spyre")
    other.load_state_dict(torch.load(file))
    x = torch.rand(4, 5).to("spyre")
    assert torch.equal(model(x).cpu(), other(x).cpu())


def test_patch_dlpack():
    """Raw memory is tiled: who reads it with host strides reads garbage, so nobody gets it."""
    x = sample()
    assert x.__dlpack_device__() == (12, 0)
    for export in (x.__dlpack__, lambda: torch.from_dlpack(x), lambda: x.__dlpack__(dl_device=(12, 0))):
        with pytest.raises(BufferError, match="tiled"):
            export()
    assert np.array_equal(np.from_dlpack(x, device="cpu", copy=True), x.cpu().numpy())
    for convert in (x.numpy, lambda: np.asarray(x), lambda: memoryview(x)):
        with pytest.raises(TypeError):
            convert()
    for export in (torch.to_dlpack, torch.utils.dlpack.to_dlpack, torch._C._to_dlpack, torch._C._to_dlpack_versioned):
        with pytest.raises(BufferError, match="tiled"):
            export(x)
        assert "dltensor" in repr(export(torch.ones(2)))
    assert not hasattr(x, "__cuda_array_interface__")
    assert torch.from_dlpack(torch.ones(2)).tolist() == [1, 1] and torch.ones(2).__dlpack_device__() == (1, 0)


def test_numpy_and_back():
    a = np.random.default_rng(0).random((7, 70), np.float32)
    assert np.array_equal(torch.from_numpy(a).to("spyre").cpu().numpy(), a)
    assert np.array_equal(torch.tensor(a, device="spyre").cpu().numpy(), a)


WITH_JAX = """
import sys
sys.path.append(sys.argv[1])
import jax, torch, tegula.torch
for x in (torch.arange(12.0).view(3, 4), torch.arange(700, dtype=torch.bfloat16).view(7, 100), torch.arange(5).int()):
    there = jax.numpy.from_dlpack(x.to("spyre").cpu())
    back = torch.from_dlpack(there + 1).to("spyre")
    assert back.is_spyre and back.dtype == x.dtype and torch.equal(back.cpu(), x + 1)
    try:
        jax.numpy.from_dlpack(back)
    except Exception as error:
        assert str(error)
    else:
        raise AssertionError("JAX took tiled memory")
print("ok")
"""


def test_jax_and_back():
    """JAX lives in the environment of the other tests; here it is seen as well."""
    jax = sorted(ROOT.glob(".venv/lib/python*/site-packages/jax"))
    if not jax:
        pytest.skip("there is no JAX in .venv")
    done = subprocess.run([sys.executable, "-c", WITH_JAX, jax[0].parent], capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONPATH": PACKAGE, "JAX_PLATFORMS": "cpu"})
    assert done.stdout == "ok\n", done.stderr


def test_patch_accelerator():
    """Questions about memory were internal errors, and empty_host_cache() ended the process. What torch.accelerator
    says is what torch.spyre says: test_device.py has its numbers."""
    accelerator, spyre = torch.accelerator, torch.spyre
    accelerator.synchronize(), accelerator.empty_cache(), accelerator.empty_host_cache()
    accelerator.set_device_index(0), accelerator.set_device_index("spyre")
    assert accelerator.current_accelerator().type == "spyre" and accelerator.device_count() == 1
    x, large = torch.empty(1000, 64, device="spyre"), torch.empty(1 << 20, device="spyre")
    del large  # kept, and not in use
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_stats"):
        assert getattr(accelerator, name)() == getattr(accelerator.memory, name)("spyre") == getattr(spyre, name)()
    assert accelerator.memory_reserved() >= accelerator.memory_allocated() + (4 << 20)
    accelerator.reset_peak_memory_stats(), accelerator.reset_accumulated_memory_stats()
    assert accelerator.memory_stats()["allocated_bytes.all.freed"] == 0
    assert accelerator.max_memory_allocated() == spyre.memory_allocated() >= x.nbytes
    assert accelerator.get_memory_info()[1] == spyre.mem_get_info()[1]
    assert accelerator.get_device_capability() == spyre.get_device_capability()
    for wrong in (accelerator.set_device_index, accelerator.synchronize, accelerator.memory_allocated):
        with pytest.raises(RuntimeError, match="one Spyre device, with index 0; 1 was"):
            wrong(1)


def test_patch_transformer_encoder():
    """Behind the end of a sequence are zeros; test_training.py compares all the ways with the CPU."""
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 1, mask_check=False).to("spyre").eval()
    mask = torch.tensor([[False, False, True]], device="spyre")
    with torch.no_grad():
        made = model(torch.ones(1, 3, 8, device="spyre"), src_key_padding_mask=mask).cpu()
    assert (made[0, 2] == 0).all() and (made[0, :2] != 0).any()


def test_patch_tracing():
    """Its check of what it made is in float64; the graph itself has nothing of that."""
    model, x = torch.nn.Linear(3, 2).to("spyre"), torch.rand(4, 3).to("spyre")
    assert torch.equal(torch.jit.trace(model, (x,))(x + 1).cpu(), model(x + 1).cpu())


def test_patch_pinning():
    x = torch.ones(3)
    assert x.pin_memory() is x and not x.is_pinned()
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    loader = torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True)
    assert [b[0].to("spyre", non_blocking=True).sum().item() for b in loader] == [1, 5, 9]
    made = [torch.empty(3, pin_memory=True), torch.zeros_like(x, pin_memory=True), torch.tensor([1], pin_memory=True),
            torch.arange(3, pin_memory=True), torch.rand(2, pin_memory=True), x.new_zeros(4, pin_memory=True)]
    assert all(t.device.type == "cpu" and not t.is_pinned() for t in made) and made[3].tolist() == [0, 1, 2]
    for make in (torch.empty, torch.ones, torch.randn):
        with pytest.raises(RuntimeError, match="only tensors of the CPU can be pinned"):
            make(3, device="spyre", pin_memory=True)


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = torch.nn.Embedding(5, 4), torch.nn.Linear(4, 5, bias=False)
        self.out.weight = self.embed.weight
        self.register_buffer("seen", torch.zeros(1))


@pytest.mark.parametrize("move", [lambda m: m.to("spyre"), lambda m: m.spyre(), lambda m: m.to(device="spyre"),
                                  lambda m: m.to(torch.empty(0, device="spyre")), lambda m: m.to_empty(device="spyre")])
def test_patch_module_apply(move):
    """Tied weights stay one Parameter, and an optimizer that was made before goes on with the same ones."""
    model = Tied()
    weight, flag = model.embed.weight, torch.__future__.get_swap_module_params_on_conversion()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    assert move(model) is model
    assert model.embed.weight is model.out.weight is weight is optimizer.param_groups[0]["params"][0]
    assert weight.is_spyre and model.seen.is_spyre
    assert torch.__future__.get_swap_module_params_on_conversion() is flag is False
    model.out(torch.ones(2, 4, device="spyre")).sum().backward()
    with torch.no_grad():
        weight.fill_(3.0)  # to_empty leaves what memory holds
    before = weight.detach().cpu()
    optimizer.step()
    assert torch.allclose(weight.detach().cpu(), before - 2)
    model.cpu()
    assert model.embed.weight is model.out.weight is weight and weight.device.type == "cpu"
    model.double()  # and what others do is PyTorch's own
    assert model.embed.weight.dtype == torch.float64


class Mixed(Tied):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 4)
        self.register_buffer("steps", torch.tensor([3]))
        self.register_buffer("mask", torch.ones(2, dtype=torch.bool))


def devices(model):
    return {t.device.type for t in (*model.parameters(), *model.buffers())}


def test_moving_while_somebody_knows_of_a_parameter():
    """A forward result that is alive, and weak references: PyTorch's swap refused, and the module was half moved."""
    model, x = Mixed(), torch.tensor([[1, 2]])
    weight = model.embed.weight
    known = [weakref.ref(p) for p in model.parameters()]
    alive = model.lstm(model.embed(x))[0].sum() + model.out(torch.ones(4)).sum()
    alive.backward(retain_graph=True)
    gradient = weight.grad
    before = gradient.clone()
    weight.note = "kept"
    calls = []
    weight.register_hook(lambda g: calls.append(g.device.type))
    weight.register_post_accumulate_grad_hook(lambda p: calls.append(p.device.type))
    for target in ("spyre", "cpu", "spyre"):
        model.to(target)
        assert devices(model) == {target} and model.steps.item() == 3
        assert model.embed.weight is model.out.weight is weight and [r() for r in known] == list(model.parameters())
        assert weight.grad is gradient and gradient.device.type == target and torch.equal(gradient.cpu(), before)
        assert type(weight) is torch.nn.Parameter and weight.note == "kept" and weight.is_leaf and weight.requires_grad
    with pytest.raises(RuntimeError, match="moved since the forward pass"):
        alive.backward()
    model.zero_grad()
    model.lstm(model.embed(x.to("spyre")))[0].sum().backward()
    assert weight.grad.is_spyre and calls[-2:] == ["spyre", "spyre"]


@pytest.mark.parametrize("buffer", [torch.zeros(2, dtype=torch.float64), torch.tensor([2**40])], ids=["type", "number"])
def test_a_module_is_moved_or_left(buffer):
    """What has no place on the device is found before anything is moved."""
    model = Mixed()
    model.out.register_buffer("last", buffer)
    before = {name: (t, t.device) for name, t in model.state_dict(keep_vars=True).items()}
    for _ in range(2):
        with pytest.raises((RuntimeError, OverflowError), match="does not support dtype|does not fit"):
            model.to("spyre")
        after = model.state_dict(keep_vars=True)
        assert all(after[name] is t and after[name].device == device for name, (t, device) in before.items())


def test_other_conversions_of_a_module():
    model = Mixed().to("spyre")
    assert {p.dtype for p in model.half().parameters()} == {torch.float16} and devices(model) == {"spyre"}
    assert {p.dtype for p in model.to("cpu", torch.float32).parameters()} == {torch.float32}
    assert model.embed.weight is model.out.weight
    compiled = torch.compile(model.out, backend="eager")
    compiled(torch.ones(4))
    model.to("spyre")
    assert compiled(torch.ones(4, device="spyre")).is_spyre
    assert devices(torch.nn.Linear(2, 2, device="meta").to_empty(device="spyre")) == {"spyre"}


def test_real_torch_spyre_is_not_disturbed():
    assert tegula.torch.registered
    import torch_spyre
    assert torch_spyre.__tegula__ and PACKAGE in torch_spyre.__file__
