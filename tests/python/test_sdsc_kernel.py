"""Kernels as SuperDSC: torch-spyre's literal objects, every field against the second implementation in sdsc_oracle.py,
addresses against the layouts themselves, and what cannot be said."""
import ctypes
import json
import math
import random
import subprocess

import pytest

import graph_c as g
import sdsc_c as s
import sdsc_oracle as o
import tegula_c as t
from sdsc_oracle import SEGMENT, Dim, Kernel, Tensor

LITERAL = json.loads((t.ROOT / "tests" / "spec" / "spyre_superdsc.json").read_text())


def library(k):
    return s.Kernel(k.op, k.kind, k.ranges, k.splits, [x.as_tuple() for x in k.tensors], k.masked, k.value)


def test_structs_match_the_header(tmp_path):
    lines, want = ["#include <stdio.h>", "#include <tegula/sdsc.h>", "int main(void) {"], []
    for name, struct in s.STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        want.append(f"{name} {ctypes.sizeof(struct)}")
        for field, _ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
            want.append(f"{name}.{field} {getattr(struct, field).offset}")
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text("\n".join(lines + ["return 0; }"]))
    subprocess.run(["gcc", "-std=c11", f"-I{t.ROOT / 'include'}", source, "-o", program], check=True)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines() == want


# ---- torch-spyre's own ----------------------------------------------------------------------

def add():
    matrix = [Dim(128, 0), Dim(256, 1)]
    return Kernel("add", "pointwise", [128, 256], [2, 2],
                  [Tensor(matrix, [0, 1], address=SEGMENT * (i + 1)) for i in range(3)])


def matmul():
    dims = [[Dim(128, 0), Dim(256, 2)], [Dim(256, 2), Dim(512, 1)], [Dim(128, 0), Dim(512, 1)]]
    return Kernel("batchmatmul", "matmul", [128, 512, 256], [2, 1, 2],
                  [Tensor(d, [0, 1], address=SEGMENT * (i + 1)) for i, d in enumerate(dims)])


@pytest.mark.parametrize("name, kernel", [("add", add()), ("matmul", matmul())])
def test_literal_objects(name, kernel):
    """Not the values alone: also their order, as torch-spyre writes them."""
    assert library(kernel).sdsc() == json.dumps(LITERAL[name], separators=(",", ":"))
    assert o.Answer(kernel).superdsc(0) == LITERAL[name]


# ---- the second implementation --------------------------------------------------------------

def divisors(n, most):
    return [d for d in range(1, min(n, most) + 1) if n % d == 0]


def random_splits(rng, k, cores):
    """Any that are possible; sums over padded sticks and loops that a restickify pads stay whole."""
    splits, left = [1] * len(k.ranges), cores
    a = o.Answer(k)
    loops = a.loops[:]
    rng.shuffle(loops)
    for loop in loops:
        sticks = [x.eps for x in k.tensors if x.stick() == loop]
        padded = a.extent[loop] != k.ranges[loop]
        if padded and (k.kind == "restickify" or loop in k.masked):
            continue
        size = a.extent[loop] // max(sticks, default=1)
        splits[loop] = rng.choice(divisors(size, left))
        left //= splits[loop]
    return splits


def random_range(rng):
    return rng.choice([1, 2, 3, 5, 8, 12, 63, 64, 65, 96, 128, 150, 192, 256, 300])


def walked(rng, loop, n, stick, eps):
    """A dimension that a loop walks, sometimes a part of it only."""
    if n == 1 or rng.random() < 0.7:
        return Dim(n, loop)
    start = rng.choice([0, eps, 2 * eps]) if loop == stick else rng.choice([0, 1, 5])
    return Dim(start + n + rng.choice([0, 1, 7, 70]), loop, start)


def tensor_of(rng, ranges, loops, stick, number, fmt=0, exact=False):
    """A tensor over these loops, in any order, with the loop `stick` in its sticks; one element a stick if it is not
    among them."""
    eps, loops = o.FORMATS[fmt][1], list(loops)
    if not exact and rng.random() < 0.2:
        loops.insert(rng.randint(0, len(loops)), None)
    dims = [Dim(5, None, rng.randrange(5)) if x is None else
            Dim(ranges[x], x) if exact else walked(rng, x, ranges[x], stick, eps) for x in loops]
    order = [i for i, x in enumerate(loops) if x != stick or x is None]
    rng.shuffle(order)
    order.append(loops.index(stick) if stick is not None and stick in loops else -1)
    if order == [-1]:
        order = []
    return Tensor(dims, order, fmt, SEGMENT * number)


