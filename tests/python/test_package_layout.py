"""tegula.Layout against the oracle, the command, PyTorch's and NumPy's rules, and itself."""
import copy
import inspect
import itertools
import json
import math
import pickle
import random
import subprocess
import weakref

import ml_dtypes
import numpy
import pytest
from hypothesis import given, strategies as st

import console
import oracle
import tegula
import tegula.hlo
from tegula import Layout
from tegula._spyre_names import DataFormats, ElementArrangement

TEXTS = [
    "f16[5,100,150]", "f16[5,100,150] strides=[15000,150,1] offset=3", "f32[4,8]{0,1}", "f32[]", "f32[]{:}", "u8[0,3]",
    "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}", "s4[16]{0:E(4)}", "f32[3,5]{1,0:T(2,4)L(64)}",
    "f32[2,3,4]{2,1,0:T(*,4)}",
    "f32[<=8,16]{1,0:T(8,128)SC(0:4)M(16)}", "f16[5,100,150] spyre", "f16[5,100,150] spyre dim_order=[1,0,2]",
    "f16[512,256] spyre dim_order=[0,1,-1]", "f16[512,1] spyre unit_dims=keep", "f16[40,60] strides=[1,40] spyre",
    "f16[256] spyre device_size=[2,4,64] stride_map=[0,64,1]",
    "f16[64,64] spyre arrangement=DL16_TO_FP32 device_dtype=IEEE_FP32",
    "f32[7] strides=[-2] offset=12", "s32[3,4] strides=[0,1]",
]


def slow_coords(layout):
    return itertools.product(*(range(n) for n in layout.shape))


# ---- what it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
def test_is_one_value(text):
    layout = Layout(text)
    assert Layout(str(layout)) == layout == Layout.parse(text) == Layout(layout)
    assert eval(repr(layout)) == layout and hash(eval(repr(layout))) == hash(layout)
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert copy.copy(layout) is layout and copy.deepcopy([layout])[0] is layout
    assert layout != Layout("f64[123]") and layout != text and layout in {Layout(text): 1}
    modes = layout.coalesce()  # said by no notation
    assert modes.equal(layout, storage=True) and modes.notation is None and modes.text is None
    assert eval(repr(modes)) == modes == pickle.loads(pickle.dumps(modes)) != layout
    assert hash(eval(repr(modes))) == hash(modes)


@pytest.mark.parametrize("text", TEXTS)
def test_tells_what_the_command_shows(text):
    answer = subprocess.run([console.TEGULA, "show", text, "--json"], check=True, capture_output=True).stdout
    shown = json.loads(answer)
    layout = Layout(text)
    assert layout.to_dict() == shown
    names = {"offset": "storage_offset", "physical_elements": "span", "schema": None, "spyre": None, "xla": None}
    parts = [shown, shown.get("spyre", {}), shown.get("xla", {})]
    for key, value in ((k, v) for part in parts for k, v in part.items()):
        name = names.get(key, key)
        if name is None or key in ("str", "dynamic", "splits", "metadata_prefix_bytes"):
            continue
        told = getattr(layout, name)
        assert json.loads(json.dumps(told)) == value, key


def test_is_immutable_and_final():
    layout = Layout("f32[2]")
    with pytest.raises(AttributeError):
        layout.shape = (3,)
    with pytest.raises(TypeError):
        Layout.offset = None
    with pytest.raises(TypeError):
        type("Mine", (Layout,), {})


# ---- constructors -------------------------------------------------------------------------------


