"""ctypes mirror of include/tegula/hlo.h, and a module as plain Python values.

The library is the file named by TEGULA_LIB, else build/libtegula.so of this repository.
"""
import ctypes as C

import xla_ctypes as xla

NONE = -1
i32, i64, size, flag = C.c_int32, C.c_int64, C.c_size_t, C.c_bool


class Text(C.Structure):
    _fields_ = [("chars", C.c_void_p), ("len", size)]

    def __str__(self):
        return C.string_at(self.chars, self.len).decode() if self.len else ""


class Header(C.Structure):
    _fields_ = [("present", flag), ("name", Text), ("stack_frames", Text), ("first_attribute", i64),
                ("nattributes", i64), ("ncomputations", i64), ("ninstructions", i64), ("nshapes", i64),
                ("entry", i64), ("kept_bytes", size)]


class Computation(C.Structure):
    _fields_ = [("name", Text), ("signature", Text), ("entry", flag), ("nested", flag), ("loose", flag),
                ("first_instruction", i64), ("ninstructions", i64), ("root", i64), ("first_attribute", i64),
                ("nattributes", i64), ("pos", size)]


class Instruction(C.Structure):
    _fields_ = [("name", Text), ("opcode", Text), ("root", flag), ("in_operand", flag), ("shape", i64),
                ("first_operand", i64), ("noperands", i64), ("first_attribute", i64), ("nattributes", i64),
                ("elided", i64), ("pos", size)]


class Operand(C.Structure):
    _fields_ = [("text", Text), ("name", Text), ("path", Text), ("shape", i64), ("instruction", i64), ("pos", size)]


class Attribute(C.Structure):
    _fields_ = [("key", Text), ("value", Text), ("pos", size)]


class ShapeInfo(C.Structure):
    _fields_ = [("text", Text), ("kind", C.c_int), ("dtype", C.c_int), ("ndim", i32), ("memory_space", i64),
                ("nnodes", i64), ("may_pad", flag)]


def _bind():
    lib, handle, error_p = xla.lib, C.c_void_p, C.POINTER(xla.Error)
    lib.tg_hlo_parse.argtypes = [C.POINTER(handle), C.c_char_p, size, error_p]
    lib.tg_hlo_destroy.argtypes = [C.POINTER(handle)]
    lib.tg_hlo_get_header.argtypes, lib.tg_hlo_get_header.restype = [handle], Header
    for name, result in (("computation", Computation), ("instruction", Instruction), ("operand", Operand),
                         ("attribute", Attribute), ("shape", ShapeInfo), ("arguments", Text)):
        function = getattr(lib, f"tg_hlo_get_{name}")
        function.argtypes, function.restype = [handle, i64], result
    lib.tg_hlo_print.argtypes, lib.tg_hlo_print.restype = [C.c_char_p, size, handle], size
    lib.tg_hlo_print_instruction.argtypes = [C.c_char_p, size, handle, i64]
    lib.tg_hlo_print_instruction.restype = size
    lib.tg_hlo_is_json_dict.argtypes, lib.tg_hlo_is_json_dict.restype = [C.c_char_p, size], flag
    return lib


lib = _bind()


def _text(write):
    """What a function of snprintf's kind writes; bytes 0 may be in it."""
    length = write(None, 0)
    buffer = C.create_string_buffer(length + 1)
    assert write(buffer, length + 1) == length and buffer.raw[length] == 0
    return buffer.raw[:length].decode()


class Module:
    """A module that is read; use in a `with`."""

    def __init__(self, text):
        self.data = text.encode() if isinstance(text, str) else text
        self.handle, error = C.c_void_p(), xla.Error()
        status = lib.tg_hlo_parse(C.byref(self.handle), self.data, len(self.data), C.byref(error))
        xla._check(status, error, self.data)
        self.header = lib.tg_hlo_get_header(self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.tg_hlo_destroy(C.byref(self.handle))

    def attributes(self, owner):
        ids = range(owner.first_attribute, owner.first_attribute + owner.nattributes)
        return [(str(a.key), str(a.value)) for a in (lib.tg_hlo_get_attribute(self.handle, i) for i in ids)]

    def computations(self):
        return [lib.tg_hlo_get_computation(self.handle, i) for i in range(self.header.ncomputations)]

    def instructions(self, computation):
        """(id, instruction), those in operands left out."""
        first = computation.first_instruction
        found = ((i, self.instruction(i)) for i in range(first, first + computation.ninstructions))
        return [(i, instruction) for i, instruction in found if not instruction.in_operand]

    def instruction(self, i):
        return lib.tg_hlo_get_instruction(self.handle, i)

    def operands(self, instruction):
        first = instruction.first_operand
        return [lib.tg_hlo_get_operand(self.handle, i) for i in range(first, first + instruction.noperands)]

    def arguments(self, i):
        return str(lib.tg_hlo_get_arguments(self.handle, i))

    def shape(self, i):
        return str(lib.tg_hlo_get_shape(self.handle, i).text) if i != NONE else None

    def print(self):
        return _text(lambda buf, cap: lib.tg_hlo_print(buf, cap, self.handle))

    def print_instruction(self, i):
        return _text(lambda buf, cap: lib.tg_hlo_print_instruction(buf, cap, self.handle, i))


def is_json_dict(text):
    data = text.encode()
    return lib.tg_hlo_is_json_dict(data, len(data))
