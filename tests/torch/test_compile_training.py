"""A whole step of training inside torch.compile: forward, backward and optimizer; with autocast; with dropout."""
import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from conftest import LONG
from tegula.torch import compile_backend

STEPS = 2
SGD, ADAM, ADAMW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
OPTIMIZERS = {
    "momentum": lambda p, **more: SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01, **more),
    "adam": lambda p, **more: ADAM(p, lr=0.01, **more), "adamw": lambda p, **more: ADAMW(p, lr=0.01, **more),
    "amsgrad": lambda p, **more: ADAM(p, lr=0.01, amsgrad=True, **more),
    "rmsprop": lambda p, **more: torch.optim.RMSprop(p, lr=0.01, **more),
    "adagrad": lambda p, **more: torch.optim.Adagrad(p, lr=0.01, **more)}
RUNS = [(name, lists) for name in OPTIMIZERS for lists in (False, True)
        if LONG or name == "adam" or (name, lists) in (("momentum", True), ("adamw", False))]


class Model(nn.Module):
    def __init__(self, dropped=0.0):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(20, 33), nn.LayerNorm(33), nn.Linear(33, 5)
        self.dropout = nn.Dropout(dropped)

    def forward(self, x):
        return self.last(self.dropout(F.gelu(self.norm(self.first(x)))))


class Watched(compile_backend.watching):
    """The programs that ran."""

    def __init__(self):
        self.programs = []
        super().__init__(lambda compiled, program, new, again: self.programs.append((compiled.kind, program)))

    def __enter__(self):
        super().__enter__()
        return self

    def whys(self, kind):
        return {(str(step.node.target), why) for k, program in self.programs if k == kind
                for step, why in program.fallbacks}


def train(model, make, lists, x, y, compiles):
    optimizer = make(model.parameters(), foreach=lists)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step, backend="spyre") if compiles else step
    return [run().item() for _ in range(STEPS)]


@pytest.mark.parametrize("name, lists", RUNS)
def test_a_step(name, lists):
    """Loss and weights are those of the CPU, and nothing is left to it but what a step count of the host is in, and a
    sum of sparse gradients and dense ones."""
    torch._dynamo.reset()
    model, x, y = Model(), torch.randn(4, 7, 20), torch.randint(0, 5, (4, 7))
    there = copy.deepcopy(model).to("spyre")
    wanted = train(model, OPTIMIZERS[name], lists, x, y, False)
    with Watched() as watched:
        made = train(there, OPTIMIZERS[name], lists, x.to("spyre"), y.to("spyre"), True)
    assert made == pytest.approx(wanted, rel=1e-5)
    for a, b in zip(there.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(a.detach().cpu(), b.detach(), atol=1e-5, rtol=1e-4)
    kinds = [kind for kind, _ in watched.programs]
    assert kinds == ["forward", "backward", "inference"] * STEPS
    assert {why for _, why in watched.whys("inference")} <= {"a tensor of the host takes part", "no layouts suit it"}


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("dtype, near", [(torch.float16, 2**-8), (torch.bfloat16, 2**-6)])
def test_autocast(dtype, near, inside):
    """Around the call, and within what is compiled: results in 16 bits, gradients of what is learnt in float32."""
    torch._dynamo.reset()
    model, x = Model(), torch.randn(4, 7, 20)
    there = copy.deepcopy(model).to("spyre")

    def run(model, x, device):
        with torch.autocast(device, dtype=dtype):
            return model(x)

    with Watched() as watched:
        made = (torch.compile(run, backend="spyre", fullgraph=True)(there, x.to("spyre"), "spyre") if inside else
                run(torch.compile(there, backend="spyre", fullgraph=True), x.to("spyre"), "spyre"))
        made.float().square().mean().backward()
    wanted = run(model, x, "cpu")
    wanted.float().square().mean().backward()
    assert made.dtype == wanted.dtype == dtype
    torch.testing.assert_close(made.cpu().float(), wanted.float(), atol=near, rtol=near)
    for a, b in zip(there.parameters(), model.parameters(), strict=True):
        assert a.grad.dtype == torch.float32
        torch.testing.assert_close(a.grad.cpu(), b.grad, atol=near / 4, rtol=near * 4)
    assert not watched.whys("forward") and not watched.whys("backward")
    assert any(node.dtype in ("f16", "bf16") and node.kind == "matmul" for node in watched.programs[0][1].graph)


@pytest.mark.parametrize("compiles", [False, True])
def test_dropout(compiles):
    """Random numbers are the CPU's: of the same seed the same elements are dropped, in forward and backward."""
    torch._dynamo.reset()
    model, x = Model(0.3), torch.randn(4, 7, 20)
    there = copy.deepcopy(model).to("spyre")
    run = torch.compile(there, backend="spyre", fullgraph=True) if compiles else there
    found = []
    for seed, module, device in ((5, run, "spyre"), (5, run, "spyre"), (6, run, "spyre"), (5, model, "cpu")):
        torch.manual_seed(seed)
        given = x.to(device).requires_grad_()
        made = module(given)
        made.sum().backward()
        found.append((made.detach().cpu(), given.grad.cpu()))
    first, again, other, wanted = found
    assert torch.equal(first[0], again[0]) and torch.equal(first[1], again[1]) and not torch.equal(first[0], other[0])
    for a, b in zip(first, wanted, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def _copies(x, y):
    made = [a * 1 for a in x]
    torch._foreach_copy_(made, y)
    return made


LISTS = {
    "sums": lambda x, y: torch._foreach_add(x, y, alpha=2), "a number": lambda x, y: torch._foreach_mul(x, 3.0),
    "numbers": lambda x, y: torch._foreach_sub(x, [1.0, 2.0]), "least": lambda x, y: torch._foreach_maximum(x, 0.5),
    "largest": lambda x, y: torch._foreach_minimum(x, y), "roots": lambda x, y: torch._foreach_sqrt(x),
    "powers": lambda x, y: torch._foreach_pow(2.0, x), "lerp": lambda x, y: torch._foreach_lerp(x, y, 0.25),
    "products": lambda x, y: torch._foreach_addcmul(x, x, y, 0.5), "norms": lambda x, y: torch._foreach_norm(x),
    "quotients": lambda x, y: torch._foreach_addcdiv(x, x, y, [0.5, 2.0]),
    "copies": lambda x, y: _copies(x, y)}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_tensors(name):
    torch._dynamo.reset()
    x, y = ([torch.rand(5, 70) + 0.5, torch.rand(3) + 0.5] for _ in range(2))
    with Watched() as watched:
        made = torch.compile(LISTS[name], backend="spyre", fullgraph=True)([a.to("spyre") for a in x],
                                                                          [a.to("spyre") for a in y])
    for a, b in zip(made, LISTS[name](x, y), strict=True):
        torch.testing.assert_close(a.cpu(), b)
    assert not watched.whys("inference")


def test_a_copy_into_a_tensor():
    """Of another type, along a dimension that is repeated, and into a part."""
    torch._dynamo.reset()

    def run(x, row):
        x = x + 1
        x.copy_(row)
        y = torch.zeros_like(x)
        y[1:3].copy_(x[1:3] * 2)
        return x, y

    x, row = torch.rand(4, 70), torch.arange(70, dtype=torch.int32)
    with Watched() as watched:
        made = torch.compile(run, backend="spyre", fullgraph=True)(x.to("spyre"), row.to("spyre"))
    for a, b in zip(made, run(x, row), strict=True):
        assert torch.equal(a.cpu(), b)
    assert not watched.whys("inference")
