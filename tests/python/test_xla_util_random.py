"""tegula/xla.h against enumeration: indices, sizes, equality and bitcasts of random small shapes.

Every element is looked at (xla_naive.py). What is checked is the contract of each function. Where an answer is "none"
the enumeration decides whether that is right, and each test counts both kinds of answers, so that no generator can make
it vacuous.
"""
import collections
import itertools
import json
import math
import subprocess
import sys

import pytest

import oracle as o
import xla_ctypes as xla
import xla_naive as naive
import xla_util as u
from oracle_cases import generator
from xla_naive import Array
from xla_util import node, read, refused


# ---- indices -------------------------------------------------------------------------------------


def test_indices_and_strides():
    rng, seen = generator("indices"), collections.Counter()
    for _ in range(500):
        a = naive.random_array(rng)
        shape, layout = node(a), a.layout()
        plain = a.untiled()
        first = a.but(tiles=a.tiles[:1] if len(a.dims) > 1 else [])
        readings = (("", a), ("_untiled", plain), ("_first_tile", first))
        for coord in rng.sample(list(layout.coords()), min(10, a.numel)):
            for suffix, reading in readings:
                assert u.linear_index(shape, coord, suffix) == reading.layout().place(coord)[0], (a, coord, suffix)
        held = layout.inverse()
        for slot in rng.sample(range(layout.span), min(10, layout.span)):
            assert u.multi_index(shape, slot) == held.get(slot, u.PADDING), (a, slot)
        assert u.multi_index(shape, layout.span) == u.multi_index(shape, -1) == u.OUTSIDE
        assert u.multi_index(shape, plain.layout().span, "_untiled") == u.OUTSIDE
        for wrong in ([-1] * len(a.dims), a.dims):
            if a.dims:
                refused("ARGUMENT", u.linear_index, shape, wrong)
        check_strides(a, shape, seen)
    assert seen["strided"] > 50 and seen["not strided"] > 25 and seen["packed"] > 5, seen


