"""tegula/xla.h against published answers; each case of tests/spec/xla_utilities.json names its source.

Upstream's narrower answers are asked of the functions that are named for them, and the exact answers stand beside them
where tiles make a difference.
"""
import ctypes
import json
import os
import shutil
import subprocess

import pytest

import xla_ctypes as xla
import xla_util as u

VECTORS = json.loads((xla.ROOT / "tests/spec/xla_utilities.json").read_text())
LAYOUTS = json.loads((xla.ROOT / "tests/spec/xla_layouts.json").read_text())


def cases(part, source=VECTORS):
    return pytest.mark.parametrize("case", source[part], ids=lambda c: json.dumps(c)[:100])


def tiled(text):
    return "T(" in text


# ---- indices and sizes ------------------------------------------------------------------------------


@cases("linear_index", LAYOUTS)
def test_linear_index(case):
    a = u.array(case["shape"])
    assert u.linear_index(a, case["index"]) == case["nested"]
    assert u.linear_index(a, case["index"], "_untiled") == case["untiled"]
    if not case.get("combine"):
        assert u.linear_index(a, case["index"], "_first_tile") == case["top"]
    assert u.multi_index(a, case["nested"]) == tuple(case["index"])
    assert u.multi_index(a, case["untiled"], "_untiled") == tuple(case["index"])


@cases("delinearize", LAYOUTS)
def test_delinearize(case):
    wanted = u.PADDING if case["index"] is None else tuple(case["index"])
    assert u.multi_index(u.array(case["shape"]), case["linear"]) == wanted


@cases("byte_size", LAYOUTS)
def test_sizes(case):
    nodes = xla.parse(case["shape"])
    assert u.number("tg_xla_byte_size", *u.tree(nodes), u.i64(8)) == case["byte_size_of"]
    if "physical_bytes" not in case:
        return
    a = u.ref(nodes[0])
    assert u.number("tg_xla_array_size", a) == case["physical_bytes"]
    if "*" in case["shape"]:
        with pytest.raises(u.Refused) as refusal:
            u.number("tg_xla_array_size_first_tile", a)
        assert refusal.value.status == "UNREPRESENTABLE" and case["array_size"] == 0
    else:
        assert u.number("tg_xla_array_size_first_tile", a) == case["array_size"]
    if "array_data_size" in case:
        assert u.number("tg_xla_array_data_size_first_tile", a) == case["array_data_size"]


@cases("unpacked_byte_strides")
def test_byte_strides(case):
    a = u.array(case["shape"])
    assert u.numbers("tg_xla_byte_strides_untiled", a.ndim, u.ref(a)) == case["strides"]
    if "E(" not in case["shape"]:
        assert u.numbers("tg_xla_byte_strides", a.ndim, u.ref(a)) == case["strides"]


@cases("max_split")
def test_max_split(case):
    a = u.array(case["shape"])
    assert [u.number("tg_xla_max_split_size", u.ref(a), d) for d in range(a.ndim)] == case["max_split_sizes"]
    assert u.number("tg_xla_max_elements_per_split", u.ref(a)) == case["max_elements_per_split"]


@cases("is_untiled_layout")
def test_is_untiled(case):
    tiles = "".join("(" + ",".join(map(str, tile)) + ")" for tile in case["tiles"])
    order = ",".join(map(str, reversed(range(len(case["dims"])))))
    a = u.array(f"f32[{','.join(map(str, case['dims']))}]{{{order}:T{tiles}}}")
    assert u.flag("tg_xla_is_untiled", u.ref(a)) == case["expected"]


# ---- bitcasts -----------------------------------------------------------------------------------------


@cases("reshape_bitcast")
def test_reshape_is_bitcast(case):
    a, b = u.array(case["input"]), u.array(case["output"])
    assert u.reshape_is_bitcast_untiled(a, b) == case["expected"]
    exact, witness = u.reshape_is_bitcast(a, b)
    if not tiled(case["input"] + case["output"]):
        assert exact == case["expected"]
    if "although the bytes differ" in case.get("note", ""):
        assert not exact and witness.what == u.DIFFERENT_MAP


@cases("transpose_bitcast")
def test_transpose_is_bitcast(case):
    a, b, perm = u.array(case["input"]), u.array(case["output"]), case["dimensions"]
    ignore = case.get("ignore_element_type", False)
    assert u.transpose_is_bitcast_untiled(a, b, perm, ignore) == case["expected"]
    if a.dtype == b.dtype:
        assert u.transpose_is_bitcast(a, b, perm, ignore)[0] == case["expected"]
    else:  # f32 and f16: the widths differ
        assert u.transpose_is_bitcast(a, b, perm, ignore)[1].what == u.DIFFERENT_WIDTH
    if "PermuteDimensions(" in case.get("note", ""):
        assert u.text(u.shape("tg_xla_permute_dimensions", u.ref(a), u.ints32(perm))) == case["output"]


