"""tegula/xla.h against enumeration: random small shapes, every element looked at (xla_naive.py).

What is checked is the contract of each function. Where an answer is "none" the enumeration decides whether that is right,
and each test counts both kinds of answers, so that no generator can make it vacuous.
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
from test_oracle_self import read_xla
from xla_naive import Array


def node(a):
    return u.array(a.text)


def read(shape):
    """A result as an Array."""
    dtype, dims, order, tiles, tail, bits = read_xla(u.text(shape))
    layout = shape.layout
    cuts, at = [], 0
    for i in range(layout.nsplits):
        n = layout.split_nindices[i]
        cuts.append((layout.split_dim[i], list(layout.split_indices[at:at + n])))
        at += n
    return Array(dims, order, tiles, tail, bits, layout.memory_space, cuts, layout.metadata_prefix_bytes, dtype)


def refused(status, function, *args):
    with pytest.raises(u.Refused) as refusal:
        function(*args)
    assert refusal.value.status == status, refusal.value
    return refusal.value


# ---- indices --------------------------------------------------------------------------------------------


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


# ---- sizes ------------------------------------------------------------------------------------------------


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


def random_splits(rng, a):
    splits = []
    for physical, d in enumerate(reversed(a.order)):
        if 1 < a.dims[d] < 9 and rng.random() < 0.4:
            splits.append((physical, sorted(rng.sample(range(1, a.dims[d]), rng.randint(1, a.dims[d] - 1)))))
    return splits


def test_sizes():
    rng, seen = generator("sizes"), collections.Counter()
    for _ in range(600):
        a = naive.random_array(rng)
        if rng.random() < 0.3:
            a.splits = random_splits(rng, a)
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


# ---- equality -----------------------------------------------------------------------------------------------


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


def test_shape_equal():
    rng, seen = generator("equal"), collections.Counter()
    for _ in range(1500):
        a = naive.random_array(rng)
        b = naive.random_array(rng, a.dims) if rng.random() < 0.7 else a.but()
        flavour(rng, a if rng.random() < 0.5 else b)
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
            flavour(rng, b)
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


# ---- bitcasts ---------------------------------------------------------------------------------------------------


def test_reshape_is_bitcast():
    rng, seen = generator("reshape"), collections.Counter()
    for _ in range(4000):
        a, b = random_pair(rng)
        if rng.random() < 0.2:
            flavour(rng, b)
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
            flavour(rng, b)
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
        flavour(rng, a)
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


# ---- sizes alone ---------------------------------------------------------------------------------------------------


def random_sizes(rng):
    numel = rng.choice((1, 2, 12, 24, 60, 72, 210))
    return [naive.factored(rng, numel, rng.randint(1, 6)) for _ in range(2)]


def test_common_factors():
    rng, groups = generator("factors"), collections.Counter()
    for _ in range(3000):
        a, b = random_sizes(rng)
        pairs = [tuple(p) for p in u.common_factors(a, b)]
        assert pairs[0] == (0, 0) and pairs[-1] == (len(a), len(b))
        for (i, j), (i2, j2) in zip(pairs, pairs[1:]):
            assert i <= i2 and j <= j2 and (i, j) != (i2, j2)
            assert math.prod(a[i:i2]) == math.prod(b[j:j2])
            single = (i2 - i, j2 - j) == (1, 1)
            cuts = [(p, q) for p in range(i, i2 + 1) for q in range(j, j2 + 1)
                    if math.prod(a[i:p]) == math.prod(b[j:q]) and (p, q) not in ((i, j), (i2, j2))]
            assert single or not cuts, (a, b, pairs)
            groups[i2 - i, j2 - j] += 1
        same = next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        assert pairs[:same + 1] == [(k, k) for k in range(same + 1)]
        check_unmodified(a, b, pairs)
    assert groups[1, 1] > 500 and groups[1, 0] > 300 and groups[0, 1] > 300 and groups[1, 2] > 100, groups


def check_unmodified(a, b, pairs):
    x, y = (node(Array(dims, range(len(dims)))) for dims in (a, b))
    wanted = {i: j for (i, j), end in zip(pairs, pairs[1:]) if end == (i + 1, j + 1)}
    assert u.unmodified(x, y) == [list(p) for p in wanted.items()]
    for subset in (list(wanted), [0], list(range(len(a)))):
        images = [wanted.get(d) for d in subset]
        assert u.leaves_dims(x, y, subset) == (None if None in images else images)


def test_common_factors_of_nothing():
    assert u.common_factors([5, 0, 2], [5, 3, 0]) == [[0, 0], [1, 1], [3, 3]]
    assert u.common_factors([0, 10, 3], [0, 3]) == [[0, 0], [3, 2]]
    assert u.common_factors([2**40, 2**40, 0], [0]) == [[0, 0], [3, 1]]
    assert u.common_factors([0, 2**40, 2**40], [0, 5]) == [[0, 0], [3, 2]]
    assert refused("ARGUMENT", u.common_factors, [2, 3], [5]).message.endswith("products 6 and 5 differ")
    refused("OVERFLOW", u.common_factors, [2**40, 2**40], [5])
    refused("ARGUMENT", u.common_factors, [2, -3], [6])


def test_unit_dimensions():
    """As few as possible, found by trying all subsets of the dimensions of size 1."""
    rng, seen = generator("units"), collections.Counter()
    subsets = lambda dims: [s for n in range(len(dims) + 1)
                            for s in itertools.combinations([d for d, size in enumerate(dims) if size == 1], n)]
    without = lambda dims, gone: [n for d, n in enumerate(dims) if d not in gone]
    for _ in range(1500):
        core = [rng.choice((0, 1, 2, 3)) for _ in range(rng.randint(0, 4))]
        a, b = list(core), list(core)
        for dims in (a, b):
            for _ in range(rng.randint(0, 2)):
                dims.insert(rng.randint(0, len(dims)), 1)
        if rng.random() < 0.2:
            rng.shuffle(b)
        found = u.units(*(node(Array(dims, range(len(dims)))) for dims in (a, b)))
        fewest = min((len(x) + len(y) for x in subsets(a) for y in subsets(b) if without(a, x) == without(b, y)),
                     default=None)
        assert (found is None) == (fewest is None), (a, b)
        seen[fewest] += 1
        if found:
            assert without(a, found[0]) == without(b, found[1]) and len(found[0]) + len(found[1]) == fewest, (a, b)
            assert all(a[d] == 1 for d in found[0]) and all(b[d] == 1 for d in found[1])
    assert seen[None] > 20 and seen[0] > 100 and seen[3] > 50, seen


def numbers_through(dims, perm):
    """For each element of the result of a transpose, in row-major order, its row-major number in the operand."""
    operand = [dims[perm.index(d)] for d in range(len(dims))]
    return [naive.ravel([c[perm.index(d)] for d in range(len(dims))], operand)
            for c in itertools.product(*map(range, dims))]


def test_normalized_transposes():
    rng = generator("normalize")
    for _ in range(1500):
        dims = [rng.choice((1, 1, 2, 3, 4)) for _ in range(rng.randint(0, 5))]
        perm = naive.random_order(rng, len(dims))
        sizes, normalized = u.normalize_transpose(node(Array(dims, range(len(dims)))), perm)
        assert numbers_through(dims, perm) == numbers_through(sizes, normalized), (dims, perm)
        assert 1 not in sizes and not any(q == p + 1 for p, q in zip(normalized, normalized[1:])), (dims, perm)


# ---- editing ------------------------------------------------------------------------------------------------------------


def silenced(a, gone):
    """The array with all of `gone` of size 1 and the numbers that only they have set to 1: where its other elements lie,
    and the storage, are what deleting `gone` must give. Owners of each place are followed level by level; the padding of
    prepended places of size 1 has none, but counts as owned by dimension -1."""
    owners, tiles = [{d} for d in reversed(a.order)], []
    for tile in a.tiles:
        owners = [set()] * (len(tile) - len(owners)) + owners
        first, groups, insides, written, group = len(owners) - len(tile), [], [], [], set()
        for owner, number in zip(owners[first:], tile):
            group = group | owner
            if number != o.COMBINE:
                groups.append(group)
                insides.append(group or ({-1} if number > 1 else set()))
                written.append(number if group - gone or not group else 1)
                group = set()
            else:
                written.append(number)
        owners = owners[:first] + groups + insides
        tiles.append(written)
    return a.but(dims=[1 if d in gone else n for d, n in enumerate(a.dims)], tiles=tiles, splits=[])


def restricted(coord, ndim, gone):
    rest = iter(coord)
    return tuple(0 if d in gone else next(rest) for d in range(ndim))


def test_delete_dimensions():
    rng, seen = generator("delete"), collections.Counter()
    for _ in range(1500):
        a = naive.random_array(rng)
        if rng.random() < 0.3:
            a.splits = random_splits(rng, a)
        gone = set(rng.sample(range(len(a.dims)), rng.randint(0, len(a.dims))))
        b = read(u.shape("tg_xla_delete_dimensions", u.ref(node(a)), u.ints32(list(gone)), len(gone)))
        keep = (u.C.c_bool * u.MAX_NDIM)(*(d not in gone for d in range(len(a.dims))))
        assert b.text == u.text(u.shape("tg_xla_filter_dimensions", u.ref(node(a)), keep))
        judge = silenced(a, gone).layout()
        layout = b.layout()
        assert layout.span == judge.span, (a, gone, b)
        assert all(layout.place(c) == judge.place(restricted(c, len(a.dims), gone)) for c in layout.coords()), (a, b)
        cut = {a.order[len(a.dims) - 1 - p]: cuts for p, cuts in a.splits}
        left = {d: cuts for d, cuts in cut.items() if d not in gone}
        number = [d for d in range(len(a.dims)) if d not in gone]
        assert {number[b.order[len(b.dims) - 1 - p]]: cuts for p, cuts in b.splits} == left, (a, b)
        seen["tiled"] += bool(b.tiles)
        seen["a level went"] += len(b.tiles) < len(a.tiles)
    assert seen["tiled"] > 300 and seen["a level went"] > 100, seen


def test_insert_dimensions():
    rng, seen = generator("insert"), collections.Counter()
    for _ in range(1500):
        a = naive.random_array(rng, [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(0, 3))])
        if rng.random() < 0.3:
            a.splits = random_splits(rng, a)
        at, sizes = rng.randint(0, len(a.dims)), [rng.choice((1, 2, 3)) for _ in range(rng.randint(0, 2))]
        shape = u.shape("tg_xla_insert_dimensions", u.ref(node(a)), at, u.ints(sizes), len(sizes))
        b = read(shape)
        new = list(range(at, at + len(sizes)))
        assert b.dims == a.dims[:at] + sizes + a.dims[at:]
        back = u.shape("tg_xla_delete_dimensions", u.ref(shape), u.ints32(new), len(new))
        same_when_taken_out(a, read(back))
        check_order_after_insert(a, b, at, len(sizes))
        if math.prod(sizes) == 1 and a.tail == 1:
            assert naive.reshape_is_bitcast(a.but(splits=[]), b.but(splits=[])), (a, b)
        seen["tiled"] += bool(a.tiles and sizes)
        check_steps(a.but(tail=1), b.but(tail=1), new)
    assert seen["tiled"] > 300, seen


def same_when_taken_out(a, back):
    """As it was; but `*` in front of the first dimension, which joins nothing, may have gone."""
    prepends = any(len(tile) > len(a.dims) and o.COMBINE in tile for tile in a.tiles)
    assert back.text == a.text or prepends and naive.reshape_is_bitcast(
        a.but(splits=[]), back.but(splits=[])) and a.splits == back.splits, (a, back)


def check_order_after_insert(a, b, at, n):
    major = list(reversed(b.order))
    place = major.index(at + n) if at < len(a.dims) else len(major)
    assert major[place - n:place] == list(range(at, at + n)), (a, b)


def check_steps(a, b, new):
    """A new dimension is not cut: it has one step. With `*` around it this need not be, but it is joined."""
    if any(o.COMBINE in tile for tile in b.tiles):
        return
    layout = b.layout()
    assert layout.span == a.layout().span * math.prod(b.dims[d] for d in new), (a, b)
    for d in new:
        at = lambda x: layout.place([x if k == d else 0 for k in range(len(b.dims))])[0]
        assert all(at(x) == x * at(1) for x in range(1, b.dims[d])), (a, b)
    elements = [layout.place(c)[0] for c in layout.coords()]
    assert len(set(elements)) == len(elements)


@pytest.mark.parametrize("name, logical", [("append", -1), ("prepend", 0)])
def test_major_dimensions(name, logical):
    rng = generator(name)
    for _ in range(600):
        a, n = naive.random_array(rng, [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(0, 3))]), rng.randint(1, 3)
        a.tail = 1
        b = read(u.shape(f"tg_xla_{name}_major_dimension", u.ref(node(a)), u.i64(n)))
        d = logical % len(b.dims)
        assert b.dims[d] == n and b.order[-1] == d
        x, y = a.layout(), b.layout()
        assert y.span == n * x.span, (a, b)
        for c in x.coords():
            for k in range(n):
                assert y.place(c[:d] + (k,) + c[d:]) == [k * x.span + x.place(c)[0]], (a, b)


def test_drop_degenerate_dimensions():
    rng, seen = generator("degenerate"), collections.Counter()
    for _ in range(1500):
        a = naive.random_array(rng, [rng.choice((1, 1, 2, 3, 5)) for _ in range(rng.randint(0, 4))])
        if rng.random() < 0.1:
            a.splits = random_splits(rng, a)
        try:
            b = read(u.shape("tg_xla_drop_degenerate_dimensions", u.ref(node(a))))
        except u.Refused as refusal:
            assert refusal.status == "UNREPRESENTABLE"
            seen["refused, with splits" if a.splits else "refused"] += 1
            continue
        assert b.dims == [n for n in a.dims if n != 1] and naive.reshape_is_bitcast(a.but(splits=[]), b.but(splits=[]))
        assert sorted(cuts for _, cuts in a.splits) == sorted(cuts for _, cuts in b.splits)
        kept = [d for d, n in enumerate(a.dims) if n != 1]
        unchanged = b.but(tiles=a.tiles, tail=a.tail, order=[kept.index(d) for d in a.order if d in kept])
        seen["upstream is wrong"] += unchanged.places() != a.places()
        seen["right"] += 1
    print(seen)
    assert seen["upstream is wrong"] > 50 and seen["right"] > 1300 and seen["refused"] < 30, seen


def test_make_descending():
    rng = generator("descending")
    for _ in range(500):
        a = naive.random_array(rng)
        flavour(rng, a)
        b = read(u.shape("tg_xla_make_descending", u.ref(node(a))))
        assert b.order == list(reversed(range(len(a.dims))))
        assert naive.transpose_is_bitcast(a, b, list(reversed(a.order))), (a, b)


# ---- orders ----------------------------------------------------------------------------------------------------------------


def test_orders():
    rng = generator("orders")
    for _ in range(500):
        n = rng.randint(0, 6)
        order, p, q = (naive.random_order(rng, n) for _ in range(3))
        layout = u.layout("tg_xla_layout_from_minor_to_major", n, u.ints32(order))
        major = order[::-1]
        assert xla.format_layout(layout) == xla.format_layout(
            u.layout("tg_xla_layout_from_major_to_minor", n, u.ints32(major)))
        assert u.dims("tg_xla_major_to_minor", n, u.ref(layout)) == major
        assert u.dims("tg_xla_logical_to_physical", n, u.ref(layout)) == [major.index(d) for d in range(n)]
        assert u.dims("tg_xla_compose", n, u.ints32(p), u.ints32(q), n) == [p[k] for k in q]
        inverse = u.dims("tg_xla_inverse", n, u.ints32(p), n)
        assert [inverse[k] for k in p] == list(range(n))
        values = [rng.randint(-9, 9) for _ in range(n)]
        assert u.numbers("tg_xla_permute", n, u.ints(values), u.ints32(p), n) == [values[k] for k in p]
        some = rng.sample(range(n), rng.randint(0, n))
        at = sorted(order.index(d) for d in some)
        run = at == list(range(at[0], at[0] + len(at))) if at else True
        assert u.flag("tg_xla_dims_are_consecutive", u.ref(layout), u.ints32(some), len(some)) == run
        check_moves(rng, order)


def check_moves(rng, order):
    a = Array([rng.choice((1, 2, 3, 4)) for _ in order], order)
    a.splits = random_splits(rng, a)
    layout, cut = node(a).layout, {order[len(order) - 1 - p]: cuts for p, cuts in a.splits}
    for d in order:
        others = [k for k in order if k != d]
        for name, wanted in (("major", others + [d]), ("minor", [d] + others)):
            moved = u.layout(f"tg_xla_move_dim_to_{name}", u.ref(layout), d)
            shape = node(a)
            shape.layout = moved
            b = read(shape)
            assert b.order == wanted
            assert {wanted[len(order) - 1 - p]: cuts for p, cuts in b.splits} == cut, (a, b)
