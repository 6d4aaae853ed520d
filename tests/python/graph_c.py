"""ctypes binding of include/tegula/graph.h: graphs as plain Python values, and plans of them.

A graph is a list of Node; ids are places in it. An access is (node, offset, [(loop, step), ...]); a term may also have
a modulus and an extent.
"""
import ctypes as C
import dataclasses
import math

import tegula_c as t
from hlo_ctypes import Text

i32, i64, u32, enum, size, flag = C.c_int32, C.c_int64, C.c_uint32, C.c_int, C.c_size_t, C.c_bool
KINDS = ["input", "pointwise", "reduce", "matmul", "convolution", "gather", "concatenate", "clone", "constant",
         "default", "boundary", "search", "scatter", "carry", "statistics",
         "normalize"]
MODELS, METHODS = ["tegula", "torch-spyre"], ["exact", "greedy", "beam"]
VALUES = ["0", "1", "-inf", "+inf"]
STEPS = ["node", "restickify", "fill"]
REDUCTIONS = ["sum", "max", "min", "product", "and", "or", "xor"]
UNKNOWN = -1


class Term(C.Structure):
    _fields_ = [("loop", i32), ("step", i64), ("modulus", i64), ("extent", i64)]


class Access(C.Structure):
    _fields_ = [("node", i64), ("offset", i64), ("nterms", i32), ("terms", C.POINTER(Term))]


class Split(C.Structure):
    _fields_ = [("loop", i32), ("slices", i64)]


class Window(C.Structure):
    _fields_ = [("loop", i32), ("size", i64), ("stride", i64), ("dilation", i64), ("base_dilation", i64),
                ("low", i64), ("step", i64), ("extent", i64), ("kernel_step", i64), ("reversed", flag)]


class CNode(C.Structure):
    _fields_ = [("kind", enum), ("name", Text), ("opcode", Text), ("host", t.Host), ("nloops", i32),
                ("ranges", C.POINTER(i64)), ("noperands", i32), ("operands", C.POINTER(Access)), ("result", Access),
                ("no_stick", u32), ("in_channel", i32), ("out_channel", i32), ("reduction", enum), ("no_split", u32),
                ("has_format", flag), ("format", enum), ("variant", Text), ("times", i64),
                ("reason", Text), ("npins", i32), ("pins", C.POINTER(Split)), ("nwishes", i32),
                ("wishes", C.POINTER(Split)), ("ntiles", i32), ("tiles", C.POINTER(Split)),
                ("layout", C.POINTER(t.Spyre)), ("nwindows", i32), ("windows", C.POINTER(Window))]


class NodeInfo(C.Structure):
    _fields_ = [("kind", enum), ("name", Text), ("opcode", Text), ("host", t.Host), ("nloops", i32),
                ("noperands", i32), ("on_device", flag), ("ranges", i64 * 32), ("variant", Text), ("times", i64),
                ("reason", Text), ("nwindows", i32), ("windows", C.POINTER(Window))]


class Params(C.Structure):
    _fields_ = [("model", enum), ("method", enum), ("keep_unit_dims", flag), ("relay_reductions", flag),
                ("width", i32), ("max_branches", i64)]


class DivisionParams(C.Structure):
    _fields_ = [("cores", i32), ("max_span_bytes", i64), ("formula", enum), ("nsplits", i32),
                ("splits", C.POINTER(Split)), ("ntiles", i32), ("tiles", C.POINTER(Split))]


class Division(C.Structure):
    _fields_ = [("nloops", i32), ("splits", i64 * 32), ("cores", i64), ("in_span", flag),
                ("span_bytes", i64), ("tiled", flag), ("tiles", i64 * 32)]


class Summary(C.Structure):
    _fields_ = [("feasible", flag), ("optimal", flag), ("cost", i64), ("lower_bound", i64),
                ("restickify_elements", i64), ("restickify_bytes", i64), ("nrestickifies", i64), ("nboundaries", i64),
                ("npaddings", i64),                ("width", i64), ("branches", i64)]


class Restickify(C.Structure):
    _fields_ = [("producer", i64), ("source", t.Spyre), ("to", t.Spyre), ("stick_dim", i32), ("elements", i64),
                ("bytes", i64), ("first_reader", i64), ("nreaders", i64), ("times", i64)]


class Padding(C.Structure):
    _fields_ = [("mask", flag), ("tensor", i64), ("dim", i32), ("valid", i64), ("padded", i64), ("value", enum),
                ("node", i64), ("operand", i32), ("nreaders", i64)]


