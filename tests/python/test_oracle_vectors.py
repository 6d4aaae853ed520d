"""Published vectors through the library; each case of tests/spec names its source."""
import struct

import pytest

import oracle as o
import oracle_cases as cases
import tegula_c as t
from test_oracle_self import SPYRE, TORCH, XLA, read_xla


def spyre_desc(case, **more):
    order, keep = case.get("dim_order"), more.pop("keep", True)
    return t.parse(cases.spyre_text(TORCH[case["dtype"]], case["size"], case.get("stride"), order, keep, **more))


def device(desc):
    rank = desc.spyre.rank
    return list(desc.spyre.device_size[:rank]), list(desc.spyre.stride_map[:rank])


def corners(rng, shape, count=40):
    if 0 in shape:
        return []
    ends = {tuple(0 for _ in shape), tuple(n - 1 for n in shape)}
    return sorted(ends | {tuple(rng.randrange(n) for n in shape) for _ in range(count)})


@pytest.mark.parametrize("part", ["construct", "construct_derived"])
def test_constructor(part):
    rng = cases.generator(part)
    rows = SPYRE[part] if part == "construct" else SPYRE[part]["cases"]
    for case in rows:
        desc = spyre_desc(case)
        text = str((case["size"], case["stride"], case["dtype"], case["dim_order"]))
        cases.expect(text, "device_size, stride_map", (case["device_size"], case["stride_map"]), device(desc))
        cases.expect(text, "bytes", case["bytes"], t.nbytes(desc.layout))
        if "device_dtype" in case:
            cases.expect(text, "format", case["device_dtype"], t.lib.tg_format_name(desc.spyre.device_dtype).decode())
        judge = o.spyre(case["size"], case["stride"] or o.row_major(case["size"]), case["device_size"],
                        case["stride_map"], desc.layout.elem_bits)
        for coord in corners(rng, case["size"]):
            offset = judge.place(coord)[0]
            cases.expect(text, f"offset of {coord}", offset, t.offset(desc.layout, coord))
            cases.expect(text, f"slot {offset}", coord, t.coord(desc.layout, offset))


def test_unit_dims_dropped_have_the_same_map_as_an_explicit_layout():
    for size, stride, dtype, *_ in SPYRE["model_layouts"]["derived"]:
        stick = o.STICK[o.DEVICE_FORMAT[TORCH[dtype]]]
        device_size, stride_map = o.spyre_default(size, stride, stick)
        desc = t.parse(cases.spyre_text(TORCH[dtype], size, stride))
        cases.expect(str((size, stride, dtype)), "device_size, stride_map", (device_size, stride_map), device(desc))


def test_model_layouts():
    rng = cases.generator("models")
    for size, stride, dtype, device_size, stride_map, _ in SPYRE["model_layouts"]["derived"]:
        desc = t.parse(cases.spyre_text(TORCH[dtype], size, stride, keep=True))
        text = str((size, stride, dtype))
        cases.expect(text, "device_size, stride_map", (device_size, stride_map), device(desc))
        judge = o.spyre(size, stride, device_size, stride_map, 16)
        for coord in corners(rng, size, 6):
            cases.expect(text, f"offset of {coord}", judge.place(coord)[0], t.offset(desc.layout, coord))


def test_layout_of_the_granite_file():
    case = SPYRE["model_layouts"]["literal"][0]
    desc = t.parse(cases.spyre_text("s64", case["size"], case["stride"], device_size=case["device_size"],
                                    stride_map=case["stride_map"]))
    assert [t.coord(desc.layout, k) for k in (0, 31, 32, 40)] == [(0, 0, k) for k in (0, 31, 32, 40)]
    assert t.equal(desc.layout, t.parse("s64[1,1,41] spyre").layout) == (True, None)


def test_constructor_errors():
    for case in SPYRE["construct_errors"]:
        if case["call"] in ("dim_order constructor", "size-only/dim_order constructor") and case["dim_order"]:
            text = cases.spyre_text(TORCH[case["dtype"]], case["size"], case["stride"], case["dim_order"])
        elif "device_size" in case and "error" in case:
            text = cases.spyre_text("f16", [64], None, device_size=case["device_size"], stride_map=case["stride_map"])
        elif case.get("dtype") in ("float64", "complex64"):
            text = case["dtype"] + "[4] spyre"
        else:
            continue
        with pytest.raises(t.TegulaError):
            t.parse(text)


