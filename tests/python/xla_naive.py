"""Shapes for random tests, and XLA's questions about them answered by enumeration of the elements.

The index map is that of oracle.py; nothing here knows strides, digits, factors or any other short cut.
"""
import itertools
import math

import oracle as o
from oracle_cases import listed


class Array:
    """dims, minor_to_major and the properties of one array."""

    def __init__(self, dims, order, tiles=(), tail=1, bits=0, space=0, splits=(), prefix=0, dtype="f32"):
        self.dims, self.order, self.tiles = list(dims), list(order), [list(tile) for tile in tiles]
        self.tail, self.bits, self.space, self.splits, self.prefix = tail, bits, space, list(splits), prefix
        self.dtype = dtype

    def but(self, **changes):
        names = ("dims", "order", "tiles", "tail", "bits", "space", "splits", "prefix", "dtype")
        return Array(**({name: getattr(self, name) for name in names} | changes))

    @property
    def text(self):
        properties = "T" + "".join("(" + listed(t)[1:-1] + ")" for t in self.tiles) if self.tiles else ""
        properties += f"L({self.tail})" if self.tail != 1 else ""
        properties += f"E({self.bits})" if self.bits else ""
        properties += f"S({self.space})" if self.space else ""
        properties += "SC" + "".join(f"({d}:{listed(cuts)[1:-1]})" for d, cuts in self.splits) if self.splits else ""
        properties += f"M({self.prefix})" if self.prefix else ""
        inside = listed(self.order)[1:-1] + (":" + properties if properties else "")
        return f"{self.dtype}{listed(self.dims)}" + ("{" + inside + "}" if inside else "")

    def __repr__(self):
        return self.text

    @property
    def width(self):
        return self.bits or o.STORAGE_BITS[self.dtype]

    @property
    def numel(self):
        return math.prod(self.dims)

    def layout(self):
        return o.xla(self.dims, self.order, self.tiles, self.width, self.tail)

    def untiled(self):
        return self.but(tiles=[], tail=1, bits=0)

    def places(self):
        """Slots in row-major order of the elements, and the storage in slots."""
        layout = self.layout()
        return list(layout.table().values()), layout.span


def unravel(number, dims):
    coord = []
    for n in reversed(dims):
        coord.insert(0, number % n)
        number //= n
    return tuple(coord)


def ravel(coord, dims):
    number = 0
    for x, n in zip(coord, dims):
        number = number * n + x
    return number


def same_memory(a, b, ignore_type=False):
    split_alike = not (a.splits or b.splits) or (
        a.splits == b.splits and a.tiles == b.tiles
        and [a.dims[d] for d in a.order] == [b.dims[d] for d in b.order])
    return ((ignore_type or a.dtype == b.dtype) and a.width == b.width and a.space == b.space
            and max(a.prefix, 0) == max(b.prefix, 0) and split_alike)


def reshape_is_bitcast(a, b, ignore_type=False):
    return a.numel == b.numel and same_memory(a, b, ignore_type) and a.places() == b.places()


def transpose_is_bitcast(a, b, perm, ignore_type=False):
    if [a.dims[d] for d in perm] != b.dims or not same_memory(a, b, ignore_type):
        return False
    x, y = a.layout(), b.layout()
    moved = lambda c: tuple(c[perm.index(d)] for d in range(len(perm)))
    if x.span != y.span:
        return False
    at = x.table()
    return all(place == at[moved(c)] for c, place in y.table().items())


def any_transpose(a, b):
    if len(a.dims) != len(b.dims):
        return False
    return any(transpose_is_bitcast(a, b, list(p), True) for p in itertools.permutations(range(len(a.dims))))


def orders(ndim):
    return itertools.permutations(range(ndim))


def reread(a, b):
    """What reading the bytes of a as b does: {coordinate of b: coordinate of a, or None where a has no element}."""
    held = a.layout().inverse()
    return {c: held.get(place) for c, place in b.layout().table().items()}


# ---- random shapes ------------------------------------------------------------------------------------


def factored(rng, numel, ndim):
    """ndim sizes with this product."""
    dims = [1] * ndim
    while ndim and numel > 1:
        prime = next(p for p in itertools.count(2) if numel % p == 0)
        dims[rng.randrange(ndim)] *= prime
        numel //= prime
    return dims


def random_tile(rng, places):
    tile = [rng.choice((1, 1, 2, 2, 3, 4)) for _ in range(rng.randint(1, places + 1))]
    for i in range(len(tile) - 1):
        if rng.random() < 0.12:
            tile[i] = o.COMBINE
    return tile


def random_tiles(rng, ndim, levels=(0, 0, 1, 1, 2)):
    tiles, places = [], ndim
    for _ in range(rng.choice(levels)):
        tile = random_tile(rng, min(places, 3))
        tiles.append(tile)
        places = max(places, len(tile)) + len(tile) - 2 * tile.count(o.COMBINE)
    return tiles


def random_order(rng, ndim):
    return rng.sample(range(ndim), ndim)


def random_array(rng, dims=None, **levels):
    if dims is None:
        dims = [rng.choice((1, 1, 2, 3, 4, 5, 6)) for _ in range(rng.randint(0, 4))]
    ndim = len(dims)
    a = Array(dims, random_order(rng, ndim), random_tiles(rng, ndim, **levels))
    if rng.random() < 0.2:
        a.tail = rng.choice((2, 4, 5, 16))
    if rng.random() < 0.1:
        a.bits = rng.choice((16, 4))
    return a


def random_splits(rng, a):
    splits = []
    for physical, d in enumerate(reversed(a.order)):
        if 1 < a.dims[d] < 9 and rng.random() < 0.4:
            splits.append((physical, sorted(rng.sample(range(1, a.dims[d]), rng.randint(1, a.dims[d] - 1)))))
    return splits


def flavour(rng, a):
    """Properties that do not move elements."""
    if rng.random() < 0.1:
        a.space = 1
    if rng.random() < 0.1:
        a.prefix = 8
    if rng.random() < 0.1:
        a.splits = random_splits(rng, a)
    if rng.random() < 0.1:
        a.dtype = "s32"