@cases("transpose_deduce")
def test_deduce_transpose(case):
    a, b = u.array(case["input"]), u.array(case["output"])
    assert u.deduce_transpose(a, b, untiled=True) == case["expected"]
    assert u.deduce_transpose(a, b) == case["expected"]


@cases("bitcast_decompose")
def test_decompose_bitcast(case):
    a, b = u.array(case["input"]), u.array(case["output"])
    for untiled in (False, True):
        found = u.decompose(a, b, untiled)
        assert u.KINDS[found.kind] == case["kind"]
        if case["kind"] == "transpose":
            assert list(found.transpose1)[:a.ndim] == case["dims"]
        if case["kind"] == "trt":
            assert list(found.transpose1)[:a.ndim] == case["transpose1"]
            assert list(found.transpose2)[:b.ndim] == case["transpose2"]
            assert u.text(found.transpose1_shape) == case["transpose1_shape"]
            assert u.text(found.reshape_shape) == case["reshape_shape"]


@cases("align_layouts")
def test_align_layouts(case):
    a = u.array(case["input"])
    untiled, exact = u.align(a, case["output_dims"], untiled=True), u.align(a, case["output_dims"])
    if case["expected"] is None:
        assert untiled is None
    else:
        wanted = case["reference"] if case["expected"] == "any_bitcast" else case["expected"]
        for found in (untiled, exact):
            assert list(found.layout.minor_to_major)[:found.ndim] == wanted and found.layout.ntiles == 0
            assert u.reshape_is_bitcast(a, found)[0]
    assert exact is None or u.reshape_is_bitcast(a, exact)[0]


# ---- sizes alone ----------------------------------------------------------------------------------------


@cases("common_factors")
def test_common_factors(case):
    assert u.common_factors(case["a"], case["b"]) == case["expected"]


def plain(sizes):
    return u.array(f"f32[{','.join(map(str, sizes))}]")


@cases("dimensions_unmodified_by_reshape")
def test_dimensions_unmodified(case):
    a, b = plain(case["input"]), plain(case["output"])
    assert u.unmodified(a, b) == case["expected"]
    wanted = {p[0]: p[1] for p in case["expected"]}
    for d in range(a.ndim):
        assert u.leaves_dims(a, b, [d]) == ([wanted[d]] if d in wanted else None)
    assert u.leaves_dims(a, b, list(wanted)[::-1]) == list(wanted.values())[::-1]


@cases("normalized_transpose")
def test_normalized_transpose(case):
    assert u.normalize_transpose(plain(case["output"]), case["dimensions"]) == (case["normalized"], case["permutation"])


# ---- editing ------------------------------------------------------------------------------------------------


def edited_layout(name, text, dim):
    """A function on layouts, or on the layout of a shape whose sizes do not matter."""
    layout = xla.parse_layout(text)
    if name != "DeleteDimension":
        return u.layout({"MoveDimToMajor": "tg_xla_move_dim_to_major", "MoveDimToMinor": "tg_xla_move_dim_to_minor"}[
            name], u.ref(layout), dim)
    a = plain([99] * layout.ndim)
    a.layout = layout
    return u.shape("tg_xla_delete_dimensions", u.ref(a), u.ints32([dim]), 1).layout


SHAPE_OPS = {
    "DeleteDimensions": lambda a, dims: u.shape("tg_xla_delete_dimensions", a, u.ints32(dims), len(dims)),
    "AppendMinorDimension": lambda a, n: u.shape("tg_xla_insert_dimensions", a, a._obj.ndim, u.ints([n]), 1),
    "AppendMajorDimension": lambda a, n: u.shape("tg_xla_append_major_dimension", a, u.i64(n)),
    "PrependMajorDimension": lambda a, n: u.shape("tg_xla_prepend_major_dimension", a, u.i64(n)),
    "InsertDimensionAtIndex": lambda a, at, n: u.shape("tg_xla_insert_dimensions", a, at, u.ints([n]), 1),
    "InsertDimensionsAtIndex": lambda a, at, n: u.shape("tg_xla_insert_dimensions", a, at, u.ints(n), len(n)),
    "MakeShapeWithDescendingLayoutAndSamePhysicalLayout": lambda a: u.shape("tg_xla_make_descending", a),
    "ReorderLogicalDimensions": lambda a, perm: u.shape("tg_xla_permute_dimensions", a, u.ints32(perm)),
    "PermuteDimensions": lambda a, perm: u.shape("tg_xla_permute_dimensions", a, u.ints32(perm)),
    "PermuteDimensionsIgnoringLayout": lambda a, perm: u.shape("tg_xla_permute_dimensions_ignoring_layout", a,
                                                               u.ints32(perm)),
    "DropDegenerateDimensions": lambda a: u.shape("tg_xla_drop_degenerate_dimensions", a),
    "IsEffectivelyMostMajorDimension": lambda a, d: u.flag("tg_xla_is_effectively_most_major", a, d),
    "LastDimIsMinorMost": lambda a: u.flag("tg_xla_last_dim_is_minor_most", a),
}


