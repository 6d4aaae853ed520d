"""Blocks of language models, norms and activations, routing, recurrent cells."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from models import Run, below, model, rand
from models_attention import Attention


@model(77, 100, 130, 3)
def mlp(n):
    return nn.Sequential(nn.Linear(n, 2 * n + 1), nn.GELU(), nn.Linear(2 * n + 1, n)), (rand(5, n),)


@model(77)
def mlp_of_activations(n):
    parts = [nn.GELU("tanh"), nn.SiLU(), nn.LeakyReLU(), nn.Tanh(), nn.Softplus(), nn.Hardswish(), nn.ELU(), nn.Mish()]
    return nn.Sequential(*(part for f in parts for part in (nn.Linear(n, n), f))), (rand(5, n),)


class SwiGLU(nn.Module):
    def __init__(self, n, inner):
        super().__init__()
        self.gate, self.up = nn.Linear(n, inner, bias=False), nn.Linear(n, inner, bias=False)
        self.down = nn.Linear(inner, n, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


@model(77, 130)
def swiglu(n):
    return SwiGLU(n, 100), (rand(2, 5, n),)


@model(77)
def gated_by_halves(n):
    """One product for both halves; they are cut at 101."""
    return nn.Sequential(nn.Linear(n, 202), nn.GLU(), nn.Linear(101, n)), (rand(5, n),)


@model(77, 100, 3)
def layer_norm(n):
    return nn.LayerNorm(n), (rand(3, 5, n),)


@model(77, 130)
def rms_norm(n):
    return nn.RMSNorm(n), (rand(3, 5, n),)


@model(77)
def rms_norm_by_hand(n):
    """As language models write it: in float32 inside."""
    def run(s, x):
        y = x.float()
        return s.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)
    return Run(run, weight=nn.Parameter(torch.rand(n))), (rand(3, 5, n),)


class Block(nn.Module):
    """A layer as in Llama: RMSNorm, rotary positions, shared keys, SwiGLU."""

    def __init__(self, n):
        super().__init__()
        self.before, self.between = nn.RMSNorm(n), nn.RMSNorm(n)
        self.core, self.inner = Attention(n, heads=4, key_heads=2, width=16, bias=False), SwiGLU(n, 2 * n)

    def turned(self, x):
        a, b = x.chunk(2, -1)
        turns = torch.arange(x.size(2), device=x.device)[:, None] / 100 ** (torch.arange(8, device=x.device) / 8)
        cos, sin = turns.cos().to(x.dtype), turns.sin().to(x.dtype)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    def attend(self, x):
        core = self.core
        q, k = self.turned(core.split(core.q(x), 4)), self.turned(core.split(core.k(x), 2))
        v = core.split(core.v(x), 2)
        return core.join(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))

    def forward(self, x):
        x = x + self.attend(self.before(x))
        return x + self.inner(self.between(x))


@model(77, 130)
def llama_block(n):
    return Block(n), (rand(2, 13, n),)


class Llama(nn.Module):
    def __init__(self, n, words=101):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(words, n), nn.RMSNorm(n)
        self.layers = nn.ModuleList([Block(n), Block(n)])
        self.head = nn.Linear(n, words, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


@model(77)
def llama(n):
    return Llama(n), (below(101, 2, 13),)


class GPT(nn.Module):
    """Positions that are learnt, a causal mask of PyTorch's, and a head that is the embedding."""

    def __init__(self, n, words=101):
        super().__init__()
        self.embedding, self.places = nn.Embedding(words, n), nn.Embedding(20, n)
        self.layer = nn.TransformerEncoderLayer(n, 2, 130, dropout=0.0, batch_first=True, norm_first=True,
                                                activation="gelu")
        self.norm, self.head = nn.LayerNorm(n), nn.Linear(n, words, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens) + self.places(torch.arange(tokens.size(1), device=tokens.device))
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.size(1), device=x.device, dtype=x.dtype)
        return self.head(self.norm(self.layer(x, src_mask=mask, is_causal=True)))


@model(100)
def gpt(n):
    return GPT(n), (below(101, 2, 13),)


@model(100)
def encoder_layer(n):
    """Norms afterwards, as in the first transformers, with padding."""
    padding = torch.arange(13) >= torch.tensor([[13], [5]])
    core = nn.TransformerEncoderLayer(n, 2, 130, dropout=0.0, batch_first=True)
    return Run(lambda s, x: s.core(x, src_key_padding_mask=s.padding), core=core, padding=padding), (rand(2, 13, n),)


@model(100, host_back={"aten.cat.default"})
def decoder_layer(n):
    core = nn.TransformerDecoderLayer(n, 2, 130, dropout=0.0, batch_first=True)
    return Run(lambda s, x, y: s.core(x, y), core=core), (rand(2, 5, n), rand(2, 13, n))


