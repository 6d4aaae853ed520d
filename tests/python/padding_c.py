"""ctypes binding of include/tegula/padding.h, on top of tegula_c.py."""
import ctypes as C

import tegula_c as t


class Part(C.Structure):
    _fields_ = [("level", t.i32), ("place", t.i32), ("dims", C.c_uint32), ("size", t.i64), ("tile", t.i64),
                ("padded", t.i64), ("bytes", t.i64)]


class Padding(C.Structure):
    _fields_ = [("elements", t.i64), ("logical_bytes", t.i64), ("physical_bytes", t.i64), ("widening_bytes", t.i64),
                ("tail_bytes", t.i64), ("logical_bits", t.i32), ("stored_bits", t.i32), ("nparts", t.i32),
                ("part", Part * t.XLA_MAX_TILE_DIMS)]


class Choice(C.Structure):
    _fields_ = [("layout", t.XlaLayout), ("physical_bytes", t.i64), ("saved_bytes", t.i64)]


class Advice(C.Structure):
    _fields_ = [("order", Choice), ("tiling", Choice)]


STRUCTS = {"tg_padding_part": Part, "tg_padding": Padding, "tg_padding_choice": Choice, "tg_padding_advice": Advice}

_SHAPE, _ERROR = C.POINTER(t.XlaShape), C.POINTER(t.Error)
t.lib.tg_padding_measure.argtypes = [C.POINTER(Padding), _SHAPE, _ERROR]
t.lib.tg_padding_advise.argtypes = [C.POINTER(Advice), _SHAPE, _ERROR]
t.lib.tg_padding_expansion.argtypes = [C.POINTER(Padding)]
t.lib.tg_padding_expansion.restype = C.c_double
t.lib.tg_padding_worst.argtypes = [C.POINTER(Padding)]
t.lib.tg_padding_worst.restype = t.i32
t.lib.tg_xla_shape_parse.argtypes = [_SHAPE, C.c_size_t, C.POINTER(C.c_size_t), C.c_char_p, C.c_size_t, _ERROR]
t.lib.tg_xla_shape_format.argtypes = [C.c_char_p, C.c_size_t, _SHAPE, C.c_size_t, C.c_bool]
t.lib.tg_xla_shape_format.restype = C.c_size_t


def read(text):
    """The shape of one array, also where no layout value can carry it."""
    shape, count, error, data = t.XlaShape(), C.c_size_t(), t.Error(), text.encode()
    if t.lib.tg_xla_shape_parse(C.byref(shape), 1, C.byref(count), data, len(data), C.byref(error)) != t.OK:
        raise t.TegulaError(error)
    assert count.value == 1, f"{text} is no array"
    return shape


def text_of(shape, layout):
    """The shape with another layout, as XLA prints it."""
    other = t.XlaShape.from_buffer_copy(shape)
    other.layout = layout
    return t._text(t.lib.tg_xla_shape_format, C.byref(other), 1, True)


def measure(shape):
    return t._call(t.lib.tg_padding_measure, Padding(), C.byref(shape))


def advise(shape):
    return t._call(t.lib.tg_padding_advise, Advice(), C.byref(shape))


def expansion(padding):
    return t.lib.tg_padding_expansion(C.byref(padding))


def worst(padding):
    return t.lib.tg_padding_worst(C.byref(padding))
