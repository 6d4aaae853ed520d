"""ctypes binding of include/tegula/view.h for the tests."""
import ctypes as C

import tegula_c
from tegula_c import MAX_MODES, MAX_NDIM, Desc, enum, i32, i64, ints, ints32

FREE, RELAYOUT, IMPOSSIBLE = range(3)
FITS, CARRY, RAGGED, OUTSIDE, GAP = range(5)
NONE, LOOP, OFFSET, BAD = range(4)
RIGHT, WRONG, REFUSED, UNKNOWN = range(4)


class View(C.Structure):
    _fields_ = [("ndim", i32), ("shape", i64 * MAX_NDIM), ("strides", i64 * MAX_NDIM), ("offset", i64)]


class Term(C.Structure):
    _fields_ = [("dim", i32), ("step", i64), ("shift", i64), ("wrap", i64), ("stride", i64)]


class Coordinate(C.Structure):
    _fields_ = [("mode", i32), ("stride", i64), ("offset", i64), ("nterms", i32), ("term", Term * MAX_NDIM)]


class Naive(C.Structure):
    _fields_ = [("state", enum), ("coord", i64 * MAX_NDIM), ("right", i64), ("read", i64)]


class Answer(C.Structure):
    _fields_ = [("verdict", enum), ("reason", enum), ("ndim", i32), ("dims", C.c_uint32), ("mode", i32),
                ("digit", i64), ("edge", i64), ("coord", i64 * MAX_NDIM), ("host_offset", i64), ("low", i64),
                ("high", i64), ("offset", i64), ("ndevice", i32), ("joined", C.c_bool),
                ("device", Coordinate * MAX_MODES), ("has_stick", C.c_bool), ("stick", enum), ("stick_dim", i32),
                ("rule", Naive), ("own", Naive)]


STRUCTS = {"tg_view": View, "tg_view_term": Term, "tg_view_coordinate": Coordinate, "tg_naive": Naive,
           "tg_view_answer": Answer}

_D, _V, _A, _E = C.POINTER(Desc), C.POINTER(View), C.POINTER(Answer), C.POINTER(tegula_c.Error)
_S, _I = C.c_size_t, C.POINTER(i64)
for _name, _result, *_arguments in [
        ("tg_view_of", enum, _V, _D, _E),
        ("tg_view_permute", enum, _V, _V, C.POINTER(i32), _E),
        ("tg_view_transpose", enum, _V, _V, i32, i32, _E),
        ("tg_view_reshape", enum, _V, _V, i32, _I, _E),
        ("tg_view_slice", enum, _V, _V, i32, i64, i64, i64, _E),
        ("tg_view_select", enum, _V, _V, i32, i64, _E),
        ("tg_view_expand", enum, _V, _V, i32, _I, _E),
        ("tg_view_squeeze", enum, _V, _V, i32, _E),
        ("tg_view_unsqueeze", enum, _V, _V, i32, _E),
        ("tg_view_unfold", enum, _V, _V, i32, i64, i64, _E),
        ("tg_view_parse", enum, _V, _V, C.c_char_p, _S, _E),
        ("tg_view_judge", enum, _A, _D, _V, _E),
        ("tg_view_device_offset", i64, _A, _I),
        ("tg_view_format_access", _S, C.c_char_p, _S, _A),
        ("tg_view_target", enum, _D, _D, _V, _E)]:
    tegula_c._declare(_name, _result, *_arguments)
lib = tegula_c.lib


def view(shape, strides, offset=0):
    v = View(ndim=len(shape), offset=offset)
    for d, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        v.shape[d], v.strides[d] = size, stride
    return v


def view_of(desc):
    return tegula_c._call(lib.tg_view_of, View(), C.byref(desc))


def parse(base, text):
    data = text.encode()
    return tegula_c._call(lib.tg_view_parse, View(), C.byref(base), data, len(data))


def judge(desc, v):
    return tegula_c._call(lib.tg_view_judge, Answer(), C.byref(desc), C.byref(v))


def ask(layout, text):
    """The answer about a view written as PyTorch does."""
    desc = tegula_c.parse(layout)
    return judge(desc, parse(view_of(desc), text))


def target(desc, v):
    return tegula_c._call(lib.tg_view_target, Desc(), C.byref(desc), C.byref(v))


def access(answer):
    return tegula_c._text(lib.tg_view_format_access, C.byref(answer))


def device_offset(answer, coord):
    return lib.tg_view_device_offset(C.byref(answer), ints(coord))


def fields(v):
    return list(v.shape[:v.ndim]), list(v.strides[:v.ndim]), v.offset


def composed(name, base, *args):
    """One of the functions that make a view of a view; lists become arrays, after their length where it is wanted."""
    words = []
    for a in args:
        if isinstance(a, (list, tuple)):
            words += [ints32(a)] if name == "permute" else [len(a), ints(a)]
        else:
            words.append(a)
    return tegula_c._call(getattr(lib, "tg_view_" + name), View(), C.byref(base), *words)
