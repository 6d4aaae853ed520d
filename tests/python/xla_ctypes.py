"""ctypes mirror of the XLA text part of include/tegula/tegula.h.

The library is the file named by TEGULA_LIB, else build/libtegula.so of this repository.
"""
import ctypes as C
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = os.environ.get("TEGULA_LIB", str(ROOT / "build" / "libtegula.so"))

MAX_NDIM, MAX_TILES, MAX_TILE_DIMS, MAX_SPLITS, MAX_SPLIT_INDICES = 16, 8, 32, 8, 32
COMBINE = UNBOUNDED = -(2**63)
STATUS = ["OK", "ARGUMENT", "OVERFLOW", "PARSE", "LIMIT", "UNREPRESENTABLE", "UNSUPPORTED", "NOMEM", "IO"]
ARRAY, TUPLE, TOKEN, OPAQUE, BUFFER = range(5)

i32, i64, enum = C.c_int32, C.c_int64, C.c_int


class Error(C.Structure):
    _fields_ = [("status", enum), ("dim", i32), ("pos", C.c_size_t), ("message", C.c_char * 248)]


class Layout(C.Structure):
    _fields_ = [
        ("ndim", i32), ("ntiles", i32), ("nsplits", i32), ("minor_to_major", i32 * MAX_NDIM),
        ("tile_ndim", i32 * MAX_TILES), ("tile_dims", i64 * MAX_TILE_DIMS), ("tail_padding", i64),
        ("index_type", enum), ("pointer_type", enum), ("element_size_in_bits", i64), ("memory_space", i64),
        ("split_dim", i64 * MAX_SPLITS), ("split_nindices", i32 * MAX_SPLITS),
        ("split_indices", i64 * MAX_SPLIT_INDICES), ("metadata_prefix_bytes", i64),
    ]


class Shape(C.Structure):
    _fields_ = [
        ("kind", enum), ("dtype", enum), ("ndim", i32), ("nchildren", i32), ("dims", i64 * MAX_NDIM),
        ("dynamic", C.c_bool * MAX_NDIM), ("has_layout", C.c_bool), ("pos", C.c_size_t), ("layout", Layout),
    ]


class Refused(Exception):
    """A call failed; its status, place and message."""

    def __init__(self, error):
        self.status, self.pos = STATUS[error.status], error.pos
        self.dim = error.dim
        self.message = error.message.decode("utf-8", "replace")
        super().__init__(f"{self.status} at {self.pos}: {self.message}")


def _bind():
    lib = C.CDLL(LIBRARY)
    size_p, error_p = C.POINTER(C.c_size_t), C.POINTER(Error)
    lib.tg_xla_shape_parse.argtypes = [C.POINTER(Shape), C.c_size_t, size_p, C.c_char_p, C.c_size_t, error_p]
    lib.tg_xla_shape_format.argtypes = [C.c_char_p, C.c_size_t, C.POINTER(Shape), C.c_size_t, C.c_bool]
    lib.tg_xla_shape_format.restype = C.c_size_t
    lib.tg_xla_layout_parse.argtypes = [C.POINTER(Layout), C.c_char_p, C.c_size_t, error_p]
    lib.tg_xla_layout_format.argtypes = [C.c_char_p, C.c_size_t, C.POINTER(Layout)]
    lib.tg_xla_layout_format.restype = C.c_size_t
    lib.tg_xla_shape_validate.argtypes = [C.POINTER(Shape), C.c_size_t, error_p]
    lib.tg_dtype_from_name.argtypes = [C.c_char_p, C.c_size_t]
    return lib


lib = _bind()


def _check(status, error, text=None):
    if status == 0:
        return
    assert error.status == status and error.message and b"\n" not in error.message
    assert text is None or error.pos <= len(text)
    raise Refused(error)


def parse(text):
    """The nodes of a shape text (str or bytes); reads it once to count and once to store."""
    data = text.encode() if isinstance(text, str) else text
    count, error = C.c_size_t(12345), Error()
    status = lib.tg_xla_shape_parse(None, 0, C.byref(count), data, len(data), C.byref(error))
    if status:
        assert count.value == 12345, "a failed call wrote an output"
    _check(status, error, data)
    nodes, again = (Shape * count.value)(), C.c_size_t()
    assert lib.tg_xla_shape_parse(nodes, len(nodes), C.byref(again), data, len(data), None) == 0
    assert again.value == count.value
    return nodes


def _text(write):
    size = write(None, 0)
    buffer = C.create_string_buffer(size + 1)
    assert write(buffer, size + 1) == size and len(buffer.value) == size
    return buffer.value.decode()


def format_shape(nodes, with_layout=True):
    return _text(lambda buf, cap: lib.tg_xla_shape_format(buf, cap, nodes, len(nodes), with_layout))


def parse_layout(text):
    data, out, error = text.encode(), Layout(), Error()
    _check(lib.tg_xla_layout_parse(C.byref(out), data, len(data), C.byref(error)), error, data)
    return out


def format_layout(layout):
    return _text(lambda buf, cap: lib.tg_xla_layout_format(buf, cap, C.byref(layout)))


def validate(nodes):
    error = Error()
    _check(lib.tg_xla_shape_validate(nodes, len(nodes), C.byref(error)), error)
