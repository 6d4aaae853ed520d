"""XLA's protos, written and read, against XLA's own in jaxlib.

Writing: the bytes are those of Shape.to_serialized_proto(), of Layout.__getstate__() and of the program shapes in
an HLO module. Reading: any bytes are either refused by both, or read the same; what only we refuse is in the list
of docs/xla-proto.md.
"""
import os
import random
import re

import pytest

import xla_ctypes as xla
import xla_proto_c as proto
from test_xla_text import VECTORS, random_shape
from xla_proto_c import BITS32, BITS64, BYTES, END_GROUP, GROUP, VARINT, field, message_field, number_field, varint
from xla_proto_oracle import ARRAY_TYPES, TOKEN, TYPES, Oracle, fields, is_well_formed, strict_reasons

SEED = int(os.environ.get("TEGULA_SEED", "20240531"))


def generator(name):
    print(f"seed {SEED}")
    return random.Random(f"{SEED} {name}")


@pytest.fixture(scope="module")
def oracle():
    pytest.importorskip("jaxlib")
    oracle = Oracle()
    assert oracle.write_shape("f32[]").hex() == "100b2a03800101"
    yield oracle
    oracle.stop()


# ---- comparing ---------------------------------------------------------------------------------


def ours(data):
    try:
        return proto.shape_from_proto(data), None
    except xla.Refused as refusal:
        return None, refusal


def compare(oracle, data):
    """The rule of this file for one ShapeProto; what happened, for counting."""
    theirs, said = oracle.read_shape(data)
    nodes, refusal = ours(data)
    if nodes is not None:
        assert theirs, f"we read {data.hex()}, XLA says {said}"
        assert proto.shape_to_proto(nodes) == theirs[0], data.hex()
        assert xla.format_shape(nodes) == theirs[1], data.hex()
        assert not strict_reasons("Shape", data), f"{data.hex()} is read in spite of {strict_reasons('Shape', data)}"
        return "both read"
    if theirs:
        assert strict_reasons("Shape", data), f"XLA reads {data.hex()} as {theirs[1]}, we say {refusal}"
        return "we are strict"
    return "both refuse" if is_well_formed("Shape", data) else "no message"


# ---- writing -----------------------------------------------------------------------------------


def written(oracle, text):
    """Our bytes and XLA's for a text that both read; None where the text is not for that."""
    try:
        nodes = xla.parse(text)
    except xla.Refused:
        return None
    return nodes, oracle.write_shape(text)


def has_combine(nodes):
    return any(n.layout.tile_dims[i] == xla.COMBINE for n in nodes for i in range(sum(n.layout.tile_ndim)))


def compare_writing(oracle, text):
    pair = written(oracle, text)
    if pair is None:
        return "no shape"
    nodes, theirs = pair
    if has_combine(nodes):
        with pytest.raises(xla.Refused) as refusal:
            proto.shape_to_proto(nodes)
        assert refusal.value.status == "UNREPRESENTABLE"
        assert oracle.read_shape(theirs)[0] is None and ours(theirs)[0] is None, "XLA writes what it does not read"
        return "combines"
    assert proto.shape_to_proto(nodes) == theirs, text
    back = proto.shape_from_proto(theirs)
    assert xla.format_shape(back) == xla.format_shape(nodes)
    if nodes[0].kind == xla.ARRAY:
        layout = proto.layout_to_proto(nodes[0].layout)
        assert layout == oracle.write_layout(text), text
        assert xla.format_layout(proto.layout_from_proto(layout)) == xla.format_layout(nodes[0].layout)
    return "written"


def test_vectors_are_written_as_xla_writes_them(oracle):
    texts = [case["text"] for case in VECTORS["shape_text"]] + VECTORS["shape_text_corpus"]
    happened = [compare_writing(oracle, text) for text in texts]
    assert happened.count("written") > 300 and "combines" in happened


def test_random_shapes_are_written_as_xla_writes_them(oracle):
    rng = generator("written")
    happened = [compare_writing(oracle, random_shape(rng)) for _ in range(1500)]
    assert happened.count("written") > 900 and happened.count("combines") > 20


def test_every_element_type(oracle):
    for number in ARRAY_TYPES:
        data = number_field(2, number) + message_field(3, b"\2")
        theirs, _ = oracle.read_shape(data)
        assert proto.shape_to_proto(proto.shape_from_proto(data)) == theirs[0]


def test_shapes_without_layouts(oracle):
    data = message_field(4, number_field(2, 11) + message_field(3, b"\2\3")) + number_field(2, 13)
    assert compare(oracle, data) == "both read"
    nodes = proto.shape_from_proto(data)
    assert not nodes[1].has_layout and xla.format_shape(nodes) == "(f32[2,3])"


