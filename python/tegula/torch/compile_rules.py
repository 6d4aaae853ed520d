"""Which node of a planner's graph an operation of PyTorch becomes.

A rule takes a Call (compile_lower.py) and adds one node to its graph. Operands are asked for in the order in which the
node has them. What no rule knows is a boundary: it runs, and nothing is known of its layouts but that results have the
default one. To add an operation: a row in RULES.
"""
import operator

import torch

from tegula.torch import compile_places, compile_windows
from tegula.torch.compile_windows import terms as _terms

_aten = torch.ops.aten


def pointwise(call):
    operands = [call.operand(i) for i in range(len(call.tensors))]
    if not operands:
        return constant(call)
    return call.graph.pointwise(operands, **call.words())


def constant(call):
    return call.graph.pointwise([], kind="constant", **call.words())


def counting(call):
    """arange: known beforehand, in any layout."""
    return call.graph.pointwise([], kind="default", **call.words())


def clone(call):
    return call.graph.pointwise([call.operand(0)], kind="clone", **call.words())


def convert(call):
    """From the host nothing is read, so what arrives is as a constant; else element by element."""
    if not call.tensors:
        return call.boundary("comes from the host")
    if call.tensors[0].dtype == call.result.dtype:
        return clone(call)
    return pointwise(call)


# ---- reductions --------------------------------------------------------------------------------


def _dims(call):
    dims = call.named.get("dim")
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return list(range(call.tensors[0].dim()))
    return list(dims) if isinstance(dims, (list, tuple)) else [dims]


def _reduction(how):
    def rule(call):
        if call.tensors[0].dim() == 0:
            return pointwise(call)
        keep = bool(call.named.get("keepdim", False))
        return call.graph.reduce(call.operand(0), _dims(call), how, keep_dims=keep, **call.words())
    return rule


# ---- products ----------------------------------------------------------------------------------


def matmul(call):
    return call.graph.matmul(call.operand(0), call.operand(1), **call.words())


# ---- what data picks ---------------------------------------------------------------------------


def _gather(call, table, indices, table_loops, index_loops):
    words = call.words()
    return call.graph.add("gather", words.pop("shape"), words.pop("dtype"), loops=tuple(call.result.size()),
                          operands=[_terms(table_loops, call.operand(table)),
                                    _terms(index_loops, call.operand(indices))],
                          result=list(enumerate(call.result.stride())), **words)


def embedding(call):
    rank = call.tensors[1].dim()
    return _gather(call, 0, 1, [None, rank], range(rank))


def index_select(call):
    rank = call.tensors[0].dim()
    if rank == 0:
        return pointwise(call)
    dim = call.named["dim"] % rank
    return _gather(call, 0, 1, [None if d == dim else d for d in range(rank)], [dim])


def index(call):
    """x[:, indices]: one tensor of indices, at any dimension."""
    given = call.named["indices"]
    places = [d for d, i in enumerate(given) if i is not None]
    if len(places) != 1 or len(call.tensors) != 2 or call.tensors[1].dtype not in (torch.int64, torch.int32):
        return call.boundary("only one tensor of indices has a rule")
    dim, rank = places[0], call.tensors[1].dim()
    loops = [None if d == dim else d if d < dim else d + rank - 1 for d in range(call.tensors[0].dim())]
    return _gather(call, 0, 1, loops, range(dim, dim + rank))


def gather(call):
    rank, dim = call.tensors[0].dim(), call.named["dim"]
    if rank == 0:
        return pointwise(call)
    return _gather(call, 0, 1, [None if d == dim % rank else d for d in range(rank)], range(rank))


# ---- pieces ------------------------------------------------------------------------------------


def cat(call):
    dim = call.named.get("dim", 0) % call.result.dim()
    return call.graph.concatenate([call.operand(i) for i in range(len(call.tensors))], dim, **call.words())


def _table(rule, *names):
    return {_overload(name): rule for name in names}


def _overload(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(_aten, packet), overload or "default")


_MANY = f"places are calculated one after the other, {compile_places.MOST_ROUNDS} of a row at most"

