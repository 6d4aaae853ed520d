"""Sharing work among cores: published cases, what rules and users pin, and tiles where spans are too long."""
import itertools
import json
import math

import pytest

import graph_c as g
import plan_hlo
import rules_c
import tegula
import tegula_c as t
from test_plan_vectors import JUNE, pointwise, product, reduction

WORK = json.loads((plan_hlo.ROOT / "tests" / "spec" / "spyre_rules.json").read_text())["work_division"]
AUGUST = 65535 * 4096


def division(nodes, keep_unit_dims=False, **params):
    with g.Graph(nodes) as graph, g.Plan(graph, keep_unit_dims=keep_unit_dims) as plan:
        return plan.division(len(nodes) - 1, **params)


def splits_of(d):
    return list(d.splits[:d.nloops])


# ---- published ---------------------------------------------------------------------------------------------

def test_published_limits():
    assert WORK["max_span_bytes"] == {"2026-06": JUNE, "2026-08": AUGUST}


@pytest.mark.parametrize("case", WORK["span"], ids=lambda c: f"{c['size']} {c['splits']}")
def test_published_spans(case):
    """With just these splits: as many cores as they need."""
    wanted = [(l, n) for l, n in enumerate(case["splits"])]
    cores = math.prod(case["splits"])
    if case["exceeds"] and cores > 1:  # 2 slices of 32768 rows are too long, 2 of the sticks are not
        with pytest.raises(t.TegulaError, match=f"memory-span limit.* {case['span_bytes']} bytes.* {AUGUST}"):
            division(pointwise(case["size"]), cores=cores, splits=wanted)
        return
    d = division(pointwise(case["size"]), cores=cores, splits=wanted, max_span_bytes=2**60)
    assert d.span_bytes == case["span_bytes"] and splits_of(d) == case["splits"]
    assert (d.span_bytes > AUGUST) == case["exceeds"]


def nodes_of(case):
    """A product of two tensors, or an operation element by element."""
    tensors = case["tensors"]
    return product(tensors[0]["size"], tensors[1]["size"]) if len(tensors) == 3 else pointwise(tensors[0]["size"])


@pytest.mark.parametrize("case", WORK["must_split"], ids=lambda c: str(c["splits"]))
def test_published_commitments(case):
    """With no core more than spans need, the splits are those that spans need."""
    names = ["m", "n", "k"] if len(case["tensors"]) == 3 else list(case["ranges"])
    wanted = [case["splits"].get(name, 1) for name in names]
    d = division(nodes_of(case), cores=math.prod(wanted))
    assert splits_of(d) == wanted and d.in_span and d.span_bytes <= AUGUST
    more = division(nodes_of(case), cores=case["max_cores"])
    assert all(n % least == 0 for n, least in zip(splits_of(more), wanted))


def test_published_product():
    case = WORK["matmul_doc_example"]
    nodes, names = product(case["A"], case["W"]), ["M", "N", "K"]
    d = division(nodes, cores=case["max_cores"], max_span_bytes=JUNE)
    assert splits_of(d) == [case["splits"][n] for n in names]
    assert splits_of(division(nodes, cores=case["max_cores"])) == [case["aug_2026_splits"][n] for n in names]


@pytest.mark.parametrize("case", WORK["pointwise_examples"], ids=lambda c: str(c["size"]))
def test_published_pointwise(case):
    assert splits_of(division(pointwise(case["size"]), cores=case["max_cores"])) == case["splits"]


# ---- what is pinned ------------------------------------------------------------------------------------------

def test_published_constraints():
    rules = {case["rule"]: case for case in WORK["constraints"]}
    assert len(rules) == 4
    padded = reduction([100, 10], [1], False)  # 10 of 64 in the stick
    assert splits_of(division(padded)) == [25, 1]
    with pytest.raises(t.TegulaError, match="loop 1 is to be in 2 slices, but stays whole: .* not full is masked"):
        division(padded, splits=[(1, 2)])
    assert splits_of(division(reduction([10, 64], [0], False)))[0] == 10  # not in the sticks: not masked
    with pytest.raises(t.TegulaError, match=f"{rules['conflicting pins']['error']}: loop 1 .* in 2 and in 1 slices"):
        division(pointwise([4, 256]), splits=[(pin, n) for pin, n in ((1, 2), (1, 1))])


