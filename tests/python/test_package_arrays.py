"""Whose memory relayout, Plan and Buffer take and give: NumPy, ml_dtypes, ctypes, buffers, DLPack, JAX and PyTorch."""
import copy
import ctypes
import gc
import math
import re
import sys

import ml_dtypes
import numpy
import pytest

import tegula
from lost_blocks import loses_blocks
from some_arrays import DTYPES, SMALL, moved, raw, some
from tegula import Buffer, Layout, Plan, relayout


def test_numpy_arrays_as_device_memory():
    """Where the device stores numbers as the host does, an array of them with the storage's sizes is memory."""
    host = numpy.arange(640, dtype="f4").reshape(16, 40)
    plan, memory = Plan("f32[16,40]", "f32[16,40] spyre", pad=0), numpy.zeros((2, 16, 32), "f4")
    plan.run(memory, host)
    assert (memory[0] == host[:, :32]).all() and (memory[1, :, :8] == host[:, 32:]).all()
    assert plan.verify(memory, host) is None
    with pytest.raises(tegula.ArgumentError, match="its elements are f16, not SEN169_FP16"):
        Plan("f16[16,64]", "f16[16,64] spyre", pad=0, convert=True).run(numpy.zeros((1, 16, 64), "f2"),
                                                                             numpy.zeros((16, 64), "f2"))


def test_memoryview_bytes_and_bytearray():
    array = some("int16", (4, 6))
    assert raw(relayout(memoryview(array), "s16[4,6]").numpy()) == raw(array)
    assert raw(relayout(array.tobytes(), "s16[4,6]{0,1}", src_layout="s16[4,6]").numpy().reshape(6, 4).T) == raw(array)
    out = bytearray(48)
    relayout(array, "s16[4,6]", out=out)
    assert bytes(out) == array.tobytes()
    with pytest.raises(tegula.ArgumentError, match="read-only"):
        relayout(array, "s16[4,6]", out=bytes(48))
    array.flags.writeable = False
    with pytest.raises(tegula.ArgumentError, match="read-only"):
        relayout(array, "s16[4,6]", out=array)


@pytest.mark.parametrize("kind, name", [(ctypes.c_float, "f32"), (ctypes.c_int64, "s64"), (ctypes.c_uint8, "u8"),
                                        (ctypes.c_bool, "pred"), (ctypes.c_double, "f64")])
def test_arrays_of_ctypes(kind, name):
    """They give no strides, whoever asks for them, and a number of theirs no sizes either."""
    row, table = (kind * 3)(1, 0, 1), ((kind * 3) * 2)((1, 0, 1), (0, 0, 1))
    assert bytes(relayout(row, f"{name}[3]").storage) == bytes(row)
    assert Layout.of(table) == Layout(f"{name}[2,3]")
    assert Layout.of(kind(1)) == Layout(f"{name}[]") and bytes(relayout(kind(1), f"{name}[]").storage) == bytes(kind(1))
    turned = relayout(table, f"{name}[2,3]{{0,1}}")
    out = ((kind * 3) * 2)()
    assert relayout(turned, f"{name}[2,3]", out=out) is out and bytes(out) == bytes(table)
    Plan(f"{name}[2,3]", f"{name}[2,3]").run(out, ((kind * 3) * 2)())
    assert bytes(out) == bytes(len(bytes(out)))
    assert Layout.of((kind * 0)()) == Layout(f"{name}[0]")


def test_arrays_of_ctypes_elsewhere():
    layout = Layout("f32[4] spyre")
    assert layout.offsets((ctypes.c_int64 * 1 * 2)((3,), (1,))).numpy().tolist() == [3, 1]
    assert layout.coords((ctypes.c_int64 * 2)(3, 31)).numpy().tolist() == [[3], [-1]]
    device = Buffer(layout)
    tegula.dma(layout).run(device, (ctypes.c_float * 4)(1, 2, 3, 4))
    assert bytes(device.storage[:16]) == bytes((ctypes.c_float * 4)(1, 2, 3, 4))
    deep = ctypes.c_uint8
    for _ in range(20):
        deep = deep * 1
    with pytest.raises(tegula.LimitError, match="20 dimensions"):
        relayout(deep(), "u8[1]")


def test_a_bytearray_cannot_shrink_under_a_view():
    buffer = Buffer("u8[16]")
    view = memoryview(buffer)
    del buffer
    gc.collect()
    view[3] = 9
    assert bytes(view)[3] == 9