def test_constructors_are_what_the_text_says():
    assert Layout.strided((3, 4), "f32") == Layout("f32[3,4]")
    assert Layout.strided([3, 4], "float32", (1, 3), 5) == Layout("f32[3,4] strides=[1,3] offset=5")
    assert Layout.spyre((5, 100, 150), "f16") == Layout("f16[5,100,150] spyre")
    assert Layout.spyre((5, 100, 150), "f16", [1, 0, 2]) == Layout("f16[5,100,150] spyre dim_order=[1,0,2]")
    assert Layout.spyre((512, 1), "f16", unit_dims="keep") == Layout("f16[512,1] spyre unit_dims=keep")
    assert Layout.spyre((40, 60), "f16", strides=(1, 40)) == Layout("f16[40,60] strides=[1,40] spyre")
    explicit = Layout("f16[5,100,150] spyre")
    assert Layout.spyre((5, 100, 150), "f16", device_size=[100, 3, 5, 64], stride_map=[150, 64, 15000, 1]) == explicit
    assert Layout.spyre((5, 100, 150), "f16", device_size=[100, 3, 5, 64], dim_map=[1, 2, 0, 2]) == explicit
    assert (Layout.spyre((64,), "f16", device_dtype="IEEE_FP32", arrangement="DL16_TO_FP32")
            == Layout.spyre((64,), "f16", device_dtype=DataFormats.IEEE_FP32,
                            arrangement=ElementArrangement.DL16_TO_FP32)
            == Layout.spyre((64,), "f16", device_dtype=1, arrangement=1)
            == Layout("f16[64] spyre arrangement=DL16_TO_FP32 device_dtype=IEEE_FP32"))
    assert (Layout.xla((32, 4096), "bf16", (1, 0), [(8, 128), (2, 1)], memory_space=1)
            == Layout("bf16[32,4096]{1,0:T(8,128)(2,1)S(1)}"))
    assert Layout.xla((2, 3, 4), "f32", tiles=[("*", 4)], tail_padding=64) == Layout("f32[2,3,4]{2,1,0:T(*,4)L(64)}")
    assert Layout.xla((16,), "s4", element_size_in_bits=4) == Layout("s4[16]{0:E(4)}")


def test_memory_spaces_that_the_text_can_say():
    for space in (-128, -1, 0, 1, 127):
        layout = Layout.xla((8,), "f32", memory_space=space)
        assert layout.memory_space == space and Layout(str(layout)).memory_space == space
    for space in (-300, -129, 128, 2**32, 2**63 - 1, -2**63):
        with pytest.raises(tegula.ArgumentError, match="memory space does not fit int8"):
            Layout.xla((8,), "f32", memory_space=space)


@pytest.mark.parametrize("dtype, name", [
    (numpy.float16, "f16"), (numpy.dtype("int8"), "s8"), (numpy.bool_, "pred"),
    (numpy.dtype(ml_dtypes.bfloat16), "bf16"),
    (ml_dtypes.bfloat16, "bf16"), (ml_dtypes.float8_e4m3fn, "f8e4m3fn"), (ml_dtypes.int4, "s4"), ("half", "f16"),
    (ml_dtypes.float4_e2m1fn, "f4e2m1fn"), (numpy.complex64, "c64"), (numpy.uint64, "u64")])
def test_takes_dtypes_of_others(dtype, name):
    assert Layout.strided((2,), dtype).dtype == name


def test_takes_dtypes_of_torch():
    torch = pytest.importorskip("torch")
    for name in ("float16", "bfloat16", "float8_e4m3fn", "int64", "bool", "complex64"):
        assert Layout.strided((2,), getattr(torch, name)) == Layout.strided((2,), name)


SPYRE = json.loads((console.ROOT / "tests/spec/spyre_layouts.json").read_text())


def test_published_spyre_layouts():
    for case in SPYRE["construct"]:
        layout = Layout.spyre(case["size"], case["dtype"], case["dim_order"], strides=case["stride"], unit_dims="keep")
        assert list(layout.device_size) == case["device_size"] and list(layout.stride_map) == case["stride_map"], case
        assert (layout.bytes, layout.device_dtype) == (case["bytes"], case["device_dtype"])


# ---- places -------------------------------------------------------------------------------------


