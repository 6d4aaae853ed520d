"""Attention: what is masked and how, who shares keys with whom, and where positions come in."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from models import Run, below, model, rand


class Attention(nn.Module):
    """Heads of `width` numbers; fewer heads of keys than of queries are shared."""

    def __init__(self, n, heads=2, key_heads=None, width=None, bias=True):
        super().__init__()
        self.width = width or n // heads
        self.heads, self.key_heads = heads, key_heads or heads
        self.q = nn.Linear(n, self.heads * self.width, bias=bias)
        self.k = nn.Linear(n, self.key_heads * self.width, bias=bias)
        self.v = nn.Linear(n, self.key_heads * self.width, bias=bias)
        self.out = nn.Linear(self.heads * self.width, n, bias=bias)

    def split(self, x, heads):
        return x.view(x.size(0), x.size(1), heads, self.width).transpose(1, 2)

    def join(self, x):
        return self.out(x.transpose(1, 2).reshape(x.size(0), x.size(2), -1))

    def forward(self, x, other=None, **words):
        other = x if other is None else other
        q, k, v = self.split(self.q(x), self.heads), self.split(self.k(other), self.key_heads), self.v(other)
        return self.join(F.scaled_dot_product_attention(q, k, self.split(v, self.key_heads),
                                                        enable_gqa=self.heads != self.key_heads, **words))


@model(100, 130)
def attention(n):
    return Attention(n), (rand(2, 7, n),)


@model(77, 3)
def attention_of_one_head(n):
    return Attention(n, heads=1), (rand(2, 13, n),)


@model(100)
def causal_attention(n):
    return Run(lambda s, x: s.core(x, is_causal=True), core=Attention(n)), (rand(2, 77, n),)


@model(100)
def attention_with_padded_keys(n):
    """Sentences of different lengths: a mask of truths, one row of keys for all queries."""
    keep = torch.arange(13) < torch.tensor([[13], [5], [1]])
    return Run(lambda s, x: s.core(x, attn_mask=s.keep[:, None, None, :]), core=Attention(n), keep=keep), \
        (rand(3, 13, n),)


@model(100)
def attention_with_a_mask_of_truths(n):
    keep = torch.rand(13, 13) > 0.4
    keep |= torch.eye(13, dtype=torch.bool)
    return Run(lambda s, x: s.core(x, attn_mask=s.keep), core=Attention(n), keep=keep), (rand(2, 13, n),)


@model(100)
def attention_with_a_mask_of_infinities(n):
    mask = torch.full((13, 13), float("-inf")).triu(1)
    return Run(lambda s, x: s.core(x, attn_mask=s.mask), core=Attention(n), mask=mask), (rand(2, 13, n),)


@model(100)
def attention_with_the_smallest_number(n):
    """Masked by the smallest number of the type, as transformers do."""
    keep = (torch.arange(13) < torch.tensor([[13], [5]]))[:, None, None, :]

    def run(s, x):
        q, k, v = (s.core.split(part(x), 2) for part in (s.core.q, s.core.k, s.core.v))
        scores = q @ k.mT / math.sqrt(s.core.width)
        scores = scores.masked_fill(~s.keep, torch.finfo(scores.dtype).min)
        return s.core.join(scores.softmax(-1) @ v)
    return Run(run, core=Attention(n), keep=keep), (rand(2, 13, n),)


@model(130)
def grouped_query_attention(n):
    return Attention(n, heads=4, key_heads=2, width=17, bias=False), (rand(2, 13, n),)


@model(130)
def multi_query_attention(n):
    return Attention(n, heads=4, key_heads=1, width=16, bias=False), (rand(2, 13, n),)


@model(77)
def cross_attention(n):
    return Attention(n, heads=7), (rand(2, 5, n), rand(2, 13, n))


@model(100)
def alibi_attention(n):
    """A bias that grows with the distance."""
    places = torch.arange(13)
    bias = -(places[:, None] - places).abs() * torch.tensor([2.0 ** -2, 2.0 ** -4])[:, None, None]

    def run(s, x):
        return s.core(x, attn_mask=s.bias)
    return Run(run, core=Attention(n), bias=bias), (rand(2, 13, n),)


@model(100)
def sliding_window_attention(n):
    def run(s, x):
        places = torch.arange(x.size(1), device=x.device)
        distance = places[:, None] - places
        return s.core(x, attn_mask=(distance >= 0) & (distance < 4))
    return Run(run, core=Attention(n)), (rand(2, 77, n),)


@model(100)
def relative_position_attention(n):
    """A bias that is learnt for each distance."""
    places = torch.arange(13)
    which = (places[:, None] - places).clamp(-4, 4) + 4

    def run(s, x):
        return s.core(x, attn_mask=s.table(s.which).permute(2, 0, 1))
    return Run(run, core=Attention(n), table=nn.Embedding(9, 2), which=which), (rand(2, 13, n),)


@model(100)
def normed_query_attention(n):
    """Queries and keys of length 1, and a temperature that is learnt."""
    def run(s, x):
        q, k, v = (s.core.split(part(x), 2) for part in (s.core.q, s.core.k, s.core.v))
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        return s.core.join((q @ k.mT * s.scale.exp()).softmax(-1) @ v)
    return Run(run, core=Attention(n), scale=nn.Parameter(torch.ones(2, 1, 1))), (rand(2, 13, n),)


@model(77)
def linear_attention(n):
    """No softmax: keys and values are summed first."""
    def run(s, x):
        q, k, v = (part(x) for part in (s.core.q, s.core.k, s.core.v))
        q, k = F.elu(q) + 1, F.elu(k) + 1
        weights = 1 / (q * k.sum(1, keepdim=True)).sum(-1, keepdim=True)
        return s.core.out(q @ (k.mT @ v) * weights)
    return Run(run, core=Attention(n, heads=1)), (rand(2, 13, n),)


@model(100)
def multihead_attention_module(n):
    """PyTorch's module, with both kinds of masks, and its weights."""
    after = torch.ones(13, 13, dtype=torch.bool).triu(1)
    padding = torch.arange(13) >= torch.tensor([[13], [5]])

    def run(s, x):
        return s.core(x, x, x, key_padding_mask=s.padding, attn_mask=s.after)
    core = nn.MultiheadAttention(n, 2, batch_first=True)
    return Run(run, core=core, after=after, padding=padding), (rand(2, 13, n),)


