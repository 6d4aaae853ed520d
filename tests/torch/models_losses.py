"""Losses: one number of many, and what most of training goes through."""
import torch
from torch import nn
from torch.nn import functional as F

from models import Run, below, model, rand


@model(77, 100)
def cross_entropy(n):
    return Run(lambda s, x, target: F.cross_entropy(x, target)), (rand(13, n), below(n, 13))


@model(77)
def cross_entropy_with_words_left_out(n):
    target = below(n, 2, 13)
    target[0, 3:] = -100
    return Run(lambda s, x, t: F.cross_entropy(x.flatten(0, 1), t.flatten(), ignore_index=-100)), \
        (rand(2, 13, n), target)


@model(77)
def cross_entropy_with_smoothing(n):
    return Run(lambda s, x, t: F.cross_entropy(x, t, label_smoothing=0.1)), (rand(13, n), below(n, 13))


@model(77)
def language_model_loss(n):
    """Each word guesses the next."""
    def run(s, tokens):
        x = s.head(s.embedding(tokens))
        return F.cross_entropy(x[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    return Run(run, embedding=nn.Embedding(101, n), head=nn.Linear(n, 101)), (below(101, 2, 13),)


@model(77)
def regression_losses(n):
    def run(s, x, y):
        x = s.lin(x)
        return F.mse_loss(x, y) + F.l1_loss(x, y) + F.smooth_l1_loss(x, y) + F.huber_loss(x, y)
    return Run(run, lin=nn.Linear(n, 100)), (rand(5, n), rand(5, 100))


@model(77)
def binary_losses(n):
    def run(s, x, y):
        return F.binary_cross_entropy_with_logits(x, y.sigmoid()) + F.soft_margin_loss(x, y.detach().sign())
    return Run(run), (rand(5, n), rand(5, n))


@model(77)
def distillation(n):
    """A student against the shares of a teacher."""
    def run(s, x, y):
        return F.kl_div((x / 2).log_softmax(-1), (y / 2).softmax(-1), reduction="batchmean") * 4
    return Run(run), (rand(5, n), rand(5, n))


@model(77)
def contrast(n):
    """Two views of the same thing are near each other, both ways, as in CLIP."""
    def run(s, x, y):
        x, y = F.normalize(s.image(x), dim=-1), F.normalize(s.text(y), dim=-1)
        logits, target = s.scale.exp() * x @ y.t(), torch.arange(x.size(0), device=x.device)
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
    return Run(run, image=nn.Linear(n, 33), text=nn.Linear(100, 33), scale=nn.Parameter(torch.tensor(1.0))), \
        (rand(7, n), rand(7, 100))


@model(77, host_back={"aten.div.Tensor", "aten.mul.Tensor", "aten.where.self"})
def triplets(n):
    return Run(lambda s, a, b, c: F.triplet_margin_loss(s.lin(a), s.lin(b), s.lin(c))
               + F.cosine_embedding_loss(a, b, torch.ones(5, device=a.device)), lin=nn.Linear(n, 33)), \
        (rand(5, n), rand(5, n), rand(5, n))
