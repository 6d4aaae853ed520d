"""relayout and Plan against the definition of both layouts."""
import itertools
import math
import re
import threading
import time

import ml_dtypes
import numpy
import pytest
from hypothesis import given, strategies as st

import tegula
from some_arrays import DTYPES, SMALL, moved, raw, some
from tegula import Layout, Plan, relayout


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