def judges():
    yield "f32[4,6] strides=[1,5] offset=2", oracle.strided((4, 6), (1, 5), 2, 32)
    yield "f32[7] strides=[-2] offset=12", oracle.strided((7,), (-2,), 12, 32)
    yield "bf16[5,9]{0,1:T(2,4)(2,1)}", oracle.xla((5, 9), (0, 1), ((2, 4), (2, 1)), 16)
    for shape in ((3, 70), (5, 4, 130), (64,), (2, 3, 4, 5)):
        size, steps = oracle.spyre_default(shape, oracle.row_major(shape), 64)
        yield f"f16{list(shape)} spyre".replace(" ", "", len(shape) - 1), oracle.spyre(
            shape, oracle.row_major(shape), size, steps, 16)


@pytest.mark.parametrize("text, judge", list(judges()), ids=[text for text, _ in judges()])
def test_places_are_those_of_the_definition(text, judge):
    layout = Layout(text)
    table = judge.table()
    for coord, offset in table.items():
        assert layout.offset(*coord) == layout.offset(coord) == layout.offset(list(coord)) == offset
    back = {offset: coord for coord, offset in table.items()}
    for offset in range(layout.span):
        assert layout.coord(offset) == back.get(offset)
    coords = numpy.array(list(table), numpy.int64).reshape(-1, layout.ndim)
    assert layout.offsets(coords).numpy().tolist() == list(table.values())
    assert layout.offsets(coords[::-1]).numpy().tolist() == list(table.values())[::-1]
    every = layout.coords(numpy.arange(layout.span)).numpy().tolist()
    assert every == [list(back.get(offset, (-1,) * layout.ndim)) for offset in range(layout.span)]


def test_places_of_a_scalar():
    layout = Layout("f32[]")
    assert layout.offset() == layout.offset(()) == 0 and layout.coord(0) == ()


# ---- equality -----------------------------------------------------------------------------------


def test_equality_and_its_witness():
    a = Layout("f16[5,100,150] spyre")
    assert a.equal("f16[5,100,150]{0,2,1:T(64,1)}") and a.difference("f16[5,100,150]{0,2,1:T(64,1)}") is None
    assert a != Layout("f16[5,100,150]{0,2,1:T(64,1)}")
    b = Layout("f32[64,64]")
    found = b.difference("f32[64,64]{0,1}")
    assert found.what == "map" and (b.offset(found.coord), Layout("f32[64,64]{0,1}").offset(found.coord)) == found[2:]
    assert tuple(b.difference("f32[64,65]")) == ("shape", None, None, None)
    assert tuple(b.difference("f16[64,64]")) == ("width", None, 32, 16)
    assert b.equal("f32[64,64]{1,0:L(8192)}")
    assert tuple(b.difference("f32[64,64]{1,0:L(8192)}", storage=True)) == ("storage", None, 4096, 8192)
    copies = Layout("f16[256] spyre device_size=[2,4,64] stride_map=[0,64,1]").difference("f16[256] spyre")
    assert copies.what == "copies"


# ---- views --------------------------------------------------------------------------------------


def check_view(view, layout, back):
    """Every coordinate of the view is where its element was; back tells which coordinate that is."""
    for coord in slow_coords(view):
        assert view.offset(coord) == layout.offset(back(coord)), (view, layout, coord)
    assert eval(repr(view)) == view == pickle.loads(pickle.dumps(view)) and hash(view) == hash(eval(repr(view)))


@pytest.mark.parametrize("text", ["f32[3,4,5]", "f16[3,4,70] spyre", "bf16[3,4,5]{1,2,0:T(2,4)(2,1)S(3)}",
                                  "f32[3,4,5] strides=[1,-3,40] offset=30"])
def test_views(text):
    layout = Layout(text)
    n = layout.shape[2]
    check_view(layout.permute(2, 0, 1), layout, lambda c: (c[1], c[2], c[0]))
    check_view(layout.permute([-1, 0, 1]), layout, lambda c: (c[1], c[2], c[0]))
    check_view(layout.transpose(0, -1), layout, lambda c: (c[2], c[1], c[0]))
    check_view(layout.slice(1, 3, 0, -2), layout, lambda c: (c[0], 3 - 2 * c[1], c[2]))
    if layout.notation == "strided":
        check_view(layout.slice(-1, 1, n - 1), layout, lambda c: (c[0], c[1], c[2] + 1))
    else:  # a dimension that is cut into tiles begins where a tile does
        check_view(layout.slice(-1, 0, n - 1), layout, lambda c: c)
        with pytest.raises(tegula.NotRepresentable, match="edges of its tiles"):
            layout.slice(-1, 1, n - 1)
    check_view(layout.select(0, -1), layout, lambda c: (2, *c))
    check_view(layout.unsqueeze(1), layout, lambda c: (c[0], *c[2:]))
    check_view(layout.unsqueeze(-1).squeeze(3), layout, lambda c: c)
    check_view(layout.unsqueeze(0).expand(0, 6), layout, lambda c: c[1:])
    assert layout.slice(0, 1, 1).shape == (0, 4, n)