def test_buffer_protocol():
    buffer = relayout(some("int32", (3, 4)), "s32[3,4] strides=[1,3]")
    view = memoryview(buffer)
    assert (view.shape, view.strides, view.format, view.itemsize, view.readonly) == ((3, 4), (4, 12), "i", 4, False)
    assert view.tolist() == numpy.asarray(buffer).tolist()
    with pytest.raises(BufferError):
        numpy.frombuffer(buffer, numpy.int32)
    assert numpy.frombuffer(Buffer("s32[3]"), numpy.int32).tolist() == [0, 0, 0]
    tiled = Buffer("f32[5,9]{1,0:T(8,128)}")
    assert (memoryview(tiled).shape, memoryview(tiled).format) == ((4096,), "B")
    assert buffer.address % 128 == 0 and buffer.nbytes == 48
    with pytest.raises(tegula.ArgumentError, match="is at -3"):
        Buffer("f32[4] strides=[-1]")
    assert memoryview(Buffer("f32[4] strides=[-1] offset=3")).strides == (-4,)
    assert Buffer("f32[0,3] strides=[4611686018427387904,1]").numpy().shape == (0, 3)
    assert eval(repr(Buffer("f32[4]"))).layout == Layout("f32[4]")


def test_arrays_of_numpy_from_buffers():
    buffer = relayout(some("bfloat16", (3, 4)), "bf16[3,4]")
    assert numpy.asarray(buffer).dtype == ml_dtypes.bfloat16
    with pytest.raises(BufferError):
        memoryview(buffer)
    asked = numpy.asarray(buffer, dtype=numpy.float32)
    assert asked.dtype == numpy.float32
    shared = buffer.numpy()
    shared[0, 0] = 5
    assert buffer.numpy()[0, 0] == 5 and numpy.array(buffer)[0, 0] == 5
    copied = numpy.array(buffer, copy=True)
    copied[0, 0] = 1
    assert buffer.numpy()[0, 0] == 5


@pytest.mark.parametrize("source, words", [
    (numpy.zeros(3, ">f2"), "src: its elements are big-endian"),
    (numpy.array(["a"]), "no type of ours"), (numpy.array([object()]), ""),
    (numpy.zeros(3, "M8[s]"), ""), (numpy.zeros((1,) * 17), ""),
    (numpy.zeros(4, [("a", "u1"), ("b", "<u2")])["b"], "steps by 3 bytes"), (numpy.zeros(3, "g"), "")])
def test_arrays_that_are_no_tensors(source, words):
    with pytest.raises((tegula.Error, TypeError, BufferError)) as caught:
        relayout(source, "f32[3]")
    assert words in str(caught.value)


def test_errors_say_what_python_users_called():
    with pytest.raises(tegula.ArgumentError) as error:
        relayout(bytes(12), "f32[4]", src_layout="f32[3]")
    assert str(error.value) == error.value.message == "the shapes differ: to [4], src [3]"
    with pytest.raises(MemoryError, match="4611686018427387904 bytes"):
        Buffer("u8[4611686018427387904]")
    for source in (bytes(12), bytearray(12), numpy.zeros(12, numpy.uint8)):
        for to in ("f32[3]", "f32[12]", "s8[3]"):
            with pytest.raises(tegula.Error, match="; src is flat bytes: src_layout= says what layout they hold$"):
                relayout(source, to)


def test_arrays_of_types_that_are_none_are_named():
    for wrong, told in ((numpy.zeros(3, "M8[D]"), r"`datetime64\[D\]` is not an element type; there are f16, "),
                        (numpy.zeros(3, "m8[s]"), r"`timedelta64\[s\]` is not an element type")):
        with pytest.raises(tegula.ArgumentError, match=f"^src: {told}"):
            relayout(wrong, "f32[3]")
        with pytest.raises(tegula.ArgumentError, match=f"^out: {told}"):
            relayout(numpy.zeros(3, "f4"), "f32[3]", out=wrong)


def test_threads_are_a_number():
    plan = Plan("f32[3]", "f32[3]", threads=2)
    array, out = some("float32", (3,)), numpy.zeros(3, numpy.float32)
    for threads in (None, 1, 1024):
        assert plan.run(out, array, threads=threads) is None
    for call in (lambda threads: plan.run(out, array, threads=threads),
                 lambda threads: Plan("f32[3]", "f32[3]", threads=threads),
                 lambda threads: relayout(array, "f32[3]", threads=threads)):
        for wrong in (0, -1, 1025, 2**40):
            with pytest.raises(tegula.ArgumentError, match=f"^threads must be 1 to 1024, not {wrong}$"):
                call(wrong)
        with pytest.raises(TypeError, match="threads must be an int, not <class 'str'>"):
            call("2")
        with pytest.raises(tegula.OverflowError, match=f"^threads is -{10**30}, and an integer has 64 bits: -2.63 to "):
            call(-10**30)
        with pytest.raises(tegula.OverflowError, match="^threads is an int of 16610 bits, and an integer has 64 bits"):
            call(10**5000)


