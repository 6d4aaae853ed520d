#!/usr/bin/env python3
"""How fast moves are that nobody chose: many of them at one size, slowest first.

    survey.py [--permuted | --vectors] [--seed S] [--count N] [--bytes B] [--types T,...] [--below R] [--list]
              LIB [LIB ...]
    survey.py --real [--bytes B] [--below R] [--list] LIB [LIB ...]

The workloads of bench_relayout are few, and a library can become fast at them alone. Here pairs of layouts are random
(printed with their seed): shapes of one to five dimensions, some with a multiple of 8, row-major, permuted, strided
with and without gaps, tiles of XLA with and without a second one, odd tiles, and Spyre's sticks of any dimension. With
--permuted they go from one order of three to five dimensions to another one, half of them with sizes that are all
powers of two, whose lines crowd the caches; with --vectors too, around a dimension of 3 to 12 elements that stay
together, as those of pixels do. With --real they are those that a runtime has, all of them: matrices,
images and weights with even and odd sizes from host order (and channels last) to tiles and sticks and back, and from
each of these to the others.
bench_versions (built before: ninja -C build bench/bench_versions) times each with every LIB on one thread; printed are
x memcpy of the last LIB, of the first one if there are several, and the move, of all that are slower than R (default
0.35, the bar for any layout), and how many those are. --list prints the moves and times none.
"""

import argparse
import math
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "bench" / "bench_versions"
BYTES = {"u8": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "s4": 0.5, "u2": 0.25}
SECOND_TILE = {"bf16": "(2,1)", "f16": "(2,1)", "u8": "(4,1)", "s4": "(8,1)", "u2": "(4,1)"}
STICKS = {"f16": " device_dtype=IEEE_FP16", "f32": ""}  # of types that stay as they are
ROW = re.compile(r"^(?P<move>\S.*?)\s+[\d.]+(?P<ratios>(?:\s+[\d.]+)+)\s+x [\d.]+$")


def packing(kind):
    return f"E({round(8 * BYTES[kind])})" if BYTES[kind] < 1 else ""


def text(kind, shape):
    return f"{kind}[{','.join(map(str, shape))}]"


def order(kind, shape, minor_to_major, tiles=""):
    """In XLA's notation: the fastest dimension first."""
    behind = tiles + packing(kind)
    return f"{text(kind, shape)}{{{','.join(map(str, minor_to_major))}{':' + behind if behind else ''}}}"


# ---- random moves ----------------------------------------------------------------------------------


