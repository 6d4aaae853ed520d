"""Post-conditions of the algebra: split, merge, reorder, coalesce, and every view against dictionaries."""
import itertools

import pytest

import oracle as o
import oracle_cases as cases
import tegula_c as t


def material(rng, count):
    """Small layouts of every kind; most of them over storage that starts at offset 0."""
    made = []
    while len(made) < count:
        shape = [rng.choice((1, 2, 3, 4, 5, 6, 8)) for _ in range(rng.randrange(0, 4))]
        kind = rng.randrange(6)
        if kind == 0:
            made.append(cases.strided("f32", shape, cases.random_strides(rng, shape), rng.choice((0, 0, 7))))
        elif kind == 1:
            made.append(cases.strided("f32", shape, [rng.randrange(0, 7) for _ in shape]))
        elif kind == 2:
            order = rng.sample(range(len(shape)), len(shape))
            tiles = [cases.random_tile(rng, rng.randrange(1, 4)) for _ in range(rng.randrange(0, 3))]
            made.append(cases.xla("f32", shape, order, tiles))
        elif kind == 3:
            wide = [n * rng.choice((1, 20)) for n in shape]
            if o.math.prod(wide) < 2000:
                order = rng.sample(range(len(shape)), len(shape)) + ([-1] if rng.random() < 0.3 else [])
                made.append(cases.spyre("f32", wide, None, order, rng.random() < 0.5))
        else:
            strides = cases.random_strides(rng, shape)
            device_size, stride_map = cases.random_explicit_spyre(rng, "f32", shape, strides)
            reach = {o.dot(c, strides) for c in itertools.product(*map(range, shape))}
            if (o.math.prod(device_size) < 20000
                    and all(o.pays_with_coins(h, device_size, stride_map) for h in reach)):
                made.append(cases.spyre("f32", shape, strides, device_size=device_size, stride_map=stride_map))
    return made


def prepared(name, count):
    """Random layouts, parsed. One that is refused fails the test at its end, so that the others are still judged."""
    rng, refused = cases.generator(name), []
    for case in material(rng, count):
        try:
            layout = t.parse(case.text).layout
        except t.TegulaError as why:
            refused.append(f"{case.text}: {why}")
            continue
        yield rng, case, layout
    assert not refused, f"{len(refused)} of {count} are refused:\n" + "\n".join(refused[:5])


def memory_modes(layout):
    return [k for k in range(layout.nmodes) if layout.mode[k].into == t.TO_MEMORY]


def same_map(text, result, judge):
    """The same offsets, and a valid value of which the mode table says the same."""
    t.validate(result)
    wanted = judge.table()
    cases.expect(text, "offsets", wanted, t.table(result))
    for coord, offset in wanted.items():
        cases.expect(text, f"mode table at {coord}", offset, cases.evaluate(result, coord))


def test_mode_table_is_the_map():
    verdicts = cases.Verdicts()
    for _, case, layout in prepared("modes", 400):
        with verdicts.on(case.text):
            same_map(case.text, layout, case.layout)
    verdicts.finish()


def test_split_and_merge():
    verdicts = cases.Verdicts()
    for _, case, layout in prepared("split", 250):
        for m, tile in itertools.product(memory_modes(layout), (1, 2, 3, 5, 64)):
            text = f"split({case.text}, {m}, {tile})"
            with verdicts.on(text):
                check_split(text, case, layout, m, tile)
    verdicts.finish()