def test_pins_of_a_node():
    nodes = pointwise([16, 256])
    nodes[1].pins = ((0, 4),)
    assert splits_of(division(nodes)) == [4, 4]
    assert splits_of(division(nodes, cores=2)) == [1, 2]  # fewer cores than it pins
    with pytest.raises(t.TegulaError, match="conflicting pinned split: loop 0 is to be in 4 and in 8 slices"):
        division(nodes, splits=[(0, 8)])
    nodes[1].no_split = 2
    with pytest.raises(t.TegulaError, match="loop 1 .*stays whole: the node does not let it be split"):
        division(nodes, splits=[(1, 2)])


@pytest.mark.parametrize("k, slices", [(2, 1), (4, 1), (8, 2), (6, 2), (7, 7), (10, 5), (64, 16)])
def test_the_best_k(k, slices):
    """The smallest divisor that leaves 4 to a core at most; what is searched stays whole."""
    answer = plan_hlo.plan(f"ENTRY e {{ x = f32[1,256] parameter(0)\n"
                           f"  ROOT b = (f32[1,{k}], s32[1,{k}]) topk(x), k={k}, largest=true }}")
    op = next(op for op in answer["ops"] if op["name"] == "b#0")
    assert op["kind"] == "boundary"  # no other dimension for the sticks
    answer = plan_hlo.plan(f"ENTRY e {{ x = f32[64,256] parameter(0)\n"
                           f"  ROOT b = (f32[64,{k}], s32[64,{k}]) topk(x), k={k}, largest=true }}")
    op = next(op for op in answer["ops"] if op["name"] == "b#0")
    assert op["splits"].get("p1", 1) == slices and "p2" not in op["splits"]


@pytest.mark.parametrize("stride, split", [(1, True), (2, False)])
def test_strided_convolutions(stride, split):
    n = 16 // stride
    answer = plan_hlo.plan(f"""ENTRY e {{ x = f16[1,16,16,64] parameter(0)
  k = f16[3,3,64,64] parameter(1)
  ROOT c = f16[1,{n},{n},64] convolution(x, k), window={{size=3x3 stride={stride}x{stride} pad=1_1x1_1}},
    dim_labels=b01f_01io->b01f }}""")
    op = next(op for op in answer["ops"] if op["name"] == "c")
    assert bool({"p1", "p2"} & set(op["splits"])) == split


@pytest.mark.parametrize("size, low, dilation, base, rows", [(3, 1, 1, 1, 18), (3, 0, 2, 1, 20), (1, 0, 1, 1, 16),
                                                             (3, 1, 1, 2, 10)])
def test_windows_reach_the_rows_of_their_positions(size, low, dilation, base, rows):
    """64 positions in 4 slices of 16: a core reaches these rows of 4 KiB, and the few that its windows look at beside
    them. All are too many for it."""
    extent = 64 if base == 1 else 33
    wide = (extent - 1) * base + 1
    high = 64 - 1 + (size - 1) * dilation + 1 - wide - low
    text = f"""ENTRY e {{ x = f16[1,16,{extent},128] parameter(0)
  k = f16[1,{size},128,64] parameter(1)
  ROOT c = f16[1,16,64,64] convolution(x, k), window={{size=1x{size} pad=0_0x{low}_{high}
    lhs_dilate=1x{base} rhs_dilate=1x{dilation}}}, dim_labels=b01f_01io->b01f }}"""
    plan = tegula.plan(text)
    assert plan.device_layout("x").device_size[0] == extent
    division = plan.divide("c", cores=4, max_span_bytes=20 * 4096)
    weights = size * 128 * 128
    assert division.in_span and division.splits[2] == 4 and division.span_bytes == max(rows * 4096, weights)
    assert not plan.divide("c", cores=4, max_span_bytes=9 * 4096).in_span


def test_rows_that_the_data_picks():
    answer = plan_hlo.plan("""ENTRY e { x = f16[512,256] parameter(0)
  i = s32[32,1] parameter(1)
  ROOT r = f16[32,256] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
    index_vector_dim=1, slice_sizes={1,256} }""")
    assert next(op for op in answer["ops"] if op["name"] == "r")["splits"] == {}


# ---- what users want ---------------------------------------------------------------------------------------------

def test_wishes_come_first():
    nodes = product([512, 4096], [4096, 4096])
    assert splits_of(division(nodes)) == [4, 8, 1]
    assert splits_of(division(nodes, splits=[(0, 1), (1, 1), (2, 32)])) == [1, 1, 32]
    assert splits_of(division(nodes, splits=[(2, 2)])) == [16, 1, 2]  # the rest as everything else
    nodes[2].wishes = ((0, 8),)
    assert splits_of(division(nodes))[0] == 8
    assert splits_of(division(nodes, splits=[(0, 2)]))[0] == 2  # now, in place of the node's


