"""ctypes binding of libtegula for the tests: the structs of include/tegula/tegula.h, and thin calls.

The library is the file named by TEGULA_LIB, else build/libtegula.so of this repository. Every call
that fails becomes a TegulaError, after a check of what the header promises for all functions: the
message is set and no output was written.
"""
import ctypes as C
import itertools
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = os.environ.get("TEGULA_LIB", str(ROOT / "build" / "libtegula.so"))

MAX_NDIM, MAX_AXES, MAX_MODES = 16, 32, 48
AXIS_PAD, AXIS_COPY, TO_MEMORY = -1, -2, -1
XLA_MAX_TILES, XLA_MAX_TILE_DIMS, XLA_MAX_SPLITS, XLA_MAX_SPLIT_INDICES = 8, 32, 8, 32
XLA_COMBINE = -(2**63)
SPYRE_MAX_RANK = 32

STATUS = ["TG_OK", "TG_ERR_ARGUMENT", "TG_ERR_OVERFLOW", "TG_ERR_PARSE", "TG_ERR_LIMIT",
          "TG_ERR_UNREPRESENTABLE", "TG_ERR_UNSUPPORTED", "TG_ERR_NOMEM", "TG_ERR_IO"]
(OK, ERR_ARGUMENT, ERR_OVERFLOW, ERR_PARSE, ERR_LIMIT, ERR_UNREPRESENTABLE, ERR_UNSUPPORTED, ERR_NOMEM,
 ERR_IO) = range(9)

NOTATIONS = ["strided", "xla", "spyre", "cute"]
SAME, DIFFERENT_SHAPE, DIFFERENT_WIDTH, DIFFERENT_MAP, DIFFERENT_COPIES, DIFFERENT_SPAN = range(6)
DATA, PADDING, OUTSIDE = range(3)
ARRANGEMENTS = ["STANDARD", "DL16_TO_FP32", "QFP8CH", "EXX2", "FP32_TO_DL16", "QFP8WT"]

i32, i64, enum = C.c_int32, C.c_int64, C.c_int


class Error(C.Structure):
    _fields_ = [("status", enum), ("dim", i32), ("pos", C.c_size_t), ("message", C.c_char * 248)]


class Mode(C.Structure):
    _fields_ = [("size", i64), ("count", i64), ("weight", i64), ("stride", i64), ("axis", i32), ("into", i32)]


class Layout(C.Structure):
    _fields_ = [("ndim", i32), ("naxes", i32), ("nmodes", i32), ("dtype", enum), ("format", enum),
                ("elem_bits", i32), ("memory_space", i32), ("offset", i64), ("span", i64),
                ("shape", i64 * MAX_NDIM), ("axis_size", i64 * MAX_AXES), ("mode", Mode * MAX_MODES),
                ("chain", C.c_uint8 * MAX_MODES)]


class Witness(C.Structure):
    _fields_ = [("what", enum), ("coord", i64 * MAX_NDIM), ("a", i64), ("b", i64)]


class XlaLayout(C.Structure):
    _fields_ = [("ndim", i32), ("ntiles", i32), ("nsplits", i32), ("minor_to_major", i32 * MAX_NDIM),
                ("tile_ndim", i32 * XLA_MAX_TILES), ("tile_dims", i64 * XLA_MAX_TILE_DIMS), ("tail_padding", i64),
                ("index_type", enum), ("pointer_type", enum), ("element_size_in_bits", i64), ("memory_space", i64),
                ("split_dim", i64 * XLA_MAX_SPLITS), ("split_nindices", i32 * XLA_MAX_SPLITS),
                ("split_indices", i64 * XLA_MAX_SPLIT_INDICES), ("metadata_prefix_bytes", i64)]


class XlaShape(C.Structure):
    _fields_ = [("kind", enum), ("dtype", enum), ("ndim", i32), ("nchildren", i32), ("dims", i64 * MAX_NDIM),
                ("dynamic", C.c_bool * MAX_NDIM), ("has_layout", C.c_bool), ("pos", C.c_size_t),
                ("layout", XlaLayout)]


