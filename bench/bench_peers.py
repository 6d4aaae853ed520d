#!/usr/bin/env python3
"""The workloads of bench_relayout with NumPy and PyTorch, in one process with Tegula, in turns.

    bench_peers.py --bench build/bench/bench_relayout --lib build/libtegula.so --json FILE
                   [--quick] [--size LNMSHT] [--threads 1,2] [--filter TEXT] [--rounds N] [--cpu MASK]

 numpy      numpy.copyto of a permuted view of the source into a view of a buffer that exists: its best case
 torch      the same with Tensor.copy_
 torch new  pad, view, permute, contiguous: as people write it, with a new tensor per call

A layout's digits (its modes, which `bench_relayout --list` prints) are dimensions of a strided view. A shape that
fills no tile is cut into boxes that do, and padding is zeroed through views of its own:

    f16[512,500] in sticks of 64        source view              destination view
    columns   0 .. 447                  [512][7][64] permuted    [7][512][64]
    columns 448 .. 499                  [512][52]                the first 52 of stick 7
    padding                                                      the last 12 of stick 7 = 0

Peers are left out where they cannot say a move: packed elements and DLFloat16, tiles that do not nest, and a dst with
gaps between its rows, which Tegula fills as padding.

Memory, huge pages, reading a third buffer before samples at L and N, rounds and the watch for other programs
are as in bench_relayout; calls go through Python, which costs each contender about a microsecond. What NumPy and
PyTorch make must be byte for byte what Tegula makes (bench_relayout verified that). NumPy has one thread.
"""