@cases("shape_ops")
def test_shape_ops(case):
    text, *args = case["args"]
    if text.startswith("{"):
        assert xla.format_layout(edited_layout(case["op"], text, *args)) == case["result"]
        return
    result = SHAPE_OPS[case["op"]](u.ref(u.array(text)), *args)
    assert (result if isinstance(result, bool) else u.text(result)) == case["result"]


# The same operations as the specification tells them in prose.
PROSE = [
    ("DeleteDimensions", "f32[5,3,2,7,9]{2,0,1,4,3}", ([1, 2, 3],), "f32[5,9]{0,1}"),
    ("PrependMajorDimension", "f32[10,20,30]{0,2,1}", (40,), "f32[40,10,20,30]{1,3,2,0}"),
    ("AppendMajorDimension", "f32[10,20,30]{0,2,1}", (40,), "f32[10,20,30,40]{0,2,1,3}"),
    ("ReorderLogicalDimensions", "f32[10,20,30]{2,1,0}", ([1, 2, 0],), "f32[20,30,10]{1,0,2}"),
]


@pytest.mark.parametrize("op, text, args, result", PROSE)
def test_shape_ops_of_the_prose(op, text, args, result):
    assert u.text(SHAPE_OPS[op](u.ref(u.array(text)), *args)) == result


# ---- equality -------------------------------------------------------------------------------------------------


@cases("layout_equal")
def test_layout_equal(case):
    a, b = xla.parse_layout(case["a"]), xla.parse_layout(case["b"])
    options = sum(u.IGNORE[name] for name in case["ignore"])
    equal = lambda x, y, o: u.flag("tg_xla_layout_equal_fields", u.ref(x), u.ref(y), u.C.c_uint32(o))
    assert equal(a, b, options) == equal(b, a, options) == case["equal"]
    if "M(" in case["a"] + case["b"]:
        assert not equal(a, b, options | u.COMPARE_METADATA_PREFIX)


# ---- the binding ------------------------------------------------------------------------------------------------

COMPILER = os.environ.get("CC", "gcc").split()
CONSTANTS = {"TG_XLA_DIFFERENT_SPAN": u.DIFFERENT_SPAN, "TG_XLA_BITCAST_TRT": u.KINDS.index("trt"),
             "TG_XLA_COMPARE_METADATA_PREFIX": u.COMPARE_METADATA_PREFIX, "TG_SLOT_OUTSIDE": u.OUTSIDE,
             "TG_XLA_MINOR_TO_MAJOR_ONLY": u.IGNORE["minor_to_major_only"],
             **{f"TG_XLA_IGNORE_{name.upper()}": bit for name, bit in u.IGNORE.items() if not name.startswith("minor")}}


@pytest.mark.skipif(shutil.which(COMPILER[0]) is None, reason="no C compiler")
def test_structs_and_constants_match_the_header(tmp_path):
    lines, wanted = ["#include <stdio.h>", "#include <tegula/xla.h>", "int main(void) {"], []
    for name, struct in u.STRUCTS.items():
        for field, _ in struct._fields_:
            lines.append(f'printf("%zu %zu\\n", sizeof({name}), offsetof({name}, {field}));')
            wanted.append(f"{ctypes.sizeof(struct)} {getattr(struct, field).offset}")
    for name, value in CONSTANTS.items():
        lines.append(f'printf("%d\\n", (int){name});')
        wanted.append(str(value))
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text("\n".join(lines + ["return 0; }"]))
    subprocess.run([*COMPILER, "-std=c11", f"-I{xla.ROOT / 'include'}", str(source), "-o", str(program)], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    assert printed.splitlines() == wanted
