"""ctypes binding of include/tegula/memory.h: the scratchpad, the pool, and where the tensors of a plan live."""
import ctypes as C
import dataclasses

import graph_c as g
import tegula_c as t

i64, enum, size, flag = C.c_int64, C.c_int, C.c_size_t, C.c_bool
SOLVERS = ["exact", "greedy", "firstfit", "bestfit"]
HOMES = ["lx", "pool", "own", "host", "none"]
REASONS = ["kept", "host", "input", "output", "constant", "unread", "restickify", "fill", "no kernel", "division",
           "footprint", "spilled", "shared", "loop"]


class CBuffer(C.Structure):
    _fields_ = [("size", i64), ("nuses", i64), ("uses", C.POINTER(i64)), ("comes_from_outside", flag),
                ("nparents", i64), ("parents", C.POINTER(i64)), ("barred", flag), ("saved_bytes", i64)]


class Params(C.Structure):
    _fields_ = [("solver", enum), ("capacity", i64), ("alignment", i64), ("max_branches", i64)]


class Placement(C.Structure):
    _fields_ = [("address", i64), ("in_place_of", i64)]


class Summary(C.Structure):
    _fields_ = [("kept", i64), ("saved_bytes", i64), ("bound_bytes", i64), ("optimal", flag), ("peak_bytes", i64),
                ("branches", i64)]


class MemoryParams(C.Structure):
    _fields_ = [("division", g.DivisionParams), ("solver", enum), ("has_lx_bytes", flag), ("lx_bytes", i64),
                ("pool_bytes", i64), ("max_branches", i64)]


class Residence(C.Structure):
    _fields_ = [("home", enum), ("address", i64), ("bytes", i64), ("first", i64), ("last", i64),
                ("in_place_of", i64), ("reason", enum), ("because_of", i64)]


class MemorySummary(C.Structure):
    _fields_ = [("lx_count", i64), ("lx_capacity", i64), ("lx_peak", i64), ("lx_bytes", i64), ("saved_bytes", i64),
                ("traffic_bytes", i64), ("bound_bytes", i64), ("optimal", flag), ("pool_count", i64),
                ("pool_peak", i64), ("own_count", i64), ("own_bytes", i64), ("none_count", i64), ("none_bytes", i64)]


STRUCTS = {"tg_buffer": CBuffer, "tg_scratchpad_params": Params, "tg_placement": Placement,
           "tg_scratchpad_summary": Summary, "tg_memory_params": MemoryParams, "tg_residence": Residence,
           "tg_memory_summary": MemorySummary}


def _bind():
    lib, handle, error = t.lib, C.c_void_p, C.POINTER(t.Error)
    for name, result, *arguments in (
            ("lx_capacity", enum, C.POINTER(i64), C.c_double, flag, error),
            ("scratchpad_place", enum, C.POINTER(Placement), C.POINTER(Summary), C.POINTER(CBuffer), i64,
             C.POINTER(Params), error),
            ("scratchpad_verify", enum, C.POINTER(flag), C.c_char_p, size, C.POINTER(Placement), C.POINTER(CBuffer),
             i64, C.POINTER(Params), error),
            ("pool_create", enum, C.POINTER(handle), i64, error), ("pool_destroy", None, C.POINTER(handle)),
            ("pool_allocate", enum, C.POINTER(i64), handle, i64, error),
            ("pool_release", enum, handle, i64, i64, error), ("pool_end", i64, handle),
            ("memory_create", enum, C.POINTER(handle), handle, handle, C.POINTER(MemoryParams), error),
            ("memory_destroy", None, C.POINTER(handle)), ("memory_get_summary", MemorySummary, handle),
            ("memory_get", Residence, handle, i64), ("memory_why", size, C.c_char_p, size, handle, i64),
            ("memory_verify", enum, C.POINTER(flag), C.c_char_p, size, handle, error)):
        function = getattr(lib, "tg_" + name, None)
        if function is None:
            continue
        function.restype, function.argtypes = result, arguments
    return lib


lib = _bind()


def check(status, error):
    if status != t.OK:
        assert error.status == status and error.message
        raise t.TegulaError(error)


