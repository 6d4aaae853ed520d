"""An independent judge of layouts: slow, obvious, and written from the definitions alone.

A layout is a function from a coordinate to the offsets that hold its element. Everything else follows by
enumeration into dictionaries: what lives at an offset, what is padding, equality. There are three ways
to make one, each a literal transcription:

  strided   offset + dot(coordinate, strides)                                    PyTorch
  xla       split level by level, count row-major                                spec of XLA layouts, 4.2
  spyre     host_offset = dot(device_coordinate, stride_map)                     seed 001

The last line is an equation, and it may have several solutions: device dimensions with room to spare, or with
the same stride. The one that counts has 0 in every synthetic dimension. Where every host dimension can be paid
for by device dimensions of its own, whose steps are multiples of its stride and do not pass its end, each is
(what passes the end of its dimension is padding: docs/notation.md, rule 1). Else the whole offset is paid for,
and the solution is the greatest when the device dimensions are compared by decreasing stride_map, ties
outermost first: large steps first, like paying with the largest coins.

A stride of 0 leaves the equation open: a device dimension of stride_map 0 walks a host dimension of stride 0,
and what is left over replicates. tests/python/test_oracle_self.py holds this
definition against the pair checksums of torch-spyre's own round-trip tests before anything relies on it.
"""
import functools
import itertools
import math

import numpy as np

COMBINE = "*"

# format: elements per 128-byte stick. Source: torch-spyre's table, spec 1.7.
STICK = {"SEN169_FP16": 64, "IEEE_FP32": 32, "SENINT8": 128, "SENINT16": 64, "IEEE_INT32": 32, "SEN143_FP8": 128,
         "SEN152_FP8": 128, "SENUINT32": 32, "SENUINT2": 512, "SENINT2": 512, "SENINT4": 256}

# XLA's name of an element type: the format in which Spyre keeps it.
DEVICE_FORMAT = {"f16": "SEN169_FP16", "bf16": "SEN169_FP16", "pred": "SEN169_FP16", "f32": "IEEE_FP32",
                 "s8": "SENINT8", "s16": "SENINT16", "s32": "IEEE_INT32", "s64": "IEEE_INT32", "u8": "SENUINT32",
                 "f8e4m3fn": "SEN143_FP8", "f8e5m2fnuz": "SEN152_FP8"}

# XLA's name: bits of one element in memory when nothing packs it.
STORAGE_BITS = {"pred": 8, "s4": 8, "u4": 8, "u2": 8, "u1": 8, "s8": 8, "u8": 8, "f8e4m3fn": 8, "f8e5m2fnuz": 8,
                "f6e3m2fn": 8, "f16": 16, "bf16": 16, "s16": 16, "u16": 16, "f32": 32, "s32": 32, "u32": 32,
                "f64": 64, "s64": 64, "u64": 64, "c64": 64, "c128": 128}


class Unreachable(Exception):
    """A host element has no device position: the layout is not one."""


class Layout:
    """`place(coordinate)` lists the offsets of its element, the one that counts first. Where there is one, and `place`
    only calculates, it may be called with arrays (`many`): the same formula, for all coordinates at once."""

    def __init__(self, shape, bits, span, place, base=0, many=False):
        self.shape, self.bits, self.span, self.place, self.base = tuple(shape), bits, span, place, base
        self.many = many

    @property
    def numel(self):
        return math.prod(self.shape)

    def coords(self):
        return itertools.product(*(range(n) for n in self.shape))

    @functools.cached_property
    def places(self):
        if not self.many or self.numel < 4 or self.span > 2**31:
            return {c: self.place(c) for c in self.coords()}
        held = np.broadcast_to(self.place(np.indices(self.shape).reshape(len(self.shape), -1))[0], self.numel)
        return {c: [offset] for c, offset in zip(self.coords(), held.tolist(), strict=True)}

    def table(self):
        return {c: held[0] for c, held in self.places.items()}

    def copies(self):
        return {c: frozenset(held) for c, held in self.places.items()}

    def inverse(self):
        """{offset: the first coordinate in row-major order}; the other offsets of the storage are padding."""
        found = {}
        for c, held in self.places.items():
            for offset in held:
                found.setdefault(offset, c)
        return found

    def coverage(self):
        """(unique, exhaustive, offsets that hold data)"""
        taken = [offset for held in self.places.values() for offset in set(held)]
        data = len(set(taken))
        return data == len(taken), data == self.span, data


def same(a, b, storage=False):
    return (a.shape == b.shape and a.bits == b.bits and a.table() == b.table() and a.copies() == b.copies()
            and (not storage or a.span == b.span))


def row_major(sizes):
    strides, step = [], 1
    for n in reversed(sizes):
        strides.insert(0, step)
        step *= n
    return strides


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