class Spyre(C.Structure):
    _fields_ = [("rank", i32), ("device_dtype", enum), ("arrangement", enum), ("device_size", i64 * SPYRE_MAX_RANK),
                ("stride_map", i64 * SPYRE_MAX_RANK)]


class Host(C.Structure):
    _fields_ = [("dtype", enum), ("ndim", i32), ("shape", i64 * MAX_NDIM), ("strides", i64 * MAX_NDIM),
                ("offset", i64)]


class SpyreParams(C.Structure):
    _fields_ = [("dim_order", C.POINTER(i32)), ("norder", i32), ("keep_unit_dims", C.c_bool),
                ("has_device_dtype", C.c_bool), ("device_dtype", enum), ("arrangement", enum)]


class Desc(C.Structure):
    _fields_ = [("notation", enum), ("layout", Layout), ("host", Host), ("spyre", Spyre), ("xla", XlaShape)]


class Plan(C.Structure):
    _fields_ = [("opaque", C.c_uint64 * 1408)]


class PlanParams(C.Structure):
    _fields_ = [("dst", C.POINTER(Layout)), ("src", C.POINTER(Layout)), ("pad", C.c_void_p), ("begin", C.POINTER(i64)),
                ("end", C.POINTER(i64)), ("hint", C.c_uint32), ("without", C.c_uint32), ("threads", i32),
                ("convert", C.c_bool)]


# What a test of the binding compares with the header: C name, class.
STRUCTS = {"tg_error": Error, "tg_mode": Mode, "tg_layout": Layout, "tg_witness": Witness,
           "tg_xla_layout": XlaLayout, "tg_xla_shape": XlaShape, "tg_spyre": Spyre, "tg_host": Host,
           "tg_spyre_params": SpyreParams, "tg_desc": Desc, "tg_plan_params": PlanParams, "tg_plan": Plan}


class TegulaError(Exception):
    def __init__(self, error):
        self.status, self.dim, self.pos = error.status, error.dim, error.pos
        self.message = error.message.decode("utf-8")
        super().__init__(f"{STATUS[self.status]}: {self.message}")


lib = C.CDLL(LIBRARY)


def _declare(name, result, *args):
    if hasattr(lib, name):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, list(args)


_P, _S, _E = C.POINTER, C.c_size_t, C.POINTER(Error)
_L, _D, _I = C.POINTER(Layout), C.POINTER(Desc), C.POINTER(i64)
_declare("tg_version", C.c_char_p)
_declare("tg_status_name", C.c_char_p, enum)
_declare("tg_dtype_name", C.c_char_p, enum)
_declare("tg_dtype_bits", i32, enum)
_declare("tg_dtype_storage_bits", i32, enum)
_declare("tg_dtype_from_name", enum, C.c_char_p, _S)
_declare("tg_format_name", C.c_char_p, enum)
_declare("tg_format_from_name", enum, C.c_char_p, _S)
_declare("tg_format_bits", i32, enum)
_declare("tg_format_for_dtype", enum, enum)
_declare("tg_arrangement_name", C.c_char_p, enum)
_declare("tg_layout_strided", enum, _L, enum, i32, _I, _I, i64, _E)
_declare("tg_layout_validate", enum, _L, _E)
_declare("tg_layout_numel", i64, _L)
_declare("tg_layout_nbytes", enum, _I, _L, _E)
_declare("tg_layout_offset", i64, _L, _I)
_declare("tg_layout_in_bounds", C.c_bool, _L, _I, _E)
_declare("tg_layout_coord", enum, _P(enum), _I, _L, i64, _E)
_declare("tg_layout_coverage", enum, _P(C.c_bool), _P(C.c_bool), _I, _L, _E)
_declare("tg_layout_equal", enum, _P(C.c_bool), _P(Witness), _L, _L, C.c_bool, _E)
_declare("tg_layout_split", enum, _L, _L, i32, i64, _E)
_declare("tg_layout_merge", enum, _L, _L, i32, _E)
_declare("tg_layout_reorder", enum, _L, _L, _P(i32), _E)
_declare("tg_layout_coalesce", enum, _L, _L, _E)
_declare("tg_layout_permute", enum, _L, _L, _P(i32), _E)
_declare("tg_layout_transpose", enum, _L, _L, i32, i32, _E)
_declare("tg_layout_reshape", enum, _L, _L, i32, _I, _E)
_declare("tg_layout_slice", enum, _L, _L, i32, i64, i64, i64, _E)
_declare("tg_layout_expand", enum, _L, _L, i32, i64, _E)
_declare("tg_layout_squeeze", enum, _L, _L, i32, _E)
_declare("tg_layout_unsqueeze", enum, _L, _L, i32, _E)
_declare("tg_layout_from_xla", enum, _L, _P(XlaShape), _E)
_declare("tg_spyre_default", enum, _P(Spyre), _P(Host), _P(SpyreParams), _E)
_declare("tg_spyre_from_dim_map", enum, _P(Spyre), _P(Host), i32, _I, _I, _P(SpyreParams), _E)
_declare("tg_spyre_dim_map", enum, _I, _P(Spyre), _P(Host), _E)
_declare("tg_layout_from_spyre", enum, _L, _P(Spyre), _P(Host), _E)
_declare("tg_spyre_str", _S, C.c_char_p, _S, _P(Spyre))
_declare("tg_desc_parse", enum, _D, C.c_char_p, _S, _E)
_declare("tg_desc_format", _S, C.c_char_p, _S, _D)
_declare("tg_desc_convert", enum, _D, _D, enum, _E)
_declare("tg_cute_format", enum, C.c_char_p, _S, _P(_S), _L, _E)
_declare("tg_plan_init", enum, _P(Plan), _P(PlanParams), _E)
_declare("tg_plan_run", enum, _P(Plan), C.c_void_p, C.c_void_p, C.c_void_p, _E)