def random_shape(r, rank, elements):
    while True:
        shape, left = [], elements
        for _ in range(rank - 1):
            shape.append(r.choice([r.randint(1, 9), r.choice([4, 8, 16, 32, 64, 128, 256]), r.randint(10, 300)]))
            left /= shape[-1]
        if left < 1:
            continue
        shape.append(max(1, round(left)))
        if r.random() < 0.5:
            shape[-1] = max(1, shape[-1] // 8 * 8)
        r.shuffle(shape)
        return shape


def random_strides(r, kind, shape, most):
    strides, step = [0] * len(shape), r.choice([1, 1, 1, 2, 3])
    for d in r.sample(range(len(shape)), len(shape)):
        strides[d] = step
        step = step * shape[d] + r.choice([0, 0, 1, 5, 8, 64])
    fits = step * BYTES[kind] <= most
    return f"{text(kind, shape)} strides=[{','.join(map(str, strides))}]" if fits else None


def random_layout(r, kind, shape, nbytes, strides):
    rank, row_major = len(shape), list(range(len(shape)))[::-1]
    any_order = r.choice([row_major, r.sample(row_major, rank)])
    odd = f"T({r.choice([2, 4, 7, 8, 16, 48])},{r.choice([16, 32, 48, 64, 100, 128])})"
    choice = r.choice(["rows", "order", "order", "tiles", "second", "odd", "sticks", "strides"])
    if choice == "strides" and strides and BYTES[kind] >= 1:
        return random_strides(r, kind, shape, 8 * nbytes) or order(kind, shape, row_major)
    if choice == "sticks" and kind in STICKS:
        dims = ",".join(map(str, r.sample(row_major, rank)))
        return f"{text(kind, shape)} spyre dim_order=[{dims}]{STICKS[kind]}"
    if rank < 2 or choice in ("rows", "order", "strides", "sticks"):
        return order(kind, shape, row_major if choice == "rows" else r.sample(row_major, rank))
    tiles = {"tiles": "T(8,128)", "second": "T(8,128)" + SECOND_TILE.get(kind, ""), "odd": odd}[choice]
    return order(kind, shape, any_order, tiles)


def random_moves(seed, count, nbytes, kinds):
    r = random.Random(seed)
    for _ in range(count):
        kind, rank = r.choice(kinds), r.choice([1, 2, 2, 3, 3, 4, 4, 5])
        shape = random_shape(r, rank, nbytes / BYTES[kind])
        src = random_layout(r, kind, shape, nbytes, True)
        yield f"{src} -> {random_layout(r, kind, shape, nbytes, r.random() < 0.2)}"


POWERS = [8, 16, 32, 64, 128, 256, 512]
OTHERS = [3, 4, 12, 24, 48, 50, 63, 77, 96, 100, 197, 224, 320, 768]


VECTORS = [3, 3, 3, 5, 6, 7, 9, 12]


def permuted_moves(seed, count, nbytes, kinds, vectors=False):
    r = random.Random(seed)
    for _ in range(count):
        kind, rank, powers = r.choice(kinds), r.choice([2, 3, 3, 4] if vectors else [3, 3, 4, 4, 5]), r.random() < 0.5
        inner = [r.choice(VECTORS)] if vectors else []
        shape, left = [], max(1, int(nbytes / BYTES[kind] / (inner[0] if vectors else 1)))
        for _ in range(rank - 1):
            shape.append(r.choice([n for n in (POWERS if powers else OTHERS) if n <= left] or [1]))
            left //= shape[-1]
        shape.insert(r.randrange(rank), 1 << left.bit_length() - 1 if powers else left)
        src, dst = ([rank] * vectors + r.sample(range(rank), rank) for _ in range(2))
        yield f"{order(kind, shape + inner, src)} -> {order(kind, shape + inner, dst)}"


# ---- moves of runtimes -----------------------------------------------------------------------------

REAL = {
    "u8": "512,1024 510,1000 6,80000 83,34,184 8,224,224,3 3,3,256,255 7,75000 1000,517 2,3,300,300",
    "bf16": "512,512 510,500 5,50000 83,34,92 4,224,224,1 3,3,128,255 8,12,64,45 2,3,200,200 1,197,1300 30522,9",
    "f16": "510,500 8,12,64,45 140,112,5 2,3,200,200 64,9,455 5,50000",
    "f32": "250,510 3,3,128,127 8,12,64,21 2,3,150,150 6,21840 16,128,63",
    "s4": "1000,1048 83,34,368 7,150000",
}


def real_layouts(kind, shape):
    rank = len(shape)
    rows = list(range(rank))[::-1]
    host = [order(kind, shape, rows)]
    if rank == 2:
        host.append(order(kind, shape, [0, 1]))
    if rank == 4:  # channels last
        host.append(order(kind, shape, [1, 3, 2, 0]))
    device = [order(kind, shape, rows, "T(8,128)" + SECOND_TILE.get(kind, ""))]
    device.append(order(kind, shape, [rank - 2, rank - 1, *rows[2:]], "T(8,128)" + SECOND_TILE.get(kind, "")))
    if kind in ("u8", "f16"):
        device.append(order(kind, shape, rows, "T(8,128)"))
    if kind in STICKS:
        turned = ",".join(map(str, [*range(1, rank), 0]))
        device += [f"{text(kind, shape)} spyre{by}{STICKS[kind]}" for by in ("", f" dim_order=[{turned}]")]
    return host, device


def longer(kind, shape, nbytes):
    """More images, or a longer dimension, by a multiple of 128: what is odd stays odd."""
    if nbytes is None:
        return shape
    d = 0 if len(shape) == 4 else shape.index(max(shape))
    each = math.prod(shape) // shape[d]  # elements of one step
    more = (int(nbytes / BYTES[kind]) // each - shape[d] + 64) // 128
    return [*shape[:d], shape[d] + max(0, more) * 128, *shape[d + 1:]]


def real_moves(nbytes):
    for kind, shapes in REAL.items():
        for shape in shapes.split():
            host, device = real_layouts(kind, longer(kind, list(map(int, shape.split(","))), nbytes))
            for h in host:
                for d in device:
                    yield from (f"{h} -> {d}", f"{d} -> {h}")
            for d in device:
                yield from (f"{d} -> {other}" for other in device if other != d)
            if len(host) == 2:
                yield from (f"{host[0]} -> {host[1]}", f"{host[1]} -> {host[0]}")


# ---- timing ----------------------------------------------------------------------------------------


def measure(moves, libraries):
    """(x memcpy of the last library, of the first one, the move), slowest first. Exits where nothing could be timed."""
    run = subprocess.run(
        [PROGRAM, "--moves", "-", *libraries], input="\n".join(moves), stdout=subprocess.PIPE, text=True, check=False
    )
    if run.returncode == 2:
        sys.exit(2)  # it has said why
    rows = [m for m in map(ROW.match, run.stdout.splitlines()) if m]
    found = [(m["ratios"].split(), m["move"]) for m in rows]
    return sorted((float(ratios[-1]), float(ratios[0]), move) for ratios, move in found)


def report(found, moves, below, several):
    slow = [row for row in found if row[0] < below]
    for last, first, move in slow:
        print(f"{last:.2f} {f'({first:.2f}) ' if several else ''}{move}")
    print(f"{len(slow)} of {len(found)} below {below:g} of memcpy")
    missing = sorted(set(moves) - {move for _, _, move in found})
    for move in missing:
        print(f"survey: not timed: {move}", file=sys.stderr)
    return 1 if missing else 0


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", action="store_true", help="the moves that runtimes have")
    parser.add_argument("--permuted", action="store_true", help="orders of dimensions alone")
    parser.add_argument("--vectors", action="store_true", help="the same, around some elements that stay together")
    parser.add_argument("--seed", type=int, help="of random moves (default: another one each time, which is printed)")
    parser.add_argument("--count", type=int, help="random moves (default 200)")
    parser.add_argument("--bytes", type=int, help="of a tensor without padding, about (default 524288); with --real in "
                        "steps of 128 images or rows, and no smaller than without it")
    parser.add_argument("--types", help=f"of random moves, of {','.join(BYTES)} (default u8,f16,bf16,f32,f64)")
    parser.add_argument("--below", type=float, default=0.35, help="print what is slower (default 0.35)")
    parser.add_argument("--list", action="store_true", help="print the moves and time none")
    parser.add_argument("lib", nargs="*", help="libtegula.so, at most 6")
    o = parser.parse_args()
    random_only = [o.seed, o.count, o.types, o.permuted or None, o.vectors or None]
    if o.real and any(value is not None for value in random_only):
        parser.error("--real has no --permuted, --vectors, --seed, --count and --types")
    if o.permuted and o.vectors:
        parser.error("--permuted and --vectors are two surveys")
    o.seed = random.randrange(1 << 32) if o.seed is None else o.seed
    o.count = 200 if o.count is None else o.count
    o.bytes = 512 << 10 if o.bytes is None and not o.real else o.bytes
    o.types = (o.types or "u8,f16,bf16,f32,f64").split(",")
    unknown = [kind for kind in o.types if kind not in BYTES]
    if unknown or o.count < 1 or (o.bytes is not None and not 64 <= o.bytes < 1 << 48):
        sizes = f"--count is at least 1 (it is {o.count}), --bytes 64 to 2^48 (it is {o.bytes})"
        parser.error(f"no such type: '{unknown[0]}'" if unknown else sizes)
    if not o.list and not o.lib:
        parser.error("no library is named")
    if not o.list and not PROGRAM.exists():
        parser.error(f"{PROGRAM} is not built: ninja -C build bench/bench_versions")
    return o


def main():
    o = options()
    chosen = (o.seed, o.count, o.bytes, o.types)
    if o.real:
        moves = list(real_moves(o.bytes))
    else:
        moves = list(permuted_moves(*chosen, o.vectors) if o.permuted or o.vectors else random_moves(*chosen))
    if not o.real:
        print(f"--seed {o.seed}", file=sys.stderr if o.list else sys.stdout, flush=True)
    if o.list:
        print("\n".join(moves), flush=True)
        return 0
    return report(measure(moves, o.lib), moves, o.below, len(o.lib) > 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # who reads has what it wants
        sys.stdout = None