@model(100)
def chunked_attention(n):
    """Queries, keys and values from one product, in einsum."""
    def run(s, x):
        q, k, v = s.qkv(x).view(*x.shape[:2], 3, 2, -1).unbind(2)
        weights = torch.einsum("bqhd,bkhd->bhqk", q, k).mul(q.size(-1) ** -0.5).softmax(-1)
        return s.out(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))
    return Run(run, qkv=nn.Linear(n, 3 * n), out=nn.Linear(n, n)), (rand(2, 13, n),)


def _angles(length, width):
    turns = torch.arange(length)[:, None] / 100 ** (torch.arange(0, width, 2) / width)
    return turns.cos(), turns.sin()


@model(100)
def rotary_attention(n):
    """Halves that turn: x cos + rotate_half(x) sin."""
    cos, sin = (torch.cat([part, part], -1) for part in _angles(13, n // 2))

    def turned(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def run(s, x):
        q, k, v = (s.core.split(part(x), 2) for part in (s.core.q, s.core.k, s.core.v))
        mixed = F.scaled_dot_product_attention(turned(q, s.cos, s.sin), turned(k, s.cos, s.sin), v, is_causal=True)
        return s.core.join(mixed)
    return Run(run, core=Attention(n), cos=cos, sin=sin), (rand(2, 13, n),)


@model(100)
def interleaved_rotary(n):
    """Neighbours that turn: every second number of a stick."""
    cos, sin = _angles(13, n)

    def run(s, x):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * s.cos - b * s.sin, a * s.sin + b * s.cos], -1).flatten(-2)
    return Run(run, cos=cos, sin=sin), (rand(2, 13, n),)


@model(77, trains=False)
def key_value_cache_step(n):
    """One token against what was there: the cache is written in place."""
    def run(s, x, keys, values, place):
        k, v = s.core.split(s.core.k(x), 7), s.core.split(s.core.v(x), 7)
        keys.index_copy_(2, place, k)
        values.index_copy_(2, place, v)
        keep = torch.arange(keys.size(2), device=x.device) <= place
        q = s.core.split(s.core.q(x), 7)
        return s.core.join(F.scaled_dot_product_attention(q, keys, values, attn_mask=keep[None, :])), keys, values
    return Run(run, core=Attention(n, heads=7)), (rand(2, 1, n), rand(2, 7, 13, 11), rand(2, 7, 13, 11), below(13, 1))


@model(77, trains=False)
def key_value_cache_that_grows(n):
    def run(s, x, keys, values):
        keys = torch.cat([keys, s.core.split(s.core.k(x), 7)], 2)
        values = torch.cat([values, s.core.split(s.core.v(x), 7)], 2)
        return s.core.join(F.scaled_dot_product_attention(s.core.split(s.core.q(x), 7), keys, values)), keys, values
    return Run(run, core=Attention(n, heads=7)), (rand(2, 1, n), rand(2, 7, 13, 11), rand(2, 7, 13, 11))


@model(48)
def window_attention(n):
    """Images in windows of 3 by 3, shifted by one, as Swin does."""
    def run(s, x):
        b, height, width, c = x.shape
        x = torch.roll(x, (-1, -1), (1, 2))
        x = x.view(b, height // 3, 3, width // 3, 3, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 9, c)
        x = s.core(x).view(b, height // 3, width // 3, 3, 3, c).permute(0, 1, 3, 2, 4, 5).reshape(b, height, width, c)
        return torch.roll(x, (1, 1), (1, 2))
    return Run(run, core=Attention(n, heads=3)), (rand(2, 6, 6, n),)