def lx_capacity(fraction, june=False):
    out, error = i64(), t.Error()
    check(lib.tg_lx_capacity(C.byref(out), fraction, june, C.byref(error)), error)
    return out.value


@dataclasses.dataclass
class Buffer:
    size: int
    uses: list
    outside: bool = False
    parents: list = dataclasses.field(default_factory=list)
    barred: bool = False
    saved: int = 0

    @property
    def worth(self):
        return self.saved or self.size * (len(self.uses) - self.outside)


def array(buffers):
    return (CBuffer * max(1, len(buffers)))(*(
        CBuffer(b.size, len(b.uses), (i64 * max(1, len(b.uses)))(*b.uses), b.outside, len(b.parents),
                (i64 * max(1, len(b.parents)))(*b.parents), b.barred, b.saved) for b in buffers))


def place(buffers, solver, capacity, alignment=0, max_branches=0):
    """([(address or None, parent or None)], summary); judged by the verifier."""
    n, c, error, summary = len(buffers), array(buffers), t.Error(), Summary()
    out, params = (Placement * max(1, n))(), Params(SOLVERS.index(solver), capacity, alignment, max_branches)
    check(lib.tg_scratchpad_place(out, C.byref(summary), c, n, C.byref(params), C.byref(error)), error)
    found = [(p.address if p.address >= 0 else None, p.in_place_of if p.in_place_of >= 0 else None) for p in out[:n]]
    assert fault(found, buffers, capacity, alignment) == ""
    return found, summary


def fault(placements, buffers, capacity, alignment=0):
    n, c, error, ok, why = len(buffers), array(buffers), t.Error(), flag(), C.create_string_buffer(200)
    rows = (Placement * max(1, n))(*(Placement(-1 if a is None else a, -1 if p is None else p) for a, p in placements))
    params = Params(0, capacity, alignment, 0)
    check(lib.tg_scratchpad_verify(C.byref(ok), why, 200, rows, c, n, C.byref(params), C.byref(error)), error)
    assert ok.value == (why.value == b"")
    return why.value.decode()


class Pool:
    def __init__(self, limit):
        self.handle, self.error = C.c_void_p(), t.Error()
        check(lib.tg_pool_create(C.byref(self.handle), limit, C.byref(self.error)), self.error)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.tg_pool_destroy(C.byref(self.handle))

    def allocate(self, nbytes):
        out = i64()
        check(lib.tg_pool_allocate(C.byref(out), self.handle, nbytes, C.byref(self.error)), self.error)
        return out.value if out.value >= 0 else None

    def release(self, address, nbytes):
        check(lib.tg_pool_release(self.handle, address, nbytes, C.byref(self.error)), self.error)

    @property
    def end(self):
        return lib.tg_pool_end(self.handle)


class Memory:
    """Where the tensors of a plan live; use in a `with`."""

    def __init__(self, graph, plan, solver="exact", lx_bytes=None, pool_bytes=0, cores=0, max_branches=0):
        self.graph, self.plan, self.handle, error = graph, plan, C.c_void_p(), t.Error()
        params = MemoryParams(g.DivisionParams(cores, 0), SOLVERS.index(solver), lx_bytes is not None, lx_bytes or 0,
                              pool_bytes, max_branches)
        check(lib.tg_memory_create(C.byref(self.handle), graph.handle, plan.handle, C.byref(params), C.byref(error)),
              error)
        self.summary = lib.tg_memory_get_summary(self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.tg_memory_destroy(C.byref(self.handle))

    def rows(self):
        return [lib.tg_memory_get(self.handle, i) for i in range(g.lib.tg_graph_plan_step_count(self.plan.handle))]

    def why(self, step):
        buffer = C.create_string_buffer(400)
        assert lib.tg_memory_why(buffer, 400, self.handle, step) == len(buffer.value)
        return buffer.value.decode()

    def fault(self):
        ok, why, error = flag(), C.create_string_buffer(300), t.Error()
        check(lib.tg_memory_verify(C.byref(ok), why, 300, self.handle, C.byref(error)), error)
        assert ok.value == (why.value == b"")
        return why.value.decode()
