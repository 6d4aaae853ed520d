"""Headers of .npy files, with NumPy itself as the judge.

Whatever NumPy saves is read as NumPy reads it; what tg_npy_format writes is what NumPy writes, byte for
byte; and of headers that were damaged at random, none is read otherwise than NumPy reads it.
"""
import ctypes as C
import io
import itertools
import random
import warnings

import pytest

np = pytest.importorskip("numpy")

import ml_dtypes
from hypothesis import given, settings, strategies as st
from numpy.lib import format as npy_format

import tegula_c as tg


class Npy(C.Structure):
    _fields_ = [("dtype", C.c_int), ("big_endian", C.c_bool), ("fortran_order", C.c_bool), ("ndim", C.c_int32),
                ("shape", C.c_int64 * tg.MAX_NDIM), ("data_offset", C.c_int64), ("data_bytes", C.c_int64)]


_SIZE, _NPY, _ERROR = C.c_size_t, C.POINTER(Npy), C.POINTER(tg.Error)
tg.lib.tg_npy_parse.argtypes = [_NPY, C.c_char_p, _SIZE, _ERROR]
tg.lib.tg_npy_format.argtypes = [C.c_char_p, _SIZE, C.POINTER(_SIZE), _NPY, _ERROR]
tg.lib.tg_layout_from_npy.argtypes = [C.POINTER(tg.Layout), _NPY, _ERROR]

NUMPY_TYPES = {"?": "pred", "i1": "s8", "i2": "s16", "i4": "s32", "i8": "s64", "u1": "u8", "u2": "u16", "u4": "u32",
               "u8": "u64", "f2": "f16", "f4": "f32", "f8": "f64", "c8": "c64", "c16": "c128"}
NAMED_ML_TYPES = {"bfloat16": "bf16", "float8_e5m2": "f8e5m2"}
NAMELESS_ML_TYPES = ["float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3",
                     "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
                     "int2", "int4", "uint2", "uint4", "int1", "uint1"]

# (NumPy dtype, our name) of all that can be read, in both byte orders.
READABLE = ([(np.dtype(code).newbyteorder(order), name) for code, name in NUMPY_TYPES.items() for order in "<>"] +
            [(np.dtype(getattr(ml_dtypes, ml)), name) for ml, name in NAMED_ML_TYPES.items()])


def dtype_number(name):
    return tg.lib.tg_dtype_from_name(name.encode(), len(name))


def parse(data):
    npy, error = Npy(), tg.Error()
    if tg.lib.tg_npy_parse(C.byref(npy), data, len(data), C.byref(error)) != tg.OK:
        raise tg.TegulaError(error)
    return npy


def formatted(name, shape, fortran_order):
    npy = Npy(dtype=dtype_number(name), fortran_order=fortran_order, ndim=len(shape))
    npy.shape[: len(shape)] = shape
    need, error = _SIZE(), tg.Error()
    buffer = C.create_string_buffer(2048)
    if tg.lib.tg_npy_format(buffer, len(buffer), C.byref(need), C.byref(npy), C.byref(error)) != tg.OK:
        raise tg.TegulaError(error)
    return buffer.raw[: need.value]


def layout_of(npy):
    layout, error = tg.Layout(), tg.Error()
    if tg.lib.tg_layout_from_npy(C.byref(layout), C.byref(npy), C.byref(error)) != tg.OK:
        raise tg.TegulaError(error)
    return layout


def saved(array, version=(1, 0)):
    stream = io.BytesIO()
    npy_format.write_array(stream, array, version)
    return stream.getvalue()


def numpy_header(descr, shape, fortran_order):
    stream = io.BytesIO()
    npy_format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": fortran_order, "shape": shape})
    return stream.getvalue()


def as_numpy_reads(data):
    """(shape, fortran_order, dtype, data offset), or the exception's text."""
    stream = io.BytesIO(data)
    read = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that Python 2 wrote it, or that an escape is odd
        try:
            return *read[npy_format.read_magic(stream)](stream), stream.tell()
        except Exception as error:  # whatever NumPy's own readers raise
            return str(error)


shapes = st.lists(st.integers(0, 5), max_size=5).map(tuple)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from(READABLE), shapes, st.sampled_from("CF"), st.sampled_from([(1, 0), (2, 0), (3, 0)]))
def test_reads_what_numpy_saves(dtype_name, shape, order, version):
    dtype, name = dtype_name
    array = np.arange(int(np.prod(shape))).astype(dtype).reshape(shape).copy(order=order)
    data = saved(array, version)
    npy = parse(data)
    assert npy.dtype == dtype_number(name)
    assert npy.big_endian == (dtype.itemsize > 1 and dtype.str[0] == ">")
    assert npy.fortran_order == (array.flags.f_contiguous and not array.flags.c_contiguous)
    assert tuple(npy.shape[: npy.ndim]) == shape
    assert npy.data_bytes == array.nbytes
    assert npy.data_offset + npy.data_bytes == len(data)
    stored = np.frombuffer(data, dtype, offset=npy.data_offset)
    if npy.big_endian:  # the order of bytes is not a layout; their order of elements is judged without it
        assert pytest.raises(tg.TegulaError, layout_of, npy).value.status == tg.ERR_UNSUPPORTED
        npy.big_endian = False
    layout = layout_of(npy)
    assert tg.numel(layout) == array.size
    coords = list(itertools.product(*map(range, shape)))
    for coord, offset in zip(coords, tg.offsets(layout, coords)):
        assert stored[offset].tobytes() == array[coord].tobytes()


