"""ctypes mirror of include/tegula/xla_proto.h, on top of xla_ctypes; and protobuf's wire format, written by hand."""
import ctypes as C

import xla_ctypes as xla
from xla_ctypes import Error, Layout, Shape, lib


class Name(C.Structure):
    _fields_ = [("text", C.c_void_p), ("len", C.c_size_t)]


class Program(C.Structure):
    _fields_ = [("nodes", C.POINTER(Shape)), ("node_cap", C.c_size_t), ("node_count", C.c_size_t),
                ("names", C.POINTER(Name)), ("name_cap", C.c_size_t), ("nparameters", C.c_size_t)]


size_p, error_p = C.POINTER(C.c_size_t), C.POINTER(Error)
lib.tg_xla_shape_to_proto.argtypes = [C.c_void_p, C.c_size_t, size_p, C.POINTER(Shape), C.c_size_t, error_p]
lib.tg_xla_shape_from_proto.argtypes = [C.POINTER(Shape), C.c_size_t, size_p, C.c_char_p, C.c_size_t, error_p]
lib.tg_xla_layout_to_proto.argtypes = [C.c_void_p, C.c_size_t, size_p, C.POINTER(Layout), error_p]
lib.tg_xla_layout_from_proto.argtypes = [C.POINTER(Layout), C.c_char_p, C.c_size_t, error_p]
lib.tg_xla_program_shape_to_proto.argtypes = [C.c_void_p, C.c_size_t, size_p, C.POINTER(Program), error_p]
lib.tg_xla_program_shape_from_proto.argtypes = [C.POINTER(Program), C.c_char_p, C.c_size_t, error_p]


def check(status, error, data=None):
    if status == 0:
        return
    assert error.status == status and error.message and b"\n" not in error.message
    assert data is None or error.pos <= len(data)
    raise xla.Refused(error)


def write(call):
    """The bytes that call(buf, cap, need, err) writes, asked for twice: the length, then the message."""
    need, again, error = C.c_size_t(), C.c_size_t(), Error()
    check(call(None, 0, C.byref(need), C.byref(error)), error)
    buffer = C.create_string_buffer(need.value + 1)
    assert call(buffer, need.value, C.byref(again), None) == 0 and again.value == need.value
    assert buffer.raw[need.value] == 0
    return buffer.raw[:need.value]


def shape_to_proto(nodes):
    return write(lambda buf, cap, need, err: lib.tg_xla_shape_to_proto(buf, cap, need, nodes, len(nodes), err))


def layout_to_proto(layout):
    return write(lambda buf, cap, need, err: lib.tg_xla_layout_to_proto(buf, cap, need, C.byref(layout), err))


def shape_from_proto(data):
    """The nodes; reads once to count and once to store."""
    count, error = C.c_size_t(12345), Error()
    status = lib.tg_xla_shape_from_proto(None, 0, C.byref(count), data, len(data), C.byref(error))
    assert not status or count.value == 12345, "a failed call wrote an output"
    check(status, error, data)
    nodes, again = (Shape * count.value)(), C.c_size_t()
    assert lib.tg_xla_shape_from_proto(nodes, len(nodes), C.byref(again), data, len(data), None) == 0
    assert again.value == count.value
    return nodes


def layout_from_proto(data):
    out, error = Layout(), Error()
    check(lib.tg_xla_layout_from_proto(C.byref(out), data, len(data), C.byref(error)), error, data)
    return out


def program_from_proto(data):
    """(nodes, names as bytes)"""
    p, error = Program(), Error()
    check(lib.tg_xla_program_shape_from_proto(C.byref(p), data, len(data), C.byref(error)), error, data)
    nodes, names = (Shape * p.node_count)(), (Name * p.nparameters)()
    p.nodes, p.node_cap, p.names, p.name_cap = nodes, len(nodes), names, len(names)
    assert lib.tg_xla_program_shape_from_proto(C.byref(p), data, len(data), None) == 0
    assert (p.node_count, p.nparameters) == (len(nodes), len(names))
    return nodes, [C.string_at(name.text, name.len) for name in names]


def program_to_proto(nodes, names):
    """names: bytes each, or a number of parameters without names."""
    p = Program(nodes=nodes, node_count=len(nodes), nparameters=names if isinstance(names, int) else len(names))
    if not isinstance(names, int):
        p.names = (Name * len(names))(*(Name(C.cast(C.c_char_p(n), C.c_void_p), len(n)) for n in names))
    return write(lambda buf, cap, need, err: lib.tg_xla_program_shape_to_proto(buf, cap, need, C.byref(p), err))


# ---- the wire format -------------------------------------------------------------------------

VARINT, BITS64, BYTES, GROUP, END_GROUP, BITS32 = range(6)


def varint(number, length=1):
    """At least `length` bytes, the shortest form as a rule."""
    number &= 2**64 - 1
    out = bytearray()
    while number >= 128 or len(out) < length - 1:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, wire_type, value):
    return varint(number << 3 | wire_type) + (varint(len(value)) if wire_type == BYTES else b"") + value


def number_field(number, value):
    return field(number, VARINT, varint(value))


def message_field(number, value):
    return field(number, BYTES, value)
