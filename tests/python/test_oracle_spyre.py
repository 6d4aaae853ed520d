"""Explicit Spyre layouts: folded, split, padded, replicated, sparse; and what must be refused."""
import itertools

import pytest

import oracle as o
import oracle_cases as cases
import tegula_c as t


def explicit(shape, device_size, stride_map, strides=None, dtype="f16", **more):
    return cases.spyre(dtype, shape, strides, device_size=device_size, stride_map=stride_map, **more)


VALID = [
    explicit([40, 60], [38, 64], [64, 1]),                                   # folded
    explicit([40, 60], [1, 40, 64], [64, 61, 1]),                            # folded, one element more than a row
    explicit([60], [1, 512, 64], [64, 0, 1]),                                # 512 copies
    explicit([60], [2, 1, 1, 2, 64], [15, 15, 64, 30, 1]),                   # 15 of 64 lanes
    explicit([60], [1, 60, 64], [64, 1, 1]),                                 # one lane, same stride twice
    explicit([40, 60], [3, 4, 3, 1, 2, 64], [600, 180, 60, 64, 1800, 1]),    # ragged digits of two dimensions
    explicit([480], [3, 2, 14, 64], [120, 64, 360, 1]),
    explicit([40, 60], [24, 1, 2, 64], [60, 64, 1440, 1]),
    explicit([2, 2, 150], [2, 3, 2, 64], [150, 64, 300, 1]),
    explicit([1, 2, 128, 64], [1, 2, 64, 2, 64], [16384, 8192, 1, 4096, 64]),  # issue #3401, smaller
    explicit([3, 5], [1, 1, 64], [64, 15, 1]),                               # all in one stick
    explicit([3, 5], [4, 64], [64, 1], strides=[100, 1]),                    # a gapped host, flattened
    explicit([3, 5], [1, 3, 64], [64, 100, 1], strides=[100, 1]),
    explicit([4, 60], [1, 64], [64, 1], strides=[0, 1]),                     # an expanded host: four coordinates share
    explicit([4, 60], [1, 4, 64], [64, 0, 1], strides=[0, 1]),               # or walk a dimension of stride 0
    explicit([4, 60], [1, 3, 5, 64], [64, 0, 0, 1], strides=[0, 1]),         # if it is long enough; the other copies
    explicit([4, 3, 60], [4, 1, 6, 64], [0, 64, 0, 1], strides=[0, 0, 1]),
    explicit([70], [2, 3, 64], [64, -1, 1]),                                 # synthetic dimension in the middle
    explicit([7], [7, 64], [1, -1]),                                         # sparse
    explicit([7], [9, 3, 64], [1, -1, -1]),
    explicit([], [1, 64], [-1, -1]),
    explicit([], [2, 64], [0, -1]),
    explicit([1, 1], [1, 1, 64], [5, 9, -1]),
    explicit([0, 5], [2, 64], [64, 1]),
    explicit([0, 5], [0, 1, 64], [5, 64, 1]),
    explicit([5], [4, 64], [64, 1]),                                         # more sticks than the host needs
    explicit([6, 6], [6, 1, 64], [1, 64, 6]),
]


@pytest.mark.parametrize("case", VALID, ids=repr)
def test_valid(case):
    cases.check_case(case)


UNREACHABLE = [
    ([100], [1, 64], [64, 1], None),            # 36 elements too many
    ([40, 60], [1, 40, 64], [64, 65, 1], None),  # offset 64 is in no lane
    ([40, 60], [37, 64], [64, 1], None),        # folded, but one stick short
    ([40, 60], [40, 64], [60, 2], None),        # only even columns
    ([4, 4], [4, 64], [4, -1], None),           # the columns go nowhere
    ([5], [64], [-1], None),
    ([5], [1, 64], [64, 0], None),
    ([3, 5], [0, 64], [5, 1], None),
    ([10], [2, 64], [5, 2], None),
    ([3], [1, 64], [64, 1], [-1]),              # below the first element
]


@pytest.mark.parametrize("shape, device_size, stride_map, strides", UNREACHABLE, ids=str)
def test_unreachable_elements_are_refused(shape, device_size, stride_map, strides):
    text = cases.spyre_text("f16", shape, strides, device_size=device_size, stride_map=stride_map)
    with pytest.raises(t.TegulaError) as why:
        t.parse(text)
    assert why.value.status != t.ERR_LIMIT


def random_cases(rng, count, over_gaps):
    """Explicit layouts of which every element is found by dividing by the strides, the largest first."""
    made, tried = [], 0
    while len(made) < count:
        tried += 1
        shape = [rng.choice((1, 2, 3, 4, 5, 6, 7, 12)) for _ in range(rng.randrange(1, 5))]
        strides = cases.random_strides(rng, shape) if over_gaps or rng.random() < 0.5 else None
        dtype = rng.choice(("f16", "f32", "s8"))
        host = strides or o.row_major(shape)
        device_size, stride_map = cases.random_explicit_spyre(rng, dtype, shape, host, over_gaps)
        host_offsets = {o.dot(c, host) for c in itertools.product(*map(range, shape))}
        if (o.math.prod(device_size) <= 200_000
                and all(o.pays_with_coins(h, device_size, stride_map) for h in host_offsets)):
            made.append(explicit(shape, device_size, stride_map, strides, dtype))
    assert tried < 2 * count
    return made