def test_any_rank_of_the_newest_rule():
    """Upstream of 2026 stops at rank 6; the rule does not."""
    case = cases.spyre("f16", [2] * 7)
    cases.check_case(case)
    case = cases.spyre("f16", [2] * 6 + [3], None, [6, 5, 4, 3, 2, 1, 0])
    cases.check_case(case)


def test_accepted_example_of_require_layout():
    case = next(c for c in SPYRE["construct_errors"] if c.get("ok"))
    cases.check_offsets("4302", t.parse(cases.spyre_text("f16", case["host"], device_size=case["device_size"],
                                                        stride_map=case["stride_map"])).layout,
                        o.spyre(case["host"], o.row_major(case["host"]), case["device_size"], case["stride_map"], 16))


def described(part):
    """A layout of the equality vectors: (device_size, stride_map, device_dtype, element arrangement)."""
    if "device_size" in part:
        return part["device_size"], part["stride_map"], part["device_dtype"], 0
    desc = spyre_desc(part)
    return *device(desc), t.lib.tg_format_name(desc.spyre.device_dtype).decode(), desc.spyre.arrangement


def test_spyre_equality():
    for case in SPYRE["equality"]:
        assert (described(case["a"]) == described(case["b"])) == case["equal"], case


def test_spyre_text():
    for case in SPYRE["str"]:
        desc = spyre_desc(case, keep=False, arrangement=case.get("element_arrangement"))
        assert t.spyre_str(desc.spyre) == case["text"]


def test_legacy_dim_map():
    checked = 0
    for case in SPYRE["legacy_dim_map"]["cases"]:
        if "device_size" not in case:
            continue
        size, device_size, dim_map = case["size"], case["device_size"], case["dim_map"]
        strides = o.row_major(size)
        desc = t.parse(cases.spyre_text("f16", size, device_size=device_size, dim_map=dim_map))
        judge = o.spyre(size, strides, device_size, o.dim_map_strides(size, strides, device_size, dim_map), 16)
        for coord in corners(cases.generator("legacy"), size, 200):
            cases.expect(str(case), f"offset of {coord}", judge.place(coord)[0], t.offset(desc.layout, coord))
        assert t.dim_map(desc.spyre, desc.host) == dim_map
        checked += 1
    assert checked == 5


def test_storage_bytes():
    for case in SPYRE["storage_bytes"]:
        size = case["device_size"]
        text = cases.spyre_text("f16", size, device_size=size, stride_map=o.row_major(size),
                                device_dtype=case["device_dtype"])
        assert t.nbytes(t.parse(text).layout) == case["bytes"], text


def test_dtype_tables():
    table = SPYRE["dtype_table"]
    for name, value in table["dataformats_enum"].items():
        if name != "INVALID":
            assert t.lib.tg_format_from_name(name.encode(), len(name)) == value
            assert t.lib.tg_format_name(value).decode() == name
    for name, lanes in table["elements_per_stick"].items():
        assert t.lib.tg_format_bits(table["dataformats_enum"][name]) * lanes == 1024, name
    for name in ("INVALID", "SEN153_FP9", "SENINT24", "SEN18F_FP24"):
        assert t.lib.tg_format_bits(table["dataformats_enum"][name]) == 0
    for torch_name, name in table["torch_to_device"].items():
        if torch_name not in TORCH:
            continue
        dtype = t.lib.tg_dtype_from_name(torch_name.encode(), len(torch_name))
        assert t.lib.tg_dtype_name(dtype).decode() == TORCH[torch_name]
        assert t.lib.tg_format_for_dtype(dtype) == table["dataformats_enum"][name]
    for name, value in table["element_arrangement_enum"].items():
        assert t.ARRANGEMENTS[value] == name