class Output(C.Structure):
    _fields_ = [("node", i64), ("view", t.Host)]


class Loop(C.Structure):
    _fields_ = [("first", i64), ("end", i64), ("test", i64)]


class Step(C.Structure):
    _fields_ = [("kind", enum), ("index", i64), ("node", i64), ("noperands", i32), ("on_device", flag),
                ("layout", t.Spyre), ("bytes", i64)]


class Reader(C.Structure):
    _fields_ = [("node", i64), ("operand", i32)]


STRUCTS = {"tg_split": Split, "tg_term": Term, "tg_access": Access, "tg_window": Window,
           "tg_node": CNode, "tg_node_info": NodeInfo,
           "tg_graph_params": Params, "tg_plan_summary": Summary, "tg_restickify": Restickify, "tg_reader": Reader,
           "tg_division_params": DivisionParams, "tg_division": Division,
           "tg_plan_padding": Padding, "tg_output": Output, "tg_loop": Loop, "tg_plan_step": Step}


def _bind():
    lib, handle, error = t.lib, C.c_void_p, C.POINTER(t.Error)
    for name, result, *arguments in (
            ("graph_create", enum, C.POINTER(handle), error), ("graph_destroy", None, C.POINTER(handle)),
            ("graph_add_input", enum, C.POINTER(i64), handle, Text, C.POINTER(t.Host), C.POINTER(t.Spyre), error),
            ("graph_add", enum, C.POINTER(i64), handle, C.POINTER(CNode), error),
            ("graph_keep_to_device", enum, handle, error),
            ("graph_make_boundary", enum, handle, i64, Text, error),
            ("graph_plan_arrangements", enum, C.POINTER(enum), C.POINTER(i64), C.POINTER(i64), handle, handle, error),
            ("graph_add_hlo", enum, handle, handle, error), ("graph_count", i64, handle),
            ("graph_get", NodeInfo, handle, i64), ("graph_access", Access, handle, i64, i32),
            ("graph_add_output", enum, handle, i64, C.POINTER(t.Host), error), ("graph_output_count", i64, handle),
            ("graph_output", Output, handle, i64),
            ("graph_add_loop", enum, handle, C.POINTER(Loop), error), ("graph_loop_count", i64, handle),
            ("graph_loop", Loop, handle, i64),
            ("graph_plan_step_count", i64, handle), ("graph_plan_step", Step, handle, i64),
            ("graph_plan_step_operand", i64, handle, i64, i32), ("graph_plan_node_step", i64, handle, i64),
            ("graph_plan_create", enum, C.POINTER(handle), handle, C.POINTER(Params), error),
            ("graph_plan_destroy", None, C.POINTER(handle)), ("graph_plan_summary", Summary, handle),
            ("graph_plan_layout", flag, C.POINTER(t.Spyre), handle, i64), ("graph_plan_stick", i32, handle, i64),
            ("graph_plan_restickify", Restickify, handle, i64), ("graph_plan_reader", Reader, handle, i64),
            ("graph_plan_verify", enum, C.POINTER(flag), C.c_char_p, size, handle, handle, error),
            ("graph_plan_padding", Padding, handle, i64),
            ("graph_plan_divide", enum, C.POINTER(Division), handle, handle, i64, C.POINTER(DivisionParams), error),
            ("graph_plan_conflict_count", i64, handle), ("graph_plan_conflict", i64, handle, i64),
            ("coordinate_format", enum, C.c_char_p, size, C.POINTER(size), i32, C.POINTER(i64), C.POINTER(i64), i32,
             i32, C.POINTER(i64), C.POINTER(Access), error),
            ("spyre_restickify", enum, C.POINTER(t.Spyre), C.POINTER(t.Spyre), C.POINTER(t.Host), i32, error)):
        function = getattr(lib, "tg_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


lib = _bind()


def _check(status, error):
    if status != t.OK:
        assert error.status == status and error.message
        raise t.TegulaError(error)


def host_of(shape, strides=None, dtype="f16"):
    host = t.Host(dtype=t.lib.tg_dtype_from_name(dtype.encode(), len(dtype)), ndim=len(shape))
    step = 1
    for d in reversed(range(len(shape))):
        host.shape[d] = shape[d]
        host.strides[d] = strides[d] if strides else step
        step *= max(1, shape[d])
    return host


def spyre_of(layout):
    device_size, stride_map, *fmt = layout
    out = t.Spyre(rank=len(device_size), device_dtype=fmt[0] if fmt else 0)
    out.device_size[:len(device_size)] = device_size
    out.stride_map[:len(stride_map)] = stride_map
    return out


def layout_of(spyre):
    return tuple(spyre.device_size[:spyre.rank]), tuple(spyre.stride_map[:spyre.rank])


def access_of(access):
    node, offset, terms = access
    rows = (Term * max(1, len(terms)))(*(Term(*term) for term in terms))
    return Access(node, offset, len(terms), rows)


@dataclasses.dataclass
class Node:
    kind: str
    shape: tuple
    ranges: list = dataclasses.field(default_factory=list)
    operands: list = dataclasses.field(default_factory=list)
    result: list = dataclasses.field(default_factory=list)  # terms
    dtype: str = "f16"
    no_stick: int = 0
    reduction: str = "sum"
    layout: tuple = None  # of an input, or wanted
    opcode: str = ""
    times: int = 0
    pins: tuple = ()  # (loop, slices)
    wishes: tuple = ()
    tiles: tuple = ()
    no_split: int = 0
    opcode: str = ""


class Graph:
    """A graph in the library; use in a `with`."""

    def __init__(self, nodes=()):
        self.handle, self.error, self.kept = C.c_void_p(), t.Error(), []
        _check(lib.tg_graph_create(C.byref(self.handle), C.byref(self.error)), self.error)
        for node in nodes:
            self.add(node)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.tg_graph_destroy(C.byref(self.handle))

    def add(self, node):
        out, host, name = i64(), host_of(node.shape, None, node.dtype), f"n{lib.tg_graph_count(self.handle)}".encode()
        text = Text(C.cast(C.c_char_p(name), C.c_void_p), len(name))
        if node.kind == "input":
            layout = C.byref(spyre_of(node.layout)) if node.layout else None
            _check(lib.tg_graph_add_input(C.byref(out), self.handle, text, C.byref(host), layout,
                                          C.byref(self.error)), self.error)
            return out.value
        ranges = (i64 * max(1, len(node.ranges)))(*node.ranges)
        operands = (Access * max(1, len(node.operands)))(*map(access_of, node.operands))
        opcode = Text(C.cast(C.c_char_p(node.opcode.encode()), C.c_void_p), len(node.opcode))
        c = CNode(kind=KINDS.index(node.kind), name=text, opcode=opcode, host=host, nloops=len(node.ranges),
                  ranges=ranges, noperands=len(node.operands), operands=operands, result=access_of((0, 0, node.result)),
                  no_stick=node.no_stick, reduction=REDUCTIONS.index(node.reduction), times=node.times,
                  npins=len(node.pins), pins=(Split * max(1, len(node.pins)))(*node.pins),
                  nwishes=len(node.wishes), wishes=(Split * max(1, len(node.wishes)))(*node.wishes),
                  ntiles=len(node.tiles), tiles=(Split * max(1, len(node.tiles)))(*node.tiles),
                  no_split=node.no_split, layout=C.pointer(spyre_of(node.layout)) if node.layout else None)
        _check(lib.tg_graph_add(C.byref(out), self.handle, C.byref(c), C.byref(self.error)), self.error)
        return out.value

    def add_hlo(self, module):
        _check(lib.tg_graph_add_hlo(self.handle, module.handle, C.byref(self.error)), self.error)

    def add_output(self, node, view=None):
        _check(lib.tg_graph_add_output(self.handle, node, C.byref(view) if view is not None else None,
                                       C.byref(self.error)), self.error)

    def outputs(self):
        return [lib.tg_graph_output(self.handle, i) for i in range(lib.tg_graph_output_count(self.handle))]

    def add_loop(self, first, end, test=-1):
        _check(lib.tg_graph_add_loop(self.handle, C.byref(Loop(first, end, test)), C.byref(self.error)), self.error)

    def loops(self):
        return [lib.tg_graph_loop(self.handle, i) for i in range(lib.tg_graph_loop_count(self.handle))]

    def keep_to_device(self):
        _check(lib.tg_graph_keep_to_device(self.handle, C.byref(self.error)), self.error)

    def make_boundary(self, node, reason):
        text = Text(C.cast(C.c_char_p(reason.encode()), C.c_void_p), len(reason))
        _check(lib.tg_graph_make_boundary(self.handle, node, text, C.byref(self.error)), self.error)

    def nodes(self):
        return [lib.tg_graph_get(self.handle, i) for i in range(lib.tg_graph_count(self.handle))]


class Plan:
    """A plan of a graph; use in a `with`."""

    def __init__(self, graph, model="tegula", method="exact", **params):
        self.graph, self.handle, error = graph, C.c_void_p(), t.Error()
        c = Params(model=MODELS.index(model), method=METHODS.index(method), **params)
        _check(lib.tg_graph_plan_create(C.byref(self.handle), graph.handle, C.byref(c), C.byref(error)), error)
        self.summary = lib.tg_graph_plan_summary(self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.tg_graph_plan_destroy(C.byref(self.handle))

    def layout(self, node):
        spyre = t.Spyre()
        return layout_of(spyre) if lib.tg_graph_plan_layout(C.byref(spyre), self.handle, node) else None

    def stick(self, node):
        return lib.tg_graph_plan_stick(self.handle, node)

    def restickifies(self):
        """(producer, from, to, bytes, [(node, operand), ...])"""
        found = [lib.tg_graph_plan_restickify(self.handle, i) for i in range(self.summary.nrestickifies)]
        for r in found:
            readers = [lib.tg_graph_plan_reader(self.handle, r.first_reader + k) for k in range(r.nreaders)]
            yield (r.producer, layout_of(r.source), layout_of(r.to), r.bytes, [(x.node, x.operand) for x in readers])

    def paddings(self):
        """(mask or fill, tensor, dimension, valid, padded, value, node, readers)"""
        for i in range(self.summary.npaddings):
            p = lib.tg_graph_plan_padding(self.handle, i)
            kind = "mask" if p.mask else "fill"
            yield kind, p.tensor, p.dim, p.valid, p.padded, VALUES[p.value], p.node, p.nreaders

    def steps(self):
        """(step, [the steps whose tensors it reads])"""
        for i in range(lib.tg_graph_plan_step_count(self.handle)):
            step = lib.tg_graph_plan_step(self.handle, i)
            yield step, [lib.tg_graph_plan_step_operand(self.handle, i, k) for k in range(step.noperands)]

    def step_of(self, node):
        return lib.tg_graph_plan_node_step(self.handle, node)

    def division(self, node, splits=(), tiles=(), **params):
        """splits: wishes, as (loop, slices)"""
        out, error = Division(), t.Error()
        wishes, wanted = (Split * max(1, len(splits)))(*splits), (Split * max(1, len(tiles)))(*tiles)
        params = DivisionParams(nsplits=len(splits), splits=wishes, ntiles=len(tiles), tiles=wanted, **params)
        _check(lib.tg_graph_plan_divide(C.byref(out), self.graph.handle, self.handle, node,
                                        C.byref(params), C.byref(error)), error)
        assert out.cores == math.prod(out.splits[:out.nloops])
        return out

    def divide(self, node, **params):
        """(slices of each loop, whether no core reaches too far)"""
        out = self.division(node, **params)
        return list(out.splits[:out.nloops]), out.in_span

    def arrangements(self):
        """(arrangement of each node, those whose operands do not go together)"""
        n = lib.tg_graph_count(self.graph.handle) + 1
        out, faults, count, error = (enum * n)(), (i64 * n)(), i64(), t.Error()
        _check(lib.tg_graph_plan_arrangements(out, faults, C.byref(count), self.graph.handle, self.handle,
                                              C.byref(error)), error)
        return [t.ARRANGEMENTS[a] for a in out[:-1]], list(faults[:count.value])

    def conflict(self):
        return [lib.tg_graph_plan_conflict(self.handle, i)
                for i in range(lib.tg_graph_plan_conflict_count(self.handle))]

    def fault(self):
        """What the verifier says; empty if all is well."""
        ok, why, error = flag(), C.create_string_buffer(300), t.Error()
        _check(lib.tg_graph_plan_verify(C.byref(ok), why, 300, self.graph.handle, self.handle, C.byref(error)), error)
        assert ok.value == (why.value == b"")
        return why.value.decode()


def coordinates(sizes, strides, ranges, offset, terms):
    """One text for each dimension."""
    n, error, need = len(sizes), t.Error(), size()
    access, buffer, out = access_of((0, offset, terms)), C.create_string_buffer(500), []
    for d in range(n):
        status = lib.tg_coordinate_format(buffer, 500, C.byref(need), n, t.ints(sizes), t.ints(strides), d,
                                          len(ranges), t.ints(ranges), C.byref(access), C.byref(error))
        _check(status, error)
        assert need.value == len(buffer.value)
        out.append(buffer.value.decode())
    return out


def restickify(layout, shape, dim, strides=None):
    out, error = t.Spyre(), t.Error()
    status = lib.tg_spyre_restickify(C.byref(out), C.byref(spyre_of(layout)), C.byref(host_of(shape, strides)), dim,
                                     C.byref(error))
    _check(status, error)
    return layout_of(out)
