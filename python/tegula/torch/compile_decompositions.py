"""Operations in the pieces that the planner has rules for: PyTorch's core ATen decompositions, and some of our own.

Where PyTorch's pieces calculate in float32 between others of 16 bits, ours stay in the type of the tensor: a stick of
128 bytes has half as many elements of float32, and the device rounds each result to its format in any case.
"""
import functools
import math

import torch

from tegula.torch import cells, compile_lists, compile_places

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


def _weighted(bias, beta, product, alpha):
    """Factors of integers are integers: what is behind their point is dropped, as PyTorch does."""
    if not product.is_floating_point():
        beta, alpha = int(beta), int(alpha)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (bias if beta == 1 else bias * beta)


def _addmm(bias, x, y, *, beta=1, alpha=1):
    return _weighted(bias, beta, torch.mm(x, y), alpha)


def _baddbmm(bias, x, y, *, beta=1, alpha=1):
    return _weighted(bias, beta, torch.bmm(x, y), alpha)


def _convolution(x, weight, bias, *rest):
    if bias is None:
        return NotImplemented
    return _aten.convolution(x, weight, None, *rest) + bias.view(-1, *[1] * (x.dim() - 2))


def _swapped(x):
    """Batch and channels change places."""
    return x.transpose(0, 1)


def _groups_of_batch(x, groups):
    """[n, groups * c, ...] as [c, groups * n, ...]."""
    if groups == 1:
        return _swapped(x)
    apart = x.reshape(x.size(0), groups, -1, *x.shape[2:])
    return apart.permute(2, 1, 0, *range(3, apart.dim())).reshape(apart.size(2), -1, *x.shape[2:])


def _gradient_of_input(grad, x, weight, stride, padding, dilation, transposed, groups):
    """The transposed convolution, as large as x."""
    if transposed:
        made = _aten.convolution(grad, weight, None, stride, padding, dilation, False, [0] * len(stride), groups)
        for d, size in enumerate(x.shape[2:], 2):
            made = made if made.size(d) == size else made.narrow(d, 0, size)
        return made
    rest = [size - ((count - 1) * s - 2 * p + d * (kernel - 1) + 1) for size, count, kernel, s, p, d
            in zip(x.shape[2:], grad.shape[2:], weight.shape[2:], stride, padding, dilation)]
    return _aten.convolution(grad, weight, None, stride, padding, dilation, True, rest, groups)


def _gradient_of_weight(grad, x, weight, stride, padding, dilation, groups):
    """x convolved with the gradient, which is as far apart as windows step; places behind the weights are cut off."""
    kernel = grad.reshape(grad.size(0), groups, -1, *grad.shape[2:]) if groups > 1 else grad
    if groups > 1:
        kernel = kernel.permute(1, 2, 0, *range(3, kernel.dim())).reshape(-1, grad.size(0), *grad.shape[2:])
    else:
        kernel = _swapped(grad)
    made = _aten.convolution(_groups_of_batch(x, groups), kernel, None, dilation, padding, stride, False,
                             [0] * len(stride), groups)
    for d, size in enumerate(weight.shape[2:], 2):
        made = made if made.size(d) == size else made.narrow(d, 0, size)
    return _swapped(made)


def _convolution_backward(grad, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
                          mask):
    n = x.dim() - 2
    stride, padding, dilation = (list(of) * n if len(of) == 1 else list(of) for of in (stride, padding, dilation))
    of_input = of_weight = of_bias = None
    if mask[0]:
        of_input = _gradient_of_input(grad, x, weight, stride, padding, dilation, transposed, groups)
    if mask[1]:
        a, b = (x, grad) if transposed else (grad, x)
        of_weight = _gradient_of_weight(a, b, weight, stride, padding, dilation, groups)
    if mask[2]:
        of_bias = torch.sum(grad, [d for d in range(grad.dim()) if d != 1])
    return of_input, of_weight, of_bias


def _average_backward(grad, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """Every place gets the gradients of the windows that it is in: a transposed convolution of each channel by ones."""
    n = len(kernel)
    stride, padding = list(stride) or kernel, list(padding)
    stride, padding = (of * n if len(of) == 1 else of for of in (stride, padding))
    rest = [size - ((count - 1) * s - 2 * p + k) for size, count, k, s, p
            in zip(x.shape[-n:], grad.shape[-n:], kernel, stride, padding)]
    if x.dim() != n + 2 or min(rest) < 0 or (any(padding) and not count_include_pad and divisor_override is None):
        return NotImplemented
    ones = torch.ones([x.size(1), 1, *kernel], dtype=grad.dtype, device=grad.device)
    shared = grad / (divisor_override if divisor_override is not None else math.prod(kernel))
    return _aten.convolution(shared, ones, None, stride, padding, [1] * n, True, rest, x.size(1))


# Formulas of the device: each rounds once. PyTorch's pieces of them are more, and one has no rule (prims.fma).
_KEPT = (_aten.addcmul, _aten.addcmul_, _aten.addcdiv, _aten.addcdiv_, _aten.lerp, _aten.lerp_)

_OURS = {
    _aten._softmax.default: _softmax,
    _aten._log_softmax.default: _log_softmax,
    _aten.native_layer_norm.default: _layer_norm,
    _aten.addmm.default: _addmm,
    _aten.baddbmm.default: _baddbmm,
    _aten.convolution.default: _convolution,
    _aten.convolution_backward.default: _convolution_backward,
    _aten.avg_pool2d_backward.default: _average_backward,
    _aten.avg_pool3d_backward.default: _average_backward,
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
    for op in _KEPT:
        for name in op.overloads():
            whole.pop(getattr(op, name), None)
    fused = {getattr(_aten, name).default: kernel for name, kernel in cells.KERNELS.items()}
    return whole | fused | compile_lists.table() | compile_places.TABLE | _OURS
