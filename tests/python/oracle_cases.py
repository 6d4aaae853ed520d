"""Texts with their layouts by the oracle, and the one comparison that all tests use."""
import contextlib
import itertools
import os
import random

import oracle as o
import tegula_c as t

SEED = int(os.environ.get("TEGULA_SEED", "20240531"))

# Slots of larger storages are sampled: every offset that holds data, and this many others.
ALL_SLOTS = 3000
SAMPLED_SLOTS = 400


def generator(name):
    """A random generator of its own for each test, from the one seed that a failing run prints."""
    print(f"TEGULA_SEED={SEED}")
    return random.Random(f"{SEED} {name}")


class Case:
    """A text, and what the oracle says it means."""

    def __init__(self, text, layout):
        self.text, self.layout = text, layout

    def __repr__(self):
        return self.text


def listed(values):
    return "[" + ",".join(str(v) for v in values) + "]"


def strided(dtype, shape, strides=None, offset=None):
    text = dtype + listed(shape)
    text += "" if strides is None else f" strides={listed(strides)}"
    text += "" if offset is None else f" offset={offset}"
    strides = o.row_major(shape) if strides is None else strides
    return Case(text, o.strided(shape, strides, offset or 0, o.STORAGE_BITS[dtype]))


def xla_text(dtype, shape, minor_to_major, tiles=(), tail=1, element_bits=0, space=0):
    properties = ""
    if tiles:
        properties += "T" + "".join("(" + ",".join(str(n) for n in tile) + ")" for tile in tiles)
    properties += f"L({tail})" if tail != 1 else ""
    properties += f"E({element_bits})" if element_bits else ""
    properties += f"S({space})" if space else ""
    inside = ",".join(str(d) for d in minor_to_major) + (":" + properties if properties else "")
    return dtype + listed(shape) + ("{" + inside + "}" if inside else "")


def xla(dtype, shape, minor_to_major, tiles=(), tail=1, element_bits=0, space=0):
    text = xla_text(dtype, shape, minor_to_major, tiles, tail, element_bits, space)
    bits = element_bits or o.STORAGE_BITS[dtype]
    return Case(text, o.xla(shape, minor_to_major, tiles, bits, tail))


def spyre_text(dtype, shape, strides=None, order=None, keep=False, device_size=None, stride_map=None, dim_map=None,
               device_dtype=None, arrangement=None):
    text = dtype + listed(shape)
    text += f" strides={listed(strides)}" if strides is not None else ""
    text += " spyre"
    text += f" dim_order={listed(order)}" if order is not None else ""
    text += " unit_dims=keep" if keep else ""
    text += f" device_size={listed(device_size)}" if device_size is not None else ""
    text += f" stride_map={listed(stride_map)}" if stride_map is not None else ""
    text += f" dim_map={listed(dim_map)}" if dim_map is not None else ""
    text += f" device_dtype={device_dtype}" if device_dtype is not None else ""
    text += f" arrangement={arrangement}" if arrangement is not None else ""
    return text


