"""tg_layout_equal against comparing dictionaries; witnesses; the time that big shapes take."""
import itertools
import statistics
import time

import pytest

import oracle as o
import oracle_cases as cases
import tegula_c as t


def check_pair(a, b, left, right, storage=False):
    wanted = o.same(a.layout, b.layout, storage)
    got, witness = t.equal(left, right, storage)
    pair = f"{a.text}  =?=  {b.text}"
    cases.expect(pair, "equal", wanted, got)
    if not got:
        check_witness(pair, a.layout, b.layout, witness)
    return wanted


def check_witness(pair, a, b, witness):
    coord = tuple(witness.coord[: len(a.shape)])
    if witness.what == t.DIFFERENT_SHAPE:
        assert a.shape != b.shape, pair
    elif witness.what == t.DIFFERENT_WIDTH:
        assert a.bits != b.bits, pair
    elif witness.what == t.DIFFERENT_SPAN:
        assert a.span != b.span, pair
    elif witness.what == t.DIFFERENT_MAP:
        assert all(0 <= c < n for c, n in zip(coord, a.shape)), f"{pair}: witness {coord} is out of bounds"
        offsets = a.place(coord)[0], b.place(coord)[0]
        assert offsets == (witness.a, witness.b), f"{pair}: {coord} is at {offsets}, not {witness.a, witness.b}"
        assert witness.a != witness.b, pair
    else:
        assert witness.what == t.DIFFERENT_COPIES, pair
        held = set(a.place(coord)), set(b.place(coord))
        assert held[0] != held[1], f"{pair}: the same copies of {coord}"
        if witness.a == -1 or witness.b == -1:
            assert (witness.b in held[1] - held[0]) if witness.a == -1 else (witness.a in held[0] - held[1]), pair


