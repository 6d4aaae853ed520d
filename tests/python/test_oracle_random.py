"""Larger layouts at random, point by point. A failing run prints its seed; TEGULA_SEED repeats it."""
import oracle as o
import oracle_cases as cases
import tegula_c as t

ENUMERABLE = 4000
POINTS = 60


def random_shape(rng, ranks=(1, 2, 3, 4, 5)):
    return [rng.choice((1, 2, 3, 5, 8, 17, 33, 64, 65, 128, 200, 1000)) for _ in range(rng.choice(ranks))]


def check_points(rng, case):
    layout, judge = t.parse(case.text).layout, case.layout
    cases.expect(case.text, "span", judge.span, layout.span)
    for _ in range(POINTS):
        coord = tuple(rng.randrange(n) for n in judge.shape)
        offsets = judge.place(coord)
        cases.expect(case.text, f"offset of {coord}", offsets[0], t.offset(layout, coord))
        cases.expect(case.text, f"slot {offsets[-1]}", coord, t.coord(layout, offsets[-1]))
    for _ in range(POINTS):
        position = rng.randrange(judge.span)
        found = t.coord(layout, position)
        if found != t.PADDING:
            assert position in judge.place(found), f"{case.text}: slot {position} holds {found}?"


def check(verdicts, rng, case):
    with verdicts.on(case.text):
        check_whole_or_points(rng, case)


def check_whole_or_points(rng, case):
    if case.layout.numel <= ENUMERABLE and case.layout.span <= 20 * ENUMERABLE:
        cases.check_case(case)
    else:
        check_points(rng, case)


def test_xla():
    rng, verdicts = cases.generator("xla"), cases.Verdicts()
    numbers = (1, 2, 3, 4, 7, 8, 16, 48, 64, 128, o.COMBINE, o.COMBINE)
    for _ in range(900):
        shape = random_shape(rng)
        tiles = []
        for _ in range(rng.randrange(4)):
            tile = [rng.choice(numbers) for _ in range(rng.randrange(1, 5))]
            tiles.append(tile[:-1] + [8 if tile[-1] == o.COMBINE else tile[-1]])
        case = cases.xla(rng.choice(("bf16", "f32", "s8")), shape, rng.sample(range(len(shape)), len(shape)), tiles,
                         rng.choice((1, 1, 24, 1024)))
        if len(tiles) * 4 + len(shape) <= 16 and case.layout.span < 2**62:
            check(verdicts, rng, case)
    verdicts.finish()


def test_spyre_default():
    rng, verdicts = cases.generator("spyre"), cases.Verdicts()
    for _ in range(500):
        shape = random_shape(rng, (1, 2, 3, 4))
        strides = None if rng.random() < 0.5 else cases.random_strides(rng, shape)
        order = rng.sample(range(len(shape)), len(shape)) + ([-1] if rng.random() < 0.3 else [])
        case = cases.spyre(rng.choice(("f16", "f32", "s8", "s64")), shape, strides, order, rng.random() < 0.5)
        check(verdicts, rng, case)
    verdicts.finish()


def test_spyre_explicit():
    rng, verdicts = cases.generator("spyre explicit"), cases.Verdicts()
    for _ in range(500):
        shape = random_shape(rng, (1, 2, 3, 4))
        strides = None if rng.random() < 0.5 else cases.random_strides(rng, shape)
        host = strides or o.row_major(shape)
        device_size, stride_map = cases.random_explicit_spyre(rng, "f16", shape, host)
        corners = [tuple(rng.randrange(n) for n in shape) for _ in range(500)] + [tuple(n - 1 for n in shape)]
        if 0 in stride_map or not all(o.pays_with_coins(o.dot(c, host), device_size, stride_map) for c in corners):
            continue
        case = cases.spyre("f16", shape, strides, device_size=device_size, stride_map=stride_map)
        with verdicts.on(case.text):
            check_points(rng, case)
    assert verdicts.finish() > 250


def test_strided():
    rng, verdicts = cases.generator("strided"), cases.Verdicts()
    for _ in range(500):
        shape = random_shape(rng, (1, 2, 3, 4))
        case = cases.strided("f32", shape, cases.random_strides(rng, shape), rng.choice((0, 12345)))
        check(verdicts, rng, case)
    verdicts.finish()
