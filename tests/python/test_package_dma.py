"""tegula.dma and tegula.dci: the command's answers, field for field; every element once, by the oracle; and programs
that run write what a relayout does."""
import json
import math
import subprocess
import sys

import numpy
import pytest

import console
import oracle as o
import oracle_cases as cases
import tegula
from lost_blocks import loses_blocks
from test_dma import pairs_of

SPYRE = ["f16[1024,256] spyre", "f16[5,100,150] spyre", "f16[] spyre", "f16[0,3] spyre",
         "f16[40,70] strides=[1,40] spyre", "f16[512] spyre dim_order=[0,-1]", "f32[64,64] spyre",
         "f16[60] spyre device_size=[1,512,64] stride_map=[64,0,1]", "f16[2,3,1,200] spyre",
         "f16[40,60] spyre device_size=[38,64] stride_map=[64,1]"]
OTHERS = ["f32[3,5]{1,0:T(2,2)}", "bf16[20,300]{1,0:T(8,128)(2,1)}", "f32[4,6]", "s4[16]{0:E(4)}"]
SLICE = ("f16[40,60] spyre device_size=[1,40,64] stride_map=[64,60,1]", "f16[40,60] strides=[120,1] offset=60")
TILES = ("f32[2,192]{1,0:T(2,64)}", "f32[2,192]{1,0:T(2,48)}")


def command(text, *options, host=None):
    words = [console.TEGULA, "dma", text, *options, *(("--host", host) if host else ())]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


ASKED = [(text, None) for text in SPYRE + OTHERS] + [SLICE, TILES]


@pytest.mark.parametrize("direction", ["h2d", "d2h"])
@pytest.mark.parametrize("text, host", ASKED)
def test_answers_are_those_of_the_command(text, host, direction):
    program = tegula.dma(text, host=host, direction=direction)
    words = ("--direction", direction)
    assert program.to_dict() == json.loads(command(text, "--json", *words, host=host))
    assert program.emit_c() == command(text, "--emit", "c", *words, host=host)
    told = command(text, *words, host=host)
    for number, descriptor in enumerate(program):
        assert f"{descriptor}\n{descriptor.loops()}\n" in told
        assert descriptor.to_dict() == program.to_dict()["descriptors"][number]
        assert descriptor == program[number] == program[number - len(program)]
        assert hash(descriptor) == hash(program[number])
        assert len(program) == 1 or f"descriptor {number} (of {len(program)}), {descriptor.elements} element" in told
    assert str(program).splitlines() == [str(descriptor) for descriptor in program]
    assert program.loops() == "\n\n".join(descriptor.loops() for descriptor in program)
    assert len(list(program)) == len(program) == len(program.to_dict()["descriptors"])
    assert program.layout == tegula.Layout(text) and program.direction == direction
    assert host is None or program.host == tegula.Layout(host)


@pytest.mark.parametrize("direction", ["h2d", "d2h"])
@pytest.mark.parametrize("text, host", [(text, None) for text in SPYRE] + [SLICE])
def test_dci_is_that_of_the_command(text, host, direction):
    if host and direction == "d2h":
        host = "f16[40,60] strides=[120,1]"
    found, theirs = tegula.dci(text, host=host, direction=direction), command(text, "--dci", "--direction", direction,
                                                                              host=host)
    assert found == json.loads(theirs)
    assert json.dumps(found, separators=(",", ":")) == theirs.strip(), "in the order of the dump"


@pytest.mark.parametrize("per_mode", [False, True])
@pytest.mark.parametrize("shape, strides, order", [([5, 100, 150], None, None), ([40, 70], [1, 40], None),
                                                   ([3, 7, 200], None, [1, 0, 2]), ([7, 65], [65, 1], [0, 1, -1])])
def test_every_element_once(shape, strides, order, per_mode):
    case = cases.spyre("f16", shape, strides, order)
    judge = case.layout
    strides = strides or o.row_major(shape)
    wanted = {place: o.dot(coord, strides) for coord in judge.coords() for place in judge.place(coord)}
    program = tegula.dma(case.text, per_mode=per_mode)
    found = list(pairs_of([{name: getattr(d, name) for name in d.to_dict()} for d in program]))
    assert len(found) == len(wanted) and dict(found) == wanted
    assert sum(d.elements for d in program) == len(wanted)


def test_per_mode_walks_one_device_dimension_at_a_time():
    assert str(tegula.dma("f32[192]{0:T(64)}")[0]) == "((192,), (1,), (1,))"
    assert tegula.dma("f32[192]{0:T(64)}", per_mode=True)[0].ranges == (3, 64)


# ---- running ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["f16[5,100,150] spyre", "f32[40,70] spyre", "f32[3,5]{1,0:T(2,2)}", "f16[] spyre",
                                  "s8[300] spyre", "bf16[20,300]{1,0:T(8,128)(2,1)}", "f32[0,3] spyre",
                                  "u8[12,5]{1,0:T(2,4)}", "f16[40,60] spyre device_size=[38,64] stride_map=[64,1]"])
def test_what_runs_is_what_a_relayout_moves(text):
    layout = tegula.Layout(text)
    host = tegula.Buffer(tegula.dma(text).host)
    rng = numpy.random.default_rng(5)
    host.numpy()[...] = rng.integers(-50, 50, layout.shape).astype(host.numpy().dtype)
    wanted, device = tegula.relayout(host, layout), tegula.Buffer(layout)
    tegula.dma(layout).run(device, host)
    assert bytes(device.storage) == bytes(wanted.storage)
    back = tegula.Buffer(host.layout)
    tegula.dma(layout, direction="d2h").run(device=device, host=back)
    assert bytes(back.storage) == bytes(host.storage)