import argparse
import copy
import ctypes as C
import itertools
import json
import math
import mmap
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = {"L": 5, "N": 7, "M": 15, "S": 15, "H": 15, "T": 15}
SAMPLE_SECONDS = 3e-3
ROW_SECONDS = 5.0      # no new round after that, but at least three
FLUSH_BYTES = 256 << 20
OTHERS_LIMIT = 0.06
NUMPY_TYPES = {"u8": "uint8", "f16": "float16", "bf16": "uint16", "f32": "float32", "f64": "float64"}
TORCH_TYPES = {"u8": "uint8", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
WIDTHS = {"u8": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None


# ---- layouts as strided views ----------------------------------------------------------------------


class Side:
    """One layout: per axis its (weight, size, stride), largest weight first, digits of one position left out."""

    def __init__(self, text, case):
        self.text = case[text]["text"]
        self.nbytes = case[text]["bytes"]
        fmt = case[text]["format"]
        dtype = "bf16" if fmt == "BFLOAT16" else case[text]["dtype"]
        self.dtype = dtype if dtype in WIDTHS and fmt != "SEN169_FP16" else None
        naxes = len(case["shape"]) + 1  # the last axis is that of a mode that only pads
        self.axes = [[] for _ in range(naxes)]
        for axis, weight, size, stride in case[text]["modes"]:
            if size > 1:
                self.axes[axis].append((weight, size, stride))
        for digits in self.axes:
            digits.sort(reverse=True)
        self.padded = [math.prod(size for _, size, _ in digits) for digits in self.axes]

    def weights(self, axis):
        return {weight for weight, _, _ in self.axes[axis]} | {1}

    def stride(self, axis, weight):
        """What a step of `weight` along the axis adds, where no digit overflows."""
        for w, _, stride in self.axes[axis]:
            if w <= weight:
                return stride * (weight // w)
        return 0

    def place(self, axis, x, weights):
        """What coordinate x of the axis adds to the offset."""
        offset = 0
        for weight in weights:
            offset += x // weight * self.stride(axis, weight)
            x %= weight
        return offset


def cuts(start, stop, weights):
    """[start, stop) as runs (first, counts) whose digits in `weights` run through full ranges."""
    if start >= stop:
        return []
    if len(weights) == 1:
        return [(start, [stop - start])]
    w, inner = weights[0], weights[1:]
    low, high = -(-start // w) * w, stop // w * w
    if low > high:
        return [(x, [1, *n]) for x, n in cuts(start, stop, inner)]
    full = [(low, [(high - low) // w, *(a // b for a, b in zip(weights, inner))])] if high > low else []
    parts = cuts(start, low, inner) + cuts(high, stop, inner)
    return [(x, [1, *n]) for x, n in parts] + full


def is_nested(weights):
    return all(a % b == 0 for a, b in zip(weights, weights[1:]))


def boxes(ranges, weights):
    """Every combination of runs: (first coordinate, counts) per axis."""
    return itertools.product(*(cuts(a, b, w) for (a, b), w in zip(ranges, weights)))


def view_of(side, box, weights):
    """(offset, shape, strides) of a box in one layout, a dimension per digit."""
    offset = sum(side.place(a, x, weights[a]) for a, (x, _) in enumerate(box))
    shape = [n for _, counts in box for n in counts]
    strides = [side.stride(a, w) for a in range(len(box)) for w in weights[a]]
    return offset, shape, strides


def ordered(view, order):
    return view[0], [view[1][i] for i in order], [view[2][i] for i in order]


def destination_order(dst_view):
    """Dimensions of more than one position, outermost in the destination first."""
    _, shape, strides = dst_view
    return sorted((i for i in range(len(shape)) if shape[i] > 1), key=lambda i: -strides[i])


def combined_weights(src, dst):
    return [sorted(src.weights(a) | dst.weights(a), reverse=True) for a in range(len(src.axes))]


def data_views(src, dst, shape):
    """Pairs (view of dst, view of src) that together move every element."""
    weights = combined_weights(src, dst)
    pairs = []
    for box in boxes([(0, n) for n in shape], weights):
        to, of = view_of(dst, box, weights), view_of(src, box, weights)
        order = destination_order(to)
        pairs.append((ordered(to, order), ordered(of, order)))
    return pairs


def padding_views(dst, shape):
    """Views of dst that together are its padding: axis `a` beyond its end, those before it inside."""
    weights = [sorted(dst.weights(a), reverse=True) for a in range(len(dst.axes))]
    views = []
    for a, n in enumerate(shape):
        ranges = [(0, m) if b < a else (n, dst.padded[a]) if b == a else (0, dst.padded[b])
                  for b, m in enumerate(shape)]
        for box in boxes(ranges, weights):
            view = view_of(dst, box, weights)
            views.append(ordered(view, destination_order(view)))
    return views


# ---- memory ----------------------------------------------------------------------------------------


class Buffer:
    """Bytes on a 2 MiB boundary, in huge pages where the system gives them, touched."""

    def __init__(self, nbytes):
        huge = 2 << 20
        self.map = mmap.mmap(-1, nbytes + 2 * huge)
        self.map.madvise(mmap.MADV_HUGEPAGE)
        self.start = -C.addressof(C.c_char.from_buffer(self.map)) % huge
        self.bytes = np.frombuffer(self.map, np.uint8, nbytes, self.start)
        self.bytes[:] = 1
        self.address = self.bytes.ctypes.data

    def past(self, offset):
        """The same memory from there on."""
        rest = copy.copy(self)
        rest.start, rest.address, rest.bytes = self.start + offset, self.address + offset, self.bytes[offset:]
        return rest

    def numpy(self, dtype, nbytes):
        return self.bytes[:nbytes].view(NUMPY_TYPES[dtype])

    def torch(self, dtype, nbytes):
        return torch.frombuffer(self.map, dtype=getattr(torch, TORCH_TYPES[dtype]),
                                count=nbytes // WIDTHS[dtype], offset=self.start)


def fill(buffer, nbytes, dtype):
    """Random bits that are finite normal numbers, as buffer_fill() in copies.c."""
    keep = {"f64": 0xbfffffffffffffff, "f32": 0xbfffffffbfffffff, "bf16": 0xbfffbfffbfffbfff,
            "f16": 0xb7ffb7ffb7ffb7ff}.get(dtype, 2**64 - 1)
    put = {"f64": 0x2000000000000000, "f32": 0x2000000020000000, "bf16": 0x2000200020002000,
           "f16": 0x2400240024002400}.get(dtype, 0)
    words = np.random.default_rng(1).integers(0, 2**64, -(-nbytes // 8), np.uint64)
    buffer.bytes[:nbytes] = ((words & np.uint64(keep)) | np.uint64(put)).view(np.uint8)[:nbytes]


# ---- Tegula ----------------------------------------------------------------------------------------


class Executor(C.Structure):
    _fields_ = [("run", C.c_void_p), ("context", C.c_void_p), ("threads", C.c_int32)]


class PlanParams(C.Structure):
    _fields_ = [("dst", C.c_void_p), ("src", C.c_void_p), ("pad", C.c_void_p), ("begin", C.c_void_p),
                ("end", C.c_void_p), ("hint", C.c_uint32), ("without", C.c_uint32), ("threads", C.c_int32),
                ("convert", C.c_bool)]


class Tegula:
    def __init__(self, path, listing, cpu):
        self.lib = C.CDLL(path)
        self.sizes, self.desc_layout, self.without = listing["sizeof"], listing["desc_layout"], 7 & ~cpu
        self.error = C.create_string_buffer(self.sizes["tg_error"])
        self.lib.tg_threads_executor.restype = Executor
        self.lib.tg_threads_executor.argtypes = [C.c_void_p]
        self.lib.tg_plan_run.argtypes = [C.c_void_p] * 5
        threads = C.c_void_p()
        self.check(self.lib.tg_threads_create(C.byref(threads), 2, self.error))
        self.executor = self.lib.tg_threads_executor(threads)

    def check(self, status):
        if status != 0:
            # struct tg_error: status, dim, pos, message
            sys.exit("bench_peers: " + self.error.raw[16:].split(b"\0")[0].decode())

    def layout(self, text):
        desc = C.create_string_buffer(self.sizes["tg_desc"])
        data = text.encode()
        self.check(self.lib.tg_desc_parse(desc, data, C.c_size_t(len(data)), self.error))
        return desc

    def mover(self, src, dst, src_buffer, dst_buffer, threads):
        """A function that runs the plan; what it needs lives as long as it does."""
        descs = [self.layout(dst.text), self.layout(src.text)]
        zero = C.create_string_buffer(16)
        pointers = [C.addressof(d) + self.desc_layout for d in descs]
        params = PlanParams(*pointers, C.addressof(zero), None, None, 0, self.without, threads)
        plan = C.create_string_buffer(self.sizes["tg_plan"] + 64)
        place = (C.addressof(plan) + 63) // 64 * 64
        self.check(self.lib.tg_plan_init(C.c_void_p(place), C.byref(params), self.error))
        executor = C.c_void_p(C.addressof(self.executor) if threads > 1 else None)
        args = (C.c_void_p(place), C.c_void_p(dst_buffer.address), C.c_void_p(src_buffer.address), executor,
                C.cast(self.error, C.c_void_p))
        run = self.lib.tg_plan_run

        def move(_keep=(descs, zero, params, plan)):
            if run(*args) != 0:
                self.check(1)
        return move


def memcpy(dst, src, nbytes):
    function = C.CDLL(None).memcpy
    function.argtypes, function.restype = [C.c_void_p, C.c_void_p, C.c_size_t], C.c_void_p
    args = C.c_void_p(dst.address), C.c_void_p(src.address), C.c_size_t(nbytes)
    return lambda: function(*args)


# ---- the peers -------------------------------------------------------------------------------------


def numpy_mover(src, dst, shape, src_buffer, dst_buffer):
    to, of = dst_buffer.numpy(dst.dtype, dst.nbytes), src_buffer.numpy(src.dtype, src.nbytes)

    def strided(array, view):
        offset, sizes, strides = view
        return np.lib.stride_tricks.as_strided(array[offset:], sizes, [s * array.itemsize for s in strides])

    pairs = [(strided(to, d), strided(of, s)) for d, s in data_views(src, dst, shape)]
    padding = [strided(to, v) for v in padding_views(dst, shape)]

    def move():
        for d, s in pairs:
            np.copyto(d, s)
        for p in padding:
            p.fill(0)
    return move


def torch_mover(src, dst, shape, src_buffer, dst_buffer):
    to, of = dst_buffer.torch(dst.dtype, dst.nbytes), src_buffer.torch(src.dtype, src.nbytes)

    def strided(tensor, view):
        return torch.as_strided(tensor, view[1], view[2], view[0])

    pairs = [(strided(to, d), strided(of, s)) for d, s in data_views(src, dst, shape)]
    padding = [strided(to, v) for v in padding_views(dst, shape)]

    def move():
        for d, s in pairs:
            d.copy_(s)
        for p in padding:
            p.zero_()
    return move


def torch_new_mover(src, dst, shape, src_buffer, _dst_buffer):
    """Returns the new tensor."""
    of = src_buffer.torch(src.dtype, src.nbytes)
    weights = combined_weights(src, dst)
    tiled_src = any(len(digits) > 1 for digits in src.axes) or any(p > n for p, n in zip(src.padded, shape))
    padded = src.padded if tiled_src else [max(p, n) for p, n in zip(dst.padded, shape)]
    whole = [(0, [p // w[0], *(a // b for a, b in zip(w, w[1:]))]) for p, w in zip(padded, weights)]
    _, sizes, strides = view_of(src, whole, weights)
    order = sorted(range(len(sizes)), key=lambda i: -view_of(dst, whole, weights)[2][i])
    axes = sorted(range(len(shape)), key=lambda a: -dst.stride(a, 1))
    plain_dst = all(len(digits) <= 1 for digits in dst.axes) and dst.padded <= shape
    logical = torch.as_strided(of, shape, [src.stride(a, 1) for a in range(len(shape))])
    pads = [x for p, n in reversed(list(zip(padded, shape))) for x in (0, p - n)]
    convert = getattr(torch, TORCH_TYPES[dst.dtype])

    def from_plain():
        x = logical if src.dtype == dst.dtype else logical.to(convert)
        x = torch.nn.functional.pad(x, pads) if any(pads) else x
        return x.view(sizes).permute(order).contiguous()

    def to_plain():
        x = torch.as_strided(of, sizes, strides).reshape(padded)
        return x[tuple(slice(0, n) for n in shape)].permute(axes).contiguous()

    def tiled_to_tiled():
        return torch.as_strided(of, sizes, strides).permute(order).contiguous()

    return from_plain if not tiled_src else to_plain if plain_dst else tiled_to_tiled


# ---- rounds ----------------------------------------------------------------------------------------


def idle_seconds():
    with open("/proc/stat") as f:
        fields = f.readline().split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


class Watch:
    """The share of the CPUs that others had; rounds.c tells how."""

    def __init__(self):
        self.start, self.own, self.idle = time.perf_counter(), time.process_time(), idle_seconds()

    def others(self):
        total = (time.perf_counter() - self.start) * os.cpu_count()
        return max(0.0, (total - (time.process_time() - self.own) - (idle_seconds() - self.idle)) / total)


def wait_for_quiet():
    """Until the threads of a pool stop spinning."""
    for _ in range(100):
        start, own = time.perf_counter(), time.process_time()
        time.sleep(0.001)
        if time.process_time() - own < 0.3 * (time.perf_counter() - start):
            return


def pin_threads(threads, allowed):
    """Two threads: this one on the first CPU, all others on the second; one: anywhere."""
    for name in os.listdir("/proc/self/task"):
        mask = allowed if threads == 1 or len(allowed) < 2 else {allowed[0 if int(name) == os.getpid() else 1]}
        try:
            os.sched_setaffinity(int(name), mask)
        except OSError:
            pass  # the thread is gone


def calls(function, count):
    start = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - start) / count


def sample(function, count, flush):
    if flush is None:
        function()
    else:
        flush.bytes[::64].max()
    return calls(function, count)


def measure(contenders, size, threads, rounds, flush):
    """name -> seconds per call, one number a round; and whether others disturbed it."""
    counts = {name: 1 if size == "L" else max(1, round(SAMPLE_SECONDS / calls(f, 1)))
              for name, f in contenders.items()}
    times = {name: [] for name in contenders}
    start, watch = time.perf_counter(), Watch()
    while len(times["tegula"]) < rounds and (len(times["tegula"]) < 3 or time.perf_counter() - start < ROW_SECONDS):
        for name, function in contenders.items():
            if threads > 1:
                wait_for_quiet()
            times[name].append(sample(function, counts[name], flush))
    return times, watch.others()


def measure_quietly(contenders, size, threads, rounds, flush):
    """One more try where others were there; the quieter one counts."""
    tries = [measure(contenders, size, threads, rounds, flush)]
    if tries[0][1] > OTHERS_LIMIT:
        tries.append(measure(contenders, size, threads, rounds, flush))
    return min(tries, key=lambda t: t[1])


# ---- a row -----------------------------------------------------------------------------------------


def movers(src, dst, shape, memory, threads):
    """Peers that can say the move."""
    found = {}
    has_gaps = dst.nbytes != math.prod(dst.padded) * WIDTHS[dst.dtype]
    if has_gaps or not all(map(is_nested, combined_weights(src, dst))):
        return found
    if src.dtype == dst.dtype and threads == 1:
        found["numpy"] = numpy_mover(src, dst, shape, *memory)
    if torch is not None:
        found["torch"] = torch_mover(src, dst, shape, *memory)
        found["torch new"] = torch_new_mover(src, dst, shape, *memory)
    return found


def check_result(name, mover, expected, buffer, where):
    buffer.bytes[:len(expected)] = 0xA5
    result = mover()
    if name == "torch new":
        got = result.contiguous().flatten().view(torch.uint8).numpy()
    else:
        got = buffer.bytes[:len(expected)]
    if not np.array_equal(got, expected):
        sys.exit(f"bench_peers: {where}: {name} gives other bytes than Tegula")


def run_row(tegula, case, threads, memory, flush, rounds):
    src, dst = Side("src", case), Side("dst", case)
    if src.dtype is None or dst.dtype is None:
        return None
    shape = [*case["shape"], 1]
    src_buffer, dst_buffer = memory = memory[0], memory[1].past(case["dst_offset"])
    where = f"{case['workload']} {case['size']} {threads} threads"
    if torch is not None:
        torch.set_num_threads(threads)
    fill(src_buffer, src.nbytes, src.dtype)
    contenders = {"tegula": tegula.mover(src, dst, src_buffer, dst_buffer, threads)}
    if threads == 1:
        contenders["memcpy"] = memcpy(dst_buffer, src_buffer, (src.nbytes + dst.nbytes) // 2)
    contenders["tegula"]()
    expected = dst_buffer.bytes[:dst.nbytes].copy()
    for name, mover in movers(src, dst, shape, memory, threads).items():
        check_result(name, mover, expected, dst_buffer, where)
        contenders[name] = mover
    allowed = sorted(os.sched_getaffinity(0))
    pin_threads(threads, allowed)
    times, others = measure_quietly(contenders, case["size"], threads, rounds or ROUNDS[case["size"]],
                                    flush if case["size"] in "LN" else None)
    pin_threads(1, allowed)
    return row_of(case, threads, times, others)


def row_of(case, threads, times, others):
    seconds = {name: {"median": statistics.median(t), "best": min(t),
                      "x": statistics.median(a / b for a, b in zip(t, times["tegula"]))}
               for name, t in times.items()}
    print(f"{case['workload']:22} {case['size']} {threads}", *(f"{n} {s['median'] * 1e9:.0f} ns" +
          (f" ({s['x']:.2f})" if n != "tegula" else "") for n, s in seconds.items()),
          "noisy" if others > OTHERS_LIMIT else "", file=sys.stderr, flush=True)
    return {"workload": case["workload"], "size": case["size"], "threads": threads, "rounds": len(times["tegula"]),
            "noisy": others > OTHERS_LIMIT, "others": round(others, 3), "seconds": seconds}


# ---- the run ---------------------------------------------------------------------------------------


def options():
    parser = argparse.ArgumentParser(description="NumPy and PyTorch on the workloads of bench_relayout.")
    parser.add_argument("--bench", required=True, help="the bench_relayout program")
    parser.add_argument("--lib", required=True, help="libtegula.so")
    parser.add_argument("--json", required=True, type=Path)
    parser.add_argument("--size")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--filter", default="")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--cpu", type=lambda text: int(text, 0), default=7)
    opt = parser.parse_args()
    opt.size = opt.size or ("ST" if opt.quick else "LNMSHT")
    opt.rounds = opt.rounds or (1 if opt.quick else 0)
    return opt


def run_all(opt, listing):
    tegula = Tegula(opt.lib, listing, opt.cpu)
    most = max(case[side]["bytes"] + case["dst_offset"] for case in listing["cases"] for side in ("src", "dst"))
    memory = Buffer(most), Buffer(most)
    flush = Buffer(FLUSH_BYTES) if set(opt.size) & set("LN") else None
    for case in listing["cases"]:
        for threads in (1, 2):
            if str(threads) in opt.threads and not (threads == 2 and case["size"] == "T"):
                yield run_row(tegula, case, threads, memory, flush, opt.rounds)


def main():
    opt = options()
    listing = json.loads(subprocess.run([opt.bench, "--list", "--size", opt.size, "--filter", opt.filter],
                                        stdout=subprocess.PIPE, check=True, text=True).stdout)
    peers = {name: module.__version__ for name, module in (("NumPy", np), ("PyTorch", torch)) if module is not None}
    if np is None:
        print("bench_peers: NumPy is not installed, nothing to compare with", file=sys.stderr)
    rows = [row for row in run_all(opt, listing) if row is not None] if np is not None and listing["cases"] else []
    opt.json.write_text(json.dumps({"schema": "tegula.bench.peers/1", "python": sys.version.split()[0],
                                    "peers": peers, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
