"""torch.autocast("spyre"): which operations take 16-bit numbers, and which need 32.

The choice is the one that PyTorch's documents give for accelerators (torch.amp, "Op eligibility").
"""
import torch
from torch.utils._pytree import tree_map

_KEY = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

LOWER = ("matmul", "mm", "mv", "bmm", "addmm", "addmv", "addbmm", "baddbmm", "addr", "linear", "prelu", "conv1d",
         "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input", "convolution",
         "scaled_dot_product_attention", "linalg_vecdot", "chain_matmul", "linalg_multi_dot")
FLOAT32 = ("exp", "expm1", "log", "log10", "log2", "log1p", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar",
           "reciprocal", "rsqrt", "sinh", "cosh", "tan", "acos", "asin", "softplus", "softmax.int", "log_softmax.int",
           "layer_norm", "group_norm", "norm.Scalar", "cumprod", "cumsum", "prod", "sum", "sum.dim_IntList", "dist",
           "renorm", "cdist", "pdist", "cosine_similarity", "cosine_embedding_loss", "hinge_embedding_loss", "kl_div",
           "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss", "multi_margin_loss",
           "multilabel_margin_loss", "nll_loss", "nll_loss2d", "poisson_nll_loss", "soft_margin_loss",
           "triplet_margin_loss", "binary_cross_entropy_with_logits")
WIDEST = ("addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put", "scatter_add",
          "tensordot", "vdot", "cat", "stack")


def _cast(value, dtype):
    if isinstance(value, torch.Tensor) and value.is_floating_point() and value.device.type == "spyre":
        return value.to(dtype)
    return value


def _widest(args):
    floats = [v.dtype for v in torch.utils._pytree.tree_leaves(args)
              if isinstance(v, torch.Tensor) and v.is_floating_point() and v.device.type == "spyre"]
    return torch.float32 if torch.float32 in floats else torch.get_autocast_dtype("spyre")


def _kernel(op, dtype_of):
    def run(*args, **kwargs):
        with torch._C._ExcludeDispatchKeyGuard(_KEY):
            dtype = dtype_of((args, kwargs))
            args, kwargs = tree_map(lambda v: _cast(v, dtype), (args, kwargs))
            return op(*args, **kwargs)
    return run


def register():
    library = torch.library.Library("aten", "IMPL")
    rules = {LOWER: lambda given: torch.get_autocast_dtype("spyre"), FLOAT32: lambda given: torch.float32,
             WIDEST: _widest}
    for names, dtype_of in rules.items():
        for name in names:
            packet, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, packet), overload or "default")
            library.impl(name, _kernel(op, dtype_of), "AutocastPrivateUse1")
    return library