# ---- reading -----------------------------------------------------------------------------------


def some_number(rng):
    return rng.choice([0, 0, 1, 1, 2, 3, 4, 8, 127, 128, 300, -1, -2, -128, -129, 2**31, 2**32 + 8, 2**63 - 1, -2**63])


def encoded_number(rng, number):
    """As a varint, now and then one longer than it need be, up to bits that are dropped."""
    data = varint(number, rng.choice([1] * 12 + [2, 5, 10]))
    return data[:-1] + bytes([rng.randrange(2, 128)]) if len(data) == 10 and rng.random() < 0.1 else data


def random_numbers(rng, name, kind):
    if name == "element_type":
        return [rng.choice([rng.randrange(37), 11, 13, 13, 34])]
    if name == "dimensions" and kind == "Tile":
        return [rng.choice([1, 2, 8, 128, some_number(rng) if rng.random() < 0.05 else 4])
                for _ in range(rng.randrange(4))]
    if name == "tail_padding_alignment_in_elements":
        return [rng.choice([0, 1, 1, 1, 2, 128, -1 if rng.random() < 0.1 else 4])]
    return [some_number(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]


def random_field(rng, kind, depth):
    number = rng.choice(list(TYPES[kind]))
    name, holds = TYPES[kind][number]
    if name == "physical_shape" and rng.random() < 0.9:
        return b""
    holds = holds[0] if isinstance(holds, list) else holds
    if rng.random() < 0.01:
        return field(number, BITS64, bytes(8))
    if holds != "int":
        return message_field(number, random_message(rng, holds, depth + 1)) if depth < 4 else b""
    values = [encoded_number(rng, n) for n in random_numbers(rng, name, kind)]
    if isinstance(TYPES[kind][number][1], list) and rng.random() < 0.7:
        return message_field(number, b"".join(values))
    return b"".join(field(number, VARINT, value) for value in values)


def unknown_field(rng):
    number = rng.choice([1, 18, 99, 2**29 - 1]) + rng.choice([0, 100])
    wire_type, value = rng.choice([(VARINT, b"\5"), (BITS64, bytes(8)), (BYTES, b"abc"), (BITS32, bytes(4)),
                                   (GROUP, b"\x08\x01" + varint(number << 3 | END_GROUP))])
    return field(number, wire_type, value)


def random_message(rng, kind, depth=0):
    """Fields of the right types in any order, some of them twice."""
    fields = [random_field(rng, kind, depth) for _ in range(rng.randrange(6))]
    if kind == "Shape" and rng.random() < 0.95:
        fields.append(number_field(2, random_numbers(rng, "element_type", kind)[0]))
    if rng.random() < 0.03:
        fields.insert(0, unknown_field(rng))
    return b"".join(fields)


def mutated(rng, data, others):
    """Some bits flipped; some bytes lost, doubled, added; an end lost; another message behind it."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        at, what = rng.randrange(len(data) + 1), rng.randrange(7)
        some = data[at:at + rng.randrange(1, 9)]
        if what == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1 and at < len(data):
            data[at] = rng.choice([0, 1, 2, 127, 128, 255, 0x10, 0x1A, 0x22, 0x2A, 0x32])
        elif what == 2:
            data[at:at] = bytes([rng.randrange(256)])
        elif what == 3:
            data[at:at] = some
        elif what == 4:
            del data[at:at + rng.randrange(1, 4)]
        elif what == 5:
            del data[at:]
        else:
            data += rng.choice(others)
    return bytes(data)


@pytest.fixture(scope="module")
def protos(oracle):
    """XLA's bytes for the vectors."""
    pairs = [written(oracle, case["text"]) for case in VECTORS["shape_text"]]
    return [pair[1] for pair in pairs if pair]


def tally(happened):
    print({what: happened.count(what) for what in sorted(set(happened))})
    return happened


def test_random_mutations_are_read_alike(oracle, protos):
    rng = generator("mutations")
    happened = tally([compare(oracle, mutated(rng, rng.choice(protos), protos)) for _ in range(3000)])
    assert set(happened) == {"both read", "both refuse", "we are strict", "no message"}


def test_random_messages_are_read_alike(oracle):
    rng = generator("messages")
    happened = tally([compare(oracle, random_message(rng, "Shape")) for _ in range(3000)])
    assert happened.count("both read") > 500 and happened.count("both refuse") > 300


def test_every_byte_changed(oracle):
    """One small message, each of its bytes in every other value, and every end of it cut off."""
    data = bytes.fromhex("100d2218100b1a0202032a0c0a02010032040a02080240013202000022021011")
    assert compare(oracle, data) == "both read"
    changed = lambda i, byte: data[:i] + bytes([byte]) + data[i + 1:]
    happened = [compare(oracle, changed(i, byte)) for i in range(len(data)) for byte in range(256)]
    happened += [compare(oracle, data[:i]) for i in range(len(data))]
    tally(happened)


@pytest.mark.parametrize("data, words", [
    ("10 0b 1a 01 05 32 02 00 00", "number of is_dynamic_dimension fields (2) does not match number of dimension "),
    ("10 0d 2a 00", "element_type TUPLE should not have a layout."),
    ("10 0e 2a 00", "element_type OPAQUE_TYPE should not have a layout."),
    ("10 11 2a 00", "element_type TOKEN should not have a layout."),
    ("10 22", "Buffer shape must have exactly one tuple shape."),
    ("10 22 22 02 10 0d", "Buffer shape must have array shape."),
])
def test_xla_says_the_same(oracle, data, words):
    _, said = oracle.read_shape(reading(data))
    assert words in said and words in ours(reading(data))[1].message


def reading(text):
    return bytes.fromhex(re.sub(r"\s", "", text))


HAND_PICKED = """
10 00 | 10 28 | 10 ff ff ff ff ff ff ff ff ff 01 | 10 8b 80 80 80 80 80 80 80 80 7f
10 8b 80 80 80 80 80 80 80 80 80 00 | 10 0b 1a 01 05 32 02 00 00 | 10 0b 1a 02 05 05 32 01 01 | 10 0b 32 01 01
10 0b 18 05 18 06 30 00 30 7f | 10 0b 1a 01 05 32 0a 80 80 80 80 80 80 80 80 80 30 | 10 0b 1a 01 05 32 02 80 01
10 0b 1a 01 05 32 0a 80 80 80 80 80 80 80 80 80 01 | 10 0b 1a 01 05 32 01 02 | 10 11 2a 00 | 10 0e 2a 00 | 10 0d 2a 00
10 22 2a 00 | 10 22 | 10 22 22 02 10 0d | 10 22 22 02 10 0b 22 02 10 0b | 10 22 22 02 10 0b 2a 00 | 10 22 22 02 10 0b
10 22 22 02 10 22 | 10 22 22 00 | 10 0b 22 02 10 28 | 10 0d 1a 01 05 | 10 11 22 02 10 28 | 10 11 1a 01 05 32 02 00 00
22 00 10 0d | 10 0d 10 0b | 10 0b 2a 00 2a 00 | 10 0b 2a 02 38 04 2a 00 | 10 0b 2a 02 0a 00 | 10 0b 2a 02 32 00
10 0b 2a 05 32 03 0a 01 00 | 10 0b 2a 0e 32 0c 0a 0a ff ff ff ff ff ff ff ff ff 01
10 0b 2a 0e 32 0c 0a 0a 80 80 80 80 80 80 80 80 80 01 | 10 0b 2a 03 40 ac 02 | 10 0b 2a 02 40 7f
10 0b 2a 03 40 80 01 | 10 0b 2a 03 80 01 00 | 10 0b 2a 0d 80 01 ff ff ff ff ff ff ff ff ff ff 01 | 10 0b 2a 02 58 08
10 0b 2a 02 60 28 | 10 0b 2a 0b 58 ff ff ff ff ff ff ff ff ff 01 | 10 0b 2a 02 52 00 | 10 0b 2a 04 52 02 10 0b
10 0b 2a 03 8a 01 00 | 10 0b 2a 07 8a 01 04 12 02 01 02 | 10 0b 2a 09 4a 02 00 01 6a 01 01 70 05
10 0b 2a 03 4a 01 80 | 10 0b 2a 03 78 f7 01 | 08 01 10 0b | 0a 01 10 0b | f8 ff ff ff 0f 05 10 0b
f8 ff ff ff 1f 05 10 0b | 90 80 80 80 10 0b | 90 80 80 80 00 0b | 90 80 80 80 80 00 0b | 00 05 10 0b | 02 00 10 0b
80 00 05 10 0b | 0b 0c 10 0b | 0b 0b 0c 0c 10 0b | 0b 10 0b | 0c 10 0b | 0b 14 10 0b | 0e 10 0b | 0f 10 0b
09 00 10 0b | 0d 00 00 00 00 10 0b | 12 01 0b | 11 0b 00 00 00 00 00 00 00 | 15 0b 00 | 1b 1c 10 0b | 10 0b 1a 80 00
10 0b 1a 81 80 80 80 00 05 | 10 0b 1a 81 80 80 80 80 00 05 | 10 0b 1a ff ff ff ff 07 | 10 0b 1a 80 80 80 80 08
10 0b 1a 01 85 | 10 0b 1a 0b 80 80 80 80 80 80 80 80 80 80 01 | 10 0b 1d 05 00 00 00 | 10 0b 0a 00 0a 00 08 05 08 05
10 0b 22 01 10 | 10 0b 2a 04 32 02 0a 01
"""


def test_edges_are_read_alike(oracle):
    happened = tally([compare(oracle, reading(case)) for case in re.split(r"[|\n]", HAND_PICKED)])
    assert set(happened) == {"both read", "both refuse", "we are strict", "no message"}


@pytest.mark.parametrize("leaf, own", [(TOKEN, 0), (number_field(2, 11) + message_field(5, b""), 1),
                                       (number_field(2, 11) + message_field(5, message_field(6, b"")), 2)])
def test_nesting_limit(oracle, leaf, own):
    """100 messages inside the outermost one; XLA is asked with a shape that is inside two already."""
    def nested(n):
        data = leaf
        for _ in range(n):
            data = number_field(2, 13) + message_field(4, data)
        return data

    assert oracle.read_shape(nested(98 - own))[0] and not oracle.read_shape(nested(99 - own))[0]
    nodes = proto.shape_from_proto(nested(100 - own))
    assert len(nodes) == 101 - own
    assert proto.shape_from_proto(proto.shape_to_proto(nodes))[100 - own].kind == nodes[100 - own].kind
    with pytest.raises(xla.Refused) as refusal:
        proto.shape_from_proto(nested(101 - own))
    assert refusal.value.status == "LIMIT" and "100 messages" in refusal.value.message
    text = "(" * (101 - own) + ("f32[2]{0:T(8)}" if own == 2 else "f32[2]" if own == 1 else "token[]")
    with pytest.raises(xla.Refused) as refusal:
        proto.shape_to_proto(xla.parse(text + ")" * (101 - own)))
    assert refusal.value.status == "LIMIT" and "100 messages" in refusal.value.message


def test_limits(oracle):
    """At each limit as XLA, one above it an error that names the limit."""
    array = number_field(2, 11)
    many = lambda number, n: message_field(number, bytes(n))
    rows = [(lambda n: array + many(3, n), 16), (lambda n: array + message_field(5, many(1, n)), 16),
            (lambda n: array + message_field(5, message_field(6, b"") * n), 8),
            (lambda n: array + message_field(5, message_field(6, many(1, n - 9)) + message_field(6, many(1, 9))), 32),
            (lambda n: array + message_field(5, message_field(17, b"") * n), 8),
            (lambda n: array + message_field(5, message_field(17, many(2, n))), 32)]
    for make, limit in rows:
        assert compare(oracle, make(limit)) == "both read"
        assert compare(oracle, make(limit + 1)) == "we are strict"
        with pytest.raises(xla.Refused) as refusal:
            proto.shape_from_proto(make(limit + 1))
        assert refusal.value.status == "LIMIT" and f"more than {limit} " in refusal.value.message


# ---- layouts and program shapes ----------------------------------------------------------------


def test_random_layouts_are_read_as_in_a_shape():
    rng = generator("layouts")
    read = 0
    for _ in range(2000):
        layout = random_message(rng, "Layout", 2)
        nodes, in_shape = ours(number_field(2, 11) + message_field(5, layout))
        try:
            alone = proto.layout_from_proto(layout)
        except xla.Refused as refusal:
            assert in_shape and refusal.status == in_shape.status and refusal.pos <= in_shape.pos
            continue
        read += 1
        data = proto.shape_to_proto(nodes)
        assert message_field(5, proto.layout_to_proto(alone)) in data
    assert read > 500


def program(parameters, result, names):
    results = [] if result is None else [result]
    return b"".join(message_field(number, value) for number, values in ((1, parameters), (2, results), (3, names))
                    for value in values)


def trees(nodes):
    """Where each tree of a forest starts and ends."""
    start = 0
    while start < len(nodes):
        end, wanted = start, 1
        while wanted:
            wanted += nodes[end].nchildren - 1
            end += 1
        yield start, end
        start = end


def slice_of(nodes, start, end):
    return (xla.Shape * (end - start))(*nodes[start:end])


def compare_program(oracle, data):
    theirs, said = oracle.read_program(data)
    try:
        nodes, names = proto.program_from_proto(data)
    except xla.Refused as refusal:
        if theirs is None:
            return "both refuse"
        assert strict_reasons("Program", data), f"XLA reads {data.hex()} as {theirs[0]}, we say {refusal}"
        return "we are strict"
    assert theirs, f"we read {data.hex()}, XLA says {said}"
    assert not strict_reasons("Program", data)
    shapes = [slice_of(nodes, *tree) for tree in trees(nodes)]
    assert [proto.shape_to_proto(shape) for shape in shapes] == theirs[1]
    printed = [xla.format_shape(shape, with_layout=False) for shape in shapes]
    said = [f"{name.decode() or '(unknown)'}: {shape}" for name, shape in zip(names, printed)]
    assert theirs[0] == f"({', '.join(said)}) -> {printed[-1]}"
    assert proto.program_to_proto(nodes, names) == program(theirs[1][:-1], theirs[1][-1], names)
    if not any(names):
        assert proto.program_to_proto(nodes, len(names)) == program(theirs[1][:-1], theirs[1][-1], names)
    return "both read"


def test_program_shapes_are_read_alike(oracle, protos):
    rng = generator("programs")
    some_name = lambda: rng.choice([b"", b"x", b"p.1", "\u00e9\U0001f600".encode(), b"\xff" * (rng.random() < 0.1)])
    happened = []
    for _ in range(1000):
        shapes = [rng.choice(protos) for _ in range(rng.randrange(4))]
        names = [some_name() for _ in range(len(shapes) + (rng.random() < 0.05))]
        data = program(shapes, rng.choice(protos) if rng.random() < 0.95 else None, names)
        if rng.random() < 0.3:
            data = mutated(rng, data, protos)
        happened.append(compare_program(oracle, data))
    tally(happened)
    assert happened.count("both read") > 400 and happened.count("both refuse") > 100


def test_names_hold_any_character():
    data = program([TOKEN, TOKEN], TOKEN, [b"a\0b", b""])
    nodes, names = proto.program_from_proto(data)
    assert names == [b"a\0b", b""]
    assert proto.program_to_proto(nodes, names) == data


def test_program_shapes_of_a_module(oracle):
    """The program shapes that XLA puts into a module, of its entry and of each computation, come back byte for byte."""
    text = """HloModule m, entry_computation_layout={(f32[8,128]{1,0:T(8,128)}, s32[],
          (f32[2]{0}, pred[]))->f32[8,128]{0,1}}
      fused { a = f32[4] parameter(0)
        ROOT b = f32[4] negate(a) }
      ENTRY main { p = f32[8,128]{1,0:T(8,128)} parameter(0)
        q = s32[] parameter(1)
        r = (f32[2]{0}, pred[]) parameter(2)
        ROOT s = f32[8,128]{0,1} copy(p) }"""
    accepted, module = oracle("module", text)
    assert accepted, module
    module = bytes.fromhex(module)
    signatures = list(fields(module, 4)) + [s for c in fields(module, 3) for s in fields(c, 4)]
    assert len(signatures) == 3
    for data in signatures:
        nodes, names = proto.program_from_proto(data)
        assert proto.program_to_proto(nodes, names) == data
    names = [proto.program_from_proto(data)[1] for data in signatures]
    assert [b"p", b"q", b"r"] in names and [b"a"] in names


# ---- the page ----------------------------------------------------------------------------------


def documented():
    """The rows of docs/xla-proto.md that say what XLA and we make of some bytes."""
    page = (xla.ROOT / "docs/xla-proto.md").read_text()
    return re.findall(r"^\| `([0-9a-f ]+)` \| `(.+?)` \| ([A-Z]+) \|", page, flags=re.M)


@pytest.mark.parametrize("data, upstream, status", documented())
def test_documented_strictness(oracle, data, upstream, status):
    theirs, _ = oracle.read_shape(reading(data))
    assert theirs[1] == upstream
    with pytest.raises(xla.Refused) as refusal:
        proto.shape_from_proto(reading(data))
    assert refusal.value.status == status


def test_the_page_has_every_reason():
    """Each reason of `strict_reasons` is a row, and the other way round."""
    reasons = [strict_reasons("Shape", reading(data)) for data, _, _ in documented()]
    assert all(len(reason) == 1 for reason in reasons)
    assert set().union(*reasons) == {
        "a field number above 2^29-1", "a group", "a field with another wire type", "a message that stands twice",
        "a memory space outside of int8", "a type outside of int8", "a physical shape",
        "an element type that there is not", "a layout of a buffer", "a limit of this library"}
