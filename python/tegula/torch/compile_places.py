"""Operations that find places, write at places or put tensors side by side, in pieces that calculate: comparisons with
the numbers 0, 1, 2 ... along a dimension, choices between two tensors, and reductions.

    the first place of the largest      min(where(x == max(x), 0 1 2 ..., n))
    scatter(x, dim, places, numbers)    where(0 1 2 ... == places, numbers, x), once for each place of a row
    topk                                the largest, then the largest of the others
    index_put of many rows, added up    a product with a matrix of zeros and ones, [rows of x, places]
    cumsum                              sums of where(0 1 2 ... <= 0 1 2 ..., x, 0), a matrix for each row

What would need many of these is left whole: it is then a boundary, as everything that has no rule.
"""
import torch

_aten = torch.ops.aten

MOST_ROUNDS = 8  # places of a row that are worth a choice each
MOST_ONES = 2**22  # elements of a matrix of zeros and ones


def _along(x, dim, dtype=torch.int64):
    """0, 1, 2 ... along a dimension, shaped for broadcasting with x."""
    return torch.arange(x.size(dim), dtype=dtype, device=x.device).view([-1] + [1] * (x.dim() - 1 - dim))


def _is_few(n):
    return isinstance(n, int) and n <= MOST_ROUNDS


# ---- the largest and the smallest ----------------------------------------------------------------


def _first(x, best, dim, taken=None):
    """The first place where x is `best` (NaN is NaN's equal), along dim, which stays with size 1."""
    found = (x == best) | (x != x) if x.is_floating_point() else x == best
    found = found if taken is None else found & ~taken
    # a place past the end, if nothing were found, would be no place
    return torch.amin(torch.where(found, _along(x, dim), x.size(dim) - 1), dim, keepdim=True)


def _best(reduce):
    def best(x, dim, keepdim=False):
        if x.dim() == 0 or x.dtype == torch.bool:
            return NotImplemented
        dim %= x.dim()
        values = reduce(x, dim, keepdim=True)
        places = _first(x, values, dim)
        return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))
    return best


def _place_of_best(reduce):
    def place(x, dim=None, keepdim=False):
        if x.dim() == 0 or x.dtype == torch.bool:
            return NotImplemented
        if dim is not None:
            return _best(reduce)(x, dim, keepdim)[1]
        found = _best(reduce)(x.reshape(-1), 0)[1]
        return found.view([1] * x.dim()) if keepdim else found
    return place


def _topk(x, k, dim=-1, largest=True, sorted=True):
    if not _is_few(k) or k == 0 or x.dim() == 0 or not x.is_floating_point() or not largest:
        return NotImplemented
    dim %= x.dim()
    numbers, taken, values, places = _along(x, dim), None, [], []
    for _ in range(k):
        values.append(torch.amax(x if taken is None else torch.where(taken, -torch.inf, x), dim, keepdim=True))
        places.append(_first(x, values[-1], dim, taken))
        here = numbers == places[-1]
        taken = here if taken is None else taken | here
    return torch.cat(values, dim), torch.cat(places, dim)


# ---- writing at places ---------------------------------------------------------------------------


def _rows(x, dim, places):
    """The places of each row, one after the other, where they are few and every row has some; else None."""
    if x.dim() == 0 or not _is_few(places.size(dim)):
        return None
    dim %= x.dim()
    if any(places.size(d) != x.size(d) for d in range(x.dim()) if d != dim):
        return None
    return [places.narrow(dim, j, 1) for j in range(places.size(dim))]


def _scatter_value(x, dim, places, value):
    rows = _rows(x, dim, places)
    if rows is None:
        return NotImplemented
    value = torch.full((), value, dtype=x.dtype, device=x.device)
    for row in rows:
        x = torch.where(_along(x, dim % x.dim()) == row, value, x)
    return x


def _numbers_of(x, dim, places, numbers):
    """Those that belong to the places: a tensor of numbers may be larger."""
    dim %= x.dim()
    for d in range(x.dim()):
        numbers = numbers if numbers.size(d) == places.size(d) else numbers.narrow(d, 0, places.size(d))
    return [numbers.narrow(dim, j, 1) for j in range(places.size(dim))]


def _scatter(x, dim, places, numbers):
    rows = _rows(x, dim, places)
    if rows is None:
        return NotImplemented
    for row, number in zip(rows, _numbers_of(x, dim, places, numbers)):
        x = torch.where(_along(x, dim % x.dim()) == row, number, x)
    return x


def _scatter_add(x, dim, places, numbers):
    rows = _rows(x, dim, places)
    if rows is None:
        return NotImplemented
    for row, number in zip(rows, _numbers_of(x, dim, places, numbers)):
        x = x + torch.where(_along(x, dim % x.dim()) == row, number, 0)
    return x


def _sums(ones, numbers):
    """ones @ numbers, where an infinity or NaN is for the rows alone that have it: 0 times it is NaN for all. In 16
    bits, too: on the device that code is the largest number, and infinity where a product runs on the CPU."""
    strange = ~(numbers.abs() < torch.inf)
    sums = ones @ torch.where(strange, 0, numbers)
    for end, other in ((torch.inf, -torch.inf), (-torch.inf, torch.inf)):
        found = (strange & (numbers != other)).to(numbers.dtype)  # NaN is both
        sums = sums + torch.where(ones @ found > 0, end, 0)
    return sums


