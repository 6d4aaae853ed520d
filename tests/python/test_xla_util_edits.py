"""tegula/xla.h against enumeration: common factors, edited dimensions and orders of random small shapes.

As in test_xla_util_random.py: contracts, on every element, with both kinds of answers counted.
"""
import collections
import itertools
import math

import pytest

import oracle as o
import xla_ctypes as xla
import xla_naive as naive
import xla_util as u
from oracle_cases import generator
from xla_naive import Array
from xla_util import node, read, refused


# ---- sizes alone ---------------------------------------------------------------------------------


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


# ---- editing -------------------------------------------------------------------------------------


def silenced(a, gone):
    """The array with all of `gone` of size 1 and the numbers that only they have set to 1: where its other elements
    lie, and the storage, are what deleting `gone` must give. Owners of each place are followed level by level; the
    padding of prepended places of size 1 has none, but counts as owned by dimension -1."""
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
            a.splits = naive.random_splits(rng, a)
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
            a.splits = naive.random_splits(rng, a)
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
            a.splits = naive.random_splits(rng, a)
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
        naive.flavour(rng, a)
        b = read(u.shape("tg_xla_make_descending", u.ref(node(a))))
        assert b.order == list(reversed(range(len(a.dims))))
        assert naive.transpose_is_bitcast(a, b, list(reversed(a.order))), (a, b)


# ---- orders --------------------------------------------------------------------------------------


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
    a.splits = naive.random_splits(rng, a)
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