def pointwise(rng):
    ranges = [random_range(rng) for _ in range(rng.randint(1, 4))]
    every, fmt = list(range(len(ranges))), rng.choice([0, 0, 1])
    stick = rng.choice(every + [None] * (len(ranges) > 1))
    tensors = []
    for i in range(rng.randint(1, 3)):
        loops = every if rng.random() < 0.5 else sorted(rng.sample(every, rng.randint(0, len(every))))
        tensors.append(tensor_of(rng, ranges, loops, stick, i + 1, fmt))
    tensors.append(tensor_of(rng, ranges, every, stick, len(tensors) + 1, fmt))
    return Kernel("mul", "pointwise", ranges, [1] * len(ranges), tensors)


def reduction(rng):
    ranges = [random_range(rng) for _ in range(rng.randint(1, 4))]
    every = list(range(len(ranges)))
    stick, gone = rng.choice(every), set(rng.sample(every, rng.randint(1, len(every))))
    kept = [x for x in every if x not in gone]
    k = Kernel("max", "reduction", ranges, [1] * len(ranges),
               [tensor_of(rng, ranges, every, stick, 1), tensor_of(rng, ranges, kept, stick, 2)])
    if stick in gone and ranges[stick] > 1:
        k.masked, k.value = [stick], rng.choice(["0", "1", "-inf", "+inf"])
    return k