def test_views_keep_their_notation_where_it_says_them():
    spyre = Layout("f16[5,100,150] spyre")
    assert (str(spyre.permute(1, 0, 2)) == "f16[100,5,150] strides=[150,15000,1] spyre device_size=[100,3,5,64] "
            "stride_map=[150,64,15000,1]")
    assert spyre.select(0, 1).notation is None and spyre.select(0, 1).span == spyre.span
    xla = Layout("f32[<=8,16]{1,0:T(8,128)SC(0:4)M(16)}")
    assert str(xla.transpose(0, 1)) == "f32[16,<=8]{0,1:T(8,128)SC(0:4)M(16)}"
    assert str(Layout("f32[4,8]").flatten()) == "f32[32]"


@given(st.data())
def test_views_of_strided_layouts_are_those_of_numpy(data):
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    array = numpy.arange(math.prod(shape)).reshape(shape)
    layout = Layout.of(array)
    for _ in range(data.draw(st.integers(0, 5))):
        if array.ndim == 0:
            break
        what = data.draw(st.sampled_from(["permute", "slice", "select", "unsqueeze", "expand", "reshape"]))
        dim = data.draw(st.integers(0, array.ndim - 1))
        size = array.shape[dim]
        if what == "permute":
            order = data.draw(st.permutations(range(array.ndim)))
            array, layout = array.transpose(order), layout.permute(*order)
        elif what == "slice" and size > 0:
            start, stop = sorted(data.draw(st.lists(st.integers(0, size), min_size=2, max_size=2)))
            step = data.draw(st.integers(1, 3))
            array = array[(slice(None),) * dim + (slice(start, stop, step),)]
            layout = layout.slice(dim, start, stop, step)
        elif what == "select" and size > 0:
            index = data.draw(st.integers(0, size - 1))
            array, layout = numpy.take(array, index, dim), layout.select(dim, index)
        elif what == "unsqueeze" and array.ndim < 6:
            array, layout = numpy.expand_dims(array, dim), layout.unsqueeze(dim)
        elif what == "expand" and size == 1:
            array = numpy.broadcast_to(array, (*array.shape[:dim], 3, *array.shape[dim + 1:]))
            layout = layout.expand(dim, 3)
        elif what == "reshape":
            try:
                layout = layout.reshape(array.size)
            except tegula.NotRepresentable:
                continue
            array = array.reshape(array.size)  # a copy where it must, and then digits without strides
    assert layout.shape == array.shape
    for coord in slow_coords(layout):
        assert layout.offset(coord) == array[coord]


# ---- modes and notations ------------------------------------------------------------------------


def test_a_size_that_is_the_rest():
    """-1 as NumPy has it."""
    shapes = [(4, 6), (24,), (), (2, 3, 4), (0, 3)]
    for shape, sizes in itertools.product(shapes, [(-1,), (2, -1), (-1, 3, 1), (3, -1)]):
        array = numpy.zeros(shape)
        try:
            expected = array.reshape(sizes).shape
        except ValueError:
            continue
        assert Layout.strided(shape, "f32").reshape(*sizes).shape == expected
    assert Layout("f32[4,8]{1,0:T(2,4)}").reshape(-1).equal(Layout("f32[4,8]{1,0:T(2,4)}").flatten())


