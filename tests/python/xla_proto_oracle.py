"""What XLA makes of the bytes of a proto, asked of jaxlib and told from the format alone.

jaxlib has no call that reads a ShapeProto, but it reads HLO modules, and a module's program shape has shapes. A
name stands behind it: protobuf's parser stops at a fault, and jaxlib does not look whether it did.

`strict_reasons` is the list of docs/xla-proto.md, written a second time and without our reader.
"""

import jaxlib_process
import xla_ctypes as xla
from xla_proto_c import BITS32, BITS64, BYTES, END_GROUP, GROUP, VARINT, message_field, number_field

TOKEN = number_field(2, 17)

SERVER = r"""
import json, sys
from jaxlib import xla_client as xc, _hlo
def write_shape(text):
    return xc.Shape(text).to_serialized_proto().hex()
def write_layout(text):
    return xc.Shape(text).layout().__getstate__()[0].hex()
def read_program(data):
    computation = xc.XlaComputation(bytes.fromhex(data))
    if computation.name() != "end":
        raise ValueError("protobuf's parser stopped")
    program = computation.program_shape()
    shapes = program.parameter_shapes() + [program.result_shape()]
    return [repr(program), [s.to_serialized_proto().hex() for s in shapes], [str(s) for s in shapes]]
def module(text):
    return _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto().hex()
ask = {"write shape": write_shape, "write layout": write_layout, "read program": read_program, "module": module}
for line in sys.stdin:
    what, argument = json.loads(line)
    try:
        answer = [True, ask[what](argument)]
    except Exception as e:
        answer = [False, str(e)]
    print(json.dumps(answer), flush=True)
"""


class Oracle(jaxlib_process.Jaxlib):
    def __init__(self):
        super().__init__(SERVER)

    def __call__(self, what, argument):
        """(accepted, answer or message)"""
        answer = self.ask([what, argument])
        assert answer is not None, f"XLA aborts at {what} {argument}"
        return answer

    def write_shape(self, text):
        accepted, answer = self("write shape", text)
        assert accepted, answer
        return bytes.fromhex(answer)

    def write_layout(self, text):
        accepted, answer = self("write layout", text)
        assert accepted, answer
        return bytes.fromhex(answer)

    def read_program(self, data):
        """(repr, protos, texts) or None, and the message."""
        accepted, answer = self("read program", (message_field(4, data) + message_field(1, b"end")).hex())
        if not accepted:
            return None, answer
        return (answer[0], [bytes.fromhex(shape) for shape in answer[1]], answer[2]), None

    def read_shape(self, data):
        """(proto, text) or None, and the message."""
        answer, said = self.read_program(message_field(1, data) + message_field(2, TOKEN) + message_field(3, b"x"))
        return ((answer[1][0], answer[2][0]), None) if answer else (None, said)


# ---- the strictness list, from the bytes alone ---------------------------------------------------

# Field: its name, and what it holds; a capital for a message of its own, a list for many.
TYPES = {
    "Shape": {2: ("element_type", "int"), 3: ("dimensions", ["int"]), 4: ("tuple_shapes", ["Shape"]),
              5: ("layout", "Layout"), 6: ("is_dynamic_dimension", ["int"])},
    "Layout": {1: ("minor_to_major", ["int"]), 6: ("tiles", ["Tile"]), 7: ("element_size_in_bits", "int"),
               8: ("memory_space", "int"), 9: ("dim_level_types", ["int"]), 10: ("physical_shape", "Shape"),
               11: ("index_primitive_type", "int"), 12: ("pointer_primitive_type", "int"), 13: ("dim_unique", ["int"]),
               14: ("dim_ordered", ["int"]), 15: ("dynamic_shape_metadata_prefix_bytes", "int"),
               16: ("tail_padding_alignment_in_elements", "int"), 17: ("split_configs", ["Split"])},
    "Tile": {1: ("dimensions", ["int"])},
    "Split": {1: ("dimension", "int"), 2: ("split_indices", ["int"])},
    "Program": {1: ("parameters", ["Shape"]), 2: ("result", "Shape"), 3: ("parameter_names", ["text"])},
}
ARRAY_TYPES = set(range(1, 37)) - {13, 14, 17, 34}


class Broken(Exception):
    """Not a message at all."""


def take_varint(data, pos, most):
    value = 0
    for i in range(most):
        if pos + i >= len(data):
            raise Broken
        value |= (data[pos + i] & 127) << 7 * i
        if data[pos + i] < 128:
            return value, pos + i + 1
    raise Broken


