"""Models on the device and on the CPU: the same numbers within the rounding of the formats."""
import copy

import pytest
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x, mask):
        y = self.first(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.second(x))


class Transformer(nn.Module):
    def __init__(self, words=11, width=16, length=12):
        super().__init__()
        self.embed, self.place = nn.Embedding(words, width), nn.Parameter(torch.randn(length, width) * 0.1)
        self.blocks = nn.ModuleList(Block(width, 2) for _ in range(2))
        self.out = nn.Linear(width, words, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens):
        n = tokens.size(1)
        mask = torch.full((n, n), float("-inf"), dtype=self.place.dtype, device=tokens.device).triu(1)
        x = self.embed(tokens) + self.place[:n]
        for block in self.blocks:
            x = block(x, mask)
        return self.out(x)


def train(model, device, optimizer, steps=12):
    model = copy.deepcopy(model)
    optimizer = optimizer(model.parameters())
    model.to(device)
    generator, losses = torch.Generator().manual_seed(3), []
    for _ in range(steps):
        tokens = torch.randint(0, 5, (4, 1), generator=generator) + torch.arange(9)
        tokens = (tokens % 11).to(device)
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: p.detach().cpu() for name, p in model.named_parameters()}


def test_a_transformer_learns_the_same_in_float32():
    model = Transformer()
    (on_cpu, a), (on_device, b) = (train(model, device, lambda p: torch.optim.AdamW(p, lr=1e-2))
                                  for device in ("cpu", "spyre"))
    assert on_cpu[-1] < on_cpu[0] - 0.5
    for x, y in zip(on_cpu, on_device):
        assert abs(x - y) < 1e-3
    for name in a:
        # The gradient of the bias of keys is 0 but for rounding, and Adam makes steps of that.
        if not name.endswith("in_proj_bias"):
            torch.testing.assert_close(a[name], b[name], rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_transformer_learns_in_16_bits(dtype):
    """Masks of -inf included: each loss as on the CPU, within what 9 fraction bits do. (Not Adam: squares of small
    gradients are below what DLFloat16 has.)"""
    model = Transformer().to(dtype)
    (on_cpu, _), (on_device, _) = (train(model, device, lambda p: torch.optim.SGD(p, lr=0.05))
                                   for device in ("cpu", "spyre"))
    assert on_device[-1] < 0.8 * on_device[0]
    for x, y in zip(on_cpu, on_device):
        assert abs(x - y) < 0.02 * x


def test_autocast():
    model, x = nn.Linear(8, 8).to("spyre"), torch.rand(3, 8).to("spyre")
    with torch.autocast("spyre", dtype=torch.float16):
        y = model(x)
    assert y.dtype == torch.float16
    torch.testing.assert_close(y.float().cpu(), model(x).detach().cpu(), rtol=1e-2, atol=1e-2)


MODELS = {
    "conv": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.ConvTranspose2d(4, 2, 2), nn.Flatten(), nn.Linear(50, 3)), (2, 3, 8, 8)),
    "lstm": (lambda: nn.LSTM(5, 6, num_layers=2, batch_first=True, bidirectional=True), (2, 7, 5)),
    "lstm without bias": (lambda: nn.LSTM(5, 6, bias=False), (3, 2, 5)),
    "gru": (lambda: nn.GRU(5, 6, batch_first=True), (2, 7, 5)),
    "gru without bias": (lambda: nn.GRU(5, 6, bias=False), (3, 2, 5)),
    "rnn": (lambda: nn.RNN(5, 6), (3, 2, 5)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 5, 8)),
    "norms": (lambda: nn.Sequential(nn.GroupNorm(2, 4), nn.InstanceNorm1d(4), nn.PReLU(), nn.RMSNorm(6)), (3, 4, 6)),
}


