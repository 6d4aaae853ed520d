"""Convolutions and pools from their definition, and random ones as HLO text.

A window along a dimension reads places (position * stride + w * dilation - low) / base_dilation; places that are none
count for nothing. Nothing here is taken from the library.
"""
import dataclasses
import itertools

import numpy as np


@dataclasses.dataclass
class Window:
    size: int
    stride: int = 1
    low: int = 0
    high: int = 0
    base: int = 1
    dilation: int = 1
    reversal: bool = False

    def positions(self, extent):
        wide = (extent - 1) * self.base + 1 + self.low + self.high if extent else 0
        return max(0, (wide - (self.size - 1) * self.dilation - 1) // self.stride + 1)

    def places(self, extent):
        """A matrix [position, w]: the place that is read, or -1."""
        at = (np.arange(self.positions(extent))[:, None] * self.stride + np.arange(self.size) * self.dilation -
              self.low)
        there = (at >= 0) & (at % self.base == 0) & (at // self.base < extent)
        return np.where(there, at // self.base, -1)


def text_of(windows):
    def each(field, default, show=str):
        values = [getattr(w, field) for w in windows]
        return "x".join(map(show, values)) if any(v != default for v in values) else None
    pad = "x".join(f"{w.low}_{w.high}" for w in windows) if any(w.low or w.high for w in windows) else None
    fields = {"size": "x".join(str(w.size) for w in windows), "stride": each("stride", 1), "pad": pad,
              "lhs_dilate": each("base", 1), "rhs_dilate": each("dilation", 1),
              "rhs_reversal": each("reversal", False, lambda r: str(int(r)))}
    return "{" + " ".join(f"{key}={value}" for key, value in fields.items() if value) + "}"


def convolve(x, k, windows, groups=1, batch_groups=1):
    """x [n, c, space...], k [o, c of a group, space...], in float64: [n of a group, o, positions...]."""
    extents, n, out = x.shape[2:], x.shape[0] // batch_groups, k.shape[0]
    result = np.zeros((n, out, *(w.positions(e) for w, e in zip(windows, extents))))
    tables = [w.places(e) for w, e in zip(windows, extents)]
    own = k.shape[1]
    for o in range(out):
        g, b = o // (out // groups), o // (out // batch_groups)
        read = x[b * n:(b + 1) * n, g * own:(g + 1) * own]
        for at in itertools.product(*map(range, result.shape[2:])):
            for within in itertools.product(*(range(w.size) for w in windows)):
                place = [table[p, i] for table, p, i in zip(tables, at, within)]
                if min(place, default=0) < 0:
                    continue
                tap = [w.size - 1 - i if w.reversal else i for w, i in zip(windows, within)]
                result[(slice(None), o, *at)] += read[(..., *place)] @ k[(o, slice(None), *tap)]
    return result


def pool(x, windows, reduce, start):
    """Windows along all dimensions."""
    tables = [w.places(e) for w, e in zip(windows, x.shape)]
    result = np.full([len(table) for table in tables], float(start))
    for at in np.ndindex(*result.shape):
        for within in itertools.product(*(range(w.size) for w in windows)):
            place = tuple(table[p, i] for table, p, i in zip(tables, at, within))
            if min(place) >= 0:
                result[at] = reduce(result[at], x[place])
    return result


# ---- random ones ---------------------------------------------------------------------------------


def random_window(rng, extent, reversal=True):
    """One that has a position at least."""
    while True:
        w = Window(int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 3])), int(rng.choice([0, 0, 1, 2, -1])),
                   int(rng.choice([0, 0, 1, 3, -1])), int(rng.choice([1, 1, 1, 2, 3])),
                   int(rng.choice([1, 1, 2])), bool(reversal and rng.integers(4) == 0))
        if w.positions(extent) > 0:
            return w


@dataclasses.dataclass
class Case:
    text: str
    x: np.ndarray
    k: np.ndarray
    wanted: np.ndarray


def random_case(seed, dtype="f32"):
    """Of 1 to 3 dimensions of space, and any order of dimensions."""
    rng = np.random.default_rng(seed)
    space = int(rng.integers(1, 4))
    extents = [int(rng.integers(2, 6)) for _ in range(space)]
    windows = [random_window(rng, e) for e in extents]
    groups, batch_groups = [(1, 1), (1, 1), (2, 1), (5, 1), (1, 2)][int(rng.integers(5))]
    own = int(rng.choice([1, 2, 5, 33, 64])) if groups == 1 else int(rng.choice([1, 32, 64]))
    each = int(rng.choice([1, 3, 40, 64])) if groups * batch_groups == 1 else int(rng.choice([1, 32]))
    x = rng.standard_normal((2 * batch_groups, own * groups, *extents)).astype(np.float32)
    k = rng.standard_normal((each * groups * batch_groups, own, *(w.size for w in windows))).astype(np.float32)
    wanted = convolve(x.astype(np.float64), k.astype(np.float64), windows, groups, batch_groups)
    orders = [list(rng.permutation(space + 2)) for _ in range(3)]
    names = ["bf", "oi", "bf"]
    labels = ["".join((name + "012"[:space])[d] for d in order) for name, order in zip(names, orders)]
    shapes = [",".join(str(a.shape[d]) for d in order) for a, order in zip((x, k, wanted), orders)]
    more = (f", feature_group_count={groups}" if groups > 1 else "") + (
        f", batch_group_count={batch_groups}" if batch_groups > 1 else "")
    text = (f"ENTRY e {{ x = {dtype}[{shapes[0]}] parameter(0)\n  k = {dtype}[{shapes[1]}] parameter(1)\n"
            f"  ROOT c = {dtype}[{shapes[2]}] convolution(x, k), window={text_of(windows)}, "
            f"dim_labels={labels[0]}_{labels[1]}->{labels[2]}{more} }}")
    return Case(text, x.transpose(orders[0]), k.transpose(orders[1]), wanted.transpose(orders[2]))
