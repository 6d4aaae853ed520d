"""relayout, Plan and Buffer: arrays of NumPy, ml_dtypes, JAX and PyTorch against the definition of both layouts."""
import copy
import ctypes
import gc
import fractions
import itertools
import math
import re
import sys
import threading
import time

import ml_dtypes
import numpy
import pytest
from hypothesis import given, strategies as st

import tegula
from lost_blocks import loses_blocks
from tegula import Buffer, Layout, Plan, relayout

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "complex64", "complex128"]
SMALL = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu", "float8_e4m3fnuz",
         "float8_e5m2fnuz", "float8_e4m3b11fnuz", "int4", "uint4", "int2", "uint2", "float4_e2m1fn", "float6_e2m3fn",
         "float6_e3m2fn"]


def some(dtype, shape, seed=7):
    """Random bytes that are elements of this type."""
    rng = numpy.random.default_rng(seed)
    dtype = numpy.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype == bool:
        return rng.random(shape) < 0.5
    raw = rng.integers(0, 256, (*shape, dtype.itemsize), numpy.uint8)
    bits = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}
    if dtype.name in bits:
        raw &= (1 << bits[dtype.name]) - 1
    if dtype.name in ("int4", "int2"):  # ml_dtypes keeps them with their sign
        top = 1 << bits[dtype.name] - 1
        raw = ((raw.astype(numpy.int16) ^ top) - top).astype(numpy.int8).view(numpy.uint8)
    return raw.view(dtype).reshape(shape)


def raw(array):
    """The bytes of the elements, which compare also NaNs."""
    return numpy.ascontiguousarray(array).view(numpy.uint8).tolist()


def moved(array, layout, pad=0):
    """The storage of a layout of unconverted elements, by the definition."""
    storage = numpy.full(layout.span, pad, array.dtype)
    for coord in itertools.product(*map(range, array.shape)):
        storage[layout.offset(coord)] = array[coord]
    return storage


# ---- there and back -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES + SMALL)
def test_every_type_from_numpy_and_back(dtype):
    array = some(dtype, (3, 4, 5))
    for source in (array, array.transpose(2, 0, 1), array[::-1, ::2], array[1], array[:0], array[2, 3, 4:5]):
        layout = Layout.of(source)
        buffer = relayout(source, Layout.strided(source.shape, source.dtype))
        back = buffer.numpy()
        assert back.dtype == source.dtype and back.shape == source.shape and raw(back) == raw(source)
        assert Layout.of(buffer) is buffer.layout and layout.shape == source.shape
        order = list(reversed(range(source.ndim)))
        turned = relayout(source, Layout.strided(source.T.shape, source.dtype).permute(*order)).numpy()
        assert raw(turned) == raw(source)
        out = numpy.zeros(source.shape, source.dtype)
        assert relayout(buffer, Layout.of(out), out=out) is out and raw(out) == raw(source)


@pytest.mark.parametrize("text", ["f32[5,9]{0,1:T(2,4)}", "f32[5,9]{1,0:T(4,8)(2,1)L(128)}",
                                  "f32[5,9] strides=[11,1] offset=3"])
@pytest.mark.parametrize("pad", [0, 1.5, -2])
def test_tiles_and_padding(text, pad):
    array, layout = some("float32", (5, 9)), Layout(text)
    buffer = relayout(array, layout, pad=pad)
    storage = numpy.frombuffer(buffer.storage, numpy.float32)
    assert raw(storage) == raw(moved(array, layout, pad))
    out = numpy.full(layout.span, 7, numpy.float32)
    relayout(array, layout, out=out, pad=None)
    assert raw(out) == raw(moved(array, layout, 7))
    assert raw(relayout(out, "f32[5,9]", src_layout=layout).numpy()) == raw(array)
    assert raw(relayout(buffer, "f32[5,9]").numpy()) == raw(array)


def dlfloat(value):
    """SEN169_FP16 of a float that it holds exactly: 1 sign, 6 exponent (bias 31), 9 fraction."""
    sign, value = (0x8000, -value) if value < 0 else (0, value)
    if value == 0:
        return sign
    fraction, exponent = math.frexp(value)
    return sign | (exponent - 1 + 31) << 9 | round((fraction * 2 - 1) * 512)


def test_to_the_device_and_back():
    values = numpy.array([[1, -2.5, 0.125, 1000], [0, 3, -0.75, 2**-14]], numpy.float16)
    layout = Layout("f16[2,4] spyre")
    buffer = relayout(values, layout)
    words = numpy.frombuffer(buffer.storage, numpy.uint16)
    for coord in itertools.product(range(2), range(4)):
        assert words[layout.offset(coord)] == dlfloat(float(values[coord]))
    assert (relayout(buffer, "f16[2,4]").numpy() == values).all()
    assert (buffer.numpy() == words).all() and buffer.nbytes == layout.bytes == len(buffer.storage)


def test_packed_elements():
    array = numpy.arange(-8, 8).astype(ml_dtypes.int4)
    packed = relayout(array, "s4[16]{0:E(4)}")
    assert bytes(packed.storage).hex() == "98badcfe10325476"
    assert (relayout(packed, "s4[16]").numpy() == array).all()


def test_conversions():
    array = numpy.array([1.5, -3, 300, 1e-9], numpy.float32)
    with pytest.raises(tegula.ArgumentError, match="`convert` is not set"):
        relayout(array, "bf16[4]")
    with pytest.raises(tegula.ArgumentError, match="`convert` is not set"):
        Plan("bf16[4]", "pred[4]")
    for call in (lambda: relayout(array, "s8[4]"), lambda: Plan("f32[4]", "s8[4]")):  # not what would not help
        with pytest.raises(tegula.Unsupported, match="there is no conversion of f32 .* integers become integers"):
            call()
    assert (relayout(array, "bf16[4]", convert=True).numpy() == array.astype(ml_dtypes.bfloat16)).all()
    assert relayout(numpy.array([1, -2]), "s8[2]", convert=True).numpy().tolist() == [1, -2]
    with pytest.raises(tegula.OverflowError, match="300 at element 1"):
        relayout(numpy.array([1, 300]), "s8[2]", convert=True)
    assert Plan("f32[4]", "f16[4]", convert=True).losses(array * 1000) == (1, 0)