_PATTERN = 0xA5
_error = Error()


def _call(function, out, *args):
    """function(&out, *args, &error); `out` keeps its fill pattern where the call fails."""
    size = C.sizeof(out)
    C.memset(C.byref(out), _PATTERN, size)
    _error.message = b""
    status = function(out if isinstance(out, C.Array) else C.byref(out), *args, C.byref(_error))
    if status != OK:
        assert _error.status == status, f"returned {STATUS[status]}, error says {STATUS[_error.status]}"
        assert _error.message, f"{STATUS[status]} without a message"
        untouched = C.string_at(C.byref(out), size) == bytes([_PATTERN]) * size
        assert untouched, f"output written on failure: {_error.message}"
        raise TegulaError(_error)
    return out


def ints(values):
    return (i64 * max(1, len(values)))(*values)


def ints32(values):
    return (i32 * max(1, len(values)))(*values)


# ---- text ---------------------------------------------------------------------


def parse(text):
    data = text.encode("utf-8")
    return _call(lib.tg_desc_parse, Desc(), data, len(data))


def _text(function, *args):
    need = function(None, 0, *args)
    buffer = C.create_string_buffer(need + 1)
    assert function(buffer, need + 1, *args) == need
    assert len(buffer.value) == need
    return buffer.value.decode("utf-8")


def format(desc):
    return _text(lib.tg_desc_format, C.byref(desc))


def spyre_str(spyre):
    return _text(lib.tg_spyre_str, C.byref(spyre))


def convert(desc, notation):
    return _call(lib.tg_desc_convert, Desc(), C.byref(desc), NOTATIONS.index(notation))


def cute(layout):
    need = _S(0)
    buffer = C.create_string_buffer(1024)
    _error.message = b""
    status = lib.tg_cute_format(buffer, 1024, C.byref(need), C.byref(layout), C.byref(_error))
    if status != OK:
        assert _error.message
        raise TegulaError(_error)
    assert need.value == len(buffer.value)
    return buffer.value.decode()


# ---- queries --------------------------------------------------------------------


def shape(layout):
    return tuple(layout.shape[: layout.ndim])


def strided(dtype, shape, strides=None, offset=0):
    return _call(lib.tg_layout_strided, Layout(), dtype, len(shape), ints(shape),
                 None if strides is None else ints(strides), offset)


def validate(layout):
    if lib.tg_layout_validate(C.byref(layout), C.byref(_error)) != OK:
        raise TegulaError(_error)


def numel(layout):
    return lib.tg_layout_numel(C.byref(layout))