@pytest.mark.parametrize("case", SPYRE["roundtrip"], ids=lambda c: f"{c['size']}-{c['device_size']}-{c['stride_map']}")
def test_pairs_of_round_trips(case):
    """Every (host element, device element) pair, found through the inverse: what holds data, and what it holds."""
    text = cases.spyre_text("f16", case["size"], case["stride"], device_size=case["device_size"],
                            stride_map=case["stride_map"])
    layout = t.parse(text).layout
    if case["pairs"] is None:
        pytest.skip("no checksum")
    host_strides, start = case.get("host_strides_actual", case["stride"]), case.get("host_storage_offset", 0)
    if layout.span > 1_200_000:
        judge = o.spyre(case["size"], case["stride"], case["device_size"], case["stride_map"], 16)
        for coord in corners(cases.generator("pairs"), case["size"], 3000):
            assert t.offset(layout, coord) == judge.place(coord)[0]
        return
    pairs = checksum = 0
    for d, slot in enumerate(t.slots(layout, range(layout.span))):
        if slot != t.PADDING:
            pairs += 1
            checksum += (start + o.dot(slot, host_strides) + 1) * (d + 1)
    assert (pairs, checksum % 2**64) == (case["pairs"], case["pair_checksum"])
    assert t.coverage(layout)[2] == pairs


def test_layout_of_issue_3401():
    case = SPYRE["roundtrip_known_bad_upstream"][0]
    judge = o.spyre(case["size"], case["stride"], case["device_size"], case["stride_map"], 16)
    layout = t.parse(cases.spyre_text("f16", case["size"], device_size=case["device_size"],
                                      stride_map=case["stride_map"])).layout
    for coord in corners(cases.generator("3401"), case["size"], 2000):
        offset = judge.place(coord)[0]
        assert t.offset(layout, coord) == offset and t.coord(layout, offset) == coord
    assert t.coverage(layout) == (True, True, 4 * 4096 * 128)


def test_element_arrangement_tables():
    tables = SPYRE["element_arrangement"]
    layout = t.parse("f32[128] spyre arrangement=DL16_TO_FP32").layout
    assert t.offsets(layout, [(k,) for k in range(128)]) == tables["dl16_to_fp32_position_of_logical_column"]
    layout = t.parse("f16[128] spyre arrangement=FP32_TO_DL16").layout
    assert t.offsets(layout, [(k,) for k in range(128)]) == tables["fp32_to_dl16_position_of_logical_column"]


# ---- XLA ---------------------------------------------------------------------------------


def test_xla_linear_index():
    for case in XLA["linear_index"]:
        layout = t.parse(case["shape"]).layout
        cases.expect(case["shape"], f"offset of {case['index']}", case["nested"], t.offset(layout, case["index"]))
        cases.expect(case["shape"], f"slot {case['nested']}", tuple(case["index"]), t.coord(layout, case["nested"]))


def test_xla_delinearize():
    for case in XLA["delinearize"]:
        wanted = t.PADDING if case["index"] is None else tuple(case["index"])
        found = t.coord(t.parse(case["shape"]).layout, case["linear"])
        cases.expect(case["shape"], f"slot {case['linear']}", wanted, found)


def test_xla_sizes():
    for case in XLA["byte_size"]:
        if "padded_elements" not in case:
            continue
        layout = t.parse(case["shape"]).layout
        cases.expect(case["shape"], "span", case["padded_elements"], layout.span)
        cases.expect(case["shape"], "bytes", case["physical_bytes"], t.nbytes(layout))


def test_corners_of_xla_shapes():
    rng = cases.generator("xla corners")
    for text in sorted({case["shape"] for case in XLA["linear_index"]}):
        dtype, shape, m2m, tiles, tail, bits = read_xla(text)
        judge = o.xla(shape, m2m, tiles, bits or o.STORAGE_BITS[dtype], tail)
        layout = t.parse(text).layout
        cases.expect(text, "span", judge.span, layout.span)
        for coord in corners(rng, shape):
            cases.expect(text, f"offset of {coord}", judge.place(coord)[0], t.offset(layout, coord))


# ---- the seeds -----------------------------------------------------------------------------


def test_seed_layout_texts():
    for text, printed in (
            ("f16[5,100,150] spyre", "SpyreTensorLayout(device_size=[100, 3, 5, 64], stride_map =[150, 64, 15000, 1], "
                                     "device_dtype=DataFormats.SEN169_FP16)"),
            ("f16[5,100,150] spyre dim_order=[1,0,2]", "SpyreTensorLayout(device_size=[5, 3, 100, 64], "
             "stride_map =[15000, 64, 150, 1], device_dtype=DataFormats.SEN169_FP16)"),
            ("float16[5,100,150] spyre device_size=[100,3,5,64] dim_map=[1,2,0,2]",
             "SpyreTensorLayout(device_size=[100, 3, 5, 64], stride_map =[150, 64, 15000, 1], "
             "device_dtype=DataFormats.SEN169_FP16)")):
        assert t.spyre_str(t.parse(text).spyre) == printed
    assert t.dim_map(t.parse("f16[5,100,150] spyre").spyre, t.parse("f16[5,100,150] spyre").host) == [1, 2, 0, 2]
    desc = t.parse("f16[5,100,150] spyre dim_order=[1,0,2]")
    assert t.dim_map(desc.spyre, desc.host) == [0, 2, 1, 2]


