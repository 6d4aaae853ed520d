"""Operations in the pieces that the planner has rules for: PyTorch's core ATen decompositions, and some of our own.

Where PyTorch's pieces calculate in float32 between others of 16 bits, ours stay in the type of the tensor: a stick of
128 bytes has half as many elements of float32, and the device rounds each result to its format in any case.
"""
import functools
import math

import torch

from tegula.torch import cells, compile_places

_aten = torch.ops.aten

# Kept whole by core ATen.
_PYTORCHS = ("_softmax_backward_data", "_log_softmax_backward_data", "native_layer_norm_backward",
             "native_group_norm_backward", "native_batch_norm_backward", "_native_batch_norm_legit",
             "_native_batch_norm_legit_functional", "_native_batch_norm_legit_no_training",
             "native_batch_norm", "batch_norm_backward", "native_group_norm", "embedding_dense_backward",
             "nll_loss_forward", "nll_loss_backward", "avg_pool1d")


def _softmax(x, dim, half_to_float):
    x = x.float() if half_to_float else x
    if x.numel() == 0 or x.dim() == 0:
        return torch.exp(x - x)
    powers = torch.exp(x - torch.amax(x, dim, keepdim=True))
    return powers / torch.sum(powers, dim, keepdim=True)


def _log_softmax(x, dim, half_to_float):
    x = x.float() if half_to_float else x
    if x.numel() == 0 or x.dim() == 0:
        return x - x
    below = x - torch.amax(x, dim, keepdim=True)
    return below - torch.log(torch.sum(torch.exp(below), dim, keepdim=True))


def _layer_norm(x, shape, weight, bias, eps):
    dims = list(range(x.dim() - len(shape), x.dim()))
    mean = torch.mean(x, dims, keepdim=True)
    below = x - mean
    scale = torch.rsqrt(torch.mean(below * below, dims, keepdim=True) + eps)
    y = below * scale
    y = y if weight is None else y * weight
    return y if bias is None else y + bias, mean, scale


def _moments(x, dims, correction, keepdim):
    dims = dims or list(range(x.dim()))
    count = math.prod(x.size(d) for d in dims) if x.dim() else 1
    correction = 1 if correction is None else correction
    mean = torch.mean(x, dims, keepdim=True)
    below = x - mean
    # no fewer than 0 degrees of freedom: the sum of no numbers by zero is NaN, as PyTorch has it
    var = torch.sum(below * below, dims, keepdim=keepdim) / max(0, count - correction)
    return var, (mean if keepdim else torch.mean(x, dims))


def _var(x, dim=None, *, correction=None, keepdim=False):
    return _moments(x, dim, correction, keepdim)[0]


def _std(x, dim=None, *, correction=None, keepdim=False):
    return torch.sqrt(_moments(x, dim, correction, keepdim)[0])


def _var_mean(x, dim=None, *, correction=None, keepdim=False):
    return _moments(x, dim, correction, keepdim)


def _vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if ord != 2 or dtype is not None or not x.is_floating_point():
        return NotImplemented
    dims = list(range(x.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return torch.sqrt(torch.sum(x * x, dims, keepdim=keepdim))


def _scaled(x, factor):
    return x if factor == 1 else x * factor


def _addmm(bias, x, y, *, beta=1, alpha=1):
    product = _scaled(torch.mm(x, y), alpha)
    return product if beta == 0 else product + _scaled(bias, beta)


def _baddbmm(bias, x, y, *, beta=1, alpha=1):
    product = _scaled(torch.bmm(x, y), alpha)
    return product if beta == 0 else product + _scaled(bias, beta)


def _convolution(x, weight, bias, *rest):
    if bias is None:
        return NotImplemented
    return _aten.convolution(x, weight, None, *rest) + bias.view(-1, *[1] * (x.dim() - 2))


_OURS = {
    _aten._softmax.default: _softmax,
    _aten._log_softmax.default: _log_softmax,
    _aten.native_layer_norm.default: _layer_norm,
    _aten.addmm.default: _addmm,
    _aten.baddbmm.default: _baddbmm,
    _aten.convolution.default: _convolution,
    _aten.var.correction: _var,
    _aten.std.correction: _std,
    _aten.var_mean.correction: _var_mean,
    _aten.linalg_vector_norm.default: _vector_norm,
}


@functools.cache
def table():
    from torch._decomp import core_aten_decompositions, get_decompositions
    whole = dict(core_aten_decompositions().items())
    whole |= get_decompositions([getattr(_aten, name) for name in _PYTORCHS])
    for op in (_aten.addmm, _aten.baddbmm):  # no other overload may come before ours
        whole.pop(op.default, None)
    fused = {getattr(_aten, name).default: kernel for name, kernel in cells.KERNELS.items()}
    return whole | fused | compile_places.TABLE | _OURS
