"""ctypes binding of include/tegula/xla.h, and shapes as Python values for the tests.

Every call that fails raises Refused, after a check of what the headers promise for all functions: the message is set,
and on failure no output was written. On success the error is untouched.
"""
import ctypes as C

import pytest

import xla_ctypes as xla
from test_oracle_self import read_xla
from xla_ctypes import Layout, MAX_NDIM, Refused, Shape
from xla_naive import Array

i32, i64, enum, size = C.c_int32, C.c_int64, C.c_int, C.c_size_t
lib = xla.lib
PATTERN = 0x5A


class Witness(C.Structure):
    _fields_ = [("what", enum), ("node", size), ("coord", i64 * MAX_NDIM), ("a", i64), ("b", i64)]


class Bitcast(C.Structure):
    _fields_ = [("kind", enum), ("transpose1", i32 * MAX_NDIM), ("transpose2", i32 * MAX_NDIM),
                ("transpose1_shape", Shape), ("reshape_shape", Shape)]


class Pair(C.Structure):
    _fields_ = [("a", i32), ("b", i32)]


class UnitDims(C.Structure):
    _fields_ = [("ndeleted", i32), ("ninserted", i32), ("deleted", i32 * MAX_NDIM), ("inserted", i32 * MAX_NDIM)]


STRUCTS = {"tg_xla_witness": Witness, "tg_xla_bitcast": Bitcast, "tg_xla_pair": Pair, "tg_xla_unit_dims": UnitDims}

(SAME, DIFFERENT_TREE, DIFFERENT_ELEMENT_TYPE, DIFFERENT_DIMENSIONS, DIFFERENT_DYNAMIC, DIFFERENT_MEMORY_SPACE,
 DIFFERENT_METADATA_PREFIX, DIFFERENT_SPLITS, DIFFERENT_WIDTH, DIFFERENT_MAP, DIFFERENT_SPAN) = range(11)
KINDS = ["none", "reshape", "transpose", "trt"]
DATA, PADDING, OUTSIDE = range(3)

IGNORE = {"tiles": 1, "tail_padding": 2, "index_type": 4, "pointer_type": 8, "element_size": 16, "memory_space": 32,
          "splits": 64, "minor_to_major_only": 127, "layout": 256, "element_type": 512, "fp_precision": 1024,
          "dynamic_dimension": 2048, "dimensions": 4096, "buffer": 8192}
COMPARE_METADATA_PREFIX = 128


def call(name, outs, *args):
    """name(&out..., args..., &error); the outs hold what was written."""
    for out in outs:
        C.memset(C.byref(out), PATTERN, C.sizeof(out))
    before = [C.string_at(C.byref(out), C.sizeof(out)) for out in outs]
    error = xla.Error()
    status = getattr(lib, name)(*(C.byref(out) for out in outs), *args, C.byref(error))
    if status == 0:
        assert error.status == 0 and not error.message, "the error is touched on success"
        return outs
    assert error.status == status and error.message and b"\n" not in error.message
    assert before == [C.string_at(C.byref(out), C.sizeof(out)) for out in outs], "output written on failure"
    raise Refused(error)


def in_place(name, out, *args):
    """name(&out, args..., &error) where out is changed; on failure it must be what it was."""
    before, error = C.string_at(C.byref(out), C.sizeof(out)), xla.Error()
    status = getattr(lib, name)(C.byref(out), *args, C.byref(error))
    if status:
        assert error.status == status and error.message
        assert before == C.string_at(C.byref(out), C.sizeof(out)), "output written on failure"
        raise Refused(error)
    return out


def ints(values):
    return (i64 * max(1, len(values)))(*values)


def ints32(values):
    return (i32 * max(1, len(values)))(*values)


def array(text):
    """The one node of an array's text."""
    nodes = xla.parse(text)
    assert len(nodes) == 1
    return nodes[0]


def text(shape):
    return xla.format_shape((Shape * 1)(shape))


def ref(shape):
    return C.byref(shape)


def tree(nodes):
    return nodes, size(len(nodes))


def node(a):
    """An Array of xla_naive as a struct."""
    return array(a.text)


def read(shape):
    """A struct as an Array."""
    dtype, dims, order, tiles, tail, bits = read_xla(text(shape))
    layout = shape.layout
    cuts, at = [], 0
    for i in range(layout.nsplits):
        n = layout.split_nindices[i]
        cuts.append((layout.split_dim[i], list(layout.split_indices[at:at + n])))
        at += n
    return Array(dims, order, tiles, tail, bits, layout.memory_space, cuts, layout.metadata_prefix_bytes, dtype)


def refused(status, function, *args):
    with pytest.raises(Refused) as refusal:
        function(*args)
    assert refusal.value.status == status, refusal.value
    return refusal.value


# ---- one result -------------------------------------------------------------------------------------