@pytest.mark.parametrize("name", MODELS)
def test_modules(name):
    make, size = MODELS[name]
    model, x = make(), torch.rand(size)
    results = []
    for device in ("cpu", "spyre"):
        run, given = copy.deepcopy(model).to(device), x.clone().to(device).requires_grad_()
        y = run(given)
        y = y[0] if isinstance(y, tuple) else y
        y.square().sum().backward()
        results.append([y, given.grad, *(p.grad for p in run.parameters())])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a.detach(), b.detach().cpu(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), torch.optim.AdamW,
                                  lambda p: torch.optim.Adam(p, foreach=True),
                                  lambda p: torch.optim.Adam(p, fused=True),
                                  torch.optim.RMSprop, torch.optim.Adagrad])
def test_optimizers(make):
    weights = []
    for device in ("cpu", "spyre"):
        torch.manual_seed(0)
        model = nn.Linear(4, 3).to(device)
        optimizer = make(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(2, 4, device=device)).square().sum().backward()
            optimizer.step()
        weights.append(model.weight.detach().cpu())
    torch.testing.assert_close(*weights, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", [
    lambda: torch.nn.BatchNorm1d(4), lambda: torch.nn.BatchNorm1d(4, momentum=None),
    lambda: torch.nn.InstanceNorm1d(4, track_running_stats=True, affine=True), lambda: torch.nn.SyncBatchNorm(4)])
def test_running_statistics(make):
    """PyTorch's schema of native_batch_norm does not say that its kernel writes them."""
    x = 3 * torch.randn(8, 4, 5) + 2
    here, there = make(), make().to("spyre")
    if not isinstance(here, torch.nn.SyncBatchNorm):  # which refuses the CPU while it trains
        for _ in range(3):
            here(x), there(x.to("spyre"))
        for name, expected in here.state_dict().items():
            assert torch.allclose(there.state_dict()[name].cpu().to(expected.dtype), expected, rtol=1e-5), name
        assert not torch.equal(here.running_mean, torch.zeros(4))
    here.eval(), there.eval()
    before = there.running_var.cpu()
    assert torch.allclose(there(x.to("spyre")).cpu(), here(x), rtol=1e-4, atol=1e-5)
    assert torch.equal(there.running_var.cpu(), before)


def test_running_statistics_of_operations():
    x = torch.randn(8, 4)
    for run in (lambda x, mean, var: torch.native_batch_norm(x, None, None, mean, var, True, 0.5, 1e-5),
                lambda x, mean, var: torch.native_batch_norm(x, None, None, mean, var, training=True, momentum=0.5,
                                                             eps=1e-5, out=tuple(x.new_empty(0) for _ in range(3))),
                lambda x, mean, var: torch.batch_norm_update_stats(x, mean, var, 0.5),
                lambda x, mean, var: torch.ops.aten._batch_norm_with_update(x, None, None, mean, var, 0.5, 1e-5)):
        expected, made = [torch.zeros(4), torch.ones(4)], [torch.zeros(4).to("spyre"), torch.ones(4).to("spyre")]
        run(x, *expected)
        run(x.to("spyre"), *made)
        assert all(torch.allclose(a.cpu(), b, rtol=1e-5) for a, b in zip(made, expected)) and expected[0].any()


PADDED = torch.tensor([[False, False, False, True], [False, False, True, True]])


@pytest.mark.parametrize("mask", [PADDED, torch.zeros(2, 4).masked_fill(PADDED, float("-inf")), PADDED.flip(1)],
                         ids=["bool", "float", "from the left"])
@pytest.mark.parametrize("options", [{}, {"mask_check": False}, {"norm": nn.LayerNorm(8)},
                                     {"enable_nested_tensor": False}], ids=str)