def test_random_explicit_layouts():
    cases.check_cases(random_cases(cases.generator("explicit"), 900, False))


def test_random_explicit_layouts_over_gaps():
    """Sliced hosts: the elements between the rows have device positions, and are padding."""
    cases.check_cases(random_cases(cases.generator("gaps"), 400, True))


def test_where_coins_are_not_enough_an_answer_is_right_or_refused():
    """Capped digits: the greatest solution needs a look back. No mode says that, so an error is fine."""
    right = refused = 0
    for device_size, stride_map, n in (([2, 64], [15, 1], 60), ([60, 64], [1, 1], 100), ([2, 2, 64], [7, 5, 1], 70),
                                       ([3, 64], [6, 4], 9), ([2, 3, 64], [6, 4, 1], 30)):
        case = explicit([n], device_size, stride_map)
        try:
            layout = t.parse(case.text).layout
        except t.TegulaError:
            refused += 1
            continue
        cases.check(case.text, layout, case.layout)
        right += 1
    assert right + refused == 5


def test_overlapping_hosts_are_right_or_refused():
    rng = cases.generator("overlap")
    checked = 0
    for _ in range(300):
        shape = [rng.randrange(1, 6) for _ in range(rng.randrange(1, 4))]
        strides = [rng.randrange(0, 6) for _ in shape]
        reach = sum((n - 1) * s for n, s in zip(shape, strides)) + 1
        case = explicit(shape, [-(-reach // 64), 64], [64, 1], strides)
        try:
            layout = t.parse(case.text).layout
        except t.TegulaError:
            continue
        cases.check(case.text, layout, case.layout)
        checked += 1
    print(f"{checked} of 300 overlapping hosts have a layout")


def test_expanded_hosts_by_the_constructor():
    """A stride of 0 becomes a stride_map of 0, and that device dimension walks the expanded one again."""
    hosts = ([4, 60], [0, 1]), ([4, 60], [1, 0]), ([3, 4, 5], [5, 0, 1]), ([3, 4], [0, 0]), ([70], [0])
    cases.check_cases(cases.spyre("f16", shape, strides, order) for shape, strides in hosts
                      for order in (None, list(range(len(shape))) + [-1]))


def test_element_arrangements():
    for shape in ([128], [64], [4, 128], [3, 100], [2, 3, 256], [5, 97]):
        case = cases.spyre("f32", shape, arrangement="DL16_TO_FP32")
        cases.check_case(case)
    for shape in ([128], [60], [4, 128], [3, 100], [2, 3, 256]):
        cases.check_case(cases.spyre("f16", shape, arrangement="FP32_TO_DL16"))
    for shape, order in (([4, 128], [1, 0]), ([128, 6], [1, 0]), ([128, 3, 4], [2, 1, 0])):
        cases.check_case(cases.spyre("f16", shape, None, order, arrangement="FP32_TO_DL16"))
    for shape, order in (([128, 6], [1, 0]), ([128, 3, 4], [2, 1, 0])):
        cases.check_case(cases.spyre("f32", shape, None, order, arrangement="DL16_TO_FP32"))


def test_arrangements_that_move_elements_out_of_the_layout():
    """An odd number of sticks has no partner for the last one: an error, or nothing lost."""
    for shape in ([32], [20], [3, 70], [96]):
        case = cases.spyre("f32", shape, arrangement="DL16_TO_FP32")
        try:
            layout = t.parse(case.text).layout
        except t.TegulaError as why:
            assert why.status in (t.ERR_UNREPRESENTABLE, t.ERR_UNSUPPORTED, t.ERR_ARGUMENT, t.ERR_PARSE)
            continue
        offsets = t.table(layout)
        assert len(set(offsets.values())) == len(offsets) and max(offsets.values()) < layout.span


def test_dim_map_digits():
    for shape, device_size, dim_map in (([5, 100, 150], [100, 3, 5, 64], [1, 2, 0, 2]),
                                        ([6, 8, 70], [2, 6, 8, 64], [2, 0, 1, 2]),
                                        ([6, 8], [8, 6, 64], [1, 0, -1]), ([3, 70, 9], [9, 2, 3, 64], [2, 1, 0, 1]),
                                        ([130], [3, 64], [0, 0]), ([2, 3, 200], [2, 2, 3, 2, 64], [0, 2, 1, 2, 2])):
        strides = o.row_major(shape)
        text = cases.spyre_text("f16", shape, device_size=device_size, dim_map=dim_map)
        judge = o.spyre(shape, strides, device_size, o.dim_map_strides(shape, strides, device_size, dim_map), 16)
        desc = t.parse(text)
        cases.check(text, desc.layout, judge)
        assert t.dim_map(desc.spyre, desc.host) == dim_map