def test_weak_references():
    for make in (lambda: Layout("f32[3]"), lambda: Layout.spyre((3,), "f16"),
                 lambda: tegula.SpyreTensorLayout((3,), "f16")):
        layout, known = make(), weakref.WeakKeyDictionary()
        known[layout] = 1
        assert weakref.ref(layout)() is layout and list(known.values()) == [1]
        del layout
        assert len(known) == 0


def test_a_tiling_built_by_hand():
    tiled = Layout("f16[5,100,150]").split(2, 64).reorder(1, 2, 0, 3)
    assert tiled.equal("f16[5,100,150] spyre") and tiled.notation is None
    assert tiled.offset(4, 99, 149) == 95957 and tiled.coord(95999) is None
    assert [mode.size for mode in tiled.modes] == [100, 3, 5, 64]
    assert Layout("f16[4,6]").split(1, 3).merge(1).equal("f16[4,6]")
    assert len(Layout("f16[4,6]").split(1, 3).coalesce().modes) == 2


def test_conversions():
    tiled = Layout("f32[256,1024]{1,0:T(8,128)}")
    spyre = tiled.convert("spyre")
    assert str(spyre) == "f32[256,1024] spyre device_size=[32,8,8,4,32] stride_map=[8192,128,1024,32,1]"
    assert tiled.convert("xla") == tiled and tiled.convert("spyre").equal(tiled)
    with pytest.raises(tegula.NotRepresentable) as caught:
        tiled.convert("strided")
    assert caught.value.dim == 0 and "tiles of 8" in caught.value.message
    assert tiled.split(0, 2).convert("xla").equal(tiled)
    assert Layout("f32[4,8]").cute() == "(4,8):(8,1)"


# ---- errors -------------------------------------------------------------------------------------


def test_an_error_tells_rule_place_and_values():
    text = "f16[60] spyre device_size=[2,32] stride_map=[32,1]"
    with pytest.raises(tegula.ParseError) as caught:
        Layout(text)
    error = caught.value
    assert error.message == "the last device dimension is the stick: it has 64 elements of SEN169_FP16, not 32"
    assert (error.status, error.pos, error.text) == ("TG_ERR_PARSE", text.index("32]"), text)
    assert str(error).split("\n")[1:] == ["  " + text, "  " + " " * error.pos + "^"]
    assert isinstance(error, tegula.Error) and isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.message, again.pos) == (str(error), error.message, error.pos)