def test_an_encoder_with_a_padding_mask(mask, options):
    """PyTorch's fast path makes nested tensors, which the device has not: rows behind a sequence are 0 all the same."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, **options).eval()
    x = torch.randn(2, 4, 8)
    with torch.no_grad():
        expected = model(x, src_key_padding_mask=mask)
        made = model.to("spyre")(x.to("spyre"), src_key_padding_mask=mask.to("spyre")).cpu()
    model.cpu()
    torch.testing.assert_close(made, expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(RuntimeError, match="strided tensors, not nested ones"):
        torch._nested_tensor_from_mask(x.to("spyre"), mask.to("spyre").logical_not(), mask_check=False)


def test_transforms_and_checkpoints():
    from torch.utils.checkpoint import checkpoint
    x = torch.rand(4, 5).to("spyre")
    f = lambda v: (v.sin() * v).sum()  # noqa: E731
    expected = torch.func.grad(f)(x.cpu())
    assert torch.allclose(torch.func.grad(f)(x).cpu(), expected)
    assert torch.allclose(torch.func.vmap(torch.func.grad(f))(x).cpu(), expected)
    _, tangent = torch.func.jvp(f, (x,), (torch.ones_like(x),))
    assert torch.allclose(tangent.cpu(), expected.sum())
    for reentrant in (True, False):
        y = x.clone().requires_grad_()
        checkpoint(f, y, use_reentrant=reentrant).backward()
        assert torch.allclose(y.grad.cpu(), expected)
    with torch.inference_mode():
        assert (x + 1).is_spyre


def test_resize():
    """Published sizes (eager_resize_): what both have in common stays, in the order of memory."""
    pairs = [((16,), (16,)), ((4, 8), (32,)), ((4, 8), (8, 4)), ((2, 4, 8), (4, 16)), ((8,), (4,)), ((4, 8), (2, 4)),
             ((2, 4, 8), (2, 8)), ((16, 16), (8, 8)), ((8,), (32,)), ((2, 8), (4, 8)), ((64,), (256,)),
             ((256,), (1024,))]
    for old, new in pairs:
        x = torch.arange(float(torch.Size(old).numel())).view(old)
        y = x.to("spyre")
        assert y.resize_(new) is y and y.size() == torch.Size(new)
        kept = min(x.numel(), y.numel())
        assert torch.equal(y.cpu().view(-1)[:kept], x.view(-1)[:kept])
        y.fill_(3)
        assert y.sum().item() == 3 * y.numel()
    view = torch.arange(6.0).to("spyre")[2:]
    assert view.resize_(8)[:4].cpu().tolist() == [2, 3, 4, 5]


def test_infinity():
    """DLFloat16 has one code for infinity and NaN: operations take it as infinity, the host reads NaN."""
    x = torch.tensor([float("-inf"), 1.0, float("inf")], dtype=torch.float16).to("spyre")
    assert x.softmax(0)[:2].isnan().any().item() or x[:2].softmax(0).cpu().tolist() == [0, 1]
    assert x[:2].softmax(0).cpu().tolist() == [0, 1]
    assert x.isnan().cpu().tolist() == [True, False, True] == x.isinf().cpu().tolist()
    assert x.cpu().isnan().tolist() == [True, False, True]
    y = torch.tensor([float("-inf"), float("nan")]).to("spyre")
    assert y.cpu()[0] == float("-inf") and y.isnan().cpu().tolist() == [False, True]


def test_restickify():
    from tegula.torch import SpyreTensorLayout, restickify
    x = torch.rand(3, 130, 70, dtype=torch.float16).to("spyre")
    for stick in (0, 1, 2, -1, -2):
        y = restickify(x, stick)
        order = [d for d in range(3) if d != stick % 3] + [stick % 3]
        assert y.device_tensor_layout() == SpyreTensorLayout(x.size(), torch.float16, order)
        assert torch.equal(y.cpu(), x.cpu()) and memory_differs(x, y)
    sparse = SpyreTensorLayout((3, 130, 70), torch.float16, [0, 1, 2, -1])
    assert restickify(x, sparse).device_tensor_layout() == sparse
    w = torch.rand(4, 70, dtype=torch.float32).to("spyre").requires_grad_()
    restickify(w, 0).sum().backward()
    assert w.grad.cpu().eq(1).all()
    for bad, error in ((5, IndexError), ("row", TypeError)):
        with pytest.raises(error):
            restickify(x, bad)
    with pytest.raises(ValueError, match="on spyre"):
        restickify(x.cpu(), 0)


def memory_differs(a, b):
    return a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr()


def test_tracing(capsys, monkeypatch):
    from tegula.torch import fallback
    monkeypatch.setattr(fallback, "TRACE", True)
    torch.ones(2, 3, device="spyre") + 1
    said = capsys.readouterr().err
    assert "aten::add.Tensor(float32[2, 3], 1) -> float32[2, 3] on the CPU" in said
