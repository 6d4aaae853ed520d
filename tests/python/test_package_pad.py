"""The number that padding holds, as Python says it."""
import fractions
import math
import re

import ml_dtypes
import numpy
import pytest

import tegula
from tegula import Buffer, Layout, Plan, relayout


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