def test_padding_is_left_alone_and_slices_are_read_in_place():
    array = numpy.arange(41 * 120, dtype=numpy.float16).reshape(41, 120) % 512
    layout = tegula.Layout(SLICE[0])
    device = tegula.Buffer(layout)
    device.numpy()[...] = 0x5555
    whole = tegula.Layout("f16[40,60] strides=[120,1] offset=60")
    memory = numpy.ascontiguousarray(array.reshape(-1)[:whole.span])
    tegula.dma(layout, host=whole).run(device, memory)
    wanted = tegula.relayout(numpy.ascontiguousarray(array[:40, 60:]), layout, pad=None).numpy().copy()
    rows = device.numpy().reshape(40, 64)
    assert (rows[:, 60:] == 0x5555).all() and (rows[:, :60] == wanted.reshape(40, 64)[:, :60]).all()


def test_packed_elements_and_bytes():
    bytes_each = numpy.arange(16, dtype=numpy.uint8) % 8
    packed = numpy.zeros(8, numpy.uint8)
    tegula.dma("s4[16]{0:E(4)}").run(packed, tegula.relayout(bytes_each, "s4[16]", src_layout="s4[16]"))
    assert packed.tolist() == [0x10, 0x32, 0x54, 0x76] * 2


# ---- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("call, error, words", [
    (lambda: tegula.dma(3), TypeError, "layout must be a Layout or its text"),
    (lambda: tegula.dma("f16["), tegula.ParseError, ""),
    (lambda: tegula.dma("f16[4]", host="f16[5]"), tegula.ArgumentError, "shape"),
    (lambda: tegula.dma("f16[4]", direction="up"), tegula.ArgumentError, "'h2d' (host to device) or 'd2h'"),
    (lambda: tegula.dma("f16[4]", direction=1), tegula.ArgumentError, "not 1"),
    (lambda: tegula.dma("f16[64] spyre device_dtype=SENINT8"), tegula.Unsupported, "IEEE_FP16 on the host to SENINT8"),
    (lambda: tegula.dci("f16[4]{0}"), tegula.ArgumentError, "only a Spyre layout has DCI, this one is xla"),
    (lambda: tegula.dci(tegula.Layout("f16[8]").split(0, 4)), tegula.ArgumentError, "in no notation"),
    (lambda: tegula.dma("f16[4]").emit_c("a b"), tegula.ArgumentError, "'a b' is no name"),
    (lambda: tegula.dma("f16[4]").emit_c(3), TypeError, ""),
    (lambda: tegula.dma("f16[4]")[1], IndexError, "no such descriptor"),
    (lambda: tegula.dma("f16[4]")[-2], IndexError, "no such descriptor"),
    (lambda: tegula.dma("f16[4]")["a"], TypeError, ""),
    (lambda: tegula.dma("f16[4]").run(bytearray(8), bytes(7)), tegula.ArgumentError, "has 7 bytes"),
    (lambda: tegula.dma("f16[4]").run(bytes(8), bytes(8)), tegula.ArgumentError, "device is read-only"),
    (lambda: tegula.dma("f16[4]", direction="d2h").run(bytes(8), bytes(8)), tegula.ArgumentError, "host is read-only"),
    (lambda: type(tegula.dma("f16[4]"))(), TypeError, ""),
    (lambda: tegula.Descriptor(), TypeError, ""),
])
def test_bad_input_is_an_exception(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_values():
    one, other = tegula.dma("f16[5,150] spyre"), tegula.dma("f16[5,150] spyre", direction="d2h")
    assert one[0] != one[1] and one[0] != other[0] and one[0] != str(one[0]) and len({*one, *one}) == 2
    assert repr(one[1]).startswith("tegula.Descriptor(ranges=(5, 22), device_strides=(64, 1)")
    assert repr(one) == f"<tegula.Program h2d of {one.layout}: 2 descriptors>"
    assert math.prod(one[0].ranges) == one[0].elements == 640


def test_no_reference_is_lost():
    device, host = tegula.Buffer("f16[5,150] spyre"), tegula.Buffer("f16[5,150]")

    def everything():
        for direction in ("h2d", "d2h"):
            program = tegula.dma(device.layout, direction=direction)
            program.to_dict(), str(program), repr(program), program.loops(), program.emit_c(), list(program)
            program.run(device, host), program.layout, program.host, program.direction
            repr(program[0]), hash(program[0]), program[0] == program[1], program[0].ranges
            tegula.dci(device.layout, direction=direction)
        for bad in (lambda: tegula.dma("f16[4]", host="f16[5]"), lambda: tegula.dci("f16[4]"), lambda: program[9],
                    lambda: program.run(device, bytes(3)), lambda: program.run(3, host), lambda: program.emit_c("-"),
                    lambda: tegula.dma("f16[64] spyre device_dtype=SENINT8")):
            try:
                bad()
            except (tegula.Error, TypeError, IndexError):
                pass

    watched = [device, host, device.layout, tegula.Descriptor, tegula.Program]
    everything()
    before = [sys.getrefcount(item) for item in watched]
    assert not loses_blocks(everything, 100, 300, 200)
    assert [sys.getrefcount(item) for item in watched] == before