@pytest.mark.parametrize("splits, words", [
    ([(0, 7)], "loop 0 has 512 rounds, which are no multiple of 7 slices"),
    ([(1, 3)], "loop 1 has 64 sticks, which are no multiple of 3 slices"),
    ([(0, 8), (1, 8)], "with loop 1 in 8 slices there are more slices than 32 cores"),
    ([(3, 2)], "loop 3 of 3 loops"),
    ([(-1, 2)], "loop -1 of 3 loops"),
    ([(0, 0)], "in 0 slices"),
])
def test_wishes_that_cannot_be(splits, words):
    with pytest.raises(t.TegulaError, match=words):
        division(product([512, 4096], [4096, 4096]), splits=splits)


def test_one_loop_is_summed_up_by_several_cores():
    with pytest.raises(t.TegulaError, match="loops 1 and 2 are both summed up; only one of them can be split"):
        division(reduction([8, 4, 4, 64], [1, 2], False), splits=[(1, 2), (2, 2)])


@pytest.mark.parametrize("m, n, k, cores", [(192, 70, 32, 32), (300, 4096, 100, 31), (512, 1024, 3, 7),
                                            (256, 640, 130, 32), (1024, 300, 32, 24), (64, 64, 65, 32)])
def test_products_whose_sum_is_padded(m, n, k, cores):
    """The estimate is of whole sticks; the sum alone stays whole, as its last stick is masked."""
    whole = rules_c.product(1, m, 64 * math.ceil(n / 64), 64 * math.ceil(k / 64), True, cores)
    ways = [(1, a, b, 1) for a in range(1, m + 1) for b in range(1, math.ceil(n / 64) + 1)
            if m % a == 0 and math.ceil(n / 64) % b == 0 and a * b <= cores]
    best = min(ways, key=lambda way: rules_c.product_cost(whole, way))
    assert splits_of(division(product([m, k], [k, n]), cores=cores)) == list(best[1:])


@pytest.mark.parametrize("formula", [0, 1])
def test_formulas(formula):
    """512 x 512 x 512: August takes 4 slices of the rows, June fills the matrix unit with 64 rows a core."""
    d = division(product([512, 512], [512, 512]), formula=formula)
    costs = {}
    import rules_c as r
    p = r.product(1, 512, 512, 512, True, 32, r.FORMULAS[formula])
    for s in itertools.product([1, 2, 4, 8, 16, 32], [1, 2, 4, 8], [1, 2, 4, 8]):
        if math.prod(s) <= 32:
            costs[s] = r.product_cost(p, [1, *s])
    assert costs[tuple(splits_of(d))] == min(costs.values())
    with pytest.raises(t.TegulaError, match="cost formula 2"):
        division(product([512, 512], [512, 512]), formula=2)


# ---- tiles -----------------------------------------------------------------------------------------------------

def test_published_tiles():
    """(1, 8195, 256, 64) has tiles of 1639 rows: 5 is the smallest divisor of 8195."""
    d = division(pointwise([1, 8195, 256, 64]), keep_unit_dims=True, cores=1)
    assert not d.in_span and d.tiled and list(d.tiles[:4]) == [1, 5, 1, 1]
    assert d.span_bytes == 1639 * 256 * 64 * 2


