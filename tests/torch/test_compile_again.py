"""How often a function is compiled: by Dynamo, which traces it, and by us, who plan its graphs. A layout is part of
what both remember; what comes again costs neither."""
import pytest
import torch
from torch import nn

from tegula.torch import SpyreTensorLayout, compile_backend, restickify


class Counts:
    """The graphs that ran, and how many of their plans were new; `frames` are Dynamo's."""

    def __init__(self):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        compile_backend._last.clear()
        self.ran, self.planned, self.why = 0, 0, []

    def __call__(self, compiled, program, new, again):
        self.ran, self.planned, self.why = self.ran + 1, self.planned + new, again

    @property
    def frames(self):
        return torch._dynamo.utils.counters["stats"]["unique_graphs"]

    @property
    def all(self):
        return self.frames, self.planned, self.ran


@pytest.fixture
def counts():
    made = Counts()
    with compile_backend.watching(made):
        yield made


def numbers(*size, order=None, dtype=torch.float16):
    x = torch.rand(size).to(dtype)
    return x.to("spyre", **({} if order is None else {"device_layout": SpyreTensorLayout(size, dtype, order)}))


def test_the_same_again(counts):
    run = torch.compile(lambda x: x * 2, backend="spyre")
    for _ in range(3):
        run(numbers(6, 70))
    assert counts.all == (1, 1, 3)


def test_layouts(counts):
    run = torch.compile(lambda x, y: x + y, backend="spyre")
    x = numbers(6, 70)
    for turn, (y, frames) in enumerate([(numbers(6, 70), 1), (numbers(6, 70, order=[1, 0]), 2), (numbers(6, 70), 2),
                                        (restickify(numbers(6, 70), 0), 2), (numbers(6, 70, order=[1, 0]), 2)], 1):
        run(x, y)
        assert counts.all == (frames, frames, turn)
    run(x, numbers(70, 6).t())  # its storage lies as [70, 6]
    assert counts.all == (3, 3, 6)


def test_layouts_of_parameters(counts):
    """A module whose weight is put into another layout is traced again, and only then."""
    model = nn.Linear(70, 6, bias=False).half().to("spyre")
    run, x = torch.compile(model, backend="spyre"), numbers(3, 70)
    with torch.no_grad():
        run(x)
        run(x)
        model.weight = nn.Parameter(restickify(model.weight.detach(), 0))
        run(x)
        run(x)
    assert counts.all == (2, 2, 4)


def test_types_and_sizes(counts):
    run = torch.compile(lambda x: x * 2, backend="spyre", dynamic=False)
    for x in (numbers(6, 70), numbers(6, 70, dtype=torch.float32), numbers(6, 71), numbers(6, 70)):
        run(x)
    assert counts.all == (3, 3, 4)


def test_automatic_dynamic_sizes(counts):
    """The second size is traced as a symbol, and every size after it is planned, not traced: the default layout of
    another size is no reason to. The first size is then one of the symbol, too."""
    run = torch.compile(lambda x: x.softmax(-1) * x.size(0), backend="spyre")
    for n, expected in ((6, (1, 1, 1)), (7, (2, 2, 2)), (8, (2, 3, 3)), (7, (2, 3, 4)), (6, (2, 4, 5))):
        x = torch.rand(n, 70)
        torch.testing.assert_close(run(x.to("spyre")).cpu(), x.softmax(-1) * n)
        assert counts.frames == expected[0] and counts.ran == expected[2], n
        assert counts.planned == expected[1], n


def test_marked_dynamic_sizes(counts):
    run = torch.compile(lambda x: (x.t() @ x).relu(), backend="spyre")
    for n in (3, 5, 65, 5):
        x = torch.rand(n, 20)
        y = x.to("spyre")
        torch._dynamo.mark_dynamic(y, 0)
        torch.testing.assert_close(run(y).cpu(), x.t() @ x)
    assert counts.all == (1, 3, 4)


def test_dynamic_sizes_and_layouts(counts):
    """Each size and each layout is planned for itself, and the right one is taken; of a layout that is not the default
    one, a guard knows the size."""
    run = torch.compile(lambda x: x.sum(0), backend="spyre", dynamic=True)
    for n in (6, 7, 6, 7):
        for order in ([0, 1], [1, 0]):
            x = numbers(n, 70, order=order)
            assert (run(x).cpu() - x.cpu().float().sum(0)).abs().max() < 2**-8 * n
    assert counts.planned == 4 and counts.ran == 8 and counts.frames <= 3


def test_training_and_evaluation(counts):
    model = nn.Sequential(nn.Linear(20, 7), nn.Dropout(0.5), nn.BatchNorm1d(7)).to("spyre")
    run, x = torch.compile(model, backend="spyre"), torch.rand(5, 20).to("spyre")
    for train, frames in ((True, 1), (False, 2), (True, 2), (False, 2)):
        model.train(train)
        run(x).sum().backward()
        assert counts.frames == frames
    assert (counts.planned, counts.ran) == (4, 8)  # forward and backward of each


def test_with_and_without_gradients(counts):
    """no_grad has graphs of its own: an inference graph, which keeps nothing for a backward one."""
    layer, x = nn.Linear(20, 7).to("spyre"), torch.rand(5, 20).to("spyre")
    run = torch.compile(layer, backend="spyre")
    for _ in range(2):
        run(x).sum().backward()
        with torch.no_grad():
            run(x)
    assert counts.all == (2, 3, 6)


def test_two_devices(counts):
    """A function of the CPU and of the device: guards keep them apart; what is mixed is an error of PyTorch's, as
    without torch.compile, and numbers without dimensions may come from the CPU."""
    run = torch.compile(lambda x, y: x * y, backend="spyre")
    x, y = torch.rand(3, 5), torch.rand(3, 5)
    for a, b, device in ((x, y, "cpu"), (x.to("spyre"), y.to("spyre"), "spyre"), (x, y, "cpu")):
        made = run(a, b)
        assert made.device.type == device
        torch.testing.assert_close(made.cpu(), x * y)
    assert counts.frames == 2
    made = run(x.to("spyre"), torch.tensor(2.0))
    assert made.device.type == "spyre" and torch.equal(made.cpu(), x * 2) and counts.frames == 3
    with pytest.raises(Exception, match="(?i)device"):
        run(x.to("spyre"), y)


def test_why_it_was_planned_again(counts):
    run = torch.compile(lambda x, y: x + y, backend="spyre")
    x, y = numbers(6, 70), numbers(6, 70)
    run(x, y)
    assert counts.why == []
    other = torch.compile(lambda x, y: x + y, backend="spyre")  # another function, though its graph is the same
    other(x, restickify(y, 0))
    assert counts.why == []
    run(x, restickify(y, 0))
    (why,) = counts.why
    assert why.startswith("y has the layout") and "and had" in why
    run(x, y)
    assert counts.why == []