# ---- strided ----------------------------------------------------------------------


def strided(shape, strides, offset, bits):
    place = lambda c: [offset + dot(c, strides)]
    if math.prod(shape) == 0:
        return Layout(shape, bits, 0, place)
    reach = [(n - 1) * s for n, s in zip(shape, strides)]
    lowest = offset + sum(r for r in reach if r < 0)
    highest = offset + sum(r for r in reach if r > 0)
    base = min(0, lowest)
    return Layout(shape, bits, highest - base + 1, place, base, many=True)


# ---- XLA ----------------------------------------------------------------------------


def xla_physical(dims, index, tiles):
    """The physical dims and the physical index after all tile levels; `tiles` holds numbers and COMBINE."""
    dims, index = list(dims), list(index)
    for tile in tiles:
        tile = list(tile)
        while len(tile) > len(dims):
            dims.insert(0, 1)
            index.insert(0, 0)
        first = len(dims) - len(tile)
        while COMBINE in tile:
            t = tile.index(COMBINE)
            d = first + t
            index[d : d + 2] = [index[d] * dims[d + 1] + index[d + 1]]
            dims[d : d + 2] = [dims[d] * dims[d + 1]]
            del tile[t]
        tiled, at = dims[first:], index[first:]
        dims = dims[:first] + [-(-n // t) for n, t in zip(tiled, tile)] + tile
        index = index[:first] + [e // t for e, t in zip(at, tile)] + [e % t for e, t in zip(at, tile)]
    return dims, index


def xla(shape, minor_to_major, tiles, bits, tail_padding=1):
    major_to_minor = list(reversed(minor_to_major))
    physical = [shape[d] for d in major_to_minor]
    dims = xla_physical(physical, [0] * len(physical), tiles)[0]
    strides, elements = row_major(dims), math.prod(dims)

    def place(coord):
        return [dot(xla_physical(physical, [coord[d] for d in major_to_minor], tiles)[1], strides)]

    span = -(-elements // tail_padding) * tail_padding
    return Layout(shape, bits, span, place, many=True)


# ---- Spyre --------------------------------------------------------------------------


def spyre_default(shape, strides, stick, order=None, keep_unit_dims=False):
    """(device_size, stride_map) by the constructor's rule, spec 1.3. Without keep_unit_dims the dimensions
    of size 1 are taken out first, from the shape and from the order."""
    order = list(range(len(shape))) if order is None else list(order)
    if not keep_unit_dims:
        order = [d for d in order if d == -1 or shape[d] != 1]
    if [d for d in order if d != -1] == [] and not (keep_unit_dims and shape):
        return [1, stick], [-1, -1]
    walk = order[1:] + [order[0]] + [order[-1]] if len(order) > 1 else [order[0], order[0]]
    count = len(walk) - 3 if len(walk) > 2 else 0
    size = [1 if d == -1 else shape[d] for d in walk]
    size[count] = 1 if walk[-1] == -1 else -(-shape[walk[-1]] // stick)
    size[-1] = stick
    stride_map, running = [0] * len(walk), {}
    for k in reversed(range(len(walk))):
        d = walk[k]
        if d == -1 or shape[d] == 1:
            stride_map[k] = -1
            continue
        stride_map[k] = running[d] if d in running else strides[d]
        running[d] = stride_map[k] * size[k]
    return size, stride_map


def solver(device_size, stride_map):
    """A function from a host offset to the greatest device coordinate that solves the identity, or None."""
    order = sorted((k for k, m in enumerate(stride_map) if m > 0 and device_size[k] != 1),
                   key=lambda k: (-stride_map[k], k))
    room = [sum((device_size[k] - 1) * stride_map[k] for k in order[i:]) for i in range(len(order) + 1)]
    at = [0] * len(device_size)

    def search(i, rest):
        if i == len(order):
            return rest == 0
        k = order[i]
        step = stride_map[k]
        for q in range(min(device_size[k] - 1, rest // step), -1, -1):
            if rest - q * step > room[i + 1]:
                return False
            at[k] = q
            if search(i + 1, rest - q * step):
                return True
        return False

    def solve(host_offset):
        if host_offset < 0 or 0 in device_size:
            return None
        return list(at) if search(0, host_offset) else None

    return solve


def owners(shape, strides, device_size, stride_map):
    """{device dimension: host dimension} if each host dimension can be paid for by itself, else None."""
    loops = sorted((k for k, m in enumerate(stride_map) if m > 0 and device_size[k] > 1),
                   key=lambda k: (-stride_map[k], k))
    dims = sorted((d for d, n in enumerate(shape) if n > 1 and strides[d] > 0), key=lambda d: (-strides[d], d))
    if 0 in shape:
        return None

    def assign(i, left):
        if i == len(loops):
            return {} if all(n == 1 for n in left.values()) else None
        k = loops[i]
        inside = [d for d in dims if stride_map[k] % strides[d] == 0 and stride_map[k] // strides[d] < left[d]]
        for d in inside:
            weight = stride_map[k] // strides[d]
            if -(-left[d] // weight) <= device_size[k]:
                rest = assign(i + 1, {**left, d: weight})
                if rest is not None:
                    return {k: d, **rest}
        return None if inside else assign(i + 1, left)

    return assign(0, {d: shape[d] for d in dims})


def pay_each(coord, strides, device_size, stride_map, owner):
    """The device coordinate when every host dimension is paid for by its own device dimensions."""
    at, left = [0] * len(device_size), list(coord)
    for k in sorted(owner, key=lambda k: (-stride_map[k], k)):
        weight = stride_map[k] // strides[owner[k]]
        at[k], left[owner[k]] = divmod(left[owner[k]], weight)
    return at


def pays_with_coins(host_offset, device_size, stride_map):
    """Whether dividing by the strides, the largest first, finds the device coordinate without looking back."""
    steps = [k for k, m in enumerate(stride_map) if m > 0 and device_size[k] != 1]
    for k in sorted(steps, key=lambda k: (-stride_map[k], k)):
        if host_offset // stride_map[k] >= device_size[k]:
            return False
        host_offset %= stride_map[k]
    return host_offset == 0


def arranged(arrangement, stick, lane):
    """Where the element of (stick, lane) is once the elements are staggered. Spec 2.6."""
    if arrangement == "DL16_TO_FP32":
        column = 32 * stick + lane
        pair, g, sp, e = column // 64, column % 64 // 8, column % 8 // 4, column % 4
        return 2 * pair + sp, 4 * g + e
    if arrangement == "FP32_TO_DL16":
        half, g, e = lane // 32, lane % 32 // 4, lane % 4
        return stick, 8 * g + 4 * half + e
    return stick, lane


def expanded(shape, strides, device_size, stride_map):
    """{device dimension: host dimension} where both have stride 0: in host order, each once, if it is long enough."""
    walks = {}
    for d in (d for d in range(len(shape)) if shape[d] != 1 and strides[d] == 0):
        free = [k for k, m in enumerate(stride_map) if m == 0 and k not in walks and device_size[k] >= shape[d] > 1]
        if free:
            walks[free[0]] = d
    return walks


def stick_count(device_size, stride_map, owner=None):
    """The device dimension that counts sticks along the dimension of the stick; None if there is one stick."""
    wanted, last = device_size[-1] * stride_map[-1], len(device_size) - 1
    for k in range(last):
        of_another = owner is not None and owner.get(k, owner.get(last)) != owner.get(last)
        if stride_map[-1] > 0 and device_size[k] > 1 and stride_map[k] == wanted and not of_another:
            return k
    return None


def spyre(shape, strides, device_size, stride_map, bits, arrangement="STANDARD"):
    device_strides = row_major(device_size)
    owner = owners(shape, strides, device_size, stride_map)
    count = stick_count(device_size, stride_map, owner)
    solve = solver(device_size, stride_map)
    walks = expanded(shape, strides, device_size, stride_map)
    replicates = [k for k, m in enumerate(stride_map) if m == 0 and k not in walks]

    def place(coord):
        if owner is not None and 0 not in device_size:
            at = pay_each(coord, strides, device_size, stride_map, owner)
        else:
            at = solve(dot(coord, strides))
        if at is None:
            raise Unreachable(coord)
        stick, at[-1] = arranged(arrangement, 0 if count is None else at[count], at[-1])
        if count is not None:
            at[count] = stick
        elif stick != 0:
            raise Unreachable(coord)
        for k, d in walks.items():
            at[k] = coord[d]
        if not replicates:
            return [dot(at, device_strides)]
        copies = [range(n) if k in replicates else [at[k]] for k, n in enumerate(device_size)]
        return [dot(copy, device_strides) for copy in itertools.product(*copies)]

    many = owner is not None and 0 not in device_size and not replicates and arrangement == "STANDARD"
    return Layout(shape, bits, math.prod(device_size), place, many=many)


def dim_map_strides(shape, strides, device_size, dim_map):
    """The stride_map that a legacy dim_map means: the device dimensions of one host dimension are its digits,
    the rightmost the lowest. Spec 1.10."""
    stride_map, weight = [0] * len(dim_map), {}
    for k in reversed(range(len(dim_map))):
        d = dim_map[k]
        if d == -1:
            stride_map[k] = -1
            continue
        stride_map[k] = strides[d] * weight.get(d, 1)
        weight[d] = weight.get(d, 1) * device_size[k]
    return stride_map
