"""The rules of <tegula/rules.h>, one at a time: published cases (tests/spec/spyre_rules.json), and layouts that the
constructor of the notation makes in another way."""
import itertools
import json
import math
import random
import re

import pytest

import graph_c as g
import rules_c as r
import tegula_c as t
from test_plan_graph import check_structs
from test_plan_vectors import read_index, value_of

CASES = json.loads((t.ROOT / "tests" / "spec" / "spyre_rules.json").read_text())


def test_structs_match_the_header(tmp_path):
    check_structs(tmp_path, "tegula/rules.h", r.STRUCTS)


def layout_text(size, order=None, strides=None, dtype="f16", unit_dims="keep"):
    strides = f" strides={list(strides)}" if strides else ""
    order = f" dim_order={list(order)}" if order else ""
    return f"{dtype}{list(size)}{strides} spyre{order} unit_dims={unit_dims}"


def made(*args, **more):
    """The layout of a constructor and its host tensor."""
    desc = t.parse(layout_text(*args, **more))
    return desc.spyre, desc.host


DTYPES = {"float16": "f16", "float32": "f32"}


def some_tensors(count):
    """Shapes and orders, among them such whose sizes and strides look alike."""
    choose = random.Random(7)
    for _ in range(count):
        n = choose.randint(1, 4)
        size = [choose.choice([1, 2, 8, 32, 63, 64, 65, 88, 100, 128, 200]) for _ in range(n)]
        order = choose.sample(range(n), n)
        yield size, order + ([-1] if choose.random() < 0.15 else [])


# ---- another format ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("case", CASES["dtype_rescale"], ids=lambda c: f"{c['size']} {c['dim_order']} {c['dst_dtype']}")
def test_published_conversions(case):
    spyre, host = made(case["size"], case["dim_order"], case["stride"], DTYPES[case["src_dtype"]])
    assert list(map(list, g.layout_of(spyre))) == case["src"]
    converted = list(map(list, r.convert(spyre, host, case["dst_dtype"])))
    assert converted == case["dst_by_host_extent"]
    assert (converted == case["dst_aug2026_rescale"]) == case["agree"]  # which is wrong where they differ


def test_a_conversion_is_what_the_constructor_makes():
    for size, order in some_tensors(400):
        for source, to in itertools.product(DTYPES, repeat=2):
            spyre, host = made(size, order, dtype=DTYPES[source])
            assert r.convert(spyre, host, to) == g.layout_of(made(size, order, dtype=DTYPES[to])[0]), (size, order)


def test_what_has_no_other_format():
    spyre, host = made([128, 64])
    error = t.Error()
    assert r.lib.tg_spyre_convert(g.C.byref(t.Spyre()), g.C.byref(spyre), g.C.byref(host), 2, error) == \
        t.ERR_UNSUPPORTED
    desc = t.parse("f16[4,64] spyre device_size=[4,64] stride_map=[64,1]")  # full sticks, which nothing counts
    assert r.convert(desc.spyre, desc.host, "float16") == ((4, 64), (64, 1))
    with pytest.raises(t.TegulaError, match="free to count 2 sticks"):
        r.convert(desc.spyre, desc.host, "float32")
    desc = t.parse("f16[40,60] spyre device_size=[38,64] stride_map=[64,1]")  # rows one after the other
    with pytest.raises(t.TegulaError, match="in its sticks alone"):
        r.convert(desc.spyre, desc.host, "float32")


# ---- another size ---------------------------------------------------------------------------------------------

def host_of(case):
    """#3116 has a host tensor whose dimensions 1 and 2 have changed places."""
    strides = [8388608, 512, 16384, 1] if len(case["size"]) == 4 and case["size"][1:] == [32, 512, 512] else None
    return g.host_of(case["size"], strides)


@pytest.mark.parametrize("case", CASES["resize_device_layout"], ids=lambda c: f"{c['size']} {c['new_size']}")
def test_published_sizes(case):
    spyre, host = g.spyre_of((case["device_size"], case["stride_map"])), host_of(case)
    if "error" in case:
        with pytest.raises(t.TegulaError):
            r.resize(spyre, host, case["new_size"])
        return
    assert r.resize(spyre, host, case["new_size"])[0] == (tuple(case["new_device_size"]),
                                                          tuple(case["new_stride_map"]))


def test_a_piece_is_what_the_constructor_makes():
    choose = random.Random(8)
    for size, order in some_tensors(400):
        to = [choose.randint(2, n) if n > 1 else 1 for n in size]
        spyre, host = made(size, order)
        if order[-1] >= 0 and size[order[-1]] == 1:
            continue  # nothing is in the sticks
        assert r.resize(spyre, host, to)[0] == g.layout_of(made(to, order)[0]), (size, order, to)