@model(100)
def parallel_block(n):
    """Attention and MLP of the same norm, as in GPT-J."""
    parts = {"norm": nn.LayerNorm(n), "core": Attention(n), "inner": nn.Linear(n, 130), "outer": nn.Linear(130, n)}

    def run(s, x):
        y = s.norm(x)
        return x + s.core(y, is_causal=True) + s.outer(F.gelu(s.inner(y)))
    return Run(run, **parts), (rand(2, 13, n),)


@model(77)
def embedding_and_head(n):
    return nn.Sequential(nn.Embedding(101, n), nn.Linear(n, 101)), (below(101, 2, 13),)


@model(100, host_back={"aten.add.Tensor", "aten.mul.Tensor"})
def sentence_embedding(n):
    """The mean over words that are there, of length 1."""
    def run(s, tokens, keep):
        x = s.embedding(tokens)
        mask = keep.unsqueeze(-1).to(x.dtype)
        return F.normalize((x * mask).sum(1) / mask.sum(1).clamp(min=1e-6), dim=-1)
    keep = torch.arange(13) < torch.tensor([[13], [5]])
    return Run(run, embedding=nn.Embedding(101, n)), (below(101, 2, 13), keep.long())


@model(77, host={"aten._assert_async.msg"}, host_back={"aten._assert_async.msg"})
def mixture_of_experts(n):
    """All experts run, and a mask of the best two weighs them."""
    def run(s, x):
        weights, chosen = s.gate(x).softmax(-1).topk(2)
        weights = weights / weights.sum(-1, keepdim=True)
        mask = (F.one_hot(chosen, 4).to(x.dtype) * weights.unsqueeze(-1)).sum(1)
        return torch.einsum("te,eti->ti", mask, F.gelu(x @ s.up) @ s.down)
    return Run(run, gate=nn.Linear(n, 4), up=nn.Parameter(rand(4, n, 100) / 9),
               down=nn.Parameter(rand(4, 100, n) / 9)), (rand(13, n),)


@model(77, host_back={"aten.index_put.default"})
def experts_that_are_looked_up(n):
    """Each token fetches the weights of its expert."""
    def run(s, x):
        weight, chosen = s.gate(x).softmax(-1).max(-1)
        return torch.bmm(x.unsqueeze(1), s.up[chosen]).squeeze(1) * weight.unsqueeze(-1)
    return Run(run, gate=nn.Linear(n, 4), up=nn.Parameter(rand(4, n, 100) / 9)), (rand(13, n),)


@model(77, host={"aten._assert_async.msg"}, host_back={"aten._assert_async.msg"})
def experts_with_room(n):
    """Each expert takes the first 4 tokens that choose it: cumsum says which number a token has there."""
    def run(s, x):
        weight, chosen = s.gate(x).softmax(-1).max(-1)
        mine = F.one_hot(chosen, 4)
        place = (mine.cumsum(0) - 1) * mine
        sent = (mine * (place < 4)).unsqueeze(-1) * F.one_hot(place.clamp(max=3), 4)
        sent = sent.to(x.dtype)
        made = F.gelu(torch.einsum("tec,ti->eci", sent, x) @ s.up) @ s.down
        return torch.einsum("tec,eci->ti", sent * weight[:, None, None], made)
    return Run(run, gate=nn.Linear(n, 4), up=nn.Parameter(rand(4, n, 100) / 9),
               down=nn.Parameter(rand(4, 100, n) / 9)), (rand(13, n),)


@model(77)
def positions_of_what_is_there(n):
    """Of padded sentences: positions count the words, and one direction reads backwards."""
    def run(s, tokens, keep):
        places = (keep.cumsum(1) * keep).long()
        x = s.words(tokens) + s.places(places)
        return x * keep.unsqueeze(-1) + s.back(x.flip(1))
    keep = (torch.arange(13) >= torch.tensor([[0], [6]])).long()
    return Run(run, words=nn.Embedding(101, n), places=nn.Embedding(20, n), back=nn.Linear(n, n)), \
        (below(101, 2, 13), keep)


@model(77, 100)
def words_in_the_middle(n):
    """Results are views: columns in the middle, what lies across, and a row that is not the first."""
    def run(s, x):
        y = s.lin(x) * 2
        return y[:, 1:3], (x * 2)[:, 1:3], y.transpose(1, 2)[:, 5:40], y[1]
    return Run(run, lin=nn.Linear(n, 50)), (rand(2, 7, n),)


@model(77)
def memory_bank(n):
    """Rows behind the first are written: of what takes part in training, and of what is kept for the next step."""
    def run(s, x):
        y = s.lin(x)
        rows = torch.zeros(4, n, dtype=x.dtype, device=x.device)
        rows[1] = y.mean(0)
        rows[2:] = y[-2:]
        s.kept[3] = y.detach().sum(0)
        s.kept[1:3, 5] = 0.5
        return rows @ s.kept.t(), rows[1:]
    return Run(run, lin=nn.Linear(n, n), kept=rand(5, n)), (rand(6, n),)