# Why there is no rule, where more can be said than that.
_REASONS = {
    "topk": _MANY + ", and the largest alone",
    "index_put": f"rows of one dimension are written, {compile_places.MOST_ROUNDS} at most or all of them added up",
    "cumsum": f"it would take more than {compile_places.MOST_ONES} choices",
    **dict.fromkeys(("scatter", "scatter_add"), _MANY),
    **dict.fromkeys(("sort", "argsort", "median", "nanmedian", "kthvalue", "mode"),
                    "the device has nothing that sorts"),
    **dict.fromkeys(("native_dropout", "bernoulli", "multinomial", "rand", "randn", "randint", "randperm", "rand_like",
                     "randn_like", "randint_like"), "random numbers are the CPU's"),
}


def reason_of(op, otherwise):
    """Why an operation is a boundary."""
    if isinstance(op, torch._ops.HigherOrderOperator):
        return "its branches and rounds are programs of their own"
    return _REASONS.get(op.overloadpacket.__name__, otherwise) if isinstance(op, torch._ops.OpOverload) else otherwise


RULES = {
    **_table(clone, "clone", "lift_fresh_copy"),
    **_table(convert, "_to_copy"),
    **_table(constant, "full", "scalar_tensor", "zeros", "ones", "empty.memory_format", "empty_strided", "full_like",
             "zeros_like", "ones_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty",
             "new_empty_strided", "empty_permuted"),
    **_table(counting, "arange", "arange.start", "arange.start_step"),
    **_table(_reduction("sum"), "sum", "sum.dim_IntList", "mean", "mean.dim"),
    **_table(_reduction("max"), "amax", "max"),
    **_table(_reduction("min"), "amin", "min"),
    **_table(_reduction("product"), "prod", "prod.dim_int"),
    **_table(_reduction("or"), "any", "any.dim", "any.dims"),
    **_table(_reduction("and"), "all", "all.dim", "all.dims"),
    **_table(matmul, "mm", "bmm", "mv", "dot"),
    **_table(compile_windows.convolution, "convolution"),
    **_table(compile_windows.average, "avg_pool2d", "avg_pool3d"),
    **_table(compile_windows.pool, "max_pool2d_with_indices", "max_pool3d_with_indices"),
    **_table(embedding, "embedding"),
    **_table(index_select, "index_select"),
    **_table(index, "index.Tensor", "_unsafe_index.Tensor"),
    **_table(gather, "gather"),
    **_table(cat, "cat"),
}

# Of several results the rule makes the first one, which has to be all that anybody asks for.
_MAKES_FIRST = {_overload(name) for name in ("max_pool2d_with_indices", "max_pool3d_with_indices")}

COPIES = {_overload(name) for name in ("clone", "lift_fresh_copy")}  # they move elements, and calculate nothing
RESHAPES = {_overload(name) for name in ("view", "_unsafe_view", "reshape")}
_NO_VIEWS = {_overload(name) for name in ("view.dtype", "view_as_complex", "view_as_real")}

# Operations that can be told which dimension of the result lies in the sticks: loops are dimensions first.
TAKES_STICK = {op for op, rule in RULES.items() if rule in (constant, convert, counting, matmul, cat)}


def takes_stick(op):
    return op in TAKES_STICK or rule_of(op) is pointwise


def is_view(op):
    """Whether the result is elements of the operand, where they are."""
    if not isinstance(op, torch._ops.OpOverload) or op in _NO_VIEWS:
        return False
    return op in RESHAPES or any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns)


def makes_all(node):
    """Whether a rule makes all of the results of a node of torch.fx that anybody asks for, though it has several."""
    return node.target in _MAKES_FIRST and all(user.target is operator.getitem and user.args[1] == 0
                                               for user in node.users)


def rule_of(op):
    """None: a boundary."""
    if op in RULES:
        return RULES[op]
    if isinstance(op, torch._ops.OpOverload) and torch.Tag.pointwise in op.tags:
        return pointwise
    return None