def _index_put(x, indices, numbers, accumulate=False):
    """Rows along one dimension: few, or all added up by a product."""
    given = [d for d, places in enumerate(indices) if places is not None]
    if len(given) != 1 or indices[given[0]].dtype not in (torch.int64, torch.int32):
        return NotImplemented
    dim, places = given[0], indices[given[0]]
    size, rank = [*x.size()[:dim], *places.size(), *x.size()[dim + 1:]], places.dim()
    numbers = numbers.expand(size)
    numbers = numbers.flatten(dim, dim + rank - 1) if rank else numbers.unsqueeze(dim)
    places = torch.where(places < 0, places + x.size(dim), places).reshape(-1)
    if _is_few(places.size(0)):
        for j in range(places.size(0)):
            here, number = _along(x, dim) == places[j], numbers.narrow(dim, j, 1)
            x = x + torch.where(here, number, 0) if accumulate else torch.where(here, number, x)
        return x
    count = x.size(dim) * places.size(0)
    if not accumulate or not x.is_floating_point() or x.dim() > 2 or dim or not isinstance(count, int) or \
            count > MOST_ONES:
        return NotImplemented
    ones = (places.unsqueeze(-1) == torch.arange(x.size(0), device=x.device)).to(x.dtype)
    return x + _sums(ones.t(), numbers.reshape(places.size(0), -1)).view(x.size())


# ---- in order -----------------------------------------------------------------------------------


def _cumsum(x, dim, *, dtype=None):
    """Sums of choices of the numbers that come before: nothing is multiplied, so infinity stays where it is."""
    if x.dim() == 0 or not isinstance(x.numel(), int) or x.numel() * x.size(dim) > MOST_ONES:
        return NotImplemented
    wanted = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    x = x.to(wanted).movedim(dim, -1)
    before = torch.arange(x.size(-1), device=x.device)
    kept = torch.where(before <= before.unsqueeze(-1), x.unsqueeze(-2), 0)
    return torch.sum(kept, -1).to(wanted).movedim(-1, dim)


def _flip(x, dims):
    for dim in dims:
        x = torch.index_select(x, dim, x.size(dim) - 1 - torch.arange(x.size(dim), device=x.device))
    return x if dims else x.clone()


# ---- side by side --------------------------------------------------------------------------------


def _slice_scatter(x, piece, dim=0, start=None, end=None, step=1):
    size, dim = x.size(dim), dim % x.dim()
    if not isinstance(size, int):
        return NotImplemented
    first, _, _ = slice(start, end).indices(size)
    if step > 1 and size % step == 0 and first < step and piece.size(dim) == size // step:
        pieces = x.unflatten(dim, (size // step, step))  # one column of it is the piece
        return _select_scatter(pieces, piece, dim + 1, first).flatten(dim, dim + 1)
    if step != 1:
        return NotImplemented
    parts = [x.narrow(dim, 0, first), piece, x.narrow(dim, first + piece.size(dim), size - first - piece.size(dim))]
    parts = [part for part in parts if part.size(dim)]
    return torch.cat(parts, dim) if len(parts) > 1 else parts[0].clone()


def _copy(x, src, non_blocking=False):
    """What x is after it has been written over. PyTorch's own result lies as x does in its storage, the offset and gaps
    between its elements included; nobody asks for those of a tensor that is new."""
    order = sorted(range(x.dim()), key=x.stride, reverse=True)
    src = src.to(device=x.device, dtype=x.dtype).expand(x.size())
    made = src.permute(order).clone(memory_format=torch.contiguous_format)
    return made.permute([order.index(d) for d in range(x.dim())])


def _select_scatter(x, piece, dim, index):
    index = index + x.size(dim) if index < 0 else index
    return _slice_scatter(x, piece.unsqueeze(dim), dim, index, index + 1)


def _constant_pad(x, pad, value=0):
    made = x
    for pair in range(len(pad) // 2):
        dim, sides = x.dim() - 1 - pair, pad[2 * pair:2 * pair + 2]
        for side, count in enumerate(sides):
            if count < 0:
                made = made.narrow(dim, 0 if side else -count, made.size(dim) + count)
            elif count > 0:
                size = [count if d == dim else n for d, n in enumerate(made.size())]
                more = torch.full(size, value, dtype=x.dtype, device=x.device)
                made = torch.cat([made, more] if side else [more, made], dim)
    return made.clone() if made is x or made._base is not None else made


def _repeat(x, times):
    size = [1] * (len(times) - x.dim()) + list(x.size())
    pairs = [n for pair in zip(times, size) for n in pair]
    single = [n for m in size for n in (1, m)]
    return x.reshape(single).expand(pairs).clone().view([t * n for t, n in zip(times, size)])


TABLE = {
    _aten.max.dim: _best(torch.amax),
    _aten.min.dim: _best(torch.amin),
    _aten.argmax.default: _place_of_best(torch.amax),
    _aten.argmin.default: _place_of_best(torch.amin),
    _aten.topk.default: _topk,
    _aten.scatter.value: _scatter_value,
    _aten.scatter.src: _scatter,
    _aten.scatter_add.default: _scatter_add,
    _aten.index_put.default: _index_put,
    _aten.copy.default: _copy,
    _aten.cumsum.default: _cumsum,
    _aten.flip.default: _flip,
    _aten.slice_scatter.default: _slice_scatter,
    _aten.select_scatter.default: _select_scatter,
    _aten.constant_pad_nd.default: _constant_pad,
    _aten.repeat.default: _repeat,
}
