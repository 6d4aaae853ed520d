"""FakeTensor, torch.compile and export: layouts where there is no memory, and graphs that come through unharmed."""
import contextlib
import copy
import itertools

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tegula.torch import SpyreTensorLayout, restickify

ROWS, COLUMNS = (SpyreTensorLayout((6, 70), torch.float16, order) for order in ([0, 1], [1, 0]))


def sample(layout):
    return torch.rand(6, 70, dtype=torch.float16).to("spyre", device_layout=layout)


def test_a_fake_of_a_tensor_has_its_layout():
    x = sample(COLUMNS)
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(x)
        assert fake.device_tensor_layout() == COLUMNS
        for view in (fake.t(), fake[1:3], fake.view(-1), fake.unsqueeze(0).transpose(0, 1), fake.detach()):
            assert view.device_tensor_layout() == COLUMNS
        # What an operation makes has the default layout, and so have views of it.
        assert (fake + 1).device_tensor_layout() == ROWS
        assert (fake.t().contiguous().t() * 2).contiguous().device_tensor_layout() == ROWS
        product = fake @ fake.t()
        assert product.device_tensor_layout() == SpyreTensorLayout((6, 6), torch.float16)
        assert product.t().device_tensor_layout() == product.device_tensor_layout()
        assert fake.cpu().device_tensor_layout() is None
        assert torch.empty(6, 70, dtype=torch.float16, device="spyre").device_tensor_layout() == ROWS
        made = torch.empty(6, 70, dtype=torch.float16, device="spyre", device_layout=COLUMNS)
        assert type(made) is type(fake) and made.t().device_tensor_layout() == COLUMNS
        moved = fake.to("spyre", device_layout=ROWS)
        assert moved.device_tensor_layout() == ROWS and moved.size() == fake.size()
    assert mode.from_tensor(torch.zeros(3)).device_tensor_layout() is None


def test_fakes_answer_what_the_device_does():
    """The layout of a fake is the one that the same operations give on the device."""
    runs = (lambda x: x + x, lambda x: x.t() @ x, lambda x: x.sum(1), lambda x: x.t().contiguous(),
            lambda x: x[:, :5] * 2, lambda x: torch.cat([x, x], 1), lambda x: x.float(), lambda x: x > 0,
            lambda x: x.unsqueeze(1).expand(6, 3, 70), lambda x: x.argmax(1), lambda x: torch.zeros_like(x),
            lambda x: x.view(6, 7, 10).permute(2, 0, 1).clone())
    for run in runs:
        x = sample(COLUMNS)
        with FakeTensorMode() as mode:
            fake = run(mode.from_tensor(x))
        real = run(x)
        assert fake.stride() == real.stride() and fake.device_tensor_layout() == real.device_tensor_layout()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "aot_eager_decomp_partition"])
def test_compiled_training_is_training(backend):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(7, 9), torch.nn.GELU(), torch.nn.LayerNorm(9), torch.nn.Linear(9, 3))
    model.to("spyre")
    compiled, x = torch.compile(model, backend=backend), torch.rand(5, 7).to("spyre")
    gradients = []
    for run in (model, compiled):
        model.zero_grad()
        run(x).square().mean().backward()
        gradients.append([p.grad.cpu() for p in model.parameters()])
    for a, b in zip(*gradients):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("backend", ["spyre", "spyre-inductor"])
def test_gradients_of_slices(backend):
    """They have the strides of the slice, so there are gaps between their rows; and so may inputs have."""
    torch._dynamo.reset()
    x = torch.rand(4, 40).to("spyre").requires_grad_()
    torch.compile(lambda x: (x * 2)[:, 1:3], backend=backend)(x).sum().backward()
    assert torch.equal(x.grad.cpu(), torch.zeros(4, 40).index_fill(1, torch.tensor([1, 2]), 2))
    gaps = torch.empty_strided((4, 2), (4, 1), device="spyre")
    gaps.copy_(torch.arange(8.).view(4, 2))
    made = torch.compile(lambda x: torch.cat([x.t(), x.t()]), backend=backend)(gaps)
    assert torch.equal(made.cpu(), torch.arange(8.).view(4, 2).t().repeat(2, 1))


def test_a_new_layout_compiles_anew():
    torch._dynamo.reset()
    seen = []

    def backend(graph, inputs):
        seen.append(inputs[0].device_tensor_layout())
        return graph.forward

    run = torch.compile(lambda x: x * 2, backend=backend)
    for layout in (ROWS, COLUMNS, ROWS, COLUMNS):
        run(sample(layout))
    assert seen == [ROWS, COLUMNS]
    run(torch.rand(6, 70))
    assert seen == [ROWS, COLUMNS, None]


def test_moving_inside_a_compiled_function():
    torch._dynamo.reset()

    def run(x):
        y = x.to("spyre") + torch.tensor([1.0, 2.0], device="spyre")
        y[0] = 7
        return y.cpu() * 2, y

    x = torch.rand(3, 2)
    for a, b in zip(torch.compile(run, backend="aot_eager")(x), run(x)):
        assert a.device == b.device and torch.equal(a.cpu(), b.cpu())