def test_numbers_are_called_by_their_names():
    layout, array = Layout("f32[2,3]"), some("float32", (2, 3))
    for call, told in [
        (lambda n: relayout(array, layout, begin=(0, n)), "entry 1 of begin"),
        (lambda n: Plan(layout, layout, end=(n, 0)), "entry 0 of end"), (lambda n: layout.coord(n), "offset"),
        (lambda n: layout.offset((n, 0)), "entry 0 of coordinate"), (lambda n: layout.offset(0, n), "a coordinate"),
        (lambda n: Layout.strided((2, 3), "f32", (n, 1)), "entry 0 of strides"),
        (lambda n: layout.squeeze(n), "dim"), (lambda n: layout.permute(0, n), "entry 1 of permutation"),
        (lambda n: Layout.xla((8, 8), "f32", tiles=[(8, n)]), "a number of tiles"),
        (lambda n: Layout.xla((8, 8), "f32", tail_padding=n), "tail_padding"),
        (lambda n: Layout.strided((2, 3), "f32", (3, 1), n), "offset"), (lambda n: layout.split(n, 2), "mode"),
        (lambda n: Layout.spyre((2, 3), "f16", offset=n), "offset"), (lambda n: layout.slice(0, 0, n), "stop"),
        (lambda n: Layout.from_modes("f32", (2, 3), layout.modes, n), "span"), (lambda n: layout.expand(n, 2), "dim"),
        (lambda n: layout.transpose(0, n), "dim1"), (lambda n: layout.select(0, n), "index"),
    ]:
        with pytest.raises(tegula.OverflowError, match=f"^{told} is {10**30}, and an integer has 64 bits: -2.63 to "):
            call(10**30)
        with pytest.raises(tegula.OverflowError, match=f"^{told} is an int of 16610 bits, and an integer has 64 bits"):
            call(10**5000)
        with pytest.raises(TypeError, match=f"^{told} must be an int, not <class 'float'>$"):
            call(1.5)
    for tiles in ((8, 128), 8, "8,128", [8]):
        with pytest.raises(TypeError, match="^tiles are a sequence of levels"):
            Layout.xla((8, 8), "f32", tiles=tiles)


def test_storage_must_fit():
    array = some("float32", (8, 8))
    for out, words in [(numpy.zeros(63, numpy.float32), "has 252 bytes"), (numpy.zeros(65, numpy.float32), "260"),
                       (numpy.zeros((8, 16), numpy.float32)[:, :8], "other strides|in order"),
                       (numpy.zeros((8, 16), numpy.float32)[:, ::2].T, "other strides|in order"),
                       (Buffer("f32[8,8]{0,1}"), "another layout")]:
        with pytest.raises(tegula.ArgumentError, match=words):
            relayout(array, "f32[8,8]", out=out)
    with pytest.raises(tegula.ArgumentError, match="share memory"):
        relayout(array, "f32[8,8]", out=array)
    with pytest.raises(tegula.ArgumentError, match="share memory"):
        Plan("f32[4,8]", "f32[4,8]").run(array[2:6], array[:4])
    with pytest.raises(MemoryError):
        Buffer("u8[9000000000000000000]")


def test_memory_of_the_layouts_own_type_has_a_shape_of_memory():
    """Flat, or as the storage is; else it is another tensor, whatever bytes it takes."""
    array, tiled = some("float32", (3, 4)), Layout("f32[3,4]{1,0:T(2,2)}")
    wanted = moved(array, tiled)
    for shape in [(16,), tiled.physical_shape]:
        assert raw(relayout(array, tiled, out=numpy.zeros(shape, numpy.float32)).ravel()) == raw(wanted)
        assert raw(relayout(wanted.reshape(shape), "f32[3,4]", src_layout=tiled)) == raw(array)
    for shape in [(4, 4), (2, 8), (2, 2, 4), (2, 2, 2, 2, 1)]:
        with pytest.raises(tegula.ArgumentError, match="out is not f32.*its shape is " + re.escape(str(shape))):
            relayout(array, tiled, out=numpy.zeros(shape, numpy.float32))
        relayout(array, tiled, out=numpy.zeros(shape, numpy.uint32))  # which says nothing of what it is
    assert raw(relayout(array, "f32[3,4]{0,1}", out=numpy.zeros((4, 3), numpy.float32))) == raw(array.T)
    for out in ("f32[3,4]", "f32[3,4] strides=[1,3]"):
        with pytest.raises(tegula.ArgumentError, match=r"its shape is \(4, 3\)"):
            relayout(array, out, out=numpy.zeros((4, 3), numpy.float32))
    with pytest.raises(tegula.ArgumentError, match="out is not .*: its elements are f16, not SEN169_FP16"):
        relayout(numpy.zeros(64, numpy.float16), "f16[64] spyre", out=numpy.zeros(64, numpy.float16))