@pytest.mark.parametrize("layout, shape, to, words", [
    ("f16[1,1,64] spyre dim_order=[0,1,2] unit_dims=keep", [1, 1, 64], [4, 1, 64], "could grow in"),
    ("f16[1,64] spyre", [1, 64], [4, 64], "has no device dimension to grow in|could grow in"),
    ("f16[128,64] spyre", [128, 64], [0, 64], "gets size 0"),
    ("f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", [40, 60], [20, 60], "in its sticks alone"),
    ("f16[4,6,64] spyre device_size=[24,1,64] stride_map=[64,64,1]", [4, 6, 64], [2, 6, 64], "several host dim"),
])
def test_what_does_not_resize(layout, shape, to, words):
    desc = t.parse(layout)
    with pytest.raises(t.TegulaError, match=words):
        r.resize(desc.spyre, desc.host, to)


# ---- tiles ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("case", CASES["tiling_expr_to_device_expr"], ids=lambda c: c["host_index"])
def test_published_tiles(case):
    spyre = g.spyre_of((case["device_size"], case["stride_map"]))
    names = ["p0", "p1"]
    wanted = {loop: step for loop, step, *_ in read_index(case["device_index"], names)[1]}
    for loop, step, *_ in read_index(case["host_index"], names)[1]:
        assert r.advance(spyre, step, 2) == wanted[loop]


def test_tiles_begin_where_their_first_element_is():
    choose, refused = random.Random(9), 0
    for _ in range(300):
        size = [choose.choice([2, 4, 64, 100, 128, 256]) for _ in range(choose.randint(1, 3))]
        order = choose.sample(range(len(size)), len(size))
        desc = t.parse(layout_text(size, order))
        dim, tile = choose.randrange(len(size)), choose.choice([1, 2, 16, 32, 64, 128])
        count = size[dim] // tile
        if count < 2:
            continue
        places = [t.offset(desc.layout, [k * tile if d == dim else 0 for d in range(len(size))]) for k in range(count)]
        steps = {b - a for a, b in zip(places, places[1:])}
        try:
            assert steps == {r.advance(desc.spyre, tile * desc.host.strides[dim], count)}, (size, order, dim, tile)
        except t.TegulaError:
            refused += 1
            assert len(steps) > 1 or dim == order[-1] and tile < 64, (size, order, dim, tile)
    assert 0 < refused < 200


# ---- fewer dimensions ------------------------------------------------------------------------------------------

def map_of(case):
    """The stride_map for which the coordinates are those of k itself, and where k begins."""
    strides, offset = [], 0
    for text in case["coordinates"]:
        step = re.search(r"/(\d+)\)$", text)
        strides.append(-1 if text == "0" else int(step[1]) if step else 1)
        shift = re.match(r"(\d+)\+", text)
        offset += int(shift[1]) * strides[-1] if shift else 0
    return strides, offset


@pytest.mark.parametrize("case", CASES["normalize_fusion"], ids=lambda c: str(c["device_size"]))
def test_published_joins(case):
    strides, offset = map_of(case)
    spyre, ranges = g.spyre_of((case["device_size"], strides)), list(case["ranges"].values())
    joined = r.join(spyre, ranges, offset, [(0, 1)])
    assert list(joined.device_size[:joined.rank]) == case["result_extents"]
    texts = g.coordinates(case["device_size"], strides, ranges, offset, [(0, 1)])
    for k in range(0, ranges[0], 37):  # the coordinates are the published ones
        wanted = [value_of(text.replace("k", "p0"), [k]) for text in case["coordinates"]]
        assert [value_of(text, [k]) for text in texts] == wanted


def place(layout, ranges, offset, terms, values):
    texts = g.coordinates(*map(list, layout), ranges, offset, terms)
    steps = [math.prod(layout[0][k + 1:]) for k in range(len(layout[0]))]
    return sum(value_of(text, values) * step for text, step in zip(texts, steps))


def test_joined_dimensions_are_the_same_memory():
    choose, fewer = random.Random(10), 0
    for _ in range(200):
        size = [choose.choice([1, 2, 4, 64, 128, 192]) for _ in range(choose.randint(1, 4))]
        spyre, host = made(size, choose.sample(range(len(size)), len(size)))
        flat = choose.random() < 0.5
        ranges = [math.prod(size)] if flat else size
        terms = [(0, 1)] if flat else [(d, host.strides[d]) for d in range(len(size))]
        joined = r.join(spyre, ranges, 0, terms)
        fewer += joined.rank < sum(n > 1 for n in spyre.device_size[:spyre.rank - 1]) + 1
        for _ in range(20):
            values = [choose.randrange(n) for n in ranges]
            assert place(g.layout_of(spyre), ranges, 0, terms, values) == \
                place(g.layout_of(joined), ranges, 0, terms, values)
    assert fewer > 5


# ---- element arrangements ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("case", CASES["ea_compatible"], ids=lambda c: " ".join(c["eas"]))
def test_published_arrangements(case):
    assert r.agree(case["eas"]) == case["ok"]
    dense = [False] * len(case["eas"])
    assert r.agree(case["eas"], dense) == (len(set(case["eas"])) == 1)


@pytest.mark.parametrize("source, before, to, after", CASES["element_arrangement"]["conversions"])
def test_published_arrangements_after_conversions(source, before, to, after):
    assert r.arrangement_after(before, source, to) == after
    assert r.arrangement_after("STANDARD", source, to, sparse=True) == "STANDARD"