def test_positions_count_characters():
    with pytest.raises(tegula.ParseError) as caught:
        Layout("f16[5] ééé")
    assert caught.value.pos == 7
    with pytest.raises(tegula.ParseError) as caught:
        Layout("f16[5]\n é")
    assert str(caught.value).split("\n")[1:] == ["   é", "   ^"]
    with pytest.raises(tegula.ParseError) as caught:
        Layout("f16[" + "é" * 5000)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("call, error, words", [
    (lambda l: l.offset(5, 0, 0), tegula.ArgumentError, "coordinate 5 of dimension 0 is not in [0, 5)"),
    (lambda l: l.offset(1), tegula.ArgumentError, "1 number for 3 dimensions"),
    (lambda l: l.offset(*range(40)), tegula.ArgumentError, "17 numbers"),
    (lambda l: l.offset(list(range(40))), tegula.LimitError, "40 entries"),
    (lambda l: l.offset(1.5, 0, 0), TypeError, "float"),
    (lambda l: l.offset("abc"), TypeError, "sequence of integers"),
    (lambda l: l.offset(2**64, 0, 0), tegula.OverflowError, "64 bits"),
    (lambda l: l.offset(2**64, 0, 0), OverflowError, "64 bits"),
    (lambda l: l.coord(96000), tegula.ArgumentError, "offset 96000 is outside the storage of 96000 elements"),
    (lambda l: l.coord(-1), tegula.ArgumentError, "outside"),
    (lambda l: l.permute(0, 0, 1), tegula.ArgumentError, "twice"),
    (lambda l: l.permute(0, 1), tegula.ArgumentError, "2 numbers for 3 dimensions"),
    (lambda l: l.transpose(0, 7), tegula.ArgumentError, "7"),
    (lambda l: l.transpose(-9, 0), tegula.ArgumentError, "-6"),
    (lambda l: l.reshape(5, 5), tegula.Error, "5"),
    (lambda l: l.reshape(7, -1), tegula.ArgumentError, "dimension 1 cannot be told: the others do not divide"),
    (lambda l: l.reshape(-1, -1), tegula.ArgumentError, "only one size can be -1"),
    (lambda l: l.reshape(0, -1), tegula.ArgumentError, "cannot be told"),
    (lambda l: l.reshape(-2), tegula.ArgumentError, "negative size -2"),
    (lambda l: l.squeeze(0), tegula.Error, "size 5"),
    (lambda l: l.select(0, 5), tegula.ArgumentError, "no place 5"),
    (lambda l: l.select(3, 0), tegula.ArgumentError, "no dimension 3"),
    (lambda l: l.slice(0, 0, 9), tegula.ArgumentError, "9"),
    (lambda l: l.expand(0, 7), tegula.Error, "7"),
    (lambda l: l.split(0, 0), tegula.ArgumentError, "0"),
    (lambda l: l.merge(99), tegula.ArgumentError, "99"),
    (lambda l: l.reorder(1), tegula.ArgumentError, "1 numbers for 4 modes"),
    (lambda l: l.convert("numpy"), tegula.ArgumentError, "there are 'strided', 'xla' and 'spyre'"),
    (lambda l: l.convert(3), TypeError, "a notation must be a str, not <class 'int'>"),
    (lambda l: l.equal(3), TypeError, "a Layout or its text"),
    (lambda l: Layout(), TypeError, ""),
    (lambda l: Layout(b"f32[2]"), TypeError, ""),
    (lambda l: Layout("f32[2]\ud800"), UnicodeEncodeError, ""),
    (lambda l: Layout({}), TypeError, ""),
    (lambda l: Layout({"dtype": "f32", "shape": (2,), "modes": (), "span": -1}), tegula.ArgumentError, ""),
    (lambda l: Layout.strided((2, 3), "f33"), tegula.ArgumentError, "`f33` is not an element type"),
    (lambda l: Layout.strided((2, 3), "f32", (1,)), tegula.ArgumentError, "1 strides for 2 dimensions"),
    (lambda l: Layout.strided((2**62, 4), "f32"), tegula.OverflowError, "63 bits"),
    (lambda l: Layout.strided([1] * 17, "f32"), tegula.LimitError, "17 entries; the limit is 16"),
    (lambda l: Layout.strided((-1,), "f32"), tegula.Error, "-1"),
    (lambda l: Layout.spyre((3,), "f64"), tegula.Error, "f64"),
    (lambda l: Layout.spyre((3,), "f16", [0, 0, 0]), tegula.Error, ""),
    (lambda l: Layout.spyre((3,), "f16", unit_dims="no"), tegula.ArgumentError, "'keep' or 'drop'"),
    (lambda l: Layout.spyre((3,), "f16", device_dtype="FP99"), tegula.ArgumentError, "FP99"),
    (lambda l: Layout.spyre((3,), "f16", device_dtype=2.5), TypeError, "DataFormats is needed, its name or its number"),
    (lambda l: Layout.spyre((3,), "f16", device_dtype=ElementArrangement.STANDARD), TypeError, "DataFormats"),
    (lambda l: Layout.spyre((3,), "f16", arrangement=DataFormats.IEEE_FP32), TypeError, "ElementArrangement"),
    (lambda l: Layout.spyre((3,), "f16", device_dtype=DataFormats.INVALID), tegula.ArgumentError, "INVALID"),
    (lambda l: Layout.spyre((3,), "f16", unit_dims=3), TypeError, "unit_dims must be a str"),
    (lambda l: Layout.spyre((3,), "f16", arrangement="X"), tegula.ArgumentError, "arrangement"),
    (lambda l: Layout.spyre((3,), "f16", device_size=[64]), tegula.ArgumentError, "go together"),
    (lambda l: Layout.spyre((3,), "f16", device_size=[64], stride_map=[1], dim_map=[0]), tegula.ArgumentError,
     "exclude"),
    (lambda l: Layout.xla((3,), "f32", (0, 0)), tegula.Error, ""),
    (lambda l: Layout.xla((3,), "f32", tiles=[("x",)]), TypeError, ""),
    (lambda l: Layout.xla((3,), "f32", tiles=[(2,)] * 9), tegula.ArgumentError, "8 levels"),
    (lambda l: Layout.xla((3,), "f32", tiles=[(0,)]), tegula.Error, "0"),
    (lambda l: Layout.from_modes("f32", (3,), [(2, 2, 1, 1, 0, -1)], 3), tegula.ArgumentError, "3 values"),
    (lambda l: Layout.from_modes("f32", (3,), [(2, 2, 1)], 3), tegula.ArgumentError, "a mode is"),
    (lambda l: Layout.from_modes("f32", (3,), [(1,) * 6] * 49, 3), tegula.ArgumentError, "49 modes"),
    (lambda l: Layout.from_modes("f32", (3,), [(3, 3, 1, 1, 77, -1)], 3), tegula.ArgumentError, ""),
    (lambda l: Layout.of(3), TypeError, "buffer protocol or DLPack"),
    (lambda l: l.offsets(numpy.zeros((2, 3), "i4")), tegula.ArgumentError, "int64 array [n,3]"),
    (lambda l: l.offsets(numpy.zeros((2, 2), "i8")), tegula.ArgumentError, "int64 array [n,3]"),
    (lambda l: l.offsets(numpy.full((2, 3), 7)), tegula.ArgumentError, "coordinate 7"),
    (lambda l: l.coords(numpy.array([0, 10**9])), tegula.ArgumentError, "outside"),
])
def test_bad_input_is_an_exception(call, error, words):
    with pytest.raises(error) as caught:
        call(Layout("f16[5,100,150] spyre"))
    assert words in str(caught.value)