@pytest.mark.parametrize("dtype, pad, bits", [
    ("f16", 0.1, numpy.float16(0.1)), ("bf16", 0.1, ml_dtypes.bfloat16(0.1)), ("f32", 0.1, numpy.float32(0.1)),
    ("f64", 0.1, numpy.float64(0.1)), ("f16", -math.inf, numpy.float16(-math.inf)), ("pred", True, numpy.bool_(True)),
    ("pred", numpy.bool_(True), numpy.bool_(True)), ("s8", numpy.bool_(True), numpy.int8(1)),
    ("bf16", 1 + 2**-8 + 2**-30, ml_dtypes.bfloat16(1 + 2**-7)), ("bf16", 1 + 2**-8, ml_dtypes.bfloat16(1)),
    ("f16", 1 + 2**-11 + 2**-40, numpy.float16(1 + 2**-10)), ("f16", 65519.99999, numpy.float16(65504)),
    ("s8", -128, numpy.int8(-128)), ("u64", 2**64 - 1, numpy.uint64(2**64 - 1)),
    ("c64", 1 + 2j, numpy.complex64(1 + 2j)), ("c64", numpy.complex64(1 + 2j), numpy.complex64(1 + 2j)),
    ("c128", 0.1 + 2j, numpy.complex128(0.1 + 2j)), ("f8e4m3fn", 448, ml_dtypes.float8_e4m3fn(448)),
    ("f8e5m2", 3, ml_dtypes.float8_e5m2(3)), ("f8e8m0fnu", b"\x7f", ml_dtypes.float8_e8m0fnu(1)),
    ("f8e8m0fnu", 4.0, ml_dtypes.float8_e8m0fnu(4)), ("f8e3m4", 0.1, ml_dtypes.float8_e3m4(0.1)),
    ("s4", -8, ml_dtypes.int4(-8)), ("f16", b"\x00\x3c", numpy.float16(1))])
def test_padding_is_the_number_that_is_said(dtype, pad, bits):
    layout = Layout(f"{dtype}[2]{{0:T(4)}}")
    buffer = relayout(Buffer(f"{dtype}[2]"), layout, pad=pad)
    element = numpy.asarray(bits).tobytes()
    low = {1: 0x0f} if dtype == "s4" else {}
    wanted = bytes(b & low.get(1, 0xff) for b in element)
    got = bytes(buffer.storage)[2 * len(element):]
    assert bytes(b & low.get(1, 0xff) for b in got) == wanted * 2
    assert len(got) == 2 * len(element)


@pytest.mark.parametrize("dtype, pad", [("f16", 1e6), ("f16", 65520.0), ("s8", 128), ("u8", -1), ("pred", 2),
                                        ("s64", 2**63),
                                        ("f32", 1e39), ("f8e4m3fn", 1e9), ("f16", b"\0"), ("f16", "1"), ("s8", 1.5),
                                        ("f8e8m0fnu", 3.0), ("u64", -2**70), ("s4", 8)])
def test_padding_that_the_type_does_not_hold(dtype, pad):
    with pytest.raises((tegula.ArgumentError, TypeError)):
        relayout(Buffer(f"{dtype}[2]"), f"{dtype}[2]{{0:T(4)}}", pad=pad)


@pytest.mark.parametrize("layout, pad, told", [
    ("s16[2]{0:T(4)}", 70000, "70000 does not fit: the numbers of s16 are -32768 to 32767"),
    ("pred[2]{0:T(4)}", 2, "2 does not fit: the numbers of pred are 0 and 1"),
    ("pred[2]{0:T(4)}", 2**70, f"{2**70} does not fit: the numbers of pred are 0 and 1"),
    ("f16[2]{0:T(4)}", 10**400, "an int of 1329 bits does not fit: the numbers of f16 are -65504 to 65504"),
    ("c64[2]{0:T(4)}", 10**400, "an int of 1329 bits does not fit: the numbers of c64 are -3.4028235e+38 "),
    ("f16[2] spyre", -10**5000, "an int of 16610 bits does not fit: the numbers of f16 are -65504 to 65504"),
    ("s32[2]{0:T(4)}", 10**5000, "an int of 16610 bits does not fit: the numbers of s32 are -2147483648 to "),
    ("f16[2]{0:T(4)}", fractions.Fraction(10**5000), "a value of <class 'fractions.Fraction'> does not fit: the "),
    ("f16[2]{0:T(4)}", fractions.Fraction(10**90), "Fraction(" + "1" + 38 * "0" + "... does not fit: the numbers of "),
    ("bf16[2] spyre", 1e300, "1e+300 does not fit: bf16 is stored as SEN169_FP16 here, whose numbers are -8573157376 "),
    ("bf16[2] spyre", 10**400, "an int of 1329 bits does not fit: bf16 is stored as SEN169_FP16 here"),
    ("f16[2] spyre", math.inf, "inf does not fit: f16 is stored as SEN169_FP16 here, whose numbers are -8573157376 "),
    ("f16[2] spyre", -math.inf, "-inf does not fit: f16 is stored as SEN169_FP16 here"),
    ("bf16[2] spyre", math.inf, "inf does not fit: bf16 is stored as SEN169_FP16 here"),
    ("s64[2] spyre", -10**30, f"{-10**30} does not fit: s64 is stored as IEEE_INT32 here"),
    ("f64[2]{0:T(4)}", 10**400, "an int of 1329 bits does not fit: the numbers of f64 are -1.7976931348623157e+308 "),
    ("f8e8m0fnu[2]{0:T(4)}", 0.0, "0.0 does not fit: the numbers of f8e8m0fnu are powers of two from "),
    ("c64[2]{0:T(4)}", 1e39j, "1e+39j does not fit: the numbers of c64 are -3.4028235e+38 to 3.4028235e+38"),
    ("f16[2] spyre", 70000, "70000 does not fit: the numbers of f16 are -65504 to 65504"),
    ("u8[2] spyre", 300, "300 does not fit: the numbers of u8 are 0 to 255"),
    ("pred[2] spyre", 3, "3 does not fit: the numbers of pred are 0 and 1"),
    ("bf16[2] spyre", 9e9, "9000000000.0 does not fit: bf16 is stored as SEN169_FP16 here, whose numbers are "
                           "-8573157376 to 8573157376"),
    ("bf16[2] spyre", -math.inf, "-inf does not fit: bf16 is stored as SEN169_FP16 here"),
    ("s64[2] spyre", 2**40, f"{2**40} does not fit: s64 is stored as IEEE_INT32 here, whose numbers are ")],
    ids=lambda value: value if isinstance(value, str) else "pad")  # pytest would print the numbers in full