def test_arguments_that_are_swapped():
    """An array says what it is: elements of another kind, or a tensor where a storage should be."""
    narrow = Plan("f16[2,3]", "bf16[2,3]", convert=True)
    halves, bits = numpy.ones((2, 3), numpy.float16), numpy.zeros((2, 3), numpy.uint16)
    narrow.run(bits, halves)
    assert bits.tolist() == [[0x3F80] * 3] * 2
    for reshaped in (numpy.asarray, numpy.ravel):
        for call in (narrow.run, narrow.verify):
            with pytest.raises(tegula.ArgumentError, match="other way round: dst comes first.*dst is not bf16.*f16"):
                call(reshaped(halves), reshaped(bits))
    with pytest.raises(tegula.ArgumentError, match="^dst is not bf16.*f16"):
        narrow.run(halves, halves)
    with pytest.raises(tegula.ArgumentError, match="src is not f16.*f32"):
        narrow.run(bits, numpy.ones(3, numpy.float32))
    assert halves.tolist() == [[1] * 3] * 2
    narrow.run(src=halves, dst=bits)
    assert narrow.verify(src=halves, dst=bits) is None and narrow.losses(src=halves) == (0, 0)
    for dst, src in [(bytes(12), bytearray(12)), (halves.tobytes(), bits)]:
        with pytest.raises(tegula.ArgumentError, match="the other way round.*dst is read-only"):
            narrow.run(dst, src)
    with pytest.raises(tegula.ArgumentError, match="^dst is read-only"):
        narrow.run(bytes(12), bytes(12))
    with pytest.raises(TypeError, match="src and to are the other way round"):
        relayout("f16[4,64] spyre", halves)
    with pytest.raises(TypeError, match="^to must be a Layout"):
        relayout(halves, halves)
    to_device = Plan("f16[4,64]", "f16[4,64] spyre")
    with pytest.raises(tegula.ArgumentError, match="dst is not f16.*: it has the tensor's shape and "
                                                       "type, but its elements lie in another order"):
        to_device.run(numpy.zeros((4, 64), numpy.float16), numpy.zeros(256, numpy.uint16))
    program = tegula.dma("f16[4,64] spyre")
    with pytest.raises(tegula.ArgumentError, match="device and host are the other way round: device comes first"):
        program.run(numpy.zeros((4, 64), numpy.float16), numpy.zeros(256, numpy.uint16))
    # Memory that says nothing of what it is for stays memory.
    for memory in (numpy.zeros(256, numpy.uint16), numpy.zeros(256, numpy.int16), bytearray(512)):
        to_device.run(memory, numpy.ones((4, 64), numpy.float16))
        assert bytes(memory) == b"\0\x3e" * 256


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_buffer_is_copied(copied):
    buffer = relayout(some("float32", (3, 5)), "f32[3,5]{1,0:T(2,2)}")
    made = copied(buffer)
    assert made.layout == buffer.layout and bytes(made.storage) == bytes(buffer.storage)
    before = bytes(made.storage)
    buffer.storage[:4] = bytes(4)
    assert made.address != buffer.address and bytes(made.storage) == before


# ---- DLPack -------------------------------------------------------------------------------------