def test_layouts_inside_a_compiled_function():
    """It breaks the graph, and comes out right."""
    torch._dynamo.reset()
    y = torch.compile(lambda x: x.to("spyre", device_layout=COLUMNS) * 1, backend="eager")(torch.rand(6, 70).half())
    assert y.is_spyre and y.device_tensor_layout() == ROWS


def test_dynamic_shapes():
    torch._dynamo.reset()
    run = torch.compile(lambda x: x.t().contiguous().sum(0), backend="aot_eager", dynamic=True)
    for n in (3, 5, 8):
        x = torch.rand(n, 4).to("spyre")
        assert torch.allclose(run(x).cpu(), x.cpu().sum(1))


def test_export():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).to("spyre")
    x = torch.rand(2, 4).to("spyre")
    assert torch.equal(torch.export.export(model, (x,)).module()(x).cpu(), model(x).cpu())


def bag(kind):
    """What an EmbeddingBag is called with."""
    words, first = torch.tensor([1, 3, 2, 9, 3, 3]), torch.tensor([0, 2, 4])
    if kind == "lines":
        return (words.view(2, 3),)
    return (words, first, torch.rand(6).requires_grad_()) if kind == "weights" else (words, first)


@pytest.mark.parametrize("mode, kind", [*itertools.product(("sum", "mean", "max"), ("lines", "offsets")),
                                        ("sum", "weights")])
@pytest.mark.parametrize("padding", [None, 3])
def test_bags_of_embeddings(mode, kind, padding):
    """Results beside the sums, which the backward graph reads, have other sizes on the CPU than on other devices."""
    torch._dynamo.reset()
    given, here = bag(kind), torch.nn.EmbeddingBag(10, 5, mode=mode, padding_idx=padding)
    there = copy.deepcopy(here).to("spyre")
    moved = [value.detach().to("spyre").requires_grad_(value.requires_grad) for value in given]
    wanted, made = here(*given), torch.compile(there, backend="spyre", fullgraph=True)(*moved)
    tangent = torch.rand(wanted.size())
    wanted.backward(tangent)
    made.backward(tangent.to("spyre"))
    torch.testing.assert_close(made.cpu(), wanted)
    for a, b in zip((there.weight, *moved), (here.weight, *given)):
        if b.requires_grad:
            torch.testing.assert_close(a.grad.cpu(), b.grad)


def test_a_fake_kernel_that_tells_another_size():
    """Nothing that is planned for it can hold the result: said, with the name of the operation."""
    @torch.library.custom_op("tegula_tests::halved", mutates_args=())
    def halved(x: torch.Tensor) -> torch.Tensor:
        return x[:len(x) // 2].clone()

    halved.register_fake(lambda x: x.new_empty(len(x)))
    with pytest.raises(RuntimeError, match=r"tegula_tests.halved.default gave .* \[2\], .* told torch.compile \[4\]"):
        torch.compile(lambda x: halved(x * 2), backend="spyre")(torch.rand(4).to("spyre"))


def test_layouts_of_fakes_are_checked():
    """In the mode and outside, a fake takes the layouts that a real tensor takes, and stays a fake."""
    from torch._subclasses.fake_tensor import FakeTensor
    layout = SpyreTensorLayout((3, 4), torch.float32, [1, 0])
    mode = FakeTensorMode()
    real = torch.ones(3, 4, device="spyre")
    ways = {
        "to": lambda x, to: x.to("spyre", device_layout=to), "clone": lambda x, to: x.clone(device_layout=to),
        "contiguous": lambda x, to: x.contiguous(device_layout=to),
        "new_empty": lambda x, to: x.new_empty((3, 4), device_layout=to),
        "new_full": lambda x, to: x.new_full((3, 4), 2.0, device_layout=to),
        "empty_like": lambda x, to: torch.empty_like(x, device_layout=to),
    }
    fake = mode.from_tensor(real)
    bad = {"size": SpyreTensorLayout((5, 4), torch.float32, [1, 0]), "nonsense": "nonsense",
           "dtype": SpyreTensorLayout((3, 4), torch.float16, [1, 0])}
    for inside in (False, True):
        with mode if inside else contextlib.nullcontext():
            for name, way in ways.items():
                made = way(fake, layout)
                assert isinstance(made, FakeTensor) and made.device_tensor_layout() == layout, name
                for wrong in bad.values():
                    with pytest.raises((RuntimeError, ValueError, TypeError)) as expected:
                        unfaked(way, real, wrong, mode if inside else None)
                    with pytest.raises(type(expected.value)) as found:
                        way(fake, wrong)
                    assert str(found.value) == str(expected.value), name
            assert isinstance(restickify(fake, 0), FakeTensor)
            assert restickify(fake, 0).device_tensor_layout() == layout
    with mode:
        parameter = torch.nn.Parameter(torch.empty(3, 4, device="spyre", device_layout=layout))
    assert parameter.device_tensor_layout() == layout


def unfaked(way, real, layout, mode):
    from torch._subclasses.fake_tensor import unset_fake_temporarily
    with unset_fake_temporarily() if mode is not None else contextlib.nullcontext():
        return way(real, layout)