@pytest.mark.parametrize("before, source, to", [("DL16_TO_FP32", "float16", "float32"), ("EXX2", "float16", "float32"),
                                                ("FP32_TO_DL16", "float32", "float16")])
def test_arrangements_that_are_not_converted(before, source, to):
    with pytest.raises(t.TegulaError, match=f"in the arrangement {before}"):
        r.arrangement_after(before, source, to)


# ---- sharing work -----------------------------------------------------------------------------------------------

WORK = CASES["work_division"]


@pytest.mark.parametrize("case", WORK["core_split"], ids=str)
def test_core_split(case):
    assert r.lib.tg_core_split(case["size"], case["max_cores"]) == case["split"]


@pytest.mark.parametrize("case", WORK["multi_dim"], ids=lambda c: str(c["sizes"]))
def test_distribute(case):
    names = list(case["sizes"])
    bits = [sum(1 << names.index(n) for n in case[key]) for key in ("output_dims_in_priority", "reduction_dims")]
    assert r.distribute(list(case["sizes"].values()), *bits, case["max_cores"]) == [case["splits"][n] for n in names]


@pytest.mark.parametrize("case", WORK["matmul_cost"], ids=lambda c: str(c["cost_us"]))
def test_product_cost(case):
    sizes, splits = zip(*(case[key] for key in ("B_b", "M_m", "N_n", "K_k")))
    p = r.product(*sizes, case["shared_weight"], case["max_cores"])
    assert r.product_cost(p, splits) == pytest.approx(case["cost_us"], rel=1e-9)


@pytest.mark.parametrize("case", WORK["matmul_best"], ids=lambda c: f"{c['B']} {c['M']} {c['N']} {c['K']}")
def test_product_split(case):
    p = r.product(*(case[key] for key in "BMNK"), case["shared_weight"], case["max_cores"])
    assert r.product_split(p) == case["split_bmnk"]
    assert r.product_cost(p, case["split_bmnk"]) == pytest.approx(case["cost_us"], abs=1e-6)


def test_product_cost_of_june():
    """By its terms, worked out for one example: 64 rows a core are 8 passes, which keep the unit busy."""
    p = r.product(1, 512, 4096, 4096, True, 32, "june")
    macs, moved = 512 * 4096 * 4096, 2 * (512 * 4096 + 4096 * 4096 + 512 * 4096)
    assert r.product_cost(p, [1, 8, 4, 1]) == pytest.approx(macs / 32 / 1.536e6 + moved / 204800)
    assert r.product_cost(p, [1, 16, 2, 1]) == pytest.approx(
        macs / 32 / (1.536e6 * 0.5 ** 0.5) + 2 * moved / 204800 + 50)
    assert r.product_cost(p, [1, 8, 2, 2]) == pytest.approx(
        macs / 32 / 1.536e6 + moved / 204800 + 512 * 4096 * 1.4e-4)
    splits = [s for s in itertools.product([1, 2, 4, 8, 16, 32], repeat=3) if math.prod(s) <= 32]
    costs = [r.product_cost(p, [1, *s]) for s in splits]
    assert r.product_split(p) == [1, *splits[costs.index(min(costs))]]


@pytest.mark.parametrize("case", WORK["core_mapping"], ids=lambda c: f"{c['splits']} {c['contiguous_dim']}")
def test_core_numbers(case):
    fastest = -1 if case["contiguous_dim"] is None else case["contiguous_dim"]
    found = [r.core_slices(case["splits"], fastest, core, case["num_cores"]) for core in range(case["num_cores"])]
    assert found == case["slots"]


@pytest.mark.parametrize("case", WORK["core_mapping_errors"], ids=str)
def test_core_numbers_that_do_not_go(case):
    with pytest.raises(t.TegulaError, match="8 cores are no multiple of 6 slices"):
        r.core_slices(case["splits"], -1, 0, case["num_cores"])
    with pytest.raises(t.TegulaError, match="core 6 is not in"):
        r.core_slices(case["splits"], -1, 6, 6)
    with pytest.raises(t.TegulaError, match="loop 1 is in 0 slices"):
        r.core_slices([2, 0], -1, 0, 2)


@pytest.mark.parametrize("case", WORK["splits_by_index_coeff"], ids=lambda c: c["name"])
def test_splits_by_steps(case):
    names = sorted({*case["splits"], *case["ranges"]})
    write, read = (read_index(case[key], names)[1] for key in ("write", "read"))
    splits = [case["splits"].get(n, 1) for n in names]
    outputs, reductions = ({int(k): v for k, v in case[key].items()} for key in ("output", "reduction"))
    assert r.splits_to_steps(splits, write, read) == (outputs, reductions)
    back = r.splits_from_steps([case["ranges"].get(n, 1) for n in names], write, read, outputs, reductions)
    assert back == [case["recovered"].get(n, 1) for n in names]
    with pytest.raises(t.TegulaError, match="no loop makes steps of 7"):
        r.splits_from_steps([case["ranges"].get(n, 1) for n in names], write, read, {7: 2}, {})
