"""The memory of the simulated device without PyTorch: what the sanitizers can see of it.

A capsule is what PyTorch would import; its first word is the address that a storage is known by.
"""
import ctypes
import threading

import numpy
import pytest

import tegula
from tegula import _core
from tegula._spyre_names import DataFormats

pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def key(capsule):
    return ctypes.cast(pointer(capsule, b"dltensor"), ctypes.POINTER(ctypes.c_void_p))[0]


def strides(array):
    return tuple(s // array.itemsize for s in array.strides)


def write(capsule, array):
    return _core._spyre_copy_in(key(capsule), array.shape, strides(array), 0, array.dtype, array.ctypes.data,
                                strides(array))


def read(capsule, like, offset=0, shape=None, stride=None):
    out = numpy.zeros(shape or like.shape, like.dtype)
    done = _core._spyre_copy_out(key(capsule), out.shape, stride or strides(like), offset, out.dtype, out.ctypes.data,
                                 strides(out))
    assert done
    return out


def test_there_and_back():
    for shape, dtype in (((), "float32"), ((5, 70), "float16"), ((3, 4, 65), "int32"), ((0, 4), "float32")):
        x = (numpy.arange(numpy.prod(shape, dtype=int)) % 100).astype(dtype).reshape(shape)
        capsule = _core._spyre_alloc(shape, None, dtype, None)
        assert write(capsule, x) and numpy.array_equal(read(capsule, x), x)
        assert _core._spyre_layout_of(key(capsule)) == tegula.SpyreTensorLayout(shape, dtype)
        again = _core._spyre_clone(key(capsule))
        assert numpy.array_equal(read(again, x), x)


def test_pieces_that_start_inside_a_stick():
    x = numpy.arange(10 * 150, dtype="float32").reshape(10, 150)
    capsule = _core._spyre_alloc(x.shape, None, x.dtype, None)
    write(capsule, x)
    for first in (1, 31, 33, 70):
        assert numpy.array_equal(read(capsule, x, first, (10, 40), (150, 1)), x[:, first:first + 40])
        assert numpy.array_equal(read(capsule, x, first, (20, 5), (1, 150)), x[:5, first:first + 20].T)
    piece = numpy.full((3, 40), -1, "float32")
    assert _core._spyre_copy_in(key(capsule), (3, 40), (150, 1), 303, "f32", piece.ctypes.data, (40, 1))
    x[2:5, 3:43] = -1
    assert numpy.array_equal(read(capsule, x), x)


def test_another_layout_in_place():
    x = numpy.arange(12, dtype="float32").reshape(3, 4)
    for nbytes in (48, 64):
        capsule = _core._spyre_alloc_raw(nbytes)
        image = numpy.zeros(nbytes // 4, "float32")
        image[:12] = x.ravel()
        _core._spyre_write_image(key(capsule), image.ctypes.data, nbytes)
        for order in ([0, 1], [1, 0]):
            layout = tegula.SpyreTensorLayout((3, 4), "float32", order)
            _core._spyre_set_layout(key(capsule), (3, 4), (4, 1), "float32", layout)
            assert _core._spyre_layout_of(key(capsule)) == layout and numpy.array_equal(read(capsule, x), x)
        with pytest.raises(ValueError, match="does not fit"):
            _core._spyre_set_layout(key(capsule), (3, 40), (40, 1), "float32",
                                    tegula.SpyreTensorLayout((3, 40), "float32"))
        with pytest.raises(ValueError, match=r"a tensor of size \(3, 4\) .* this one has size \(4, 3\)"):
            _core._spyre_set_layout(key(capsule), (4, 3), (3, 1), "float32", layout)


def test_threads_share_the_registry():
    """Allocate, fill, read and drop on many threads: no address has the layout of its last owner."""
    before, problems = _core._spyre_stats()[:2], []

    def work(seed):
        random = numpy.random.default_rng(seed)
        for _ in range(80):
            shape = tuple(int(n) for n in random.integers(1, 60, 2))
            x = random.random(shape, numpy.float32)
            layout = tegula.SpyreTensorLayout(shape, "float32", [1, 0] if seed % 2 else [0, 1])
            capsule = _core._spyre_alloc(shape, None, "float32", layout)
            write(capsule, x)
            if not numpy.array_equal(read(capsule, x), x) or _core._spyre_layout_of(key(capsule)) != layout:
                problems.append((seed, shape))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [] and _core._spyre_stats()[:2] == before


def test_threads_in_one_large_move():
    x = numpy.arange(3 << 20, dtype="float32").reshape(3 << 10, 1 << 10)
    _core._spyre_set_threads(3)
    try:
        capsule = _core._spyre_alloc(x.shape, None, x.dtype, None)
        assert write(capsule, x) and numpy.array_equal(read(capsule, x), x)
        del capsule
        _core._spyre_empty_cache()
    finally:
        _core._spyre_set_threads(1)


def test_bad_arguments():
    capsule = _core._spyre_alloc((3, 4), None, "float32", None)
    small = tegula.SpyreTensorLayout((5,), "float32")
    stick = tegula.SpyreTensorLayout([1, 32], [32, 1], DataFormats.IEEE_FP32)
    for attempt, message in (
            (lambda: _core._spyre_alloc((3, -4), None, "float32", None), "-4"),
            (lambda: _core._spyre_alloc((1 << 40, 1 << 40), None, "float32", None), "63 bits"),
            (lambda: _core._spyre_alloc((3, 4), (4,), "float32", None), "1 entries for 2"),
            (lambda: _core._spyre_alloc((3, 4), (-4, 1), "float32", None), "stride"),
            (lambda: _core._spyre_alloc((100,), None, "float32", small), r"size \(5,\) .* size \(100,\)"),
            (lambda: _core._spyre_alloc((100,), None, "float32", stick), "host"),
            (lambda: _core._spyre_alloc((5,), None, "float16", small), "in IEEE_FP32, and f16 is SEN169_FP16"),
            (lambda: _core._spyre_alloc_raw(-1), "-1"),
            (lambda: _core._spyre_copy_in(key(capsule), (3, 4), (4, 1), 0, "float32", 0, (4, 1)), "without memory"),
            (lambda: _core._spyre_copy_in(key(capsule), (3, 4), (4,), 0, "float32", 1, (4, 1)), "sizes"),
            (lambda: _core._spyre_set_threads(0), "at least 1")):
        with pytest.raises(ValueError, match=message):
            attempt()
    for address in (0, 1, key(capsule) + 1):
        with pytest.raises(RuntimeError, match="not the storage of a Spyre tensor"):
            _core._spyre_layout_of(address)
    # A view that leaves its storage is no view of it: nothing is read.
    out = numpy.zeros((3, 4), "float32")
    assert not _core._spyre_copy_out(key(capsule), (3, 4), (4, 1), 100, "float32", out.ctypes.data, (4, 1))
    assert not _core._spyre_copy_out(key(capsule), (30, 4), (4, 1), 0, "float32", out.ctypes.data, (4, 1))