@model(77)
def scattered_gates(n):
    """The best two of the gates, scattered into zeros."""
    def run(s, x):
        logits = s.gate(x)
        best, chosen = logits.topk(2)
        gates = torch.full_like(logits, float("-inf")).scatter(-1, chosen, best).softmax(-1)
        return (gates.unsqueeze(-1) * torch.stack([expert(x) for expert in s.experts], 1)).sum(1)
    return Run(run, gate=nn.Linear(n, 4), experts=nn.ModuleList([nn.Linear(n, n) for _ in range(4)])), (rand(13, n),)


@model(77)
def low_rank_adapter(n):
    def run(s, x):
        return s.whole(x) + s.up(s.down(x)) * 0.5
    return Run(run, whole=nn.Linear(n, 100), down=nn.Linear(n, 3, bias=False), up=nn.Linear(3, 100, bias=False)), \
        (rand(5, n),)


@model(77)
def weight_norm(n):
    """Directions and lengths apart."""
    def run(s, x):
        return F.linear(x, s.length * s.direction / s.direction.norm(dim=1, keepdim=True))
    return Run(run, length=nn.Parameter(torch.rand(100, 1)), direction=nn.Parameter(rand(100, n))), (rand(5, n),)


@model(77)
def lstm_cell(n):
    return Run(lambda s, x, h, c: s.cell(x, (h, c)), cell=nn.LSTMCell(n, 100)), (rand(5, n), rand(5, 100), rand(5, 100))


@model(77)
def gru_cell(n):
    return Run(lambda s, x, h: s.cell(x, h), cell=nn.GRUCell(n, 100)), (rand(5, n), rand(5, 100))


@model(77)
def lstm_by_hand(n):
    """Three steps, gates from one product."""
    def run(s, x):
        h = c = torch.zeros(x.size(0), 33, device=x.device, dtype=x.dtype)
        made = []
        for t in range(x.size(1)):
            i, f, g, o = s.gates(torch.cat([x[:, t], h], -1)).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            made.append(h)
        return torch.stack(made, 1), c
    return Run(run, gates=nn.Linear(n + 33, 132)), (rand(5, 3, n),)


@model(77)
def state_space(n):
    """A state that decays, step by step, as in Mamba."""
    def run(s, x):
        state, made = torch.zeros(x.size(0), n, 4, device=x.device, dtype=x.dtype), []
        step = F.softplus(s.step(x))
        for t in range(x.size(1)):
            decay = torch.exp(step[:, t].unsqueeze(-1) * -s.decay.exp())
            state = decay * state + (step[:, t] * x[:, t]).unsqueeze(-1) * s.into(x[:, t]).unsqueeze(1)
            made.append((state * s.out(x[:, t]).unsqueeze(1)).sum(-1))
        return torch.stack(made, 1)
    return Run(run, step=nn.Linear(n, n), into=nn.Linear(n, 4), out=nn.Linear(n, 4),
               decay=nn.Parameter(torch.rand(n, 4))), (rand(2, 3, n),)


@model(100)
def time_embedding(n):
    """Sines of times, as diffusion models have them."""
    def run(s, times):
        turns = torch.exp(torch.arange(50, device=times.device) * (-math.log(100) / 50))
        angles = times[:, None].to(s.lin.weight.dtype) * turns.to(s.lin.weight.dtype)[None]
        return s.lin(torch.cat([angles.sin(), angles.cos()], -1))
    return Run(run, lin=nn.Linear(100, n)), (below(20, 5),)


@model(77)
def graph_convolution(n):
    """Neighbours are a matrix, normed by degrees."""
    links = (torch.rand(13, 13) > 0.6).float() + torch.eye(13)

    def run(s, x):
        scale = s.links.sum(-1).rsqrt()
        return F.relu(scale[:, None] * (s.links.mT @ (scale[:, None] * s.lin(x))))
    return Run(run, links=links, lin=nn.Linear(n, 100)), (rand(13, n),)


@model(77)
def messages_along_edges(n):
    """Edges are pairs of numbers: messages are fetched and added up."""
    def run(s, x, source, target):
        return torch.zeros_like(x).index_add(0, target, F.relu(s.lin(x[source])))
    return Run(run, lin=nn.Linear(n, n)), (rand(13, n), below(13, 40), below(13, 40))


@model(77, trains=False)
def greedy_choice(n):
    """The next token, and how sure of it the model is."""
    def run(s, x):
        shares = s.head(x[:, -1]).log_softmax(-1)
        return shares.max(-1).values, shares.argmax(-1)
    return Run(run, head=nn.Linear(n, 101)), (rand(3, 5, n),)


@model(77)
def mixer(n):
    """MLPs along words and along features, by turns."""
    def run(s, x):
        x = x + s.words(s.before(x).mT).mT
        return x + s.features(s.between(x))
    words = nn.Sequential(nn.Linear(13, 20), nn.GELU(), nn.Linear(20, 13))
    features = nn.Sequential(nn.Linear(n, 100), nn.GELU(), nn.Linear(100, n))
    return Run(run, before=nn.LayerNorm(n), between=nn.LayerNorm(n), words=words, features=features), (rand(2, 13, n),)
