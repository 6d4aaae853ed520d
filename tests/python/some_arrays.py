"""Arrays of every element type, for the tests of the package."""
import itertools

import ml_dtypes
import numpy

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