def check_split(text, case, layout, m, tile):
    try:
        out = t.split(layout, m, tile)
    except t.TegulaError as why:
        if layout.mode[m].axis < 0 and why.status == t.ERR_UNREPRESENTABLE:
            return
        raise
    same_map(text, out, case.layout)
    cases.expect(text, "modes", layout.nmodes + 1, out.nmodes)
    cases.expect(text, "sizes", (-(-layout.mode[m].size // tile), tile), (out.mode[m].size, out.mode[m + 1].size))
    if tile > 1 and layout.mode[m].axis >= 0:
        same_map("merge " + text, t.merge(out, m), case.layout)


def test_merge_of_neighbours():
    verdicts, merged = cases.Verdicts(), 0
    for _, case, layout in prepared("merge", 400):
        for m in memory_modes(layout)[:-1]:
            text = f"merge({case.text}, {m})"
            with verdicts.on(text):
                try:
                    out = t.merge(layout, m)
                except t.TegulaError as why:
                    assert why.status == t.ERR_UNREPRESENTABLE, why
                    continue
                merged += 1
                same_map(text, out, case.layout)
                cases.expect(text, "modes", layout.nmodes - 1, out.nmodes)
    verdicts.finish()
    assert merged > 20


def test_a_tiled_layout_is_split_and_reordered():
    """The recipe of tg_layout_reorder: (7, 10) in tiles of 4 x 3 is what XLA writes as T(4,3)."""
    layout = t.parse("f32[7,10]").layout
    tiled = t.reorder(t.split(t.split(layout, 1, 3), 0, 4), [0, 2, 1, 3])
    assert t.equal(tiled, t.parse("f32[7,10]{1,0:T(4,3)}").layout, storage=True) == (True, None)
    spyre = t.reorder(t.split(t.parse("f16[5,100,150]").layout, 2, 64), [1, 2, 0, 3])
    assert t.equal(spyre, t.parse("f16[5,100,150] spyre").layout, storage=True) == (True, None)


def test_bad_modes_are_refused():
    layout = t.parse("f32[4,6]{1,0:T(2,3)}").layout
    for call in (lambda: t.split(layout, -1, 2), lambda: t.split(layout, layout.nmodes, 2),
                 lambda: t.split(layout, 0, 0), lambda: t.merge(layout, -1),
                 lambda: t.merge(layout, layout.nmodes - 1), lambda: t.reorder(layout, [0] * layout.nmodes)):
        with pytest.raises(t.TegulaError) as why:
            call()
        assert why.value.status in (t.ERR_ARGUMENT, t.ERR_UNREPRESENTABLE)


def test_reorder_gives_dense_strides_in_the_new_order():
    verdicts = cases.Verdicts()
    for rng, case, layout in prepared("reorder", 400):
        modes = memory_modes(layout)
        order = rng.sample(modes, len(modes))
        text = f"reorder({case.text}, {order})"
        with verdicts.on(text):
            out = t.reorder(layout, order)
            t.validate(out)
            sizes = [layout.mode[m].size for m in order]
            strides = o.row_major(sizes)
            cases.expect(text, "span", o.math.prod(sizes), out.span)
            for coord in case.layout.coords():
                digits = cases.digits(layout, coord)
                wanted = o.dot([digits[m] for m in order], strides)
                cases.expect(text, f"offset of {coord}", wanted, t.offset(out, coord))
    verdicts.finish()


def test_coalesce():
    verdicts = cases.Verdicts()
    for _, case, layout in prepared("coalesce", 700):
        text = f"coalesce({case.text})"
        with verdicts.on(text):
            check_coalesce(text, case, layout)
    verdicts.finish()


def check_coalesce(text, case, layout):
    out = t.coalesce(layout)
    same_map(text, out, case.layout)
    cases.expect(text, "span", layout.span, out.span)
    cases.expect(text, "equality with its source", (True, None), t.equal(layout, out))
    cases.expect(text, "coalesced again", t.fields(out), t.fields(t.coalesce(out)))
    assert out.nmodes <= layout.nmodes, f"{text}: {out.nmodes} modes of {layout.nmodes}"
    strides = [abs(out.mode[m].stride) for m in memory_modes(out) if out.mode[m].axis >= 0]
    cases.expect(text, "order of strides", sorted(strides, reverse=True), strides)
    unit = [m for m in range(out.nmodes) if out.mode[m].size == 1]
    assert case.layout.numel == 0 or not unit, f"{text} keeps modes of one position: {unit}"
    cases.expect(text, "coverage", case.layout.coverage(), t.coverage(out))


def test_coalesce_undoes_what_means_nothing():
    for plain, written in (("f32[24]", "f32[24]{0:T(5)}"), ("f32[6,4]", "f32[6,4]{1,0:T(*,4)}"),
                           ("f32[2,3,4]", "f32[2,3,4]{2,1,0:T(*,*,7)(*,2)}"), ("f32[6,4]", "f32[6,4]{1,0:T(1,1)}"),
                           ("f32[6,4]", "f32[6,4]{1,0:T(3,4)}"), ("f32[7]", "f32[7]{0:T(8,128)}"),
                           ("f32[1,1,3]", "f32[1,1,3]{2,1,0:T(*,2,4)(1,4)}")):
        a, b = t.coalesce(t.parse(plain).layout), t.coalesce(t.parse(written).layout)
        assert a.nmodes == b.nmodes and b.naxes == b.ndim, f"{written} keeps {b.nmodes} modes, {plain} has {a.nmodes}"


# ---- views ---------------------------------------------------------------------------------


def viewed(judge, shape, source):
    """The view of which coordinate c is coordinate source(c) of `judge`."""
    return o.Layout(shape, judge.bits, judge.span, lambda c: judge.place(source(c)), judge.base)


def fits_strides(table, shape):
    """Whether one stride per dimension says the map: what a strided array can view."""
    if not table:
        return True
    zero = (0,) * len(shape)
    steps = [table[tuple(int(k == d) for k in range(len(shape)))] - table[zero] if n > 1 else 0
             for d, n in enumerate(shape)]
    return all(offset == table[zero] + o.dot(c, steps) for c, offset in table.items())


def is_strided(text):
    return "{" not in text and "spyre" not in text


class Views:
    """Runs view functions, compares, and counts how often a tiled layout had no answer."""

    def __init__(self):
        self.done = self.refused = 0
        self.verdicts = cases.Verdicts()

    def check(self, text, make, judge, must):
        with self.verdicts.on(text):
            return self.view(text, make, judge, must)

    def view(self, text, make, judge, must):
        try:
            out = make()
        except t.TegulaError as why:
            assert why.status in (t.ERR_UNREPRESENTABLE, t.ERR_LIMIT), f"{text}: {why}"
            assert not must, f"{text} needs no copy, but: {why}"
            self.refused += 1
            return None
        self.done += 1
        same_map(text, out, judge)
        cases.expect(text, "span", judge.span, out.span)
        if judge.base == 0 and judge.span <= 600:
            cases.check(text, out, judge)
        return out

    def finish(self):
        print(f"{self.done} views, {self.refused} not representable")
        self.verdicts.finish()


def test_permute_and_transpose():
    views = Views()
    for rng, case, layout in prepared("permute", 350):
        shape = case.layout.shape
        perm = rng.sample(range(len(shape)), len(shape))
        judge = viewed(case.layout, [shape[d] for d in perm], lambda c: tuple(c[perm.index(d)] for d in range(len(c))))
        views.check(f"permute({case.text}, {perm})", lambda: t.permute(layout, perm), judge, True)
        if len(shape) < 2:
            continue
        a, b = rng.sample(range(len(shape)), 2)
        swap = list(range(len(shape)))
        swap[a], swap[b] = b, a
        judge = viewed(case.layout, [shape[d] for d in swap], lambda c: tuple(c[d] for d in swap))
        views.check(f"transpose({case.text}, {a}, {b})", lambda: t.transpose(layout, a, b), judge, True)
    views.finish()
    assert views.refused == 0


def test_squeeze_unsqueeze_expand():
    views = Views()
    for rng, case, layout in prepared("squeeze", 500):
        shape = list(case.layout.shape)
        d = rng.randrange(len(shape) + 1)
        judge = viewed(case.layout, shape[:d] + [1] + shape[d:], lambda c: c[:d] + c[d + 1 :])
        out = views.check(f"unsqueeze({case.text}, {d})", lambda: t.unsqueeze(layout, d), judge, True)
        wide = viewed(case.layout, shape[:d] + [3] + shape[d:], lambda c: c[:d] + c[d + 1 :])
        if out is not None:
            views.check(f"expand(unsqueeze({case.text}, {d}), {d}, 3)", lambda: t.expand(out, d, 3), wide, True)
        for d in (k for k, n in enumerate(shape) if n == 1):
            judge = viewed(case.layout, shape[:d] + shape[d + 1 :], lambda c: c[:d] + (0,) + c[d:])
            views.check(f"squeeze({case.text}, {d})", lambda: t.squeeze(layout, d), judge, True)
            for size in (0, 1, 5):
                judge = viewed(case.layout, shape[:d] + [size] + shape[d + 1 :], lambda c: c[:d] + (0,) + c[d + 1 :])
                views.check(f"expand({case.text}, {d}, {size})", lambda: t.expand(layout, d, size), judge, True)
    views.finish()


def slices(rng, n):
    yield 0, n, 1
    yield n - 1, -1, -1
    for _ in range(5):
        start = rng.randrange(n) if n else 0
        step = rng.choice((1, 1, 2, 3, -1, -2))
        yield (start, rng.randrange(start, n + 1), step) if step > 0 else (start, rng.randrange(-1, start + 1), step)


def test_slice_is_python_range():
    views = Views()
    for rng, case, layout in prepared("slice", 450):
        shape = case.layout.shape
        for d, n in enumerate(shape):
            for start, stop, step in slices(rng, n):
                if n == 0:
                    continue
                picked = range(start, stop, step)
                judge = viewed(case.layout, shape[:d] + (len(picked),) + shape[d + 1 :],
                               lambda c: c[:d] + (picked[c[d]],) + c[d + 1 :])
                whole = picked == range(n)
                views.check(f"slice({case.text}, {d}, {start}, {stop}, {step})",
                            lambda: t.slice_(layout, d, start, stop, step), judge, whole or is_strided(case.text))
    views.finish()


def factorings(numel, rank):
    if rank == 0:
        return [[]] if numel == 1 else []
    return [[n, *rest] for n in range(1, numel + 1) if numel % n == 0 for rest in factorings(numel // n, rank - 1)]


def test_reshape():
    """A strided array that NumPy or PyTorch can view must reshape; for tiled layouts "no" is an answer."""
    views = Views()
    for rng, case, layout in prepared("reshape", 500):
        old, numel = case.layout.shape, case.layout.numel
        flat = list(case.layout.coords())
        for rank in range(4):
            choices = factorings(numel, rank)
            for shape in rng.sample(choices, min(3, len(choices))):
                step = o.row_major(shape)
                judge = viewed(case.layout, shape, lambda c: flat[o.dot(c, step)])
                must = tuple(shape) == old or (is_strided(case.text) and fits_strides(judge.table(), shape))
                views.check(f"reshape({case.text}, {shape})", lambda: t.reshape(layout, shape), judge, must)
    views.finish()


def random_view(rng, layout, judge):
    """One random view as (text, function, its dictionary); the function may refuse."""
    shape, rank = judge.shape, len(judge.shape)
    kind = rng.randrange(6)
    if kind == 0:
        perm = rng.sample(range(rank), rank)
        return f"permute {perm}", lambda: t.permute(layout, perm), viewed(
            judge, [shape[d] for d in perm], lambda c: tuple(c[perm.index(d)] for d in range(rank)))
    if kind == 1 and rank < 5:
        d = rng.randrange(rank + 1)
        return f"unsqueeze {d}", lambda: t.unsqueeze(layout, d), viewed(
            judge, shape[:d] + (1,) + shape[d:], lambda c: c[:d] + c[d + 1 :])
    if kind == 2 and 1 in shape:
        d = shape.index(1)
        return f"expand {d}", lambda: t.expand(layout, d, 3), viewed(
            judge, shape[:d] + (3,) + shape[d + 1 :], lambda c: c[:d] + (0,) + c[d + 1 :])
    if kind == 3:
        shape_after = tuple(rng.choice(factorings(judge.numel, rng.randrange(1, 4)) or [[0]])) if judge.numel else shape
        step, flat = o.row_major(shape_after), list(judge.coords())
        return f"reshape {shape_after}", lambda: t.reshape(layout, shape_after), viewed(
            judge, shape_after, lambda c: flat[o.dot(c, step)])
    if rank and shape[d := rng.randrange(rank)] > 0:
        start, stop, step = rng.choice(list(slices(rng, shape[d])))
        picked = range(start, stop, step)
        return f"slice {d} {start}:{stop}:{step}", lambda: t.slice_(layout, d, start, stop, step), viewed(
            judge, shape[:d] + (len(picked),) + shape[d + 1 :], lambda c: c[:d] + (picked[c[d]],) + c[d + 1 :])
    return "coalesce", lambda: t.coalesce(layout), judge


def test_chains_of_views():
    verdicts, done = cases.Verdicts(), 0
    for rng, case, layout in prepared("chains", 500):
        text, judge = case.text, case.layout
        for _ in range(5):
            name, make, after = random_view(rng, layout, judge)
            text = f"{text} | {name}"
            try:
                layout = make()
            except t.TegulaError as why:
                assert why.status in (t.ERR_UNREPRESENTABLE, t.ERR_LIMIT), f"{text}: {why}"
                break
            judge, done = after, done + 1
            with verdicts.on(text):
                same_map(text, layout, judge)
                cases.expect(text, "equality with its normal form", (True, None), t.equal(layout, t.coalesce(layout)))
                if judge.base == 0 and judge.span <= 300:
                    cases.check(text, layout, judge)
    print(f"{done} views in chains")
    verdicts.finish()


def test_the_first_coordinate_of_a_shared_slot():
    """Folded and not unique, and the fold counts the dimensions in another order than coordinates are compared in."""
    layout = t.expand(t.unsqueeze(t.parse("f32[2]").layout, 1), 1, 3)
    layout = t.permute(t.reshape(layout, (3, 2)), [1, 0])
    assert t.slots(layout, range(2)) == [(0, 0), (0, 2)]


def test_coverage_of_copies_that_are_shared():
    layout = t.expand(t.parse("f32[1,3] spyre device_size=[3,1,32] stride_map=[0,60,1]").layout, 0, 3)
    assert t.coverage(layout) == (False, False, 9)
    assert t.coverage(t.reshape(layout, (9,))) == (False, False, 9)


def test_reshape_of_nothing():
    for text in ("f32[0]", "f32[3,0,2]", "f32[0,5]{0,1:T(2,2)}", "f16[0,5] spyre"):
        for shape in ([0], [0, 7], [2, 0, 9]):
            out = t.reshape(t.parse(text).layout, shape)
            t.validate(out)
            assert t.shape(out) == tuple(shape) and t.numel(out) == 0


def test_views_of_tiled_layouts_that_are_plainly_free():
    def at(text, make, shape, source):
        layout = t.parse(text).layout
        out = make(layout)
        for c in itertools.product(*map(range, shape)):
            assert t.offset(out, c) == t.offset(layout, source(c)), (text, c)
        assert t.shape(out) == tuple(shape)

    at("f32[16,256]{1,0:T(8,128)}", lambda x: t.reshape(x, [2, 8, 256]), [2, 8, 256], lambda c: (c[0] * 8 + c[1], c[2]))
    at("f32[16,256]{1,0:T(8,128)}", lambda x: t.reshape(x, [16, 2, 128]), [16, 2, 128],
       lambda c: (c[0], c[1] * 128 + c[2]))
    at("f32[2,8,128]{2,1,0:T(8,128)}", lambda x: t.reshape(x, [16, 128]), [16, 128],
       lambda c: (c[0] // 8, c[0] % 8, c[1]))
    at("f32[16,256]{1,0:T(8,128)}", lambda x: t.slice_(x, 0, 8, 16, 1), [8, 256], lambda c: (c[0] + 8, c[1]))
    at("f32[16,256]{1,0:T(8,128)}", lambda x: t.slice_(x, 1, 128, 256, 1), [16, 128], lambda c: (c[0], c[1] + 128))
    at("f16[5,100,150] spyre", lambda x: t.slice_(x, 1, 20, 60, 2), [5, 20, 150], lambda c: (c[0], 20 + 2 * c[1], c[2]))
    at("f16[5,100,150] spyre", lambda x: t.slice_(x, 2, 64, 150, 1), [5, 100, 86], lambda c: (c[0], c[1], 64 + c[2]))
    at("f16[5,100,150] spyre", lambda x: t.slice_(x, 2, 3, 4, 1), [5, 100, 1], lambda c: (c[0], c[1], 3))


def test_bad_views_are_refused():
    layout = t.parse("f32[4,6]").layout
    for call in (lambda: t.reshape(layout, [5, 5]), lambda: t.reshape(layout, [-4, -6]),
                 lambda: t.permute(layout, [0, 0]), lambda: t.permute(layout, [0, 2]),
                 lambda: t.transpose(layout, 0, 2), lambda: t.transpose(layout, -1, 0),
                 lambda: t.slice_(layout, 2, 0, 1, 1), lambda: t.slice_(layout, 0, 0, 4, 0),
                 lambda: t.slice_(layout, 0, 0, 5, 1), lambda: t.slice_(layout, 0, 4, 5, 1),
                 lambda: t.slice_(layout, 0, -1, 3, 1), lambda: t.expand(layout, 0, 8),
                 lambda: t.expand(layout, 5, 8), lambda: t.squeeze(layout, 0), lambda: t.squeeze(layout, 2),
                 lambda: t.unsqueeze(layout, 3), lambda: t.unsqueeze(layout, -1)):
        with pytest.raises(t.TegulaError) as why:
            call()
        assert why.value.status == t.ERR_ARGUMENT


def test_an_output_may_alias_its_input():
    layout = t.parse("f32[4,6]{1,0:T(2,3)}").layout
    wanted = t.fields(t.transpose(layout, 0, 1))
    assert t.lib.tg_layout_transpose(t.C.byref(layout), t.C.byref(layout), 0, 1, None) == t.OK
    assert t.fields(layout) == wanted
    wanted = t.fields(t.coalesce(layout))
    assert t.lib.tg_layout_coalesce(t.C.byref(layout), t.C.byref(layout), None) == t.OK
    assert t.fields(layout) == wanted