def test_padding_out_of_range_is_told_the_range(layout, pad, told):
    """The element type comes first, then what it is stored as: the same rule as in the command (test_cli.py)."""
    with pytest.raises(tegula.ArgumentError, match=f"^pad: {re.escape(told)}"):
        relayout(Buffer(layout.split("]")[0] + "]"), layout, pad=pad)


def test_padding_of_elements_that_are_too_wide():
    """It was written behind the room for one element."""
    with pytest.raises(tegula.ArgumentError, match="^pad: elements have 4096 bits here, and at most 128 are moved"):
        Plan("f32[2]{0:E(4096)}", "f32[2]{0:T(4)E(4096)}", pad=bytes(512))


@pytest.mark.parametrize("dtype, pad, wanted", [
    ("s16", 1.5, "a whole number for s16"), ("f16", "3", "a number for f16"), ("pred", [1], "a whole number"),
    ("c64", {}, "a number")])
def test_padding_that_is_no_number(dtype, pad, wanted):
    with pytest.raises(TypeError, match=f"pad must be {wanted}"):
        relayout(Buffer(f"{dtype}[2]"), f"{dtype}[2]{{0:T(4)}}", pad=pad)


@pytest.mark.parametrize("call, message, pos", [
    (lambda: Plan("f32[4", "f32[4]"), "src: expected", 5),
    (lambda: Plan("f32[4]", "f32[4}"), "dst: expected", 5),
    (lambda: Plan(dst="f32[4", src="f32[4]"), "dst: expected", 5),
    (lambda: relayout(numpy.zeros(4, "f4"), "f32[4"), "to: expected", 5),
    (lambda: relayout(b"", "f32[4]", src_layout="f99[4]"), "src_layout: `f99`", 0),
    (lambda: Layout("f32[4]").equal("f32[4"), "other: expected", 5),
    (lambda: Layout("f32[4"), "expected", 5)])
def test_a_text_that_does_not_parse_is_told_which_one(call, message, pos):
    with pytest.raises(tegula.ParseError) as caught:
        call()
    assert caught.value.message.startswith(message) and caught.value.pos == pos
    assert str(caught.value).split("\n")[2] == "  " + pos * " " + "^"


@pytest.mark.parametrize("box, told", [
    ({"begin": (5, 0)}, "begin is 5 in dimension 0, which has size 4"),
    ({"begin": (0, -1)}, "begin is -1 in dimension 1, which has size 3"),
    ({"end": (4, 4)}, "end is 4 in dimension 1, which has size 3"), ({"end": (-2, 0)}, "end is -2 in dimension 0"),
    ({"begin": (3, 0), "end": (2, 3)}, "begin is 3 and end 2 in dimension 0"),
    ({"begin": (3,)}, "begin has 1 number for 2 dimensions")])
def test_a_box_that_is_none_is_told_by_its_corners(box, told):
    for call in (lambda: relayout(numpy.zeros((4, 3), "f4"), "f32[4,3]", **box),
                 lambda: Plan("f32[4,3]", "f32[4,3]", **box)):
        with pytest.raises(tegula.ArgumentError, match=f"^{told}"):
            call()


def test_what_relayout_calls_to_is_called_so():
    with pytest.raises(tegula.ArgumentError, match=re.escape("the shapes differ: to [2,2], src [4]")):
        relayout(numpy.zeros(4, "f4"), "f32[2,2]")
    with pytest.raises(tegula.ArgumentError, match="^to is not unique"):
        relayout(numpy.zeros(4, "f4"), "f32[4] strides=[0]")
    with pytest.raises(tegula.ArgumentError, match="^dst is not unique"):
        Plan("f32[4]", "f32[4] strides=[0]")


def test_elements_in_the_other_byte_order():
    for call in (lambda: relayout(numpy.zeros(3, ">f4"), "f32[3]"), lambda: Layout.of(numpy.zeros(3, ">f4")),
                 lambda: Layout.strided((3,), numpy.dtype(">f4"))):
        with pytest.raises(tegula.ArgumentError, match=r"big-endian.*newbyteorder"):
            call()
    assert Layout.strided((3,), numpy.dtype("<f4")) == Layout("f32[3]")
    assert relayout(numpy.zeros(3, ">u1"), "u8[3]").nbytes == 3
    with pytest.raises(tegula.ArgumentError, match="`>f4` is a code of NumPy.*numpy.dtype"):
        Layout.strided((3,), ">f4")


@given(st.data())
def test_random_relayouts(data):
    shape = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    dtype = data.draw(st.sampled_from(["u8", "s16", "f32", "f64"]))
    array = some({"u8": "uint8", "s16": "int16", "f32": "float32", "f64": "float64"}[dtype], shape, len(shape))

    def layout(name):
        order = data.draw(st.permutations(range(len(shape))), name)
        tile = data.draw(st.lists(st.integers(1, 5), max_size=len(shape)), name)
        return Layout.xla(shape, dtype, order, [tile] if tile else [])

    source, target = layout("src"), layout("dst")
    first = relayout(array, source, pad=1)
    second = relayout(first, target, pad=2, threads=data.draw(st.integers(1, 3)))
    assert raw(numpy.frombuffer(second.storage, array.dtype)) == raw(moved(array, target, 2))
    assert raw(relayout(second, Layout.strided(shape, dtype)).numpy()) == raw(array)