def flag(name, *args):
    return call(name, [C.c_bool()], *args)[0].value


def number(name, *args):
    return call(name, [i64()], *args)[0].value


def shape(name, *args):
    return call(name, [Shape()], *args)[0]


def layout(name, *args):
    return call(name, [Layout()], *args)[0]


def numbers(name, n, *args):
    return list(call(name, [(i64 * MAX_NDIM)()], *args)[0])[:n]


def dims(name, n, *args):
    return list(call(name, [(i32 * MAX_NDIM)()], *args)[0])[:n]


# ---- several ------------------------------------------------------------------------------------------


def judged(name, *args):
    """(True, None), or (False, witness)."""
    yes, witness = call(name, [C.c_bool(), Witness()], *args)
    return (True, None) if yes.value else (False, witness)


def equal(a, b):
    return judged("tg_xla_shape_equal", *tree(a), *tree(b))


def equal_fields(a, b, options=0):
    return flag("tg_xla_shape_equal_fields", *tree(a), *tree(b), C.c_uint32(options))


def reshape_is_bitcast(a, b, ignore=False):
    return judged("tg_xla_reshape_is_bitcast", ref(a), ref(b), C.c_bool(ignore))


def reshape_is_bitcast_untiled(a, b, ignore=False):
    return flag("tg_xla_reshape_is_bitcast_untiled", ref(a), ref(b), C.c_bool(ignore))


def transpose_is_bitcast(a, b, perm, ignore=False):
    return judged("tg_xla_transpose_is_bitcast", ref(a), ref(b), ints32(perm), C.c_bool(ignore))


def transpose_is_bitcast_untiled(a, b, perm, ignore=False):
    return flag("tg_xla_transpose_is_bitcast_untiled", ref(a), ref(b), ints32(perm), C.c_bool(ignore))


def deduce_transpose(a, b, untiled=False):
    name = "tg_xla_deduce_transpose" + ("_untiled" if untiled else "")
    found, perm = call(name, [C.c_bool(), (i32 * MAX_NDIM)()], ref(a), ref(b))
    return list(perm)[:b.ndim] if found.value else None


def decompose(a, b, untiled=False):
    return call("tg_xla_decompose_bitcast" + ("_untiled" if untiled else ""), [Bitcast()], ref(a), ref(b))[0]


def align(a, sizes, untiled=False):
    name = "tg_xla_align_layouts" + ("_untiled" if untiled else "")
    found, out = call(name, [C.c_bool(), Shape()], ref(a), len(sizes), ints(sizes))
    return out if found.value else None


def common_factors(a, b):
    outs = [i32(), (Pair * (len(a) + len(b) + 1))()]
    n, pairs = call("tg_xla_common_factors", outs, ints(a), len(a), ints(b), len(b))
    return [[p.a, p.b] for p in pairs[:n.value]]


def unmodified(a, b):
    n, pairs = call("tg_xla_dims_unmodified_by_reshape", [i32(), (Pair * MAX_NDIM)()], ref(a), ref(b))
    return [[p.a, p.b] for p in pairs[:n.value]]


def leaves_dims(a, b, wanted):
    yes, images = call("tg_xla_reshape_leaves_dims", [C.c_bool(), (i32 * MAX_NDIM)()], ref(a), ref(b), ints32(wanted),
                       len(wanted))
    return list(images)[:len(wanted)] if yes.value else None


def units(a, b):
    """(deleted, inserted), or None."""
    yes, out = call("tg_xla_inserted_or_deleted_units", [C.c_bool(), UnitDims()], ref(a), ref(b))
    return (list(out.deleted)[:out.ndeleted], list(out.inserted)[:out.ninserted]) if yes.value else None


def normalize_transpose(output, perm):
    n, sizes, normalized = call("tg_xla_normalize_transpose", [i32(), (i64 * MAX_NDIM)(), (i32 * MAX_NDIM)()],
                                ref(output), ints32(perm))
    return list(sizes)[:n.value], list(normalized)[:n.value]


def linear_index(a, index, reading=""):
    return number("tg_xla_linear_index" + reading, ref(a), ints(index))


def multi_index(a, linear, reading=""):
    """The index, or PADDING or OUTSIDE."""
    slot, index = call("tg_xla_multi_index" + reading, [enum(), (i64 * MAX_NDIM)()], ref(a), i64(linear))
    return tuple(index[:a.ndim]) if slot.value == DATA else slot.value


def subshape(nodes, path):
    first, length = call("tg_xla_subshape", [size(), size()], *tree(nodes), ints(path), size(len(path)))
    return first.value, length.value


def shape_index(nodes, node):
    path, error = (i64 * 512)(), xla.Error()
    n = size()
    status = lib.tg_xla_shape_index(path, size(512), C.byref(n), *tree(nodes), size(node), C.byref(error))
    if status:
        raise Refused(error)
    return list(path)[:n.value]