def spyre(dtype, shape, strides=None, order=None, keep=False, device_size=None, stride_map=None, device_dtype=None,
          arrangement=None):
    text = spyre_text(dtype, shape, strides, order, keep, device_size, stride_map, None, device_dtype, arrangement)
    stick = o.STICK[device_dtype or o.DEVICE_FORMAT[dtype]]
    strides = o.row_major(shape) if strides is None else strides
    if device_size is None:
        device_size, stride_map = o.spyre_default(shape, strides, stick, order, keep)
    layout = o.spyre(shape, strides, device_size, stride_map, 1024 // stick, arrangement or "STANDARD")
    case = Case(text, layout)
    case.device_size, case.stride_map = device_size, stride_map
    return case


# ---- the comparison --------------------------------------------------------------------


def differ(text, what, want, got):
    raise AssertionError(f"{text}: {what}: expected {want}, got {got}")


def expect(text, what, want, got):
    if want != got:
        differ(text, what, want, got)


def check_offsets(text, layout, judge):
    wanted = judge.table()
    got = dict(zip(wanted, t.offsets(layout, wanted), strict=True))
    for c in wanted if got != wanted else ():
        expect(text, f"offset of {c}", wanted[c], got[c])


def check_slots(text, layout, judge, found):
    end = judge.base + judge.span
    positions = range(judge.base, end)
    if judge.span > ALL_SLOTS:
        step = judge.span // SAMPLED_SLOTS | 1
        positions = sorted(set(found) | set(range(judge.base, end, step)) | {judge.base, end - 1})
    for position, slot in zip(positions, t.slots(layout, positions)):
        if slot != found.get(position, t.PADDING):
            differ(text, f"slot {position}", found.get(position, t.PADDING), slot)
    for position in (judge.base - 1, end):
        expect(text, f"slot {position}", t.OUTSIDE, t.coord(layout, position))


def check(text, layout, judge):
    """Every query on `layout` against the dictionaries of `judge`."""
    expect(text, "shape", judge.shape, t.shape(layout))
    expect(text, "elem_bits", judge.bits, layout.elem_bits)
    expect(text, "elements", judge.numel, t.numel(layout))
    expect(text, "span", judge.span, layout.span)
    expect(text, "bytes", -(-judge.span * judge.bits // 8), t.nbytes(layout))
    check_offsets(text, layout, judge)
    found = judge.inverse()
    check_slots(text, layout, judge, found)
    expect(text, "unique, exhaustive, data", judge.coverage(), t.coverage(layout))


def check_case(case):
    check(case.text, t.parse(case.text).layout, case.layout)


class Verdicts:
    """Collects what disagrees, so that one failure does not hide the next: `with verdicts.on(text): ...`"""

    def __init__(self):
        self.total, self.wrong = 0, []

    @contextlib.contextmanager
    def on(self, text):
        self.total += 1
        try:
            yield
        except t.TegulaError as why:
            self.wrong.append(f"{text}: refused: {why}")
        except (AssertionError, o.Unreachable) as why:
            self.wrong.append(str(why) if str(text) in str(why) else f"{text}: {why!r}")

    def finish(self):
        shown = "\n  ".join(sorted(self.wrong, key=len)[:12])
        assert not self.wrong, f"{len(self.wrong)} of {self.total} disagree:\n  {shown}"
        return self.total


def check_cases(cases):
    verdicts = Verdicts()
    for case in cases:
        with verdicts.on(case.text):
            check_case(case)
    return verdicts.finish()


def evaluate(layout, coord):
    """The offset of a coordinate read off the mode table, as the comment of tg_mode defines it."""
    axes = list(coord) + [0] * (layout.naxes - layout.ndim)
    offset = layout.offset
    chain = [layout.mode[layout.chain[i]] for i in range(sum(m.axis >= 0 for m in layout.mode[: layout.nmodes]))]
    rest = None
    for axis in range(layout.naxes):
        rest = axes[axis]
        for mode in chain:
            if mode.axis != axis:
                continue
            digit, rest = divmod(rest, mode.weight)
            assert digit < mode.count, f"digit {digit} of axis {axis} is over its count {mode.count}"
            if mode.into == t.TO_MEMORY:
                offset += digit * mode.stride
            else:
                assert mode.into > axis, "a fold must go to a later axis"
                axes[mode.into] += digit * mode.stride
    return offset


def digits(layout, coord):
    """The value of every mode for a coordinate, by mode number; 0 for modes without an axis."""
    axes = list(coord) + [0] * (layout.naxes - layout.ndim)
    found = [0] * layout.nmodes
    modes = list(layout.mode[: layout.nmodes])
    order = list(layout.chain[: sum(m.axis >= 0 for m in modes)])
    for axis in range(layout.naxes):
        rest = axes[axis]
        for k in order:
            if modes[k].axis == axis:
                found[k], rest = divmod(rest, modes[k].weight)
                if modes[k].into != t.TO_MEMORY:
                    axes[modes[k].into] += found[k] * modes[k].stride
    return found


# ---- shapes and random material ----------------------------------------------------------


def shapes(rank, sizes):
    return itertools.product(sizes, repeat=rank)


def random_strides(rng, shape):
    """Strides of a host tensor without overlap: some order of the dimensions, sometimes with gaps."""
    strides, step = [0] * len(shape), 1
    for d in rng.sample(range(len(shape)), len(shape)):
        strides[d] = step
        step *= max(1, shape[d])
        if rng.random() < 0.25:
            step += rng.randrange(1, 9)
    return strides


def random_tile(rng, rank, largest=4, combine=0.25):
    tile = [rng.randrange(1, largest + 1) for _ in range(rank)]
    for i in range(rank - 1):
        if rng.random() < combine:
            tile[i] = o.COMBINE
    return tile


def random_explicit_spyre(rng, dtype, shape, strides, over_gaps=False):
    """A valid explicit Spyre layout: runs of host dimensions are folded, cut into digits, shuffled, padded, and
    mixed with unit, synthetic and replicating device dimensions. The stick comes last. With over_gaps, dimensions
    with a gap between them fold too: the layout then has room for the elements that the host tensor skips."""
    stick = o.STICK[o.DEVICE_FORMAT[dtype]]
    dims = sorted((d for d in range(len(shape)) if shape[d] > 1 and strides[d] > 0), key=lambda d: -strides[d])
    groups = []
    for d in dims:
        touches = groups and strides[groups[-1][-1]] == shape[d] * strides[d]
        if groups and (touches or over_gaps) and rng.random() < 0.4:
            groups[-1].append(d)
        else:
            groups.append([d])
    device = []
    for group in groups:
        unit = o.math.gcd(*(strides[d] for d in group))
        reach = sum((shape[d] - 1) * strides[d] for d in group) // unit + 1
        while reach > 1 and rng.random() < 0.6:
            tile = rng.randrange(1, min(reach, stick) + 1)
            device.append([-(-reach // tile), unit * tile])
            reach = tile
        device.append([reach, unit])
    lanes = [k for k, (n, _) in enumerate(device) if n <= stick]
    last = device.pop(rng.choice(lanes)) if lanes and rng.random() < 0.9 else [1, -1]
    rng.shuffle(device)
    for entry in device:
        if rng.random() < 0.15:
            entry[0] += rng.randrange(1, 4)
    for extra in ([1, rng.choice([1, 7, 60])], [1, -1], [rng.randrange(2, 4), -1], [rng.randrange(2, 4), 0]):
        if rng.random() < 0.2:
            device.insert(rng.randrange(len(device) + 1), extra)
    device.append([stick, last[1]])
    return [n for n, _ in device], [m for _, m in device]