def test_a_box():
    array = some("int32", (6, 8))
    out = numpy.zeros((6, 8), numpy.int32)
    relayout(array, "s32[6,8]", out=out, begin=(1, 2), end=(4, 8), pad=None)
    wanted = numpy.zeros((6, 8), numpy.int32)
    wanted[1:4, 2:8] = array[1:4, 2:8]
    assert (out == wanted).all()


# ---- plans --------------------------------------------------------------------------------------


def test_a_plan():
    plan = Plan("f32[64,48]", "f32[64,48]{0,1:T(8,16)}", pad=3)
    array, out = some("float32", (64, 48)), numpy.zeros(64 * 48, numpy.float32)
    assert plan.run(out, array) is None and plan.verify(out, array) is None
    assert raw(out) == raw(moved(array, plan.dst, 3))
    place = plan.dst.offset(5, 6)
    out.view(numpy.uint32)[place] ^= 1
    assert plan.verify(out, array) == ((5, 6), place)
    assert plan.src == Layout("f32[64,48]") and "block" in plan.describe() and "f32[64,48]" in repr(plan)
    with pytest.raises(AttributeError):
        plan.src = None


def test_plan_finds_padding_that_is_wrong():
    plan = Plan("f32[3]", "f32[3]{0:T(4)}", pad=1)
    out = numpy.zeros(4, numpy.float32)
    plan.run(out, numpy.zeros(3, numpy.float32))
    out[3] = 2
    assert plan.verify(out, numpy.zeros(3, numpy.float32)) == (None, 3)