class Capsule:
    """An exporter of one kind of capsule, taken from another one."""

    def __init__(self, array, **words):
        self.array, self.words = array, words

    def __dlpack__(self, **words):
        if self.words.get("old") and words:
            raise TypeError("unexpected keyword argument")
        return self.array.__dlpack__(**({} if self.words.get("old") else words))

    def __dlpack_device__(self):
        return self.words.get("device", (1, 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_from_numpy(dtype):
    array = some(dtype, (3, 4, 5))
    for source in (array, array.T, array[::-1, ::2], array[:, 1:1]):
        for old in (False, True):
            assert raw(relayout(Capsule(source, old=old), Layout.strided(source.shape, dtype)).numpy()) == raw(source)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_to_numpy(dtype):
    array = some(dtype, (3, 4))
    buffer = relayout(array, Layout.strided((3, 4), dtype, (1, 4), 2))
    for old in (False, True):
        taken = numpy.from_dlpack(Capsule(buffer, old=old))
        assert taken.dtype == array.dtype and raw(taken) == raw(array)
    del buffer
    gc.collect()
    assert raw(taken) == raw(array)


@pytest.mark.parametrize("dtype", DTYPES + SMALL)
def test_dlpack_through_both_of_our_ends(dtype):
    array = some(dtype, (5, 3))
    buffer = relayout(array, Layout.strided((5, 3), array.dtype))
    back = relayout(Capsule(buffer), Layout.strided((5, 3), array.dtype))
    assert raw(back.numpy()) == raw(array)


def test_dlpack_refuses():
    buffer = Buffer("f32[4]")
    with pytest.raises(tegula.ArgumentError, match="another device"):
        relayout(Capsule(buffer, device=(2, 0)), "f32[4]")
    for other in ("f32[4]{0:T(8)}", "f16[5,100]{0,1}"):
        with pytest.raises(BufferError, match="strided"):
            Buffer(other).__dlpack__()
    with pytest.raises(BufferError, match="1.1"):
        Buffer("s4[4]").__dlpack__()
    with pytest.raises(BufferError):
        buffer.__dlpack__(stream=1)
    with pytest.raises(BufferError):
        buffer.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        buffer.__dlpack__(copy=True)
    capsule = buffer.__dlpack__(max_version=(1, 1))
    used = type("Used", (), {"__dlpack__": lambda self, **w: capsule, "__dlpack_device__": lambda self: (1, 0)})()
    assert relayout(used, "f32[4]").numpy().tolist() == [0] * 4
    with pytest.raises(tegula.ArgumentError, match="unused"):
        relayout(used, "f32[4]")
    for broken in ({"__dlpack__": lambda self, **w: 3, "__dlpack_device__": lambda self: (1, 0)},
                   {"__dlpack__": lambda self, **w: buffer.__dlpack__(), "__dlpack_device__": lambda self: 7},
                   {"__dlpack__": lambda self, **w: 1 / 0, "__dlpack_device__": lambda self: (1, 0)}):
        with pytest.raises((tegula.ArgumentError, ZeroDivisionError)):
            relayout(type("Broken", (), broken)(), "f32[4]")


class Tensor(ctypes.Structure):
    """DLManagedTensor. Source: dlpack.h."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
                ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


class Exporter:
    """float32 of any shape, from memory that it says; its deleter is Python code."""

    def __init__(self, shape, data=None, device=1, lanes=1):
        self.deleted = 0
        self.memory = ctypes.create_string_buffer(4 * math.prod(shape) + 4)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = Tensor(ctypes.addressof(self.memory) if data is None else data, device, 0, len(shape), 2, 32,
                             lanes, self.shape, None, 0, None, Tensor._fields_[-1][1](self.delete))

    def delete(self, address):
        sorted([2, 1], key=lambda n: int(str(n)))  # calls that notice an exception under way
        self.deleted += 1

    def __dlpack__(self, **words):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return (1, 0)


def test_dlpack_deleters_run_once_and_without_an_exception():
    for words, layout, error in (({}, "f32[2,3]", None), ({}, "f32[3,2]", tegula.ArgumentError),
                                 ({"lanes": 4}, "f32[2,3]", tegula.ArgumentError)):
        source = Exporter((2, 3), **words)
        if error is None:
            assert relayout(source, layout).numpy().tolist() == [[0] * 3] * 2
        else:
            with pytest.raises(error):
                relayout(source, layout)
        assert source.deleted == 1


def test_dlpack_memory_that_cannot_be_read():
    for words, message in (({"data": 0}, "6 elements at the address 0"), ({"device": 2}, "another device")):
        source = Exporter((2, 3), **words)
        with pytest.raises(tegula.ArgumentError, match=message):
            relayout(source, "f32[2,3]")
        assert source.deleted == 1
    assert relayout(Exporter((0, 3), data=0), "f32[0,3]").numpy().shape == (0, 3)
    interface = {"__array_interface__": {"data": (0, False), "shape": (2, 3), "typestr": "<f4", "version": 3},
                 "dtype": numpy.dtype("float32")}
    with pytest.raises(tegula.ArgumentError, match="address 0"):
        relayout(type("Interface", (), interface)(), "f32[2,3]")


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    import jax
    for dtype in ("float32", "bfloat16", "int8", "bool", "float8_e4m3fn"):
        array = some(dtype, (6, 7))
        theirs = jnp.asarray(array)
        assert raw(relayout(theirs, Layout.strided((6, 7), dtype)).numpy()) == raw(array)
        with pytest.raises(tegula.ArgumentError, match="read-only"):
            relayout(array, Layout.strided((6, 7), dtype), out=theirs)
    buffer = relayout(some("float32", (6, 7)), "f32[6,7]")
    assert raw(numpy.asarray(jax.dlpack.from_dlpack(buffer))) == raw(buffer.numpy())


def test_torch():
    torch = pytest.importorskip("torch")
    for dtype in ("float32", "bfloat16", "float16", "int64", "bool", "float8_e4m3fn", "float8_e5m2", "complex64"):
        theirs = torch.from_numpy(some("uint8", (6, 8, 8))).view(-1).view(torch.uint8)[:6 * 8 * 2 * 8]
        theirs = (theirs % 2).to(torch.bool) if dtype == "bool" else theirs.view(getattr(torch, dtype))
        theirs = theirs.view(6, -1)
        layout = Layout.strided(tuple(theirs.shape), getattr(torch, dtype))
        turned = relayout(theirs.T, layout.transpose(0, 1))
        assert torch.from_dlpack(turned).shape == theirs.T.shape
        back = torch.from_dlpack(relayout(theirs, layout))
        assert back.dtype == theirs.dtype and back.view(torch.uint8).equal(theirs.contiguous().view(torch.uint8))
        out = torch.zeros_like(theirs)
        relayout(back, layout, out=out)
        assert out.view(torch.uint8).equal(theirs.contiguous().view(torch.uint8))
    with pytest.raises(BufferError):
        relayout(torch.zeros(3, requires_grad=True), "f32[3]")


# ---- nothing is lost ----------------------------------------------------------------------------


def test_no_reference_is_lost():
    """Every object that went in comes out with as many references; no block stays behind."""
    array, out = some("float32", (16, 16)), numpy.zeros((16, 16), numpy.float32)
    bf16 = some("bfloat16", (4, 4))
    layout = Layout("f32[16,16]")
    buffer = relayout(array, layout)
    capsules = Capsule(buffer)

    def everything():
        relayout(array, layout, out=out)
        relayout(buffer, "f32[16,16] spyre").storage[0]
        relayout(capsules, layout)
        relayout(bf16, "bf16[4,4]").numpy()
        numpy.from_dlpack(buffer), memoryview(buffer), buffer.__dlpack__(), buffer.__dlpack__(max_version=(1, 0))
        plan = Plan(layout, layout.transpose(0, 1))
        plan.run(numpy.zeros(256, numpy.float32), buffer), plan.losses(array), plan.describe(), repr(plan)
        layout.to_dict(), repr(layout.split(0, 2)), hash(layout), layout.modes, layout.difference("f32[16,16]{0,1}")
        layout.offsets(numpy.zeros((3, 2), numpy.int64)), layout.coords(numpy.arange(5)), Layout.of(array)
        for bad in (lambda: relayout(array, "f32[3]"), lambda: relayout(array, layout, out=array),
                    lambda: layout.offset(99, 0),
                    lambda: relayout(array[::2], layout, src_layout=layout), lambda: Layout("f32["),
                    lambda: Plan("f32[2]", "f32[3]"),
                    lambda: relayout(Capsule(buffer, device=(2, 0)), layout), lambda: relayout(object(), layout)):
            try:
                bad()
            except (tegula.Error, TypeError):
                pass

    watched = [array, out, bf16, layout, buffer, capsules, Layout, Buffer, Plan]
    everything()
    before = [sys.getrefcount(item) for item in watched]
    assert not loses_blocks(everything, 300, 1000, 700)  # a leak is one in each round at least
    assert [sys.getrefcount(item) for item in watched] == before


def test_memory_does_not_grow():
    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096
    array = numpy.zeros((512, 512), numpy.float32)
    capsules = Capsule(relayout(array, "f32[512,512]"))
    for i in range(400):
        numpy.from_dlpack(relayout(capsules, "f32[512,512]"))
        if i == 100:
            before = resident()
    assert resident() - before < 64 << 20
