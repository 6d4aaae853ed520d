"""The oracle itself against published vectors, before it judges anyone. No C code is used here."""
import itertools
import json
import math
import pathlib
import re

import pytest

import oracle as o

SPEC = pathlib.Path(__file__).resolve().parents[1] / "spec"
SPYRE = json.loads((SPEC / "spyre_layouts.json").read_text())
XLA = json.loads((SPEC / "xla_layouts.json").read_text())
TORCH = {"float16": "f16", "bfloat16": "bf16", "bool": "pred", "float32": "f32", "int8": "s8", "int16": "s16",
         "int32": "s32", "int64": "s64", "uint8": "u8", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2fnuz": "f8e5m2fnuz"}


def read_xla(text):
    """(dtype, dims, minor_to_major, tiles, tail, element_bits) of canonical array text; enough for the vectors."""
    dtype, rest = text.split("[", 1)
    dims, rest = rest.split("]", 1)
    shape = [int(n.removeprefix("<=")) for n in dims.split(",") if n]
    order, _, properties = rest.strip("{}").partition(":")
    m2m = [int(n) for n in order.split(",") if n] if rest else list(reversed(range(len(shape))))
    found = dict(re.findall(r"(SC|[TLESM])((?:\([^)]*\))+)", properties))
    tiles = [[o.COMBINE if n == "*" else int(n) for n in tile.split(",")]
             for tile in found.get("T", "")[1:-1].split(")(") if tile]
    tail, bits = int(found.get("L", "(1)")[1:-1]), int(found.get("E", "(0)")[1:-1])
    return dtype, shape, m2m, tiles, tail, bits


def xla_layout(text):
    dtype, shape, m2m, tiles, tail, bits = read_xla(text)
    return o.xla(shape, m2m, tiles, bits or o.STORAGE_BITS[dtype], tail)


@pytest.mark.parametrize("case", SPYRE["roundtrip"], ids=lambda c: f"{c['size']}-{c['device_size']}-{c['stride_map']}")
def test_pairs_of_torch_spyre_round_trips(case):
    """spec 9: pairs and checksum = sum of (h+1)*(d+1) over distinct (host element, device element) pairs."""
    layout = o.spyre(case["size"], case["stride"], case["device_size"], case["stride_map"], 16)
    if case["pairs"] is None:
        pytest.skip("upstream skips it too: it has no checksum")
    host_strides = case.get("host_strides_actual", case["stride"])
    start = case.get("host_storage_offset", 0)
    pairs = checksum = 0
    for coord, held in layout.places.items():
        h = start + o.dot(coord, host_strides)
        for d in held:
            pairs += 1
            checksum += (h + 1) * (d + 1)
    assert (pairs, checksum % 2**64) == (case["pairs"], case["pair_checksum"])


def test_coins_are_enough_for_round_trips():
    for case in SPYRE["roundtrip"]:
        reach = sum((n - 1) * s for n, s in zip(case["size"], case["stride"]))
        assert o.pays_with_coins(reach, case["device_size"], case["stride_map"])


def test_layout_of_issue_3401():
    case = SPYRE["roundtrip_known_bad_upstream"][0]
    layout = o.spyre(case["size"], case["stride"], case["device_size"], case["stride_map"], 16)
    for coord in ((0, 0, 0, 0), (0, 3, 4095, 127), (0, 2, 1234, 77), (0, 1, 64, 1), (0, 0, 63, 0)):
        _, c, row, column = coord
        assert layout.place(coord) == [o.dot((0, c, column, row // 64, row % 64), o.row_major(case["device_size"]))]


def constructor_vectors():
    for case in SPYRE["construct"] + SPYRE["construct_derived"]["cases"]:
        yield case["size"], case["stride"], case["dtype"], case["dim_order"], case["device_size"], case["stride_map"]
    for size, stride, dtype, device_size, stride_map, _ in SPYRE["model_layouts"]["derived"]:
        yield size, stride, dtype, None, device_size, stride_map


def test_constructor_rule():
    for size, stride, dtype, order, device_size, stride_map in constructor_vectors():
        stick = o.STICK[o.DEVICE_FORMAT[TORCH[dtype]]]
        got = o.spyre_default(size, stride or o.row_major(size), stick, order, keep_unit_dims=True)
        assert got == (device_size, stride_map), (size, stride, dtype, order)


def test_dropped_unit_dims_are_the_layout_without_them():
    """Seed 001: [512, 1] and [512] share the default layout; [1, 1, 41] of int64 is [2, 1, 32] up to its unit dim."""
    assert o.spyre_default([512, 1], [1, 1], 64) == o.spyre_default([512], [1], 64) == ([8, 64], [64, 1])
    assert o.spyre_default([1, 1, 41], [41, 41, 1], 32) == ([2, 32], [32, 1])
    assert o.spyre_default([1, 1], [1, 1], 64) == ([1, 64], [-1, -1])
    assert o.spyre_default([1, 4, 32], [128, 32, 1], 32, [1, 2, 0]) == ([1, 4, 32], [32, 32, 1])
    assert o.spyre_default([256, 1], [1, 1], 64, [0, 1, -1]) == ([1, 256, 64], [-1, 1, -1])


def test_element_arrangement_tables():
    tables = SPYRE["element_arrangement"]
    for column, position in enumerate(tables["dl16_to_fp32_position_of_logical_column"]):
        stick, lane = o.arranged("DL16_TO_FP32", column // 32, column % 32)
        assert stick * 32 + lane == position
    for column, position in enumerate(tables["fp32_to_dl16_position_of_logical_column"]):
        stick, lane = o.arranged("FP32_TO_DL16", column // 64, column % 64)
        assert stick * 64 + lane == position


def test_xla_linear_index():
    for case in XLA["linear_index"]:
        assert xla_layout(case["shape"]).place(case["index"]) == [case["nested"]], case["shape"]


def test_xla_delinearize():
    tables = {}
    for case in XLA["delinearize"]:
        found = tables.setdefault(case["shape"], None) or xla_layout(case["shape"]).inverse()
        tables[case["shape"]] = found
        wanted = None if case["index"] is None else tuple(case["index"])
        assert found.get(case["linear"]) == wanted, (case["shape"], case["linear"])


def test_xla_sizes():
    for case in XLA["byte_size"]:
        if "padded_elements" not in case:
            continue
        layout = xla_layout(case["shape"])
        assert layout.span == case["padded_elements"], case["shape"]
        assert -(-layout.span * layout.bits // 8) == case["physical_bytes"], case["shape"]


def test_worked_example_of_combined_tiles():
    """Spec of XLA layouts 4.3: combined to 112 x 110, tiled (2,3): 12432 slots."""
    layout = xla_layout("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}")
    assert layout.span == 12432 and layout.place((1, 2, 3, 4, 5)) == [8307]


def test_greatest_solution_by_enumeration():
    """The search finds what comparing all device coordinates finds."""
    for device_size, stride_map in (([3, 4, 5], [4, 1, 2]), ([2, 3, 4], [3, 3, 1]), ([2, 5, 1], [6, 2, 60]),
                                    ([4, 3, 2], [1, -1, 3]), ([2, 2, 3], [5, 0, 2])):
        order = sorted(range(3), key=lambda k: (-stride_map[k], k))
        best = {}
        for at in itertools.product(*(range(n) for n in device_size)):
            if any(q for q, m in zip(at, stride_map) if m <= 0):
                continue
            h = sum(q * m for q, m in zip(at, stride_map))
            best[h] = max(best.get(h, at), at, key=lambda c: [c[k] for k in order])
        for h in range(-1, 2 * math.prod(device_size)):
            found = o.solver(device_size, stride_map)(h)
            assert (None if found is None else tuple(found)) == best.get(h)