def test_threads_and_the_gil():
    """Many threads run one plan at once, and Python goes on meanwhile."""
    plan = Plan("f32[1024,1024]", "f32[1024,1024]{0,1}", threads=2)
    array = some("float32", (1024, 1024))
    outs = [numpy.zeros(1024 * 1024, numpy.float32) for _ in range(4)]
    threads = [threading.Thread(target=plan.run, args=(out, array)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((out.reshape(1024, 1024).T.view(numpy.uint32) == array.view(numpy.uint32)).all() for out in outs)


def test_others_run_while_it_moves():
    big, out = numpy.zeros(1 << 26, numpy.uint8), numpy.zeros(1 << 26, numpy.uint8)
    plan = Plan(f"u8[{1 << 13},{1 << 13}]", f"u8[{1 << 13},{1 << 13}]{{0,1}}")
    ticks, done = [0], threading.Event()

    def tick():
        while not done.wait(0.0005):
            ticks[0] += 1

    def ticks_of_a_move():
        before = ticks[0]
        plan.run(out, big)
        return ticks[0] - before
    ticking = threading.Thread(target=tick)
    ticking.start()
    deadline = time.monotonic() + 120
    while (most := ticks_of_a_move()) < 5 and time.monotonic() < deadline:  # a busy machine may leave it no time
        pass
    done.set()
    ticking.join()
    assert most >= 5  # just before and behind a move there are some all the same


# ---- protocols of others ------------------------------------------------------------------------


def test_numpy_arrays_as_device_memory():
    """Where the device stores numbers as the host does, an array of them with the storage's sizes is memory."""
    host = numpy.arange(640, dtype="f4").reshape(16, 40)
    plan, memory = Plan("f32[16,40]", "f32[16,40] spyre", pad=0), numpy.zeros((2, 16, 32), "f4")
    plan.run(memory, host)
    assert (memory[0] == host[:, :32]).all() and (memory[1, :, :8] == host[:, 32:]).all()
    assert plan.verify(memory, host) is None
    with pytest.raises(tegula.ArgumentError, match="its elements are f16, not SEN169_FP16"):
        Plan("f16[16,64]", "f16[16,64] spyre", pad=0, convert=True).run(numpy.zeros((1, 16, 64), "f2"),
                                                                             numpy.zeros((16, 64), "f2"))


def test_memoryview_bytes_and_bytearray():
    array = some("int16", (4, 6))
    assert raw(relayout(memoryview(array), "s16[4,6]").numpy()) == raw(array)
    assert raw(relayout(array.tobytes(), "s16[4,6]{0,1}", src_layout="s16[4,6]").numpy().reshape(6, 4).T) == raw(array)
    out = bytearray(48)
    relayout(array, "s16[4,6]", out=out)
    assert bytes(out) == array.tobytes()
    with pytest.raises(tegula.ArgumentError, match="read-only"):
        relayout(array, "s16[4,6]", out=bytes(48))
    array.flags.writeable = False
    with pytest.raises(tegula.ArgumentError, match="read-only"):
        relayout(array, "s16[4,6]", out=array)


@pytest.mark.parametrize("kind, name", [(ctypes.c_float, "f32"), (ctypes.c_int64, "s64"), (ctypes.c_uint8, "u8"),
                                        (ctypes.c_bool, "pred"), (ctypes.c_double, "f64")])
def test_arrays_of_ctypes(kind, name):
    """They give no strides, whoever asks for them, and a number of theirs no sizes either."""
    row, table = (kind * 3)(1, 0, 1), ((kind * 3) * 2)((1, 0, 1), (0, 0, 1))
    assert bytes(relayout(row, f"{name}[3]").storage) == bytes(row)
    assert Layout.of(table) == Layout(f"{name}[2,3]")
    assert Layout.of(kind(1)) == Layout(f"{name}[]") and bytes(relayout(kind(1), f"{name}[]").storage) == bytes(kind(1))
    turned = relayout(table, f"{name}[2,3]{{0,1}}")
    out = ((kind * 3) * 2)()
    assert relayout(turned, f"{name}[2,3]", out=out) is out and bytes(out) == bytes(table)
    Plan(f"{name}[2,3]", f"{name}[2,3]").run(out, ((kind * 3) * 2)())
    assert bytes(out) == bytes(len(bytes(out)))
    assert Layout.of((kind * 0)()) == Layout(f"{name}[0]")


def test_arrays_of_ctypes_elsewhere():
    layout = Layout("f32[4] spyre")
    assert layout.offsets((ctypes.c_int64 * 1 * 2)((3,), (1,))).numpy().tolist() == [3, 1]
    assert layout.coords((ctypes.c_int64 * 2)(3, 31)).numpy().tolist() == [[3], [-1]]
    device = Buffer(layout)
    tegula.dma(layout).run(device, (ctypes.c_float * 4)(1, 2, 3, 4))
    assert bytes(device.storage[:16]) == bytes((ctypes.c_float * 4)(1, 2, 3, 4))
    deep = ctypes.c_uint8
    for _ in range(20):
        deep = deep * 1
    with pytest.raises(tegula.LimitError, match="20 dimensions"):
        relayout(deep(), "u8[1]")


def test_a_bytearray_cannot_shrink_under_a_view():
    buffer = Buffer("u8[16]")
    view = memoryview(buffer)
    del buffer
    gc.collect()
    view[3] = 9
    assert bytes(view)[3] == 9


def test_buffer_protocol():
    buffer = relayout(some("int32", (3, 4)), "s32[3,4] strides=[1,3]")
    view = memoryview(buffer)
    assert (view.shape, view.strides, view.format, view.itemsize, view.readonly) == ((3, 4), (4, 12), "i", 4, False)
    assert view.tolist() == numpy.asarray(buffer).tolist()
    with pytest.raises(BufferError):
        numpy.frombuffer(buffer, numpy.int32)
    assert numpy.frombuffer(Buffer("s32[3]"), numpy.int32).tolist() == [0, 0, 0]
    tiled = Buffer("f32[5,9]{1,0:T(8,128)}")
    assert (memoryview(tiled).shape, memoryview(tiled).format) == ((4096,), "B")
    assert buffer.address % 128 == 0 and buffer.nbytes == 48
    with pytest.raises(tegula.ArgumentError, match="is at -3"):
        Buffer("f32[4] strides=[-1]")
    assert memoryview(Buffer("f32[4] strides=[-1] offset=3")).strides == (-4,)
    assert Buffer("f32[0,3] strides=[4611686018427387904,1]").numpy().shape == (0, 3)
    assert eval(repr(Buffer("f32[4]"))).layout == Layout("f32[4]")


def test_arrays_of_numpy_from_buffers():
    buffer = relayout(some("bfloat16", (3, 4)), "bf16[3,4]")
    assert numpy.asarray(buffer).dtype == ml_dtypes.bfloat16
    with pytest.raises(BufferError):
        memoryview(buffer)
    asked = numpy.asarray(buffer, dtype=numpy.float32)
    assert asked.dtype == numpy.float32
    shared = buffer.numpy()
    shared[0, 0] = 5
    assert buffer.numpy()[0, 0] == 5 and numpy.array(buffer)[0, 0] == 5
    copied = numpy.array(buffer, copy=True)
    copied[0, 0] = 1
    assert buffer.numpy()[0, 0] == 5


@pytest.mark.parametrize("source, words", [
    (numpy.zeros(3, ">f2"), "src: its elements are big-endian"),
    (numpy.array(["a"]), "no type of ours"), (numpy.array([object()]), ""),
    (numpy.zeros(3, "M8[s]"), ""), (numpy.zeros((1,) * 17), ""),
    (numpy.zeros(4, [("a", "u1"), ("b", "<u2")])["b"], "steps by 3 bytes"), (numpy.zeros(3, "g"), "")])
def test_arrays_that_are_no_tensors(source, words):
    with pytest.raises((tegula.Error, TypeError, BufferError)) as caught:
        relayout(source, "f32[3]")
    assert words in str(caught.value)


def test_errors_say_what_python_users_called():
    with pytest.raises(tegula.ArgumentError) as error:
        relayout(bytes(12), "f32[4]", src_layout="f32[3]")
    assert str(error.value) == error.value.message == "the shapes differ: to [4], src [3]"
    with pytest.raises(MemoryError, match="4611686018427387904 bytes"):
        Buffer("u8[4611686018427387904]")
    for source in (bytes(12), bytearray(12), numpy.zeros(12, numpy.uint8)):
        for to in ("f32[3]", "f32[12]", "s8[3]"):
            with pytest.raises(tegula.Error, match="; src is flat bytes: src_layout= says what layout they hold$"):
                relayout(source, to)


def test_arrays_of_types_that_are_none_are_named():
    for wrong, told in ((numpy.zeros(3, "M8[D]"), r"`datetime64\[D\]` is not an element type; there are f16, "),
                        (numpy.zeros(3, "m8[s]"), r"`timedelta64\[s\]` is not an element type")):
        with pytest.raises(tegula.ArgumentError, match=f"^src: {told}"):
            relayout(wrong, "f32[3]")
        with pytest.raises(tegula.ArgumentError, match=f"^out: {told}"):
            relayout(numpy.zeros(3, "f4"), "f32[3]", out=wrong)


def test_threads_are_a_number():
    plan = Plan("f32[3]", "f32[3]", threads=2)
    array, out = some("float32", (3,)), numpy.zeros(3, numpy.float32)
    for threads in (None, 1, 1024):
        assert plan.run(out, array, threads=threads) is None
    for call in (lambda threads: plan.run(out, array, threads=threads),
                 lambda threads: Plan("f32[3]", "f32[3]", threads=threads),
                 lambda threads: relayout(array, "f32[3]", threads=threads)):
        for wrong in (0, -1, 1025, 2**40):
            with pytest.raises(tegula.ArgumentError, match=f"^threads must be 1 to 1024, not {wrong}$"):
                call(wrong)
        with pytest.raises(TypeError, match="threads must be an int, not <class 'str'>"):
            call("2")
        with pytest.raises(tegula.OverflowError, match=f"^threads is -{10**30}, and an integer has 64 bits: -2.63 to "):
            call(-10**30)
        with pytest.raises(tegula.OverflowError, match="^threads is an int of 16610 bits, and an integer has 64 bits"):
            call(10**5000)


def test_numbers_are_called_by_their_names():
    layout, array = Layout("f32[2,3]"), some("float32", (2, 3))
    for call, told in [
        (lambda n: relayout(array, layout, begin=(0, n)), "entry 1 of begin"),
        (lambda n: Plan(layout, layout, end=(n, 0)), "entry 0 of end"), (lambda n: layout.coord(n), "offset"),
        (lambda n: layout.offset((n, 0)), "entry 0 of coordinate"), (lambda n: layout.offset(0, n), "a coordinate"),
        (lambda n: Layout.strided((2, 3), "f32", (n, 1)), "entry 0 of strides"),
        (lambda n: layout.squeeze(n), "dim"), (lambda n: layout.permute(0, n), "entry 1 of permutation"),
        (lambda n: Layout.xla((8, 8), "f32", tiles=[(8, n)]), "a number of tiles"),
        (lambda n: Layout.xla((8, 8), "f32", tail_padding=n), "tail_padding"),
        (lambda n: Layout.strided((2, 3), "f32", (3, 1), n), "offset"), (lambda n: layout.split(n, 2), "mode"),
        (lambda n: Layout.spyre((2, 3), "f16", offset=n), "offset"), (lambda n: layout.slice(0, 0, n), "stop"),
        (lambda n: Layout.from_modes("f32", (2, 3), layout.modes, n), "span"), (lambda n: layout.expand(n, 2), "dim"),
        (lambda n: layout.transpose(0, n), "dim1"), (lambda n: layout.select(0, n), "index"),
    ]:
        with pytest.raises(tegula.OverflowError, match=f"^{told} is {10**30}, and an integer has 64 bits: -2.63 to "):
            call(10**30)
        with pytest.raises(tegula.OverflowError, match=f"^{told} is an int of 16610 bits, and an integer has 64 bits"):
            call(10**5000)
        with pytest.raises(TypeError, match=f"^{told} must be an int, not <class 'float'>$"):
            call(1.5)
    for tiles in ((8, 128), 8, "8,128", [8]):
        with pytest.raises(TypeError, match="^tiles are a sequence of levels"):
            Layout.xla((8, 8), "f32", tiles=tiles)


def test_storage_must_fit():
    array = some("float32", (8, 8))
    for out, words in [(numpy.zeros(63, numpy.float32), "has 252 bytes"), (numpy.zeros(65, numpy.float32), "260"),
                       (numpy.zeros((8, 16), numpy.float32)[:, :8], "other strides|in order"),
                       (numpy.zeros((8, 16), numpy.float32)[:, ::2].T, "other strides|in order"),
                       (Buffer("f32[8,8]{0,1}"), "another layout")]:
        with pytest.raises(tegula.ArgumentError, match=words):
            relayout(array, "f32[8,8]", out=out)
    with pytest.raises(tegula.ArgumentError, match="share memory"):
        relayout(array, "f32[8,8]", out=array)
    with pytest.raises(tegula.ArgumentError, match="share memory"):
        Plan("f32[4,8]", "f32[4,8]").run(array[2:6], array[:4])
    with pytest.raises(MemoryError):
        Buffer("u8[9000000000000000000]")


def test_memory_of_the_layouts_own_type_has_a_shape_of_memory():
    """Flat, or as the storage is; else it is another tensor, whatever bytes it takes."""
    array, tiled = some("float32", (3, 4)), Layout("f32[3,4]{1,0:T(2,2)}")
    wanted = moved(array, tiled)
    for shape in [(16,), tiled.physical_shape]:
        assert raw(relayout(array, tiled, out=numpy.zeros(shape, numpy.float32)).ravel()) == raw(wanted)
        assert raw(relayout(wanted.reshape(shape), "f32[3,4]", src_layout=tiled)) == raw(array)
    for shape in [(4, 4), (2, 8), (2, 2, 4), (2, 2, 2, 2, 1)]:
        with pytest.raises(tegula.ArgumentError, match="out is not f32.*its shape is " + re.escape(str(shape))):
            relayout(array, tiled, out=numpy.zeros(shape, numpy.float32))
        relayout(array, tiled, out=numpy.zeros(shape, numpy.uint32))  # which says nothing of what it is
    assert raw(relayout(array, "f32[3,4]{0,1}", out=numpy.zeros((4, 3), numpy.float32))) == raw(array.T)
    for out in ("f32[3,4]", "f32[3,4] strides=[1,3]"):
        with pytest.raises(tegula.ArgumentError, match=r"its shape is \(4, 3\)"):
            relayout(array, out, out=numpy.zeros((4, 3), numpy.float32))
    with pytest.raises(tegula.ArgumentError, match="out is not .*: its elements are f16, not SEN169_FP16"):
        relayout(numpy.zeros(64, numpy.float16), "f16[64] spyre", out=numpy.zeros(64, numpy.float16))


def test_arguments_that_are_swapped():
    """An array says what it is: elements of another kind, or a tensor where a storage should be."""
    narrow = Plan("f16[2,3]", "bf16[2,3]", convert=True)
    halves, bits = numpy.ones((2, 3), numpy.float16), numpy.zeros((2, 3), numpy.uint16)
    narrow.run(bits, halves)
    assert bits.tolist() == [[0x3F80] * 3] * 2
    for reshaped in (numpy.asarray, numpy.ravel):
        for call in (narrow.run, narrow.verify):
            with pytest.raises(tegula.ArgumentError, match="other way round: dst comes first.*dst is not bf16.*f16"):
                call(reshaped(halves), reshaped(bits))
    with pytest.raises(tegula.ArgumentError, match="^dst is not bf16.*f16"):
        narrow.run(halves, halves)
    with pytest.raises(tegula.ArgumentError, match="src is not f16.*f32"):
        narrow.run(bits, numpy.ones(3, numpy.float32))
    assert halves.tolist() == [[1] * 3] * 2
    narrow.run(src=halves, dst=bits)
    assert narrow.verify(src=halves, dst=bits) is None and narrow.losses(src=halves) == (0, 0)
    for dst, src in [(bytes(12), bytearray(12)), (halves.tobytes(), bits)]:
        with pytest.raises(tegula.ArgumentError, match="the other way round.*dst is read-only"):
            narrow.run(dst, src)
    with pytest.raises(tegula.ArgumentError, match="^dst is read-only"):
        narrow.run(bytes(12), bytes(12))
    with pytest.raises(TypeError, match="src and to are the other way round"):
        relayout("f16[4,64] spyre", halves)
    with pytest.raises(TypeError, match="^to must be a Layout"):
        relayout(halves, halves)
    to_device = Plan("f16[4,64]", "f16[4,64] spyre")
    with pytest.raises(tegula.ArgumentError, match="dst is not f16.*: it has the tensor's shape and "
                                                       "type, but its elements lie in another order"):
        to_device.run(numpy.zeros((4, 64), numpy.float16), numpy.zeros(256, numpy.uint16))
    program = tegula.dma("f16[4,64] spyre")
    with pytest.raises(tegula.ArgumentError, match="device and host are the other way round: device comes first"):
        program.run(numpy.zeros((4, 64), numpy.float16), numpy.zeros(256, numpy.uint16))
    # Memory that says nothing of what it is for stays memory.
    for memory in (numpy.zeros(256, numpy.uint16), numpy.zeros(256, numpy.int16), bytearray(512)):
        to_device.run(memory, numpy.ones((4, 64), numpy.float16))
        assert bytes(memory) == b"\0\x3e" * 256


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_buffer_is_copied(copied):
    buffer = relayout(some("float32", (3, 5)), "f32[3,5]{1,0:T(2,2)}")
    made = copied(buffer)
    assert made.layout == buffer.layout and bytes(made.storage) == bytes(buffer.storage)
    before = bytes(made.storage)
    buffer.storage[:4] = bytes(4)
    assert made.address != buffer.address and bytes(made.storage) == before


# ---- DLPack -------------------------------------------------------------------------------------


class Capsule:
    """An exporter of one kind of capsule, taken from another one."""

    def __init__(self, array, **words):
        self.array, self.words = array, words

    def __dlpack__(self, **words):
        if self.words.get("old") and words:
            raise TypeError("unexpected keyword argument")
        return self.array.__dlpack__(**({} if self.words.get("old") else words))

    def __dlpack_device__(self):
        return self.words.get("device", (1, 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_from_numpy(dtype):
    array = some(dtype, (3, 4, 5))
    for source in (array, array.T, array[::-1, ::2], array[:, 1:1]):
        for old in (False, True):
            assert raw(relayout(Capsule(source, old=old), Layout.strided(source.shape, dtype)).numpy()) == raw(source)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_to_numpy(dtype):
    array = some(dtype, (3, 4))
    buffer = relayout(array, Layout.strided((3, 4), dtype, (1, 4), 2))
    for old in (False, True):
        taken = numpy.from_dlpack(Capsule(buffer, old=old))
        assert taken.dtype == array.dtype and raw(taken) == raw(array)
    del buffer
    gc.collect()
    assert raw(taken) == raw(array)


@pytest.mark.parametrize("dtype", DTYPES + SMALL)
def test_dlpack_through_both_of_our_ends(dtype):
    array = some(dtype, (5, 3))
    buffer = relayout(array, Layout.strided((5, 3), array.dtype))
    back = relayout(Capsule(buffer), Layout.strided((5, 3), array.dtype))
    assert raw(back.numpy()) == raw(array)


def test_dlpack_refuses():
    buffer = Buffer("f32[4]")
    with pytest.raises(tegula.ArgumentError, match="another device"):
        relayout(Capsule(buffer, device=(2, 0)), "f32[4]")
    for other in ("f32[4]{0:T(8)}", "f16[5,100]{0,1}"):
        with pytest.raises(BufferError, match="strided"):
            Buffer(other).__dlpack__()
    with pytest.raises(BufferError, match="1.1"):
        Buffer("s4[4]").__dlpack__()
    with pytest.raises(BufferError):
        buffer.__dlpack__(stream=1)
    with pytest.raises(BufferError):
        buffer.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        buffer.__dlpack__(copy=True)
    capsule = buffer.__dlpack__(max_version=(1, 1))
    used = type("Used", (), {"__dlpack__": lambda self, **w: capsule, "__dlpack_device__": lambda self: (1, 0)})()
    assert relayout(used, "f32[4]").numpy().tolist() == [0] * 4
    with pytest.raises(tegula.ArgumentError, match="unused"):
        relayout(used, "f32[4]")
    for broken in ({"__dlpack__": lambda self, **w: 3, "__dlpack_device__": lambda self: (1, 0)},
                   {"__dlpack__": lambda self, **w: buffer.__dlpack__(), "__dlpack_device__": lambda self: 7},
                   {"__dlpack__": lambda self, **w: 1 / 0, "__dlpack_device__": lambda self: (1, 0)}):
        with pytest.raises((tegula.ArgumentError, ZeroDivisionError)):
            relayout(type("Broken", (), broken)(), "f32[4]")


class Tensor(ctypes.Structure):
    """DLManagedTensor. Source: dlpack.h."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
                ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


class Exporter:
    """float32 of any shape, from memory that it says; its deleter is Python code."""

    def __init__(self, shape, data=None, device=1, lanes=1):
        self.deleted = 0
        self.memory = ctypes.create_string_buffer(4 * math.prod(shape) + 4)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = Tensor(ctypes.addressof(self.memory) if data is None else data, device, 0, len(shape), 2, 32,
                             lanes, self.shape, None, 0, None, Tensor._fields_[-1][1](self.delete))

    def delete(self, address):
        sorted([2, 1], key=lambda n: int(str(n)))  # calls that notice an exception under way
        self.deleted += 1

    def __dlpack__(self, **words):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return (1, 0)


def test_dlpack_deleters_run_once_and_without_an_exception():
    for words, layout, error in (({}, "f32[2,3]", None), ({}, "f32[3,2]", tegula.ArgumentError),
                                 ({"lanes": 4}, "f32[2,3]", tegula.ArgumentError)):
        source = Exporter((2, 3), **words)
        if error is None:
            assert relayout(source, layout).numpy().tolist() == [[0] * 3] * 2
        else:
            with pytest.raises(error):
                relayout(source, layout)
        assert source.deleted == 1


def test_dlpack_memory_that_cannot_be_read():
    for words, message in (({"data": 0}, "6 elements at the address 0"), ({"device": 2}, "another device")):
        source = Exporter((2, 3), **words)
        with pytest.raises(tegula.ArgumentError, match=message):
            relayout(source, "f32[2,3]")
        assert source.deleted == 1
    assert relayout(Exporter((0, 3), data=0), "f32[0,3]").numpy().shape == (0, 3)
    interface = {"__array_interface__": {"data": (0, False), "shape": (2, 3), "typestr": "<f4", "version": 3},
                 "dtype": numpy.dtype("float32")}
    with pytest.raises(tegula.ArgumentError, match="address 0"):
        relayout(type("Interface", (), interface)(), "f32[2,3]")


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    import jax
    for dtype in ("float32", "bfloat16", "int8", "bool", "float8_e4m3fn"):
        array = some(dtype, (6, 7))
        theirs = jnp.asarray(array)
        assert raw(relayout(theirs, Layout.strided((6, 7), dtype)).numpy()) == raw(array)
        with pytest.raises(tegula.ArgumentError, match="read-only"):
            relayout(array, Layout.strided((6, 7), dtype), out=theirs)
    buffer = relayout(some("float32", (6, 7)), "f32[6,7]")
    assert raw(numpy.asarray(jax.dlpack.from_dlpack(buffer))) == raw(buffer.numpy())


def test_torch():
    torch = pytest.importorskip("torch")
    for dtype in ("float32", "bfloat16", "float16", "int64", "bool", "float8_e4m3fn", "float8_e5m2", "complex64"):
        theirs = torch.from_numpy(some("uint8", (6, 8, 8))).view(-1).view(torch.uint8)[:6 * 8 * 2 * 8]
        theirs = (theirs % 2).to(torch.bool) if dtype == "bool" else theirs.view(getattr(torch, dtype))
        theirs = theirs.view(6, -1)
        layout = Layout.strided(tuple(theirs.shape), getattr(torch, dtype))
        turned = relayout(theirs.T, layout.transpose(0, 1))
        assert torch.from_dlpack(turned).shape == theirs.T.shape
        back = torch.from_dlpack(relayout(theirs, layout))
        assert back.dtype == theirs.dtype and back.view(torch.uint8).equal(theirs.contiguous().view(torch.uint8))
        out = torch.zeros_like(theirs)
        relayout(back, layout, out=out)
        assert out.view(torch.uint8).equal(theirs.contiguous().view(torch.uint8))
    with pytest.raises(BufferError):
        relayout(torch.zeros(3, requires_grad=True), "f32[3]")


# ---- nothing is lost ----------------------------------------------------------------------------


def test_no_reference_is_lost():
    """Every object that went in comes out with as many references; no block stays behind."""
    array, out = some("float32", (16, 16)), numpy.zeros((16, 16), numpy.float32)
    bf16 = some("bfloat16", (4, 4))
    layout = Layout("f32[16,16]")
    buffer = relayout(array, layout)
    capsules = Capsule(buffer)

    def everything():
        relayout(array, layout, out=out)
        relayout(buffer, "f32[16,16] spyre").storage[0]
        relayout(capsules, layout)
        relayout(bf16, "bf16[4,4]").numpy()
        numpy.from_dlpack(buffer), memoryview(buffer), buffer.__dlpack__(), buffer.__dlpack__(max_version=(1, 0))
        plan = Plan(layout, layout.transpose(0, 1))
        plan.run(numpy.zeros(256, numpy.float32), buffer), plan.losses(array), plan.describe(), repr(plan)
        layout.to_dict(), repr(layout.split(0, 2)), hash(layout), layout.modes, layout.difference("f32[16,16]{0,1}")
        layout.offsets(numpy.zeros((3, 2), numpy.int64)), layout.coords(numpy.arange(5)), Layout.of(array)
        for bad in (lambda: relayout(array, "f32[3]"), lambda: relayout(array, layout, out=array),
                    lambda: layout.offset(99, 0),
                    lambda: relayout(array[::2], layout, src_layout=layout), lambda: Layout("f32["),
                    lambda: Plan("f32[2]", "f32[3]"),
                    lambda: relayout(Capsule(buffer, device=(2, 0)), layout), lambda: relayout(object(), layout)):
            try:
                bad()
            except (tegula.Error, TypeError):
                pass

    watched = [array, out, bf16, layout, buffer, capsules, Layout, Buffer, Plan]
    everything()
    before = [sys.getrefcount(item) for item in watched]
    assert not loses_blocks(everything, 300, 1000, 700)  # a leak is one in each round at least
    assert [sys.getrefcount(item) for item in watched] == before


def test_memory_does_not_grow():
    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096
    array = numpy.zeros((512, 512), numpy.float32)
    capsules = Capsule(relayout(array, "f32[512,512]"))
    for i in range(400):
        numpy.from_dlpack(relayout(capsules, "f32[512,512]"))
        if i == 100:
            before = resident()
    assert resident() - before < 64 << 20
