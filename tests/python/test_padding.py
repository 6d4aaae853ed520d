"""The analysis of padding, against a judge that is slow and takes other ways.

The judge sizes storage with the oracle of layouts alone. What one rounding adds it finds by undoing all that come
after it: levels behind it are dropped, and the numbers of its own level that are more major than it become 1, which
rounds nothing. The cheapest order it finds by trying every permutation, with every standard tiling.
"""
import ctypes
import itertools
import json
import math
import subprocess

import pytest

import oracle as o
import oracle_cases as cases
import padding_c as p
import tegula_c as t

STANDARD = {  # (bits of the element, dimensions): (tiles, E) in the order of padding.h
    (32, 2): [([(8, 128)], 0), ([(4, 128)], 0), ([(2, 128)], 0), ([(1, 128)], 0)],
    (32, 1): [([(1024,)], 0), ([(512,)], 0), ([(256,)], 0), ([(128,)], 0)],
    (16, 2): [([(8, 128), (2, 1)], 0), ([(4, 128), (2, 1)], 0), ([(2, 128), (2, 1)], 0)],
    (16, 1): [([(1024,), (128,), (2, 1)], 0)],
    (8, 2): [([(8, 128), (4, 1)], 0), ([(32, 128), (4, 1)], 0)],
    (4, 2): [([(8, 128), (8, 1)], 4), ([(64, 128), (8, 1)], 4)],
    (32, 0): [([(128,)], 0), ([(256,)], 0)],
    (16, 0): [([(128,)], 0), ([(256,)], 0)],
    (8, 0): [([(128,)], 0), ([(256,)], 0)],
    (4, 0): [([(128,)], 4), ([(256,)], 4)],
}
BITS = {"f32": 32, "s32": 32, "u32": 32, "bf16": 16, "f16": 16, "s8": 8, "pred": 8, "f8e4m3fn": 8, "s4": 4, "u4": 4}


# ---- the judge ---------------------------------------------------------------------------------------


def slots(shape, minor_to_major, tiles):
    dims = [shape[d] for d in reversed(minor_to_major)]
    return math.prod(o.xla_physical(dims, [0] * len(dims), tiles)[0])