def test_anything_may_be_passed_anywhere():
    """No argument crashes the interpreter, and no refusal is a SystemError."""
    seed = 20260101
    rng = random.Random(seed)
    layout = Layout("f16[5,100,150] spyre")
    junk = [None, -1, 0, 1, 2**31, 2**63, -2**63, 10**30, 1.5, "", "f32[2]", "*", b"x", [], [1, 2], (0,) * 50, {},
            object(), float("nan"), layout, numpy.zeros(3), [[1], [2]], {"dtype": 1},
            Layout, len, "\ud800", [None], True]
    targets = [getattr(layout, name) for name in dir(Layout) if callable(getattr(layout, name))
               and name not in ("__class__", "__subclasshook__", "__init_subclass__", "__dir__")]
    targets += [tegula.Plan, tegula.Buffer, tegula.relayout, Layout, tegula.Mode, tegula.Difference,
                Layout.strided, Layout.spyre, Layout.xla, Layout.from_modes, Layout.of]
    targets += [tegula.hlo.parse, tegula.Buffer("f32[2]").__dlpack__, tegula.Buffer("f32[2]").__array__,
                tegula.Plan("f32[2]", "f32[2]").run, tegula.Plan("f32[2]", "f32[2]").verify]
    words = ["strides", "offset", "dim_order", "unit_dims", "tiles", "pad", "out", "src_layout", "begin", "end",
             "threads", "hint", "convert",
              "stream", "max_version", "dl_device", "copy", "axes", "format", "storage", "src", "dst"]
    for _ in range(20000):
        target = rng.choice(targets)
        args = [rng.choice(junk) for _ in range(rng.randrange(5))]
        named = {rng.choice(words): rng.choice(junk) for _ in range(rng.choice((0, 0, 1, 2)))}
        try:
            known = inspect.signature(target).parameters
            named = {word: value for word, value in named.items() if word in known}
        except (TypeError, ValueError):
            pass
        try:
            target(*args, **named)
        except SystemError as error:
            raise AssertionError(f"seed {seed}: {target}{args}{named}") from error
        except Exception:
            pass