def test_seed_coordinates():
    """Seed 000: (a, b, c, d) of the device is (c, a, b*64 + d) of the host. Seed 004: [7,4,3,64] is of [3,7,200]."""
    layout = t.parse("f16[128,256,512] spyre device_size=[256,8,128,64] stride_map=[512,64,131072,1]").layout
    for a, b, c, d in ((0, 0, 0, 0), (255, 7, 127, 63), (3, 2, 77, 5)):
        assert t.offset(layout, (c, a, b * 64 + d)) == ((a * 8 + b) * 128 + c) * 64 + d
    assert device(t.parse("f16[3,7,200] spyre")) == ([7, 4, 3, 64], [200, 64, 1400, 1])
    assert device(t.parse("f16[50,10,200] spyre")) == ([10, 4, 50, 64], [200, 64, 2000, 1])
    assert device(t.parse("f16[1024,256] spyre")) == ([4, 1024, 64], [64, 256, 1])
    padded = t.parse("f16[100,200,500] strides=[131072,512,1] spyre device_size=[256,8,128,64] "
                     "stride_map=[512,64,131072,1]").layout
    assert t.offset(padded, (99, 199, 499)) == ((199 * 8 + 7) * 128 + 99) * 64 + 499 - 7 * 64
    assert t.coord(padded, ((200 * 8 + 0) * 128 + 0) * 64) == t.PADDING
    assert t.coverage(padded) == (True, False, 100 * 200 * 500)


def test_offset_150_is_the_next_row():
    """Padding comes from logical coordinates: host offset 150 of [5,100,150] is a real element, lane 150 is not."""
    layout = t.parse("f16[5,100,150] spyre").layout
    assert t.coord(layout, 2 * 320 + 21) == (0, 0, 149)
    assert t.coord(layout, 2 * 320 + 22) == t.PADDING
    assert t.coord(layout, 960) == (0, 1, 0)
    assert t.offset(layout, (4, 99, 149)) == 95957 and layout.span == 96000


def test_seed_xla_example():
    layout = t.parse("bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}").layout
    assert t.offset(layout, (3, 13, 1000)) == 433873
    assert (layout.span, t.nbytes(layout), layout.memory_space) == (4194304, 8388608, 1)
    assert t.coverage(layout) == (True, True, 4194304)


def test_seed_minor_to_major():
    """Seed 002: a b c / d e f is laid out a d b e c f with minor_to_major [0, 1]."""
    layout = t.parse("f32[2,3]{0,1}").layout
    assert [dict(zip([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)], "abcdef"))[t.coord(layout, k)]
            for k in range(6)] == list("adbecf")


# ---- DLFloat16, once the movers are linked ----------------------------------------------------


@pytest.mark.skipif(not hasattr(t.lib, "tg_plan_run"), reason="the library is built without relayout")
def test_dlfloat16():
    rows = SPYRE["dlfloat16"]["encode"]
    src, dst = t.parse("f32[64]").layout, t.parse("f32[64] spyre device_dtype=SEN169_FP16").layout
    bits = [int(row["fp32_bits"], 16) for row in rows] + [0] * (64 - len(rows))
    host, out, plan = struct.pack("<64I", *bits), t.C.create_string_buffer(128), t.Plan()
    params = t.PlanParams(dst=t.C.pointer(dst), src=t.C.pointer(src), threads=1)
    assert t.lib.tg_plan_init(t.C.byref(plan), t.C.byref(params), t.C.byref(t._error)) == t.OK, t._error.message
    assert t.lib.tg_plan_run(t.C.byref(plan), out, host, None, None) == t.OK
    for row, got in zip(rows, struct.unpack("<64H", out.raw)):
        assert got == int(row["dlf16"], 16), row
