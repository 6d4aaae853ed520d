"""ctypes binding of include/tegula/sim.h: HLO text that is planned, and run on the simulated device."""
import ctypes as C

import numpy as np

import graph_c as g
import hlo_ctypes as hlo
import tegula_c as t

i32, i64, enum, flag = C.c_int32, C.c_int64, C.c_int, C.c_bool


class Params(C.Structure):
    _fields_ = [("division", g.DivisionParams), ("divisions", C.POINTER(g.Division)), ("seed", C.c_uint64),
                ("max_bytes", i64), ("in_parts", flag), ("nleft_out", i64), ("left_out", C.POINTER(i64))]


class Difference(C.Structure):
    _fields_ = [("elements", i64), ("lost", i64), ("largest", C.c_double), ("scale", C.c_double),
                ("mean_square", C.c_double), ("mean_error_square", C.c_double)]


STRUCTS = {"tg_sim_params": Params, "tg_sim_difference": Difference}


def _bind():
    lib, handle, error = t.lib, C.c_void_p, C.POINTER(t.Error)
    for name, result, *arguments in (
            ("op_name", C.c_char_p, enum), ("op_arity", i32, enum),
            ("program_create", enum, C.POINTER(handle), error), ("program_destroy", None, C.POINTER(handle)),
            ("program_ninputs", i64, handle),
            ("program_input", i64, handle, i64),
            ("program_add_hlo", enum, handle, handle, handle, error), ("graph_output_count", i64, handle),
            ("graph_output", g.Output, handle, i64),
            ("sim_create", enum, C.POINTER(handle), handle, handle, handle, C.POINTER(Params), error),
            ("sim_destroy", None, C.POINTER(handle)), ("sim_write", enum, handle, i64, C.c_void_p, error),
            ("sim_nbytes", i64, handle, i64), ("sim_run", enum, handle, error),
            ("sim_read", enum, handle, i64, C.c_void_p, error),
            ("sim_storage", C.c_void_p, handle, i64, C.POINTER(i64)),
            ("sim_check", enum, C.POINTER(Difference), handle, i64, error)):
        function = getattr(lib, "tg_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


lib = _bind()


def numpy_dtype(dtype):
    import ml_dtypes
    name = t.lib.tg_dtype_name(dtype)
    name = name.decode() if isinstance(name, bytes) else name
    named = {"pred": np.bool_, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64}
    return np.dtype(named.get(name) or name.replace("s", "int").replace("u", "uint"))


class Simulation:
    """Of HLO text; use in a `with`. seed: of the order of slices."""

    def __init__(self, text, seed=0, cores=0, splits=None, **plan_params):
        self.error = t.Error()
        self.module, self.graph, self.plan = hlo.Module(text), g.Graph(), None
        self.program, self.handle = C.c_void_p(), C.c_void_p()
        self.check(lib.tg_program_create(C.byref(self.program), C.byref(self.error)))
        self.check(lib.tg_program_add_hlo(self.program, self.graph.handle, self.module.handle, C.byref(self.error)))
        self.plan = g.Plan(self.graph, **plan_params)
        params = Params(division=g.DivisionParams(cores=cores), seed=seed)
        if splits is not None:
            rows = [self.division(i, splits) for i in range(len(self.graph.nodes()))]
            self.divisions = (g.Division * len(rows))(*rows)
            params.divisions = self.divisions
        self.check(lib.tg_sim_create(C.byref(self.handle), self.graph.handle, self.plan.handle, self.program,
                                     C.byref(params), C.byref(self.error)))
        self.inputs = [lib.tg_program_input(self.program, i) for i in range(lib.tg_program_ninputs(self.program))]

    def division(self, node, splits):
        """As planned, but for nodes that `splits` names: {"add.1": [2, 1]}."""
        out, error = g.Division(), t.Error()
        self.check(g.lib.tg_graph_plan_divide(C.byref(out), self.graph.handle, self.plan.handle, node,
                                              C.byref(g.DivisionParams()), C.byref(error)))
        name = str(self.graph.nodes()[node].name)
        for loop, n in enumerate(splits.get(name, ())):
            out.splits[loop] = n
        return out

    def check(self, status):
        if status != t.OK:
            error = t.TegulaError(self.error)
            self.close()
            raise error

    def close(self):
        lib.tg_sim_destroy(C.byref(self.handle))
        lib.tg_program_destroy(C.byref(self.program))
        for thing in (self.plan, self.graph, self.module):
            if thing is not None:
                thing.__exit__()
        self.plan = self.graph = self.module = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.graph is not None:
            self.close()

    def write(self, node, array):
        """An array of the input's shape; its host strides are the graph's."""
        host = self.graph.nodes()[node].host
        dtype = numpy_dtype(host.dtype)
        room = np.zeros(max(1, lib.tg_sim_nbytes(self.handle, node) // dtype.itemsize), dtype)
        view = np.lib.stride_tricks.as_strided(room, host.shape[:host.ndim],
                                               [s * dtype.itemsize for s in host.strides[:host.ndim]])
        view[...] = array
        self.check(lib.tg_sim_write(self.handle, node, room.ctypes.data, C.byref(self.error)))

    def read(self, i):
        out = lib.tg_graph_output(self.graph.handle, i).view
        array = np.zeros(out.shape[:out.ndim], numpy_dtype(out.dtype))
        self.check(lib.tg_sim_read(self.handle, i, array.ctypes.data, C.byref(self.error)))
        return array

    def run(self, *arrays):
        """All outputs."""
        assert len(arrays) == len(self.inputs)
        for node, array in zip(self.inputs, arrays):
            self.write(node, array)
        self.check(lib.tg_sim_run(self.handle, C.byref(self.error)))
        return [self.read(i) for i in range(lib.tg_graph_output_count(self.graph.handle))]

    def difference(self, i):
        out = Difference()
        self.check(lib.tg_sim_check(C.byref(out), self.handle, i, C.byref(self.error)))
        return out

    def input_shapes(self):
        nodes = self.graph.nodes()
        return [(tuple(nodes[i].host.shape[:nodes[i].host.ndim]), numpy_dtype(nodes[i].host.dtype))
                for i in self.inputs]