def span(shape, tiles):
    """Bytes from the first to the last row of a tile, in the default layout: dimensions 1, 2 (sticks), 0, place."""
    outer = [shape[1] // tiles[1], math.ceil(shape[2] / 64) // tiles[2], shape[0] // tiles[0], 64]
    sizes = [shape[1], math.ceil(shape[2] / 64), shape[0], 64]
    k = next((k for k, n in enumerate(outer) if n > 1), 3)
    return outer[k] * math.prod(sizes[k + 1:]) * 2


@pytest.mark.parametrize("shape", [[32, 8192, 17408], [3, 8192, 65536], [7, 9, 64 * 1024 * 1024], [5, 13, 2**27]])
def test_the_fewest_tiles(shape):
    """All numbers of tiles up to 16 that divide, by the published order, for one core."""
    ranges = [shape[0], shape[1], math.ceil(shape[2] / 64)]
    choices = [[n for n in range(1, 17) if size % n == 0] for size in ranges]
    fitting = [(math.prod(c), sum(n > 1 for n in c), max(c), c) for c in itertools.product(*choices)
               if math.prod(c) <= 64 and span(shape, c) <= AUGUST]
    d = division(pointwise(shape), cores=1)
    assert d.in_span == any(c == (1, 1, 1) for *_, c in fitting)
    assert d.tiled == bool(fitting)
    assert tuple(d.tiles[:3]) == (min(fitting)[3] if fitting else (1, 1, 1))
    if fitting:
        assert d.span_bytes == span(shape, min(fitting)[3])


def test_tiles_and_cores_together():
    d = division(pointwise([32, 8192, 17408]))
    assert (list(d.tiles[:3]), splits_of(d), d.in_span, d.tiled) == ([1, 2, 1], [1, 32, 1], False, True)
    assert d.span_bytes == 285212672 // 2


# 512 rows and 64 sticks: what is left of them in a tile is split by decreasing size, but for what is wanted
@pytest.mark.parametrize("tiles, splits, wanted, found", [
    ([(0, 8)], [], [8, 1], [32, 1]), ([(1, 16)], [], [1, 16], [32, 1]), ([(0, 64), (1, 4)], [], [64, 4], [2, 16]),
    ([(0, 64)], [(0, 4)], [64, 1], [4, 8]), ([(0, 1)], [(0, 4)], [1, 1], [4, 8])])
def test_wanted_tiles(tiles, splits, wanted, found):
    nodes = pointwise([512, 4096])
    for now in (False, True):
        nodes[-1].tiles, nodes[-1].wishes = ((), ()) if now else (tuple(tiles), tuple(splits))
        d = division(nodes, **({"tiles": tiles, "splits": splits} if now else {}))
        assert (list(d.tiles[:2]), splits_of(d), d.tiled, d.in_span) == (wanted, found, True, True)
    d = division(pointwise([512, 4096]), tiles=tiles, cores=1)  # of [64, 512, 64]
    rows, sticks = 512 // wanted[0], 64 // wanted[1]
    assert d.span_bytes == (sticks * 512 if sticks > 1 else rows) * 128


def test_tiles_of_a_product():
    """The estimate is of a tile."""
    d = division(product([512, 4096], [4096, 4096]), tiles=[(2, 16)])
    assert list(d.tiles[:3]) == [1, 1, 16] and splits_of(d) == splits_of(division(product([512, 256], [256, 4096])))


def test_wanted_and_needed_tiles():
    """2 tiles of the rows were enough; with tiles of the first dimension those of the others are found around them."""
    d = division(pointwise([32, 8192, 17408]), tiles=[(0, 8)])
    assert d.tiles[0] == 8 and d.tiled and d.span_bytes <= AUGUST
    d = division(pointwise([1, 2, 64 * 4194301]), cores=1, tiles=[(1, 2)])
    assert not d.in_span and not d.tiled  # tiles of rows, and no prime number of sticks is within reach


@pytest.mark.parametrize("tiles, splits, words", [
    ([(0, 7)], [], "loop 0 has 512 rounds, which are no multiple of 7 tiles"),
    ([(1, 3)], [], "loop 1 has 64 sticks, which are no multiple of 3 tiles"),
    ([(0, 2**40)], [], "loop 0 has 512 rounds, which are no multiple of 1099511627776 tiles"),
    ([(0, 128)], [(0, 8)], "loop 0 has 4 rounds in a tile, which are no multiple of 8 slices"),
    ([(0, 2), (0, 4)], [], "loop 0 is to be in 2 and in 4 tiles"),
    ([(2, 2)], [], "loop 2 of 2 loops is to be in 2 tiles"),
    ([(-1, 2)], [], "loop -1 of 2 loops"),
    ([(0, 0)], [], "loop 0 of 2 loops is to be in 0 tiles"),
])
def test_tiles_that_cannot_be(tiles, splits, words):
    with pytest.raises(t.TegulaError, match=words):
        division(pointwise([512, 4096]), tiles=tiles, splits=splits)


def test_tiles_of_what_stays_whole():
    with pytest.raises(t.TegulaError, match="loop 1 is to be in 2 tiles, but stays whole: .* not full is masked"):
        division(reduction([4, 130], [1], False), tiles=[(1, 2)])
    nodes = [g.Node("input", [64]), g.Node("boundary", [64], [64], [(0, 0, [(0, 1)])], [(0, 1)], tiles=((0, 2),))]
    with pytest.raises(t.TegulaError, match="splits and tiles are of what runs on the device; this is a boundary"):
        division(nodes)
    with pytest.raises(t.TegulaError, match="this is an input"):
        division(nodes[:1], splits=[(0, 2)])


def test_nothing_helps():
    d = division(pointwise([1, 1, 2**27 + 64]), cores=1)  # 2**21 + 1 sticks of 128 bytes: no small divisor but 3
    assert d.tiled and d.tiles[2] == 3
    d = division(pointwise([1, 2, 64 * 4194301]), cores=1)  # 4194301 sticks, a prime
    assert not d.in_span and not d.tiled and list(d.tiles[:3]) == [1, 1, 1]