def check_strides(a, shape, seen):
    plain = a.untiled().layout()
    elements = u.numbers("tg_xla_strides_untiled", shape.ndim, u.ref(shape))
    assert all(plain.place(c)[0] == o.dot(c, elements) for c in plain.coords()), a
    size = o.STORAGE_BITS[a.dtype] // 8
    assert u.numbers("tg_xla_byte_strides_untiled", shape.ndim, u.ref(shape)) == [n * size for n in elements]
    if a.width % 8:
        refused("UNREPRESENTABLE", u.numbers, "tg_xla_byte_strides", shape.ndim, u.ref(shape))
        seen["packed"] += 1
        return
    layout = a.layout()
    unit = [layout.place([int(k == d) for k in range(shape.ndim)])[0] if n > 1 else 0 for d, n in enumerate(a.dims)]
    if all(layout.place(c)[0] == o.dot(c, unit) for c in layout.coords()):
        strides = u.numbers("tg_xla_byte_strides", shape.ndim, u.ref(shape))
        assert [s if n > 1 else 0 for s, n in zip(strides, a.dims)] == [s * a.width // 8 for s in unit], a
        seen["strided"] += 1
    else:
        refused("UNREPRESENTABLE", u.numbers, "tg_xla_byte_strides", shape.ndim, u.ref(shape))
        seen["not strided"] += 1


def test_stepping_visits_every_index_in_order():
    for dims in ([], [3], [2, 1, 3], [2, 3, 2], [0], [2, 0]):
        shape, wanted = node(Array(dims, range(len(dims)))), list(itertools.product(*map(range, dims)))
        index, found = u.ints([0] * len(dims)), []
        while wanted:
            found.append(tuple(index[:len(dims)]))
            assert u.lib.tg_xla_index_in_bounds(u.ref(shape), index, len(dims), None) & 1
            if not u.lib.tg_xla_bump_index(index, u.ref(shape)) & 1:
                break
        assert found == wanted and list(index)[:len(dims)] == [0] * len(dims)
        for a, b in itertools.product(found[:7], repeat=2):
            assert u.lib.tg_xla_compare_indices(u.ints(a), u.ints(b), len(dims)) == (a > b) - (a < b)


# ---- sizes ---------------------------------------------------------------------------------------


def first_tile_size(a):
    """ArraySize in the words of the specification, 4.4."""
    pieces = largest_pieces(a)
    count = 1
    tile = a.tiles[0][::-1]
    for i in range(max(len(tile), len(a.dims))):
        size = pieces[a.order[i]] if i < len(a.dims) else 1
        count *= -(-size // tile[i]) * tile[i] if i < len(tile) else size
    count = -(-count // a.tail) * a.tail
    return -(-count * a.width // 8)


def largest_pieces(a):
    pieces = list(a.dims)
    for physical, cuts in a.splits:
        d = a.order[len(a.dims) - 1 - physical]
        ends = [0, *cuts, a.dims[d]]
        pieces[d] = max(y - x for x, y in zip(ends, ends[1:]))
    return pieces


def test_sizes():
    rng, seen = generator("sizes"), collections.Counter()
    for _ in range(600):
        a = naive.random_array(rng)
        if rng.random() < 0.3:
            a.splits = naive.random_splits(rng, a)
        if rng.random() < 0.1 and a.dims:
            a.dims[rng.randrange(len(a.dims))], a.splits = 0, []
        shape = node(a)
        size = lambda name: u.number("tg_xla_" + name, u.ref(shape))
        to_bytes = lambda n: -(-n * a.width // 8)
        places, span = a.places()
        assert u.number("tg_xla_elements", *u.tree(xla.parse(f"({a.text}, {a.text})"))) == 2 * a.numel
        assert u.number("tg_xla_byte_size", *u.tree(xla.parse(f"b({a.text})")), u.i64(-1)) == to_bytes(a.numel)
        assert size("array_size") == to_bytes(span)
        assert size("array_data_size") == to_bytes(max(places, default=-1) + 1), a
        pieces = largest_pieces(a)
        assert [u.number("tg_xla_max_split_size", u.ref(shape), d) for d in range(len(pieces))] == pieces
        assert size("max_elements_per_split") == math.prod(pieces)
        assert size("array_size_per_split") == to_bytes(a.but(dims=pieces, splits=[]).places()[1])
        first = a.but(tiles=a.tiles[:1] if len(a.dims) > 1 else [])
        last = first.layout().place([n - 1 for n in a.dims])[0] if a.numel else -1
        assert size("array_data_size_first_tile") == to_bytes(last + 1)
        if not a.tiles:
            assert size("array_size_first_tile") == to_bytes(a.numel)
        elif o.COMBINE not in a.tiles[0]:
            assert size("array_size_first_tile") == first_tile_size(a), a
            seen["ours is larger"] += size("array_size") > size("array_size_first_tile")
        trivial = a.places() == a.but(tiles=[]).places()
        assert u.flag("tg_xla_is_untiled", u.ref(shape)) == trivial, a
        seen["tiles do nothing"] += trivial and bool(a.tiles)
    assert seen["ours is larger"] > 20 and seen["tiles do nothing"] > 20, seen


# ---- equality ------------------------------------------------------------------------------------


def random_pair(rng, same=0.5):
    """Two arrays of the same number of elements, often the second a rewriting of the first."""
    a = naive.random_array(rng)
    if rng.random() < same:
        return a, naive.random_array(rng, naive.factored(rng, a.numel, rng.randint(0 if a.numel == 1 else 1, 4)))
    return a, naive.random_array(rng, a.dims)


def check_witness(a, b, image, witness):
    """image: the coordinate of a that a coordinate of b is."""
    if witness.what == u.DIFFERENT_MAP:
        coord = tuple(witness.coord[:len(b.dims)])
        assert a.layout().place(image(coord)) == [witness.a] and b.layout().place(coord) == [witness.b], (a, b)
        assert witness.a != witness.b
    elif witness.what == u.DIFFERENT_SPAN:
        assert (witness.a, witness.b) == (a.layout().span, b.layout().span)
    elif witness.what == u.DIFFERENT_WIDTH:
        assert (witness.a, witness.b) == (a.width, b.width)
    elif witness.what == u.DIFFERENT_MEMORY_SPACE:
        assert (witness.a, witness.b) == (a.space, b.space)
    elif witness.what == u.DIFFERENT_METADATA_PREFIX:
        assert (witness.a, witness.b) == (a.prefix, b.prefix)


def test_shape_equal():
    rng, seen = generator("equal"), collections.Counter()
    for _ in range(1500):
        a = naive.random_array(rng)
        b = naive.random_array(rng, a.dims) if rng.random() < 0.7 else a.but()
        naive.flavour(rng, a if rng.random() < 0.5 else b)
        equal, witness = u.equal(xla.parse(a.text), xla.parse(b.text))
        assert equal == naive.reshape_is_bitcast(a, b), (a, b)
        if equal:
            seen["written otherwise"] += a.text != b.text
        else:
            check_witness(a, b, lambda c: c, witness)
            seen[witness.what] += 1
            assert a.text != b.text
        assert u.equal_fields(xla.parse(a.text), xla.parse(b.text), u.COMPARE_METADATA_PREFIX) == (a.text == b.text)
    assert seen["written otherwise"] > 40 and seen[u.DIFFERENT_MAP] > 200 and seen[u.DIFFERENT_SPAN] > 50, seen
    for what in (u.DIFFERENT_WIDTH, u.DIFFERENT_MEMORY_SPACE, u.DIFFERENT_METADATA_PREFIX, u.DIFFERENT_SPLITS,
                 u.DIFFERENT_ELEMENT_TYPE):
        assert seen[what] > 5, (what, seen)


JAXLIB = """
import json, sys
from jaxlib import xla_client as xc
print(json.dumps([xc.Shape(a) == xc.Shape(b) for a, b in json.load(sys.stdin)]))
"""


def test_jaxlib_agrees_on_equality_as_written():
    pytest.importorskip("jaxlib")
    rng, pairs = generator("jaxlib"), []
    corpus = json.loads((xla.ROOT / "tests/spec/xla_text.json").read_text())["shape_text_corpus"]
    for _ in range(1500):
        a = naive.random_array(rng)
        b = a.but()
        for _ in range(rng.choice((0, 1, 1, 2))):
            naive.flavour(rng, b)
            if rng.random() < 0.3:
                b = b.but(order=naive.random_order(rng, len(b.dims)), splits=[])
            if rng.random() < 0.3:
                b.tiles = naive.random_tiles(rng, len(b.dims))
            if rng.random() < 0.2:
                b.tail = 7
        pairs.append((a.text, b.text))
        pairs.append((f"(b({a.text}), {a.text})", f"({'b' if rng.random() < 0.8 else ''}({a.text}), {b.text})"))
    pairs += [(rng.choice(corpus), rng.choice(corpus)) for _ in range(200)] + [(text, text) for text in corpus]
    done = subprocess.run([sys.executable, "-c", JAXLIB], input=json.dumps(pairs), text=True, capture_output=True,
                          check=True)
    wanted = json.loads(done.stdout)
    for (a, b), equal in zip(pairs, wanted, strict=True):
        assert u.equal_fields(xla.parse(a), xla.parse(b)) == equal, (a, b)
    assert wanted.count(True) > 500 and wanted.count(False) > 500


# ---- bitcasts ------------------------------------------------------------------------------------


def test_reshape_is_bitcast():
    rng, seen = generator("reshape"), collections.Counter()
    for _ in range(4000):
        a, b = random_pair(rng)
        if rng.random() < 0.2:
            naive.flavour(rng, b)
        ignore = rng.random() < 0.3
        x, y = node(a), node(b)
        yes, witness = u.reshape_is_bitcast(x, y, ignore)
        assert yes == naive.reshape_is_bitcast(a, b, ignore), (a, b)
        seen["yes" if yes else witness.what] += 1
        seen["yes, other sizes and tiles"] += yes and a.dims != b.dims and bool(a.tiles or b.tiles)
        if not yes:
            check_witness(a, b, lambda c: naive.unravel(naive.ravel(c, b.dims), a.dims), witness)
        untiled = u.reshape_is_bitcast_untiled(x, y, ignore)
        assert untiled == ((ignore or a.dtype == b.dtype) and a.untiled().places() == b.untiled().places()), (a, b)
        seen["upstream is wrong"] += untiled and not yes
    assert seen["yes"] > 150 and seen["yes, other sizes and tiles"] > 50 and seen["upstream is wrong"] > 100, seen
    assert seen[u.DIFFERENT_MAP] > 1000 and seen[u.DIFFERENT_SPAN] > 100, seen


def test_transposes():
    rng, seen = generator("transpose"), collections.Counter()
    for _ in range(2500):
        a = naive.random_array(rng)
        perm = naive.random_order(rng, len(a.dims))
        b = naive.random_array(rng, [a.dims[d] for d in perm])
        if rng.random() < 0.5:
            b = read(u.shape("tg_xla_permute_dimensions", u.ref(node(a)), u.ints32(perm)))
            assert naive.transpose_is_bitcast(a, b, perm), (a, b, perm)
            assert (b.tiles, b.tail, b.bits) == (a.tiles, a.tail, a.bits)
        if rng.random() < 0.2:
            naive.flavour(rng, b)
        x, y = node(a), node(b)
        yes, witness = u.transpose_is_bitcast(x, y, perm)
        assert yes == naive.transpose_is_bitcast(a, b, perm), (a, b, perm)
        if not yes:
            check_witness(a, b, lambda c: tuple(c[perm.index(d)] for d in range(len(perm))), witness)
        found = u.deduce_transpose(x, y)
        assert (found is not None) == naive.any_transpose(a, b), (a, b)
        assert found is None or naive.transpose_is_bitcast(a, b, found, True), (a, b, found)
        narrow = u.deduce_transpose(x, y, untiled=True)
        assert narrow is None or u.transpose_is_bitcast_untiled(x, y, narrow, True)
        seen[yes] += 1
        seen["found", found is not None] += 1
        seen["upstream finds less"] += found is not None and narrow is None
        seen["upstream finds more"] += found is None and narrow is not None
    assert min(seen[True], seen[False], seen["found", True], seen["found", False]) > 200, seen
    assert seen["upstream finds less"] > 10 and seen["upstream finds more"] > 10, seen


def elements_through(found, a, b):
    """{coordinate of b: coordinate of a} of a decomposition."""
    def through_transpose(coord, perm):
        return tuple(coord[list(perm).index(d)] for d in range(len(perm)))

    kind, image = u.KINDS[found.kind], {}
    for c in b.layout().coords():
        if kind == "reshape":
            image[c] = naive.unravel(naive.ravel(c, b.dims), a.dims)
        elif kind == "transpose":
            image[c] = through_transpose(c, found.transpose1[:len(a.dims)])
        else:
            middle, first = read(found.reshape_shape), read(found.transpose1_shape)
            x = through_transpose(c, found.transpose2[:len(b.dims)])
            x = naive.unravel(naive.ravel(x, middle.dims), first.dims)
            image[c] = through_transpose(x, found.transpose1[:len(a.dims)])
    return image


def test_decompositions():
    rng, seen = generator("decompose"), collections.Counter()
    for _ in range(2500):
        a, b = random_pair(rng, 0.7)
        if rng.random() < 0.3:
            a, b = a.but(tiles=[], tail=1, bits=0), b.but(tiles=[], tail=1, bits=0)
        elif rng.random() < 0.3:
            perm = naive.random_order(rng, len(a.dims))
            b = read(u.shape("tg_xla_permute_dimensions", u.ref(node(a)), u.ints32(perm)))
        found, narrow = u.decompose(node(a), node(b)), u.decompose(node(a), node(b), untiled=True)
        kind = u.KINDS[found.kind]
        seen[kind, bool(a.tiles or b.tiles)] += 1
        if kind != "none":
            assert elements_through(found, a, b) == naive.reread(a, b), (a, b, kind)
        else:
            assert a.tiles or b.tiles or a.tail != b.tail or a.width != b.width, (a, b)
        plain = (a.untiled(), b.untiled())
        assert elements_through(narrow, *plain) == naive.reread(*plain), (a, b)
        if kind == "trt":
            assert naive.transpose_is_bitcast(a, read(found.transpose1_shape), list(found.transpose1[:len(a.dims)]))
            assert naive.transpose_is_bitcast(read(found.reshape_shape), b, list(found.transpose2[:len(b.dims)]))
    for kind in ("reshape", "transpose", "trt"):
        assert seen[kind, True] > 20 and seen[kind, False] > 20, seen
    assert seen["none", True] > 100, seen


def test_align_layouts():
    rng, seen = generator("align"), collections.Counter()
    for _ in range(1200):
        a = naive.random_array(rng, levels=(0, 0, 0, 1, 1, 2))
        naive.flavour(rng, a)
        dims = naive.factored(rng, a.numel, rng.randint(0 if a.numel == 1 else 1, 4))
        exact, untiled = u.align(node(a), dims), u.align(node(a), dims, untiled=True)
        if exact is not None:
            b = read(exact)
            assert b.dims == dims and naive.reshape_is_bitcast(a, b), (a, b)
            assert (b.bits, b.space, b.prefix) == (a.bits, a.space, a.prefix)
        possible = any(a.untiled().places() == Array(dims, order).places() for order in naive.orders(len(dims)))
        assert (untiled is not None) == possible, (a, dims)
        if untiled is not None:
            b = read(untiled)
            assert not b.tiles and a.untiled().places() == b.places(), (a, b)
            if not a.tiles and not a.splits:
                assert exact is not None, (a, dims)
        seen["exact", exact is not None] += 1
        seen["untiled", untiled is not None] += 1
        seen["tiles found", a.dims != dims and exact is not None and exact.layout.ntiles > 0] += 1
    assert min(seen["exact", True], seen["exact", False], seen["untiled", True], seen["untiled", False]) > 50, seen
    assert seen["tiles found", True] > 50, seen
    print(seen)