def take_value(data, pos, wire_type, number):
    """The value of a field, None for a group, and where it ends."""
    if wire_type == VARINT:
        value, pos = take_varint(data, pos, 10)
        return (value + 2**63) % 2**64 - 2**63, pos
    if wire_type == GROUP:
        return None, skip_group(data, pos, number)
    if wire_type == BYTES:
        size, pos = take_varint(data, pos, 5)
    elif wire_type in (BITS64, BITS32):
        size = 8 if wire_type == BITS64 else 4
    else:
        raise Broken
    if size > len(data) - pos:
        raise Broken
    return data[pos:pos + size], pos + size


def skip_group(data, pos, number):
    while True:
        tag, pos = take_varint(data, pos, 5)
        if tag & 2**32 - 1 == number << 3 | END_GROUP:
            return pos
        _, pos = take_value(data, pos, tag & 7, tag >> 3 & 2**29 - 1)


def fields(data, wanted):
    """The values of the fields with this number."""
    pos = 0
    while pos < len(data):
        tag, pos = take_varint(data, pos, 5)
        value, pos = take_value(data, pos, tag & 7, tag >> 3)
        if tag >> 3 == wanted:
            yield value


def decode(kind, data, reasons):
    """A dictionary of what XLA reads; adds to `reasons` why we do not."""
    out = {name: [] for name, holds in TYPES[kind].values() if isinstance(holds, list)}
    pos = 0
    while pos < len(data):
        tag, pos = take_varint(data, pos, 5)
        if tag >> 32:
            reasons.add("a field number above 2^29-1")
        number, wire_type = tag >> 3 & 2**29 - 1, tag & 7
        if number == 0:
            raise Broken
        value, pos = take_value(data, pos, wire_type, number)
        if wire_type == GROUP:
            reasons.add("a group")
        name, holds = TYPES[kind].get(number, (None, None))
        if name is not None:
            put(out, name, holds, wire_type, value, reasons)
    return out


def put(out, name, holds, wire_type, value, reasons):
    many, holds = isinstance(holds, list), holds[0] if isinstance(holds, list) else holds
    if holds == "int" and many and wire_type == BYTES:
        pos = 0
        while pos < len(value):
            number, pos = take_varint(value, pos, 10)
            out[name].append((number + 2**63) % 2**64 - 2**63)
    elif wire_type != (VARINT if holds == "int" else BYTES):
        reasons.add("a field with another wire type")
    elif holds == "text":
        if not is_utf8(value):
            raise Broken
        out[name].append(value)
    elif holds == "int":
        out[name] = out[name] + [value] if many else value
    elif many:
        out[name].append(decode(holds, value, reasons))
    else:
        if name in out:
            reasons.add("a message that stands twice")
        out[name] = decode(holds, value, reasons)


def is_utf8(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def int32(number):
    return (number + 2**31) % 2**32 - 2**31


def layout_reasons(layout):
    tiles = [len(tile["dimensions"]) for tile in layout["tiles"]]
    splits = [len(split["split_indices"]) for split in layout["split_configs"]]
    if (len(layout["minor_to_major"]) > xla.MAX_NDIM or len(tiles) > xla.MAX_TILES or sum(tiles) > xla.MAX_TILE_DIMS
            or len(splits) > xla.MAX_SPLITS or sum(splits) > xla.MAX_SPLIT_INDICES
            or any(int32(n) != n for n in layout["minor_to_major"])):
        yield "a limit of this library"
    if not -128 <= layout.get("memory_space", 0) <= 127:
        yield "a memory space outside of int8"
    if any(not -128 <= int32(layout.get(f"{what}_primitive_type", 0)) <= 127 for what in ("index", "pointer")):
        yield "a type outside of int8"
    if "physical_shape" in layout:
        yield "a physical shape"


def shape_reasons(shape):
    """For what XLA looks at: the elements of tuples, not those of arrays."""
    element_type = int32(shape.get("element_type", 0))
    if element_type in ARRAY_TYPES:
        if len(shape["dimensions"]) > xla.MAX_NDIM:
            yield "a limit of this library"
        yield from layout_reasons(shape["layout"]) if "layout" in shape else ()
    elif element_type in (13, 34):
        if element_type == 34 and "layout" in shape:
            yield "a layout of a buffer"
        for element in shape["tuple_shapes"]:
            yield from shape_reasons(element)
    elif element_type not in (14, 17):
        yield "an element type that there is not"


def strict_reasons(kind, data):
    """Why we refuse a message that XLA reads; empty if there is no reason to."""
    reasons = set()
    message = decode(kind, data, reasons)
    if kind == "Shape":
        return reasons | set(shape_reasons(message))
    for shape in message["parameters"] + [message.get("result", {})]:
        reasons |= set(shape_reasons(shape))
    return reasons


def is_well_formed(kind, data):
    try:
        decode(kind, data, set())
    except Broken:
        return False
    return True