sizes = st.one_of(st.integers(0, 12), st.integers(0, 2**40), st.sampled_from([10**k for k in range(13)]))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from([row for row in READABLE if row[0].str[0] != ">"]), st.lists(sizes, max_size=16), st.booleans())
def test_writes_what_numpy_writes(dtype_name, shape, fortran_order):
    dtype, name = dtype_name
    expected = numpy_header(npy_format.dtype_to_descr(dtype), tuple(shape), fortran_order)
    try:
        assert formatted(name, shape, fortran_order) == expected
    except tg.TegulaError as error:
        assert error.status == tg.ERR_OVERFLOW and int(np.prod(shape, dtype=object)) * dtype.itemsize >= 2**63
        assert pytest.raises(tg.TegulaError, parse, expected).value.status == tg.ERR_OVERFLOW
    else:
        assert tuple(parse(expected).shape[: len(shape)]) == tuple(shape)


@pytest.mark.parametrize("length", range(0, 130))
def test_writes_every_padding_as_numpy_does(length):
    """Shapes whose headers grow a byte at a time, over two multiples of 64."""
    digits = [length * (k + 1) // 15 - length * k // 15 for k in range(15)]
    shape = (0, *(10**n for n in digits))
    expected = numpy_header("<f4", shape, False)
    assert formatted("f32", shape, False) == expected
    assert len(expected) % 64 == 0


@pytest.mark.parametrize("ml", NAMELESS_ML_TYPES)
def test_nameless_types_are_written_and_not_guessed(ml):
    if not hasattr(ml_dtypes, ml):
        pytest.skip("this ml_dtypes does not have it")
    array = np.zeros((3, 4), getattr(ml_dtypes, ml))
    stream = io.BytesIO()
    np.save(stream, array)
    data = stream.getvalue()
    assert formatted(ml, (3, 4), False) == data[: len(data) - array.nbytes]
    error = pytest.raises(tg.TegulaError, parse, data).value
    assert error.status == tg.ERR_UNSUPPORTED
    assert "'<V1'" in error.message and "does not say which" in error.message


def test_bfloat16_in_either_byte_order():
    swapped = np.zeros(3, np.dtype(ml_dtypes.bfloat16).newbyteorder(">"))
    npy = parse(saved(swapped))
    assert npy.dtype == dtype_number("bf16") and npy.big_endian and npy.data_bytes == 6


@pytest.mark.parametrize("dtype", ["O", "S3", "U3", "M8[ns]", "m8[s]", "V3", "V16", np.longdouble, np.clongdouble,
                                   [("x", "<f4"), ("y", "<i2", (2, 2))], ("<f4,<i4"), ml_dtypes.complex32])
def test_other_types_are_refused_by_name(dtype):
    descr = npy_format.dtype_to_descr(np.dtype(dtype))
    error = pytest.raises(tg.TegulaError, parse, numpy_header(descr, (2,), False)).value
    assert error.status == tg.ERR_UNSUPPORTED
    assert repr(descr)[:30] in error.message


TOKENS = ["'", '"', "(", ")", "{", "}", "[", "]", ",", ":", " ", "\n", "\t", "\\", "#", "-", "+", "0", "1", "7", "L",
          "l", "_", ".", "e", "True", "False", "None", "'descr'", "'shape'", "'fortran_order'", "'<f4'", "(3,)", "3L",
          "<", ">", "=", "|", "f", "i", "V2", "\0", "\x0c", "\xe9", "u'", "b'", "''"]
HEADERS = ["{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
           "{'shape':(7,),'descr':'>i2','fortran_order':True}",
           '{"descr": "|u1", "fortran_order": False, "shape": ()}  \n',
           "{'descr': 'c8', 'fortran_order': True, 'shape': (3L, 4L), }"]


def damaged(text, rng):
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at, length = rng.randrange(len(text) + 1), rng.choice([0, 0, 1, 1, 2, 5])
        text = text[:at] + rng.choice(["", rng.choice(TOKENS)]) + text[at + length:]
    return text


def test_damaged_headers_are_never_read_otherwise_than_numpy_does():
    rng, read = random.Random(20250727), 0
    for _ in range(6000):
        text = damaged(rng.choice(HEADERS), rng).encode("latin1")
        data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
        try:
            npy = parse(data)
        except tg.TegulaError as error:
            assert error.pos <= len(data)
            continue
        shape, fortran_order, dtype, offset = as_numpy_reads(data)
        read += 1
        ours = tuple(npy.shape[: npy.ndim]), npy.fortran_order, npy.data_offset
        assert ours == (shape, fortran_order, offset), text
        assert npy.big_endian == (dtype.itemsize > 1 and dtype.str[0] == ">"), text
        if dtype.kind == "V":
            assert npy.dtype == dtype_number("bf16") and dtype.itemsize == 2, text
        else:
            assert npy.dtype == dtype_number(NUMPY_TYPES[dtype.str[1:].replace("b1", "?")]), text
    assert read > 500, "too few damaged headers are still readable for the comparison to mean much"