def pool(shape):
    """Layouts of one shape, 16 bits wide, written in all notations; many of them the same map."""
    rank = len(shape)
    found = [cases.strided("f16", shape), cases.strided("f16", shape, o.row_major(shape), 3)]
    found.append(cases.strided("f16", shape, [2 * s for s in o.row_major(shape)]))
    tiles = [(), [[1]], [[2]], [[3]], [[4]], [[2, 2]], [[3, 2]], [[1, 2]], [[o.COMBINE, 2]], [[o.COMBINE, 3]],
             [[o.COMBINE, o.COMBINE, 2]], [[o.COMBINE, 4, 1]], [[2, o.COMBINE, 2]], [[2, 2], [2, 1]],
             [[4], [2]], [[2, 4], [1, 2]], [[3], [2]], [[64, 1]], [[64]], [[1, 64]], [[4, 2], [o.COMBINE, 2]]]
    for order in itertools.permutations(range(rank)):
        found.append(cases.strided("f16", shape, [o.row_major([shape[d] for d in order])[order.index(d)] for d in
                                                  range(rank)]))
        for tile in tiles:
            found.append(cases.xla("f16", shape, order, tile))
        found.append(cases.spyre("f16", shape, None, order))
        found.append(cases.spyre("f16", shape, None, order, True))
    found.append(cases.spyre("f16", shape, device_size=[-(-o.math.prod(shape) // 64), 64], stride_map=[64, 1]))
    found.append(cases.spyre("f16", shape, device_size=[2, -(-o.math.prod(shape) // 64), 64], stride_map=[0, 64, 1]))
    return found


@pytest.mark.parametrize("shape", [(), (1,), (7,), (70,), (2, 3), (7, 5), (4, 6), (1, 5), (8, 1), (3, 0), (2, 3, 4),
                                   (3, 2, 5)], ids=str)
def test_all_pairs(shape):
    found = pool(shape)
    rng = cases.generator(f"pairs {shape}")
    layouts = {c.text: t.parse(c.text).layout for c in found}
    pairs = list(itertools.combinations(found, 2)) + [(c, c) for c in found]
    pairs = rng.sample(pairs, min(len(pairs), 1100))
    equal = sum(check_pair(a, b, layouts[a.text], layouts[b.text], storage) for a, b in pairs
                for storage in (False, True))
    assert equal > 5


def test_random_pairs():
    """Tiles of one shape drawn from few numbers, so that equal maps are common."""
    rng = cases.generator("random pairs")
    equal = 0
    for _ in range(2500):
        shape = [rng.randrange(1, 8) for _ in range(rng.randrange(1, 4))]
        order = rng.sample(range(len(shape)), len(shape))
        made = []
        for _ in range(2):
            tiles = [cases.random_tile(rng, rng.randrange(1, len(shape) + 2), 3) for _ in range(rng.randrange(3))]
            turned = order if rng.random() < 0.8 else rng.sample(order, len(order))
            made.append(cases.xla("f16", shape, turned, tiles))
        a, b = made
        equal += check_pair(a, b, t.parse(a.text).layout, t.parse(b.text).layout)
    assert equal > 100


def both(a, b, equal):
    return pytest.param(a, b, equal, id=f"{a} {'==' if equal else '!='} {b}")


PAIRS = [
    both("f32[7]{0:T(3)}", "f32[7]{0:T(5)}", True),
    both("f32[7,2]{1,0:T(3,2)}", "f32[7,2]{1,0:T(3,1)}", False),
    both("f32[7,2]{1,0:T(3,1)}", "f32[7,2]{1,0}", False),
    both("f32[7,2]{1,0:T(1,2)}", "f32[7,2]{1,0}", True),
    both("f32[130,2]{1,0:T(48,2)}", "f32[130,2]{1,0:T(64,2)}", True),
    both("f32[130,3]{1,0:T(48,2)}", "f32[130,3]{1,0:T(64,2)}", False),
    both("f32[40,3]{1,0:T(48,2)}", "f32[40,3]{1,0:T(64,2)}", False),
    both("f32[40,2]{1,0:T(48,2)}", "f32[40,2]{1,0:T(64,2)}", True),
    both("f32[6,4]{1,0:T(*,4)}", "f32[6,4]{1,0}", True),
    both("f32[6,4]{1,0:T(*,5)}", "f32[24]{0:T(5)}", False),
    both("f32[6,4]{0,1:T(*,5)}", "f32[6,4]{1,0:T(*,5)}", False),
    both("f32[2,3,4]{2,1,0:T(*,*,5)}", "f32[2,3,4]{2,1,0}", True),
    both("f32[2,3,4]{2,1,0:T(*,3,2)}", "f32[2,3,4]{2,1,0:T(3,2)}", True),
    both("f32[2,4,4]{2,1,0:T(*,3,2)}", "f32[2,4,4]{2,1,0:T(3,2)}", False),
    both("f32[5,3,4]{2,1,0:T(*,2,*,3)}", "f32[5,3,4]{2,1,0:T(2,*,3)}", True),
    both("f32[5,3,4]{2,1,0:T(*,*,7)(*,2)}", "f32[5,3,4]{2,1,0}", True),
    both("f16[5,100,150] spyre", "f16[5,100,150]{0,2,1:T(64,1)}", True),
    both("f16[5,100,150] spyre", "f16[5,100,150] spyre device_size=[100,3,5,64] stride_map=[150,64,15000,1]", True),
    both("f16[5,100,150] spyre", "bf16[5,100,150] spyre", True),
    both("f16[5,100,150] spyre", "f32[5,100,150] spyre", False),
    both("f16[512,1] spyre", "f16[512,1] spyre unit_dims=keep", False),
    both("f16[1,512] spyre", "f16[1,512] spyre unit_dims=keep", True),
    both("f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", "f16[40,60]", True),
    both("f16[60] spyre device_size=[2,64] stride_map=[0,1]", "f16[60] spyre", False),
    both("f16[60] spyre device_size=[2,64] stride_map=[-1,1]", "f16[60] spyre", True),
    both("f16[0,5]", "f16[0,5]{0,1:T(2,2)}", True),
    both("f16[1,1] strides=[7,9]", "f16[1,1]", True),
    both("f16[5] strides=[0]", "f16[5]", False),
    both("f16[5,3] strides=[0,1]", "f16[5,3] strides=[0,1] offset=0", True),
    both("s4[8]{0:E(4)}", "s4[8]{0}", False),
    both("f32[8]{0:S(1)}", "f32[8]", True),
    both("s32[8]", "f32[8]", True),
]


@pytest.mark.parametrize("a, b, equal", PAIRS)
def test_pairs(a, b, equal):
    got, witness = t.equal(t.parse(a).layout, t.parse(b).layout)
    assert got == equal
    assert t.equal(t.parse(b).layout, t.parse(a).layout)[0] == equal
    if witness is not None and witness.what == t.DIFFERENT_MAP:
        coord = witness.coord[: t.parse(a).layout.ndim]
        assert t.offset(t.parse(a).layout, coord) == witness.a != witness.b == t.offset(t.parse(b).layout, coord)


def test_storage_is_asked_for():
    a, b = t.parse("f32[10]{0:T(4)L(8)}").layout, t.parse("f32[10]").layout
    assert t.equal(a, b) == (True, None)
    got, witness = t.equal(a, b, storage=True)
    assert not got and witness.what == t.DIFFERENT_SPAN and (witness.a, witness.b) == (16, 10)


BIG = [
    both("f32[1000000,1000000]{1,0:T(8,128)}", "f32[1000000,1000000]{1,0:T(8,128)(1,1)}", True),
    both("f32[1000000,1000000]{1,0:T(8,128)}", "f32[1000000,1000000]{1,0:T(8,64)}", False),
    both("bf16[1000000,1000000]{1,0:T(8,128)(2,1)}", "bf16[1000000,1000000]{1,0:T(8,128)(4,1)}", False),
    both("f32[1000000,1000000]{1,0:T(48,128)}", "f32[1000000,1000000]{1,0:T(64,128)}", False),
    both("f32[999983,999979]{1,0:T(48,2)}", "f32[999983,999979]{1,0:T(64,2)}", False),
    both("f32[1000000000000]{0:T(48)}", "f32[1000000000000]{0:T(64)}", True),
    both("f32[999999999989]{0:T(48)}", "f32[999999999989]", True),
    both("f32[1000,1000,1000000]{2,1,0:T(*,8,128)}", "f32[1000,1000,1000000]{2,1,0:T(8,128)}", True),
    both("f32[1000,1001,1000000]{2,1,0:T(*,8,128)}", "f32[1000,1001,1000000]{2,1,0:T(8,128)}", False),
    both("f32[10000,10007,10009]{2,1,0:T(*,*,128)}", "f32[10000,10007,10009]{2,1,0}", True),
    both("f32[10000,10007,10009]{2,1,0:T(*,*,128)}", "f32[10000,10007,10009]{2,1,0:T(*,*,96)}", True),
    both("f32[10000,10007,10009]{2,1,0:T(*,2,128)}", "f32[10000,10007,10009]{2,1,0:T(*,4,128)}", False),
    both("f16[5000,10000,20000] spyre", "f16[5000,10000,20000]{0,2,1:T(64,1)}", True),
    both("f16[5000,10000,20000] spyre", "f16[5000,10000,20000] spyre dim_order=[1,0,2]", False),
    both("f16[1000000,1000000]", "f16[1000000,1000000] strides=[1,1000000]", False),
    both("f16[1000000,1000000] spyre device_size=[15625000000,64] stride_map=[64,1]", "f16[1000000,1000000]", True),
]


@pytest.mark.parametrize("a, b, equal", BIG)
def test_big_shapes_are_decided_at_once(a, b, equal):
    left, right = t.parse(a).layout, t.parse(b).layout
    times = []
    for _ in range(100):
        start = time.process_time()
        got, witness = t.equal(left, right)
        times.append(time.process_time() - start)
    median = statistics.median(times)
    print(f"{median * 1e6:8.1f} us  {a} {'==' if equal else '!='} {b}")
    assert got == equal
    if witness is not None:
        coord = witness.coord[: left.ndim]
        assert t.offset(left, coord) == witness.a != witness.b == t.offset(right, coord)
    assert median < 0.020


def test_other_shape_and_other_width():
    assert t.equal(t.parse("f16[2,3]").layout, t.parse("f16[6]").layout)[1].what == t.DIFFERENT_SHAPE
    assert t.equal(t.parse("f16[2,3]").layout, t.parse("f16[3,2]").layout)[1].what == t.DIFFERENT_SHAPE
    assert t.equal(t.parse("f16[2,3]").layout, t.parse("f32[2,3]").layout)[1].what == t.DIFFERENT_WIDTH