def nbytes(shape, minor_to_major, tiles, bits, tail=1):
    return -(-(-(-slots(shape, minor_to_major, tiles) // tail) * tail) * bits // 8)


def sizes_with_owners(shape, minor_to_major, tiles):
    """[(size, dimensions)] after these tile levels, most major first."""
    now = [(shape[d], {d}) for d in reversed(minor_to_major)]
    for tile in tiles:
        now = combined(now, tile)
        numbers = [n for n in tile if n != o.COMBINE]
        split = len(now) - len(numbers)
        now = (now[:split] + [(-(-size // n), owners) for (size, owners), n in zip(now[split:], numbers)]
               + [(n, owners) for (_, owners), n in zip(now[split:], numbers)])
    return now


def combined(now, tile):
    now = [(1, set())] * (len(tile) - len(now)) + now
    first = len(now) - len(tile)
    out = now[:first]
    size, owners = 1, set()
    for (one, own), number in zip(now[first:], tile):
        size, owners = size * one, owners | own
        if number != o.COMBINE:
            out.append((size, owners))
            size, owners = 1, set()
    return out


def steps(shape, minor_to_major, tiles, bits):
    """(level, place, dims, size, tile, padded, bytes) of each rounding, in the order of padding.h."""
    before = -(-math.prod(shape) * bits // 8)
    for level, tile in enumerate(tiles):
        covered = combined(sizes_with_owners(shape, minor_to_major, tiles[:level]), tile)
        places = [i for i, n in enumerate(tile) if n != o.COMBINE]
        for place, (size, owners) in reversed(list(zip(places, covered[len(covered) - len(places):]))):
            partial = tuple(n if i >= place or n == o.COMBINE else 1 for i, n in enumerate(tile))
            after = nbytes(shape, minor_to_major, [*tiles[:level], partial], bits)
            number = tile[place]
            yield level, place, owners, size, number, -(-size // number) * number, after - before
            before = after


def cheapest_order(shape, given, tiles):
    """(elements, changes, order), the smallest over all permutations."""
    return min((slots(shape, order, tiles), sum(a != b for a, b in zip(order, given)), order)
               for order in itertools.permutations(range(len(shape))))


def advice(dtype, shape, given, tiles, tail, element_bits):
    """[(bytes, order, tiles, E)] for order and for tiling."""
    natural = o.STORAGE_BITS[dtype]
    start = (nbytes(shape, given, tiles, element_bits or natural, tail), tuple(given), tiles, element_bits)
    _, _, order = cheapest_order(shape, given, tiles)
    best = (nbytes(shape, order, tiles, element_bits or natural, tail), order, tiles, element_bits)
    first = best if best[0] < start[0] else start
    found = []
    for number, (other, bits) in enumerate(STANDARD.get((BITS.get(dtype), min(len(shape), 2)), [])):
        _, changes, order = cheapest_order(shape, given, other)
        found.append((nbytes(shape, order, other, bits or natural, tail), changes, number, order, other, bits))
    for size, _, _, order, other, bits in sorted(found)[:1]:
        if size < first[0]:
            return first, (size, order, other, bits)
    return first, first


# ---- the comparison ------------------------------------------------------------------------------------


def bits_of(dims):
    return sum(1 << d for d in dims)


def check_measure(dtype, shape, order, tiles, tail, element_bits):
    text = cases.xla_text(dtype, shape, order, tiles, tail, element_bits)
    got = p.measure(p.read(text))
    natural = o.STORAGE_BITS[dtype]
    stored = element_bits or natural
    logical = min(natural, stored)
    elements = math.prod(shape)
    want = [(level, place, bits_of(dims), *rest) for level, place, dims, *rest in steps(shape, order, tiles, stored)]
    parts = [tuple(getattr(part, name) for name, _ in p.Part._fields_) for part in got.part[:got.nparts]]
    assert parts == want, text
    physical = nbytes(shape, order, tiles, stored, tail)
    assert (got.elements, got.logical_bits, got.stored_bits) == (elements, logical, stored), text
    assert got.logical_bytes == -(-elements * logical // 8), text
    assert got.widening_bytes == -(-elements * stored // 8) - got.logical_bytes, text
    assert got.physical_bytes == physical == t.nbytes(t.parse(text).layout), text
    assert got.tail_bytes == physical - nbytes(shape, order, tiles, stored), text
    total = got.logical_bytes + got.widening_bytes + sum(part[-1] for part in parts) + got.tail_bytes
    assert total == physical, text
    assert all(part[-1] >= 0 for part in parts) and got.widening_bytes >= 0 and got.tail_bytes >= 0, text
    assert p.expansion(got) == (physical / got.logical_bytes if physical else 1.0), text
    check_worst(text, got, parts)
    return text


def check_worst(text, got, parts):
    grown = [(-padded / size, i) for i, (*_, size, _, padded, _) in enumerate(parts) if padded != size]
    assert p.worst(got) == (min(grown)[1] if grown else -1), text


def tiles_of(layout):
    out, dims = [], list(layout.tile_dims)
    for n in layout.tile_ndim[:layout.ntiles]:
        out.append(tuple(o.COMBINE if v == t.XLA_COMBINE else v for v in dims[:n]))
        dims = dims[n:]
    return out


def check_advice(dtype, shape, order, tiles, tail, element_bits):
    text = cases.xla_text(dtype, shape, order, tiles, tail, element_bits)
    array = p.read(text)
    got = p.advise(array)
    given = t.nbytes(t.parse(text).layout)
    for name, (size, m2m, tiling, bits) in zip(("order", "tiling"),
                                               advice(dtype, shape, order, tiles, tail, element_bits)):
        choice = getattr(got, name)
        said = (choice.physical_bytes, tuple(choice.layout.minor_to_major[:len(shape)]), tiles_of(choice.layout),
                choice.layout.element_size_in_bits)
        assert said == (size, tuple(m2m), [tuple(tile) for tile in tiling], bits), (text, name)
        assert choice.saved_bytes == given - size >= 0, (text, name)
        assert t.nbytes(t.parse(p.text_of(array, choice.layout)).layout) == size, (text, name)
        assert choice.layout.tail_padding == tail


def check(*case):
    check_measure(*case)
    check_advice(*case)


TILINGS = [[], [(2,)], [(4, 3)], [(3, 2)], [(2, 2, 2)], [(1, 4)], [(4, 2), (2, 1)], [(3, 4), (2, 3, 1)],
           [(2, 3), (2, 2, 2, 2)], [("*", 4)], [("*", 2, 3)], [(2, "*", 3)], [("*", "*", 5)], [(2, 3), ("*", 4)],
           [(2, 3), ("*", "*", 2, 2)], [(4,), (2,), (3, 1)], [(2, 2, 2, 2)], [("*", 3), ("*", 2, 2)],
           [(2, 1), ("*", 3, 2)]]


@pytest.mark.parametrize("ndim", range(4))
def test_every_small_shape(ndim):
    verdicts = 0
    for shape in itertools.product((0, 1, 2, 3, 5), repeat=ndim):
        for order in itertools.permutations(range(ndim)):
            for tiles in TILINGS:
                if order != tuple(reversed(range(ndim))) and (sum(shape) + len(tiles)) % 3:
                    continue  # other orders for a third of them
                check("f32", shape, order, tiles, 1, 0)
                verdicts += 1
    assert verdicts >= len(TILINGS)


def test_random_shapes():
    rng = cases.generator("padding")
    for _ in range(600):
        dtype = rng.choice(list(BITS) + ["s64", "u2", "c128"])
        ndim = rng.randrange(6)
        shape = [rng.choice((1, 1, 2, 3, 4, 7, 8, 17, 100, 128, 130, 1000)) for _ in range(ndim)]
        order = rng.sample(range(ndim), ndim)
        tiles = [cases.random_tile(rng, rng.randrange(1, 5), rng.choice((4, 130))) for _ in range(rng.randrange(4))]
        if rng.random() < 0.4:
            tiles = rng.choice([tiling for row in STANDARD.values() for tiling, _ in row])
        tail, bits = rng.choice((1, 1, 1, 8, 1000)), rng.choice((0, 0, 0, 4, 8, 32, 3))
        check(dtype, tuple(shape), tuple(order), [tuple(tile) for tile in tiles], tail, bits)


def test_six_and_seven_dimensions():
    rng = cases.generator("padding of many dimensions")
    for ndim, rounds in ((6, 12), (7, 2)):
        for _ in range(rounds):
            shape = [rng.choice((1, 2, 3, 5, 8, 9, 130)) for _ in range(ndim)]
            order = rng.sample(range(ndim), ndim)
            tiles = [tuple(cases.random_tile(rng, rng.randrange(1, ndim + 1), 9)) for _ in range(rng.randrange(1, 3))]
            array = p.read(cases.xla_text("s64", shape, order, tiles))
            found = p.advise(array).order
            elements, _, best = cheapest_order(shape, order, tiles)
            given = slots(shape, order, tiles)
            assert found.physical_bytes == 8 * elements
            assert tuple(found.layout.minor_to_major[:ndim]) == (best if elements < given else tuple(order))


# ---- known numbers ---------------------------------------------------------------------------------------

KNOWN = [  # text, bytes, expansion, order, its bytes, tiling, its bytes. Source: spec of XLA layouts 4.3, 4.6 and 7
    ("f32[1024,1]{1,0:T(8,128)}", 524288, 128, "{0,1:T(8,128)}", 32768, "{0,1:T(1,128)}", 4096),
    ("f32[17,130]{1,0:T(8,128)}", 24576, 24576 / 8840, "{1,0:T(8,128)}", 24576, "{1,0:T(1,128)}", 17408),
    ("f32[17,130]{0,1:T(8,128)}", 69632, 69632 / 8840, "{1,0:T(8,128)}", 24576, "{1,0:T(1,128)}", 17408),
    ("s32[2048,1,128,128,4]{4,3,2,1,0:T(8,128)}", 2**34, 32,
     "{0,3,2,1,4:T(8,128)}", 2**29, "{0,3,2,1,4:T(8,128)}", 2**29),
    ("u32[12582912,1]{1,0:T(8,128)}", 6 * 2**30, 128, "{0,1:T(8,128)}", 402653184, "{0,1:T(1,128)}", 50331648),
    ("pred[8,128]{1,0:T(8,128)E(32)}", 4096, 4, "{1,0:T(8,128)E(32)}", 4096, "{1,0:T(8,128)(4,1)}", 1024),
    ("pred[100,100]{1,0:T(8,128)E(32)}", 53248, 5.3248, "{1,0:T(8,128)E(32)}", 53248, "{1,0:T(8,128)(4,1)}", 13312),
    ("bf16[1,128]{1,0:T(1,128)(2,1)}", 512, 2, "{1,0:T(1,128)(2,1)}", 512, "{1,0:T(1,128)(2,1)}", 512),
    ("s4[9216,6144]{1,0:T(8,128)}", 56623104, 1, "{1,0:T(8,128)}", 56623104, "{1,0:T(8,128)(8,1)E(4)}", 28311552),
]


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row[0])
def test_known_numbers(row):
    text, size, expansion, order, order_bytes, tiling, tiling_bytes = row
    array = p.read(text)
    got, advised = p.measure(array), p.advise(array)
    assert (got.physical_bytes, p.expansion(got)) == (size, expansion)
    shape = text[: text.index("{")]
    for choice, want, nbytes_wanted in ((advised.order, order, order_bytes), (advised.tiling, tiling, tiling_bytes)):
        assert (p.text_of(array, choice.layout), choice.physical_bytes) == (shape + want, nbytes_wanted)
        assert choice.saved_bytes == size - nbytes_wanted


VECTORS = json.loads((t.ROOT / "tests/spec/xla_layouts.json").read_text())["byte_size"]


@pytest.mark.parametrize("row", [row for row in VECTORS if row.get("physical_bytes") is not None],
                         ids=lambda row: row["shape"])
def test_published_sizes_are_sums_of_parts(row):
    array = p.read(row["shape"])
    got = p.measure(array)
    parts = sum(part.bytes for part in got.part[:got.nparts])
    assert got.logical_bytes + got.widening_bytes + parts + got.tail_bytes == row["physical_bytes"]


# ---- what else a layout says ------------------------------------------------------------------------------


def test_bounds_count_as_sizes():
    bounded, fixed = p.measure(p.read("f32[<=17,130]{0,1:T(8,128)}")), p.measure(p.read("f32[17,130]{0,1:T(8,128)}"))
    assert t.fields(bounded) == t.fields(fixed)


def test_other_properties_stay_and_splits_follow_their_dimension():
    array = p.read("f32[1024,1]{1,0:T(8,128)L(8)S(3)SC(0:256,512)M(64)}")
    found = p.advise(array)
    assert p.text_of(array, found.order.layout) == "f32[1024,1]{0,1:T(8,128)L(8)S(3)SC(1:256,512)M(64)}"
    assert p.text_of(array, found.tiling.layout) == "f32[1024,1]{0,1:T(1,128)L(8)S(3)SC(1:256,512)M(64)}"


def test_no_bytes_to_save_is_no_change():
    """Another order needs fewer elements, but the tail takes them back."""
    array = p.read("f32[2,9]{0,1:T(2,8)L(1000)}")
    assert slots((2, 9), (0, 1), [(2, 8)]) > slots((2, 9), (1, 0), [(2, 8)])
    found = p.advise(array)
    assert (p.text_of(array, found.order.layout), found.order.saved_bytes) == ("f32[2,9]{0,1:T(2,8)L(1000)}", 0)


def test_sixteen_dimensions():
    """The search meets what two other ways of thinking say, where no one can try 16! orders."""
    shape = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 6, 7, 2, 3]
    rng = cases.generator("padding of sixteen dimensions")
    for _ in range(4):
        rng.shuffle(shape)
        given = rng.sample(range(16), 16)
        # Under T(8,128) only the last two places matter: try every pair.
        pairs = [slots([*rest(shape, a, b), shape[b], shape[a]], range(15, -1, -1), [(8, 128)])
                 for a, b in itertools.permutations(range(16), 2)]
        found = p.advise(p.read(cases.xla_text("s64", shape, given, [(8, 128)]))).order
        assert found.physical_bytes == 8 * min(pairs)
        # Under (3,) * 16 every order is the same; under (1,) * 15 + (5,) only the last place matters.
        same = p.advise(p.read(cases.xla_text("s8", shape, given, [(3,) * 16]))).order
        assert same.saved_bytes == 0
        last = p.advise(p.read(cases.xla_text("s8", shape, given, [(1,) * 15 + (5,)]))).order
        assert last.physical_bytes == math.prod(shape)  # 5 divides a size


def rest(shape, *without):
    return [n for d, n in enumerate(shape) if d not in without]


# ---- failures ------------------------------------------------------------------------------------------------

REFUSED = [  # text, status, words
    ("f32[?]{0:T(128)}", t.ERR_UNREPRESENTABLE, "unbounded"),
    ("f32[2,2]{0,0:T(8,128)}", t.ERR_ARGUMENT, "duplicate values"),
    ("f32[2,2]{1,0:T(8,*)}", t.ERR_ARGUMENT, "last place"),
    ("f32[4611686018427387904]{0:T(8,128)}", t.ERR_OVERFLOW, "overflow"),
    ("s8[4611686018427387904,1]{1,0:T(8,128)}", t.ERR_OVERFLOW, "63 bits"),
    ("s8[4611686018427387904,1]{1,0:E(32)}", t.ERR_OVERFLOW, "63 bits"),
]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[0])
def test_refusals_are_those_of_the_layout(row):
    text, status, words = row
    for function in (p.measure, p.advise):
        with pytest.raises(t.TegulaError) as caught:
            function(p.read(text))
        assert caught.value.status == status and words in str(caught.value)


def test_too_many_orders_are_refused():
    text = cases.xla_text("s8", range(2, 12), range(10), [(2,) * 9, ("*",) * 8 + (1,) * 10])
    assert p.measure(p.read(text)).nparts == 19
    with pytest.raises(t.TegulaError) as caught:
        p.advise(p.read(text))
    assert caught.value.status == t.ERR_LIMIT and "1048576 orders" in caught.value.message


def test_other_orders_may_not_fit():
    """Only the given order fits 63 bits; the others are passed over, not reported."""
    text = "s8[1,36028797018963968]{1,0:T(1,256)}"
    found = p.advise(p.read(text))
    assert found.order.saved_bytes == 0 and found.order.physical_bytes == 2**55


# ---- the binding ----------------------------------------------------------------------------------------------


def test_structs_match_the_header(tmp_path):
    lines = ["#include <stdio.h>", "#include <tegula/padding.h>", "int main(void) {"]
    want = []
    for name, struct in p.STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        want.append(f"{name} {ctypes.sizeof(struct)}")
        for field, _ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
            want.append(f"{name}.{field} {getattr(struct, field).offset}")
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text("\n".join(lines + ["return 0; }"]))
    subprocess.run(["gcc", "-std=c11", f"-I{t.ROOT / 'include'}", source, "-o", program], check=True)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines() == want
