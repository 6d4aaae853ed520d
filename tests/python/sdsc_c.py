"""ctypes binding of the kernels of include/tegula/sdsc.h.

A tensor is (device_size, stride_map, format, offset, [(loop, step), ...], address), or with True behind that where it
lies in the scratchpad.
"""
import ctypes as C

import graph_c as g
import tegula_c as t

KINDS = ["pointwise", "reduction", "matmul", "restickify", "convolution"]


class Tensor(C.Structure):
    _fields_ = [("layout", t.Spyre), ("access", g.Access), ("address", g.i64), ("in_lx", g.flag)]


class Window(C.Structure):
    _fields_ = [("position", g.i32), ("within", g.i32), ("stride", g.i64), ("dilation", g.i64), ("low", g.i64),
                ("extent", g.i64)]


class CKernel(C.Structure):
    _fields_ = [("op", C.c_char_p), ("kind", g.enum), ("nloops", g.i32), ("ranges", C.POINTER(g.i64)),
                ("splits", C.POINTER(g.i64)), ("ntensors", g.i32), ("tensors", C.POINTER(Tensor)), ("masked", g.u32),
                ("mask_value", g.enum), ("nwindows", g.i32), ("windows", C.POINTER(Window))]


class BundleParams(C.Structure):
    _fields_ = [("division", g.DivisionParams), ("memory", C.c_void_p)]


class BundleStep(C.Structure):
    _fields_ = [("duty", g.enum), ("first_kernel", g.i64), ("nkernels", g.i64), ("why", g.Text), ("address", g.i64),
                ("in_lx", g.flag)]


DUTIES = ["none", "device", "host"]
STRUCTS = {"tg_kernel_tensor": Tensor, "tg_kernel_window": Window, "tg_kernel": CKernel,
           "tg_bundle_params": BundleParams, "tg_bundle_step": BundleStep}


def _bind():
    lib, kernel, error, number = t.lib, C.POINTER(CKernel), C.POINTER(t.Error), C.POINTER(g.i64)
    text = (C.c_char_p, g.size, C.POINTER(g.size))
    for name, *arguments in (("format_sdsc", *text, kernel, g.i64, error), ("format_name", *text, kernel, g.i64, error),
                             ("slices", number, number, kernel, g.i64, error),
                             ("address", number, kernel, g.i32, g.i64, error)):
        function = getattr(lib, "tg_kernel_" + name)
        function.restype, function.argtypes = g.enum, arguments
    handle = C.c_void_p
    for name, result, *arguments in (
            ("create", g.enum, C.POINTER(handle), handle, handle, C.POINTER(BundleParams), error),
            ("destroy", None, C.POINTER(handle)), ("get_step", BundleStep, handle, g.i64), ("zeros", g.i64, handle),
            ("kernel_count", g.i64, handle), ("kernel_step", g.i64, handle, g.i64),
            ("format_sdsc", g.enum, *text, handle, g.i64, error),
            ("format_name", g.enum, *text, handle, g.i64, error)):
        function = getattr(lib, "tg_bundle_" + name)
        function.restype, function.argtypes = result, arguments
    lib.tg_duty_name.restype, lib.tg_duty_name.argtypes = C.c_char_p, [g.enum]
    return lib


lib = _bind()


class Kernel:
    def __init__(self, op, kind, ranges, splits, tensors, masked=(), value="0"):
        self.ranges, self.splits = (g.i64 * max(1, len(ranges)))(*ranges), (g.i64 * max(1, len(splits)))(*splits)
        self.tensors, self.error = (Tensor * max(1, len(tensors)))(), t.Error()
        for row, (size, strides, fmt, offset, terms, address, *lx) in zip(self.tensors, tensors):
            row.layout, row.address = g.spyre_of((size, strides, fmt)), address
            row.access, row.in_lx = g.access_of((0, offset, terms)), bool(lx)
        self.c = CKernel(op.encode(), KINDS.index(kind), len(ranges), self.ranges, self.splits, len(tensors),
                         self.tensors, sum(1 << loop for loop in masked), g.VALUES.index(value))

    def _text(self, function, number):
        need = g.size()
        g._check(function(None, 0, C.byref(need), C.byref(self.c), number, C.byref(self.error)), self.error)
        text = C.create_string_buffer(need.value + 1)
        g._check(function(text, need.value + 1, C.byref(need), C.byref(self.c), number, C.byref(self.error)),
                 self.error)
        assert len(text.value) == need.value
        return text.value.decode()

    def sdsc(self, number=0):
        return self._text(lib.tg_kernel_format_sdsc, number)

    def name(self, number=0):
        return self._text(lib.tg_kernel_format_name, number)

    def slices(self, core):
        out, ncores = (g.i64 * max(1, self.c.nloops))(), g.i64()
        g._check(lib.tg_kernel_slices(out, C.byref(ncores), C.byref(self.c), core, C.byref(self.error)), self.error)
        return list(out[:self.c.nloops]), ncores.value

    def address(self, tensor, core):
        out = g.i64()
        g._check(lib.tg_kernel_address(C.byref(out), C.byref(self.c), tensor, core, C.byref(self.error)), self.error)
        return out.value


class Bundle:
    """The kernels of a plan; use in a `with`, within that of the plan."""

    def __init__(self, plan, **division):
        self.handle, self.error = C.c_void_p(), t.Error()
        params = BundleParams(g.DivisionParams(**division))
        g._check(lib.tg_bundle_create(C.byref(self.handle), plan.graph.handle, plan.handle, C.byref(params),
                                      C.byref(self.error)), self.error)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.tg_bundle_destroy(C.byref(self.handle))

    def step(self, i):
        """(duty, numbers of its kernels, why not, address, whether that is in the scratchpad)"""
        row = lib.tg_bundle_get_step(self.handle, i)
        return (DUTIES[row.duty], range(row.first_kernel, row.first_kernel + row.nkernels),
                C.string_at(row.why.chars, row.why.len).decode(), row.address, row.in_lx)

    def count(self):
        return lib.tg_bundle_kernel_count(self.handle)

    def step_of(self, i):
        return lib.tg_bundle_kernel_step(self.handle, i)

    def zeros(self):
        return lib.tg_bundle_zeros(self.handle)

    def _text(self, function, i):
        need = g.size()
        g._check(function(None, 0, C.byref(need), self.handle, i, C.byref(self.error)), self.error)
        text = C.create_string_buffer(need.value + 1)
        g._check(function(text, need.value + 1, C.byref(need), self.handle, i, C.byref(self.error)), self.error)
        return text.value.decode()

    def sdsc(self, i):
        return self._text(lib.tg_bundle_format_sdsc, i)

    def name(self, i):
        return self._text(lib.tg_bundle_format_name, i)