def product(rng):
    batch = list(range(rng.randint(0, 2)))
    row, column, summed = len(batch), len(batch) + 1, len(batch) + 2
    ranges = [rng.choice([2, 3, 8]) for _ in batch] + [random_range(rng)] + [max(2, random_range(rng)) for _ in "nk"]
    shared = [x for x in batch if rng.random() < 0.7]
    of_x = [x for x in batch if rng.random() < 0.8]
    whole = -(-ranges[summed] // 64) * 64
    y = tensor_of(rng, ranges, shared + [summed, column], column, 2, exact=True)
    y.dims[len(shared)].size = whole  # filled with zeros
    tensors = [tensor_of(rng, ranges, of_x + [row, summed], summed, 1), y,
               tensor_of(rng, ranges, batch + [row, column], column, 3)]
    if any(x not in of_x + shared for x in batch):
        return product(rng)
    return Kernel("batchmatmul", "matmul", ranges, [1] * len(ranges), tensors)


def restickify(rng):
    ranges = [max(2, random_range(rng)) for _ in range(rng.randint(2, 4))]
    every = list(range(len(ranges)))
    old, new = rng.sample(every, 2)
    return Kernel("ReStickifyOpHBM", "restickify", ranges, [1] * len(ranges),
                  [tensor_of(rng, ranges, every, old, 1, exact=True),
                   tensor_of(rng, ranges, every, new, 2, exact=True)])


MAKERS = [pointwise, reduction, product, restickify]


def random_kernel(maker, seed):
    rng = random.Random(f"{maker.__name__} {seed}")
    k = maker(rng)
    k.splits = random_splits(rng, k, rng.randint(1, 32))
    for tensor in k.tensors:
        tensor.in_lx = rng.random() < 0.1
    return k


@pytest.mark.parametrize("maker", MAKERS)
def test_every_field(maker):
    cores = set()
    for seed in range(1500):
        k = random_kernel(maker, seed)
        want = o.Answer(k)
        text = library(k).sdsc(seed)
        assert json.loads(text) == want.superdsc(seed), (seed, k)
        assert library(k).name(seed) == f"{seed}_{want.function()}"
        cores.add(want.ncores)
    assert len(cores) > 15


@pytest.mark.parametrize("cores", range(1, 33))
def test_all_core_counts(cores):
    """Rows in as many slices as there are cores, and both dimensions as far as they go."""
    for split in ((cores, 1), (1, cores), (math.gcd(cores, 4), cores // math.gcd(cores, 4))):
        ranges = [split[0] * 3, split[1] * 64]
        k = Kernel("add", "pointwise", ranges, split,
                   [Tensor([Dim(ranges[0], 0), Dim(ranges[1], 1)], [0, 1], address=SEGMENT * i) for i in (1, 2, 3)])
        assert json.loads(library(k).sdsc()) == o.Answer(k).superdsc(0)


# ---- addresses ------------------------------------------------------------------------------

def layout_of(tensor):
    """By the library's evaluator of layouts, which knows nothing of kernels."""
    shape = [d.size for d in tensor.dims]
    text = (f"f16[{','.join(map(str, shape))}] spyre device_size=[{','.join(map(str, tensor.device_size()))}] "
            f"stride_map=[{','.join(map(str, tensor.stride_map()))}]")
    return t.parse(text).layout


@pytest.mark.parametrize("maker", MAKERS)
def test_a_core_begins_at_the_first_element_of_its_slice(maker):
    for seed in range(150):
        k = random_kernel(maker, seed)
        kernel, answer = library(k), o.Answer(k)
        for i, tensor in enumerate(k.tensors):
            if tensor.fmt != 0 or tensor.in_lx:
                continue
            layout = layout_of(tensor)
            for core in range(answer.ncores):
                slices, ncores = kernel.slices(core)
                first = [0 if n == 1 else part * answer.per_core[x]
                         for x, (n, part) in enumerate(zip(k.ranges, slices))]
                at = [d.start + (first[d.loop] if d.loop is not None else 0) for d in tensor.dims]
                assert ncores == answer.ncores and first == answer.first(core)
                assert kernel.address(i, core) == tensor.address + 2 * t.offset(layout, at), (seed, i, core)


@pytest.mark.parametrize("maker", MAKERS)
def test_the_pieces_are_the_whole(maker):
    """Every step of the loops is taken by one core: the pieces are boxes, as many as there are cores, whose sides cut
    each loop without overlap, and together they have as many steps as the loops."""
    for seed in range(60):
        k = random_kernel(maker, seed)
        kernel, answer = library(k), o.Answer(k)
        boxes = set()
        for core in range(answer.ncores):
            spans = [(part * answer.per_core[x], min(n, (part + 1) * answer.per_core[x])) if n > 1 else (0, 1)
                     for x, (n, part) in enumerate(zip(k.ranges, kernel.slices(core)[0]))]
            boxes.add(tuple(spans))
        assert len(boxes) == answer.ncores
        assert sum(math.prod(stop - start for start, stop in box) for box in boxes) == math.prod(k.ranges)
        for x, n in enumerate(k.ranges):
            assert sorted(i for span in {box[x] for box in boxes} for i in range(*span)) == list(range(n))


# ---- views ----------------------------------------------------------------------------------

def test_rows_that_were_joined():
    """[2,1024,768] read as heads: batch and row share a device dimension of 2048."""
    tensor = ([12, 2048, 64], [64, 768, 1], 0, 0, [(0, 1024 * 768), (1, 768), (2, 64), (3, 1)], SEGMENT)
    result = ([2, 12, 1, 1024, 64], [786432, 65536, 64, 64, 1], 0, 0, [(0, 786432), (2, 65536), (1, 64), (3, 1)],
              2 * SEGMENT)
    k = s.Kernel("identity", "pointwise", [2, 1024, 12, 64], [2, 4, 1, 1], [tensor, result])
    answer = json.loads(k.sdsc())["0_identity"]["dscs_"][0]["identity"]
    assert answer["scheduleTree_"][0]["layoutDimOrder_"] == ["x", "mb", "y", "out"]
    assert answer["scheduleTree_"][1]["layoutDimOrder_"] == ["x", "out", "y", "mb"]
    for core in range(8):
        (b, r, _, _), _ = k.slices(core)
        assert k.address(0, core) == SEGMENT + 2 * 64 * (b * 1024 + r * 256)


def test_sticks_that_lie_apart():
    """Every other row: a dimension of one step within the others, with a gap of one stick behind it."""
    columns = [(0, 512), (1, 1)]
    k = s.Kernel("identity", "pointwise", [64, 256], [2, 1],
                 [ROWS[:3] + (256, columns, SEGMENT), ([4, 64, 64], [64, 256, 1], 0, 0, [(0, 256), (1, 1)], 0)])
    answer = json.loads(k.sdsc())["0_identity"]["dscs_"][0]["identity"]
    assert answer["N_"] == {"name_": "n", "mb_": 64, "out_": 256, "y_": 1}
    every, dense = answer["scheduleTree_"]
    assert every["layoutDimOrder_"] == dense["layoutDimOrder_"] == ["y", "mb", "out"]
    assert every["backGapCore_"] == {"y": {"-1": "1"}} and "backGapCore_" not in dense
    assert every["startAddressCoreCorelet_"]["data_"] == {"[0, 0, 0]": str(SEGMENT + 128),
                                                          "[1, 0, 0]": str(SEGMENT + 128 + 64 * 128)}


# ---- what cannot be said --------------------------------------------------------------------

ROWS = ([4, 128, 64], [64, 256, 1], 0, 0, [(0, 256), (1, 1)], SEGMENT)


def kernel_of(*tensors, ranges=(128, 256), splits=(1, 1), kind="pointwise", op="add", **more):
    return s.Kernel(op, kind, ranges, splits, tensors, **more)


def with_access(offset, terms):
    return ROWS[:3] + (offset, terms, SEGMENT)


@pytest.mark.parametrize("kernel, words", [
    (lambda: kernel_of(ROWS, with_access(8, [(0, 256), (1, 1)]), ROWS, ranges=(128, 128)), "a whole stick"),
    (lambda: kernel_of(with_access(0, [(0, 256), (1, 64)]), ROWS, ranges=(128, 4)), "sticks"),
    (lambda: kernel_of(with_access(0, [(0, 256), (1, 2)]), ROWS, ranges=(128, 128)), "not one loop"),
    (lambda: kernel_of(with_access(0, [(0, 257), (1, 1)]), ROWS, ranges=(64, 64)), "not one loop"),
    (lambda: kernel_of(with_access(0, [(g.UNKNOWN, 256, 0, 128), (1, 1)]), ROWS), "only the data knows"),
    (lambda: kernel_of(with_access(0, [(0, 256, 0, 64), (1, 1)]), ROWS), "part of a loop"),
    (lambda: kernel_of(with_access(0, [(0, 256, 16), (1, 1)]), ROWS), "whole steps"),
    (lambda: kernel_of(ROWS, ROWS, ranges=(129, 256)), "is left by"),
    (lambda: kernel_of(ROWS, ([2, 256, 64], [16384, 1, 256], 0, 0, [(0, 256), (1, 1)], 0)), "another loop"),
    (lambda: kernel_of(ROWS, ([4, 64], [64, 1], 0, 0, [(1, 1)], 0)), "walks no tensor"),
    (lambda: kernel_of(ROWS, ROWS, splits=(3, 1)), "3 slices do not divide loop 0 of 128"),
    (lambda: kernel_of(ROWS, ROWS, splits=(1, 8)), "8 slices do not divide loop 1 of 4 sticks"),
    (lambda: kernel_of(ROWS, ROWS, splits=(16, 4)), "more than 32 cores"),
    (lambda: kernel_of(ROWS, ROWS, splits=(0, 4)), "1 or more"),
    (lambda: kernel_of(ROWS, ROWS, ranges=(0, 256)), "1 or more"),
    (lambda: kernel_of(ROWS, ROWS, op="a\"b"), "no name"),
    (lambda: kernel_of(ROWS, ROWS, op=""), "no name"),
    (lambda: kernel_of(ROWS, ROWS, kind="matmul"), "has 2 tensors"),
    (lambda: kernel_of(ROWS, ROWS, ROWS, kind="matmul", ranges=(128, 256)), "a product has the summed loop"),
    (lambda: kernel_of(ROWS, ROWS, kind="restickify"), "different loops"),
    (lambda: kernel_of(([4, 128, 32], [64, 256, 1], 0, 0, [(0, 256), (1, 1)], 0), ROWS), "whole sticks"),
    (lambda: kernel_of(([1 << 40, 1 << 40, 64], [64, 256, 1], 0, 0, [], 0), ROWS), "63 bits"),
    (lambda: kernel_of(ROWS[:5] + ((1 << 63) - 256,), ROWS, splits=(2, 1)), "63 bits"),
    (lambda: kernel_of(ROWS, ROWS, masked=[3]), "loop 3 is masked"),
    (lambda: kernel_of(ROWS, ROWS, ranges=(2,) * 9, splits=(1,) * 9), "names for 8"),
])
def test_refused(kernel, words):
    with pytest.raises(t.TegulaError, match=words):
        kernel().sdsc()


def test_numbers_out_of_range():
    k = library(add())
    for call in (lambda: k.sdsc(-1), lambda: k.slices(4), lambda: k.slices(-1), lambda: k.address(3, 0),
                 lambda: k.address(-1, 0), lambda: k.address(0, 4)):
        with pytest.raises(t.TegulaError):
            call()


def test_the_text_is_cut_as_snprintf_does():
    k, need = library(add()), g.size()
    whole = k.sdsc()
    text = ctypes.create_string_buffer(b"?" * 20)
    g._check(s.lib.tg_kernel_format_sdsc(text, 10, ctypes.byref(need), ctypes.byref(k.c), 0, ctypes.byref(k.error)),
             k.error)
    assert need.value == len(whole) and text.raw[:11] == whole[:9].encode() + b"\0?"
