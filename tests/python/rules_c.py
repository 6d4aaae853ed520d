"""ctypes binding of include/tegula/rules.h."""
import ctypes as C

import graph_c as g
import tegula_c as t

i32, i64, u32, enum, flag = g.i32, g.i64, g.u32, g.enum, g.flag
FORMATS = {"float16": 0, "bfloat16": 0, "float32": 1}
FORMULAS = ["august", "june"]


class Work(C.Structure):
    _fields_ = [("nloops", i32), ("sizes", i64 * 32), ("splits", i64 * 32), ("outputs", u32), ("reductions", u32),
                ("cores", i64)]


class Product(C.Structure):
    _fields_ = [("b", i64), ("m", i64), ("n", i64), ("k", i64), ("n_sticks", i64), ("k_sticks", i64),
                ("shared", flag), ("cores", i64), ("formula", enum)]


class StepSplit(C.Structure):
    _fields_ = [("summed", flag), ("step", i64), ("slices", i64)]


STRUCTS = {"tg_work": Work, "tg_product": Product, "tg_step_split": StepSplit}


def _bind():
    pointer, error, ints = C.POINTER, C.POINTER(t.Error), C.POINTER(i64)
    for name, result, *arguments in (
            ("spyre_convert", enum, pointer(t.Spyre), pointer(t.Spyre), pointer(t.Host), enum, error),
            ("spyre_resize", enum, pointer(t.Spyre), pointer(t.Host), pointer(t.Spyre), pointer(t.Host), ints, error),
            ("spyre_advance", enum, ints, pointer(t.Spyre), i64, i64, error),
            ("spyre_join", enum, pointer(t.Spyre), pointer(t.Spyre), i32, ints, pointer(g.Access), error),
            ("arrangements_agree", flag, i32, pointer(enum), pointer(flag)),
            ("arrangement_after", enum, pointer(enum), enum, enum, enum, flag, error),
            ("has_kernel", flag, g.Text, enum), ("cast_kernel", C.c_char_p, enum, enum),
            ("core_split", i64, i64, i64), ("distribute", None, pointer(Work)),
            ("product_cost", C.c_double, pointer(Product), ints), ("product_split", None, ints, pointer(Product)),
            ("core_slices", enum, ints, i32, ints, i32, i64, i64, error),
            ("splits_to_steps", i32, pointer(StepSplit), i32, ints, pointer(g.Access), pointer(g.Access)),
            ("splits_from_steps", enum, ints, i32, ints, pointer(g.Access), pointer(g.Access), i32,
             pointer(StepSplit), error)):
        function = getattr(t.lib, "tg_" + name)
        function.restype, function.argtypes = result, arguments
    return t.lib


lib = _bind()


def check(status, error):
    if status != t.OK:
        assert error.status == status and error.message
        raise t.TegulaError(error)


def convert(layout, host, dtype):
    """(device_size, stride_map) in the device format of a dtype."""
    out, error = t.Spyre(), t.Error()
    check(lib.tg_spyre_convert(C.byref(out), C.byref(layout), C.byref(host), FORMATS[dtype], C.byref(error)), error)
    assert out.device_dtype == FORMATS[dtype] and out.arrangement == 0
    return g.layout_of(out)


def resize(layout, host, shape):
    """(device_size, stride_map), host strides"""
    out, resized, error = t.Spyre(), t.Host(), t.Error()
    check(lib.tg_spyre_resize(C.byref(out), C.byref(resized), C.byref(layout), C.byref(host), t.ints(shape),
                              C.byref(error)), error)
    assert list(resized.shape[:len(shape)]) == list(shape)
    return g.layout_of(out), list(resized.strides[:len(shape)])


def advance(layout, step, count):
    out, error = i64(), t.Error()
    check(lib.tg_spyre_advance(C.byref(out), C.byref(layout), step, count, C.byref(error)), error)
    return out.value


def join(layout, ranges, offset, terms):
    out, error, access = t.Spyre(), t.Error(), g.access_of((0, offset, terms))
    check(lib.tg_spyre_join(C.byref(out), C.byref(layout), len(ranges), t.ints(ranges), C.byref(access),
                            C.byref(error)), error)
    return out


def agree(arrangements, broadcast=None):
    n = len(arrangements)
    numbers = (enum * max(1, n))(*(t.ARRANGEMENTS.index(a) for a in arrangements))
    return lib.tg_arrangements_agree(n, numbers, None if broadcast is None else (flag * n)(*broadcast))


def arrangement_after(before, source, to, sparse=False):
    out, error = enum(), t.Error()
    check(lib.tg_arrangement_after(C.byref(out), t.ARRANGEMENTS.index(before), FORMATS[source], FORMATS[to], sparse,
                                   C.byref(error)), error)
    return t.ARRANGEMENTS[out.value]


def distribute(sizes, outputs, reductions, cores):
    work = Work(nloops=len(sizes), outputs=outputs, reductions=reductions, cores=cores)
    work.sizes[:len(sizes)] = sizes
    work.splits[:len(sizes)] = [1] * len(sizes)
    lib.tg_distribute(C.byref(work))
    return list(work.splits[:len(sizes)])


def product(b, m, n, k, shared, cores, formula="august"):
    return Product(b, m, n, k, -(-n // 64), -(-k // 64), shared, cores, FORMULAS.index(formula))


def product_cost(p, splits):
    return lib.tg_product_cost(C.byref(p), t.ints(splits))


def product_split(p):
    splits = (i64 * 4)()
    lib.tg_product_split(splits, C.byref(p))
    return list(splits)


def core_slices(splits, fastest, core, cores):
    out, error = (i64 * max(1, len(splits)))(), t.Error()
    check(lib.tg_core_slices(out, len(splits), t.ints(splits), fastest, core, cores, C.byref(error)), error)
    return list(out[:len(splits)])


def splits_to_steps(splits, result, operand):
    """{step: slices} of the loops of the result, and of those summed up."""
    out = (StepSplit * max(1, len(splits)))()
    n = lib.tg_splits_to_steps(out, len(splits), t.ints(splits), C.byref(g.access_of((0, 0, result))),
                               C.byref(g.access_of((0, 0, operand))))
    return tuple({s.step: s.slices for s in out[:n] if s.summed == summed} for summed in (False, True))


def splits_from_steps(ranges, result, operand, outputs, reductions):
    steps = [StepSplit(False, *s) for s in outputs.items()] + [StepSplit(True, *s) for s in reductions.items()]
    rows, splits, error = (StepSplit * max(1, len(steps)))(*steps), (i64 * max(1, len(ranges)))(), t.Error()
    check(lib.tg_splits_from_steps(splits, len(ranges), t.ints(ranges), C.byref(g.access_of((0, 0, result))),
                                   C.byref(g.access_of((0, 0, operand))), len(steps), rows, C.byref(error)), error)
    return list(splits[:len(ranges)])


def has_kernel(opcode, number):
    return lib.tg_has_kernel(g.Text(C.cast(C.c_char_p(opcode.encode()), C.c_void_p), len(opcode)), number)


def cast_kernel(source, to):
    kernel = lib.tg_cast_kernel(*(t.lib.tg_dtype_from_name(name.encode(), len(name)) for name in (source, to)))
    return kernel and kernel.decode()
