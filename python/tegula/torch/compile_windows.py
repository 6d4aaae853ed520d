"""Which node of a planner's graph an operation with windows becomes: convolutions, and pools.

A window moves along a dimension of space, and reads operand 0 at several places for one of the result: what Graph.add
calls a window. Such dimensions take part in no rule of sticks, since only channels lie there.
"""
import math

from tegula import _core


def _spread(words, n):
    """One number for each dimension of space."""
    return list(words) * n if len(words) == 1 else list(words)


def _windows(moves, sizes, x, first, kernel_steps, reverse=False):
    """Of dimensions `first` and on, which are loops of the result too; x is (node, shape, strides, offset)."""
    return [(first + i, size, *move, step, extent, kernel_step, reverse)
            for i, (size, move, extent, step, kernel_step)
            in enumerate(zip(sizes, moves, x[1][first:], x[2][first:], kernel_steps))]


def terms(dims, operand):
    """(node, terms, offset) of an operand (node, shape, strides, offset). What runs along a dimension: a loop; None
    where a window says it; () for nothing; several (loop, rounds), those of the inner one first."""
    node, shape, strides, offset = operand
    found = []
    for loops, size, step in zip(dims, shape, strides):
        for loop, rounds in loops if isinstance(loops, list) else [(loops, size)]:
            if step > 0 and rounds > 1 and loop != ():
                found.append((loop, step, 0, rounds) if loop is None else (loop, step))
            step *= rounds
    return node, found, offset


# ---- convolutions ------------------------------------------------------------------------------


def _moves(call, kernel):
    """How windows move. Transposed, elements of the activation are `stride` apart, and the weights are backwards."""
    n = len(kernel)
    rows = zip(kernel, *(_spread(call.named[key], n) for key in ("stride", "dilation", "padding")))
    if call.named["transposed"]:
        return [(1, dilation, stride, dilation * (size - 1) - low) for size, stride, dilation, low in rows]
    return [(stride, dilation, 1, low) for size, stride, dilation, low in rows]


def _is_whole(tensor, channels):
    return channels == 1 or channels % _core._spyre_elems_per_stick(tensor.dtype) == 0


def convolution(call):
    """Loops: those of the result, where that of channels counts within a group; in-channels of a group; groups. A loop
    of groups that have one channel is the loop of channels."""
    x, weight = call.tensors[:2]
    groups, transposed, shape = call.named["groups"], call.named["transposed"], list(call.result.size())
    if len(call.tensors) > 2:
        return call.boundary("its bias is no operation of its own")
    inner, outer, loops = x.size(1) // groups, shape[1] // groups, shape
    if groups > 1 and not (_is_whole(x, inner) and _is_whole(weight, outer)):
        return call.boundary("its groups of channels are not whole sticks")
    group, within = 1, 1
    if groups > 1 and outer > 1:
        group, loops[1] = len(loops), outer
        loops.append(groups)
    if groups == 1 or inner > 1:
        within = len(loops)
        loops.append(inner)
    elif groups > 1:
        within = group
    read, kernel = call.operand(0), call.operand(1)
    own = [(within, inner), (group, groups)] if groups > 1 and within != group else within
    made = [(1, outer), (group, groups)] if groups > 1 and group != 1 else 1
    sides = [own, (1 if outer > 1 else ())] if transposed else [made, (within if inner > 1 or groups == 1 else ())]
    unknown = [None] * (x.dim() - 2)
    moves, places = _moves(call, kernel[1][2:]), range(2, x.dim())
    words = call.words()
    whole = [loop for loop, move in zip(places, moves) if move[0] != 1]
    result = terms([0, made, *places], (None, tuple(call.result.size()), tuple(call.result.stride()), 0))[1]
    return call.graph.add(
        "convolution", words.pop("shape"), words.pop("dtype"), loops=loops, result=result, in_channel=within,
        out_channel=1, operands=[terms([0, own, *unknown], read), terms([*sides, *unknown], kernel)],
        windows=_windows(moves, kernel[1][2:], read, 2, kernel[2][2:], transposed), no_split=whole, **words)


# ---- pools -------------------------------------------------------------------------------------


def _pool_moves(call, n):
    """(sizes, moves) of n dimensions of space."""
    named = call.named
    sizes = _spread(named["kernel_size"], n)
    strides = _spread(named["stride"] or sizes, n)
    return sizes, list(zip(strides, _spread(named.get("dilation", [1]), n), [1] * n, _spread(named["padding"], n)))


def pool(call):
    """The largest, or the sum, of every window; places that are none count for nothing."""
    x, first = call.tensors[0], call.result.dim() - dimensions_of_pool(call)
    sizes, moves = _pool_moves(call, x.dim() - first)
    if all(x.size(d) == 1 for d in range(first)):
        return call.boundary("none of its dimensions can lie in sticks")
    read, places, words = call.operand(0), range(first, x.dim()), call.words()
    words["no_stick"] = sorted({*words["no_stick"], *places})
    return call.graph.add(
        "pointwise", words.pop("shape"), words.pop("dtype"), result=list(enumerate(call.result.stride())),
        operands=[terms([*range(first), *[None] * len(sizes)], read)],
        windows=_windows(moves, sizes, read, first, [0] * len(sizes)), **words)


def dimensions_of_pool(call):
    return 3 if "3d" in call.node.target.overloadpacket.__name__ else 2


def divisor_of_pool(call):
    """By what the sum of each window of an average pool is divided; None where windows differ in that."""
    n = dimensions_of_pool(call)
    sizes, moves = _pool_moves(call, n)
    if call.named["divisor_override"] is not None:
        return call.named["divisor_override"]
    for size, (stride, _, _, low), extent, count in zip(sizes, moves, call.tensors[0].shape[-n:],
                                                        call.result.shape[-n:]):
        if (low > 0 and not call.named["count_include_pad"]) or (count - 1) * stride + size > extent + 2 * low:
            return None
    return math.prod(sizes)


def average(call):
    if divisor_of_pool(call) is None:
        return call.boundary("its windows have different numbers of elements")
    return pool(call)
