"""Conversions between floats against numpy and ml_dtypes: every value of 8 and 16 bits, and of float32 all
exponents with the fractions where roundings change, for each set of instructions. NaNs stay NaNs and keep
their signs; which payload they have is our own rule, and tests/unit/test_convert.c has it.
"""
import ml_dtypes
import numpy
import pytest

import tegula_c as t

AVX2, AVX512 = 1, 2
TYPES = {
    "IEEE_FP16": numpy.float16,
    "IEEE_FP32": numpy.float32,
    "BFLOAT16": ml_dtypes.bfloat16,
    "SEN143_FP8": ml_dtypes.float8_e4m3fn,
}
NATIVE = {"f16": "IEEE_FP16", "bf16": "BFLOAT16", "f32": "IEEE_FP32"}
STORED = [("f16", "IEEE_FP32"), ("f16", "BFLOAT16"), ("bf16", "IEEE_FP32"), ("bf16", "IEEE_FP16"),
          ("f32", "IEEE_FP16"), ("f32", "BFLOAT16"), ("f32", "SEN143_FP8")]


def bits_of(dtype):
    return numpy.dtype(f"uint{8 * numpy.dtype(dtype).itemsize}")


def every_value(dtype):
    """As bits, where there are few; else around halves of the last bits that some format keeps."""
    bits = bits_of(dtype)
    if bits.itemsize < 4:
        return numpy.arange(1 << (8 * bits.itemsize)).astype(bits)
    high = numpy.arange(1 << 16, dtype=bits) << 16
    low = [0, 1, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff]
    return numpy.concatenate([high | numpy.uint32(fraction) for fraction in low])


def layout(name, n, format_name=None):
    """n elements of a type, in its own format or in another one."""
    out = t.strided(t.lib.tg_dtype_from_name(name.encode(), len(name)), [n])
    if format_name is not None:
        out.format = t.lib.tg_format_from_name(format_name.encode(), len(format_name))
        out.elem_bits = t.lib.tg_format_bits(out.format)
    return out


def run(dst_layout, dst, src_layout, src, without):
    plan = t.Plan()
    params = t.PlanParams(dst=t.C.pointer(dst_layout), src=t.C.pointer(src_layout), without=without)
    assert t.lib.tg_plan_init(t.C.byref(plan), t.C.byref(params), t.C.byref(t._error)) == t.OK, t._error.message
    assert t.lib.tg_plan_run(t.C.byref(plan), dst.ctypes.data, src.ctypes.data, None, None) == t.OK


@pytest.mark.skipif(not hasattr(t.lib, "tg_plan_run"), reason="the library is built without relayout")
@pytest.mark.parametrize("without", [0, AVX512, AVX2 | AVX512])
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("name,stored", STORED)
def test_floats_against_ml_dtypes(name, stored, back, without):
    from_type, to_type = TYPES[NATIVE[name]], TYPES[stored]
    if back:
        from_type, to_type = to_type, from_type
    src = every_value(from_type)
    out = numpy.zeros(len(src), bits_of(to_type))
    native, other = layout(name, len(src)), layout(name, len(src), stored)
    run(native if back else other, out, other if back else native, src, without)
    with numpy.errstate(all="ignore"):
        want = src.view(from_type).astype(to_type)
        is_nan = numpy.isnan(src.view(from_type).astype(numpy.float32))
    got, sign = out.view(to_type), 1 << (8 * out.itemsize - 1)
    assert numpy.array_equal(out[~is_nan], want.view(out.dtype)[~is_nan])
    assert numpy.isnan(got.astype(numpy.float32)[is_nan]).all()
    assert not ((out ^ want.view(out.dtype))[is_nan] & out.dtype.type(sign)).any()
