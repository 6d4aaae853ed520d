"""Small scopes, all of them or an even sample: every offset of every coordinate, every slot, every size."""
import itertools
import random

import oracle as o
import oracle_cases as cases

SIZES = range(6)


def every(items, step):
    """Each step-th item: an even, repeatable sample. Steps are prime, so that no pattern hides."""
    return itertools.islice(items, 0, None, step)


def tiles(lengths, numbers=(1, 2, 3, 4, o.COMBINE)):
    for n in lengths:
        for tile in itertools.product(numbers, repeat=n):
            if tile[-1] != o.COMBINE:
                yield tile


def xla_scope(ranks, levels, sizes=SIZES):
    """All shapes, orders and tile levels of a scope; `levels` is a list of lists of tiles."""
    for rank in ranks:
        for shape in cases.shapes(rank, sizes):
            for order in itertools.permutations(range(rank)):
                for chosen in itertools.product(*levels):
                    yield shape, order, chosen


def check_xla(scope, dtype="f16", **properties):
    return cases.check_cases(cases.xla(dtype, *layout, **properties) for layout in scope)


def test_strided_rank_0_to_2():
    steps = range(-4, 13)
    scope = ((shape, strides, offset) for rank in (0, 1, 2) for shape in cases.shapes(rank, SIZES)
             for strides in itertools.product(steps, repeat=rank) for offset in (0, 5))
    assert cases.check_cases(cases.strided("f32", *layout) for layout in scope) == 2 * (1 + 6 * 17 + 36 * 17 * 17)


def test_strided_rank_3():
    rng = random.Random(3)
    assert cases.check_cases(
        cases.strided("s8", [rng.randrange(6) for _ in range(3)], [rng.randrange(-4, 13) for _ in range(3)],
                      rng.randrange(-20, 60)) for _ in range(12000)) == 12000


def test_xla_untiled():
    assert check_xla(xla_scope(range(4), [])) == 1 + 6 + 2 * 36 + 6 * 216


def test_xla_one_level_rank_0_and_1():
    assert check_xla(xla_scope((0, 1), [list(tiles(range(1, 5)))])) > 4000


def test_xla_one_level_rank_2():
    assert check_xla(xla_scope((2,), [list(tiles((1, 2, 3)))])) == 8928


def test_xla_one_level_longer_than_rank_2():
    assert check_xla(every(xla_scope((2,), [list(tiles((4,)))]), 5)) > 7000


def test_xla_one_level_rank_3():
    assert check_xla(every(xla_scope((3,), [list(tiles(range(1, 5)))]), 37)) > 20000


def test_xla_two_levels_rank_0_and_1():
    assert check_xla(every(xla_scope((0, 1), [list(tiles((1, 2))), list(tiles((1, 2, 3)))]), 2)) > 10000


def test_xla_two_levels_rank_2():
    assert check_xla(every(xla_scope((2,), [list(tiles((1, 2))), list(tiles((1, 2, 3)))], (0, 1, 2, 3, 5)), 11)) > 10000


def test_xla_two_levels_rank_3():
    levels = [list(tiles((1, 2, 3))), list(tiles((1, 2, 3)))]
    assert check_xla(every(xla_scope((3,), levels, (1, 2, 3, 5)), 1009)) > 5000


def test_xla_tail_padding_and_element_size():
    scope = list(every(xla_scope((0, 1, 2), [list(tiles((1, 2)))]), 7))
    assert check_xla(scope, tail=7) > 200
    assert check_xla(scope, dtype="s4", element_bits=4) > 200
    assert check_xla(scope, dtype="pred", element_bits=32, tail=16, space=5) > 200
    assert check_xla(every(xla_scope((1, 2), []), 1), dtype="u1", element_bits=1, tail=9) > 70


def hosts(shape):
    """Strides of hosts without overlap: dense, dense with the dimensions reversed, and with gaps."""
    dense = o.row_major(shape)
    turned = list(reversed(o.row_major(list(reversed(shape)))))
    gapped, step = [], 1
    for n in reversed(shape):
        gapped.insert(0, step)
        step = step * max(1, n) + 3
    yield from (None, turned, gapped) if turned != dense else (None, gapped)


def orders(rank):
    for order in itertools.permutations(range(rank)):
        yield order
        yield (*order, -1)


def spyre_scope(dtype, rank, sizes):
    for shape in cases.shapes(rank, sizes):
        for strides in hosts(shape):
            for order in (None, *orders(rank)):
                for keep in (False, True):
                    yield cases.spyre(dtype, shape, strides, order, keep)


def test_spyre_default_rank_0_and_1():
    for dtype in ("f16", "f32", "s8", "u8", "s64", "pred", "f8e4m3fn"):
        cases.check_cases(spyre_scope(dtype, 0, ()))
        cases.check_cases(spyre_scope(dtype, 1, (0, 1, 2, 5, 31, 32, 33, 63, 64, 65, 130)))


def test_spyre_default_rank_2():
    assert cases.check_cases(every(spyre_scope("f16", 2, (0, 1, 2, 5, 65)), 5)) > 100
    assert cases.check_cases(every(spyre_scope("f32", 2, (1, 3, 33, 64)), 3)) > 80


def test_spyre_default_rank_3():
    assert cases.check_cases(every(spyre_scope("f16", 3, (0, 1, 2, 5)), 13)) > 200
    assert cases.check_cases(every(spyre_scope("f32", 3, (1, 2, 33)), 19)) > 80


def test_spyre_default_rank_4():
    assert cases.check_cases(every(spyre_scope("bf16", 4, (1, 2, 3)), 101)) > 100