def nbytes(layout):
    return _call(lib.tg_layout_nbytes, i64(), C.byref(layout)).value


def offset(layout, coord):
    return lib.tg_layout_offset(C.byref(layout), ints(coord))


def offsets(layout, coords):
    """The offset of each coordinate, in order: one C call each, as little Python as possible around it."""
    reference, buffer, call = C.byref(layout), (i64 * MAX_NDIM)(), lib.tg_layout_offset
    ndim, out = layout.ndim, []
    for coord in coords:
        buffer[:ndim] = coord
        out.append(call(reference, buffer))
    return out


def table(layout):
    """The whole map: {coordinate: offset}."""
    coords = list(itertools.product(*(range(n) for n in shape(layout))))
    return dict(zip(coords, offsets(layout, coords)))


def slots(layout, positions):
    """What lives at each offset: a coordinate, PADDING or OUTSIDE."""
    reference, buffer, slot, call = C.byref(layout), (i64 * MAX_NDIM)(), enum(), lib.tg_layout_coord
    error, slot_ref = C.byref(_error), C.byref(slot)
    ndim, out = layout.ndim, []
    for position in positions:
        if call(slot_ref, buffer, reference, position, error) != OK:
            raise TegulaError(_error)
        out.append(tuple(buffer[:ndim]) if slot.value == DATA else slot.value)
    return out


def coord(layout, position):
    return slots(layout, [position])[0]


def coverage(layout):
    unique, exhaustive, data = C.c_bool(), C.c_bool(), i64()
    status = lib.tg_layout_coverage(C.byref(unique), C.byref(exhaustive), C.byref(data), C.byref(layout),
                                    C.byref(_error))
    if status != OK:
        raise TegulaError(_error)
    return unique.value, exhaustive.value, data.value


def equal(a, b, storage=False):
    """(True, None), or (False, witness)."""
    result, witness = C.c_bool(), Witness()
    status = lib.tg_layout_equal(C.byref(result), C.byref(witness), C.byref(a), C.byref(b), storage, C.byref(_error))
    if status != OK:
        raise TegulaError(_error)
    return (True, None) if result.value else (False, witness)


# ---- algebra ----------------------------------------------------------------------


def split(layout, mode, tile):
    return _call(lib.tg_layout_split, Layout(), C.byref(layout), mode, tile)


def merge(layout, mode):
    return _call(lib.tg_layout_merge, Layout(), C.byref(layout), mode)


def reorder(layout, order):
    return _call(lib.tg_layout_reorder, Layout(), C.byref(layout), ints32(order))


def coalesce(layout):
    return _call(lib.tg_layout_coalesce, Layout(), C.byref(layout))


def permute(layout, perm):
    return _call(lib.tg_layout_permute, Layout(), C.byref(layout), ints32(perm))


def transpose(layout, dim0, dim1):
    return _call(lib.tg_layout_transpose, Layout(), C.byref(layout), dim0, dim1)


def reshape(layout, shape):
    return _call(lib.tg_layout_reshape, Layout(), C.byref(layout), len(shape), ints(shape))


def slice_(layout, dim, start, stop, step):
    return _call(lib.tg_layout_slice, Layout(), C.byref(layout), dim, start, stop, step)


def expand(layout, dim, size):
    return _call(lib.tg_layout_expand, Layout(), C.byref(layout), dim, size)


def squeeze(layout, dim):
    return _call(lib.tg_layout_squeeze, Layout(), C.byref(layout), dim)


def unsqueeze(layout, dim):
    return _call(lib.tg_layout_unsqueeze, Layout(), C.byref(layout), dim)


# ---- Spyre ---------------------------------------------------------------------------


def dim_map(spyre, host):
    out = _call(lib.tg_spyre_dim_map, (i64 * SPYRE_MAX_RANK)(), C.byref(spyre), C.byref(host))
    return list(out[: spyre.rank])


def fields(struct, skip=()):
    """A struct as nested plain values, to compare two of them."""
    if isinstance(struct, C.Array):
        return [fields(item) for item in struct]
    if not isinstance(struct, C.Structure):
        return struct
    return {name: fields(getattr(struct, name), skip) for name, _ in struct._fields_ if name not in skip}
