"""What the Inductor layer takes from Inductor that is not public: all of it is in this file.

HOOKS lists the functions that are replaced or called, with the arguments that they had when this was written. check()
looks whether they still are so; nothing is compiled if not, and tests/torch/test_inductor_hooks.py names each.

The other files take Inductor's own modules (config, ir, V, ...) from here, and the classes in which they change what
Inductor does: Graph (lowering and the pass before scheduling), Wrapper and Scheduling (code), DeviceKernel (a call of
an operation, with its result allocated by the wrapper).
"""
import functools
import importlib
import inspect

import sympy
import torch
from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device
from torch._inductor import config, ir, memory
from torch._inductor.codegen.common import (DeviceOpOverrides, register_backend_for_device,
                                            register_device_op_overrides)
from torch._inductor.codegen.wrapper import (AllocateLine, FreeIfNotReusedLine, NullLine, PythonWrapperCodegen,
                                             ReuseLine, buffer_reuse_key, pexpr)
from torch._inductor.debug import DebugContext
from torch._inductor.graph import GraphLowering
from torch._inductor.lowering import fallback_handler, fallbacks, lowerings
from torch._inductor.ops_handler import DefaultHandler, WrapperHandler
from torch._inductor.scheduler import BaseScheduling, Scheduler
from torch._inductor.virtualized import OpsValue, V

__all__ = ["CONFIG", "DebugContext", "DefaultHandler", "DeviceKernel", "Graph", "HOOKS", "OpsValue", "V",
           "WrapperHandler", "check", "config", "fallback_handler", "fallbacks", "ir", "lowerings", "pexpr", "register",
           "sympy"]

_I = "torch._inductor."
HOOKS = {
    _I + "codegen.common.register_backend_for_device":
        "device device_scheduling device_wrapper_codegen device_cpp_wrapper_codegen device_fx_wrapper_codegen "
        "device_custom_pass device_custom_config",
    _I + "codegen.common.register_device_op_overrides": "device device_op_overrides",
    _I + "codegen.common.DeviceOpOverrides.device_guard": "self device_idx",
    "torch._dynamo.device_interface.register_interface_for_device": "device device_interface",
    _I + "graph.GraphLowering.call_function": "self target args kwargs",
    _I + "graph.GraphLowering._update_scheduler": "self",
    _I + "graph.GraphLowering.get_allocation_storage_size": "self node",
    _I + "graph.GraphLowering.get_dep_size_hint": "self dep count_bytes",
    _I + "graph.GraphLowering.compile_to_module": "self",
    _I + "graph.GraphLowering.run": "self args",
    _I + "graph.GraphLowering.set_current_node": "self node",
    _I + "graph.GraphLowering.try_get_buffer": "self buffer_name",
    _I + "memory.compute_size_for_scheduler_buffer": "name_to_buf",
    _I + "lowering.fallback_handler": "kernel add_to_fallback_set",
    _I + "scheduler.Scheduler.__init__": "self nodes",
    _I + "scheduler.Scheduler.free_buffers": "self",
    _I + "scheduler.BaseSchedulerNode.mark_run": "self",
    _I + "scheduler.BaseScheduling.can_fuse_vertical": "self node1 node2",
    _I + "scheduler.BaseScheduling.can_fuse_horizontal": "self node1 node2",
    _I + "scheduler.BaseScheduling.group_fn": "self sizes",
    _I + "scheduler.BaseScheduling.codegen_node": "self node",
    _I + "scheduler.BaseScheduling.codegen_sync": "self",
    _I + "scheduler.BaseScheduling.flush": "self",
    _I + "codegen.wrapper.buffer_reuse_key": "node",
    _I + "codegen.wrapper.AllocateLine.plan": "self state",
    _I + "codegen.wrapper.AllocateLine.should_reuse_buffer": "self free_line size",
    _I + "codegen.wrapper.FreeIfNotReusedLine.plan": "self state",
    _I + "codegen.wrapper.ReuseLine.__init__": "self wrapper node reused_as delete_old comm_buffer",
    _I + "codegen.wrapper.PythonWrapperCodegen.create":
        "is_subgraph subgraph_name parent_wrapper partition_signatures",
    _I + "codegen.wrapper.PythonWrapperCodegen.write_header": "self",
    _I + "codegen.wrapper.PythonWrapperCodegen.make_buffer_allocation": "self buffer",
    _I + "codegen.wrapper.PythonWrapperCodegen.writeline": "self line",
    _I + "codegen.wrapper.PythonWrapperCodegen.val_to_arg_str": "self s type_",
    _I + "ir.ExternKernel.process_kernel": "kernel args kwargs",
    _I + "ir.ExternKernelOut.__init__":
        "self layout inputs constant_args kwargs output_view python_kernel_name cpp_kernel_name "
        "ordered_kwargs_for_cpp_kernel op_overload",
    _I + "ir.ExternKernelOut.codegen": "self wrapper",
    _I + "ir.FixedLayout.__init__": "self device dtype size stride offset is_pinned",
    _I + "ir.FixedLayout.storage_size": "self",
    _I + "ir.Buffer.freeze_layout": "self",
    _I + "ir.ir_node_to_tensor": "x replace_symbols_with_hints",
    _I + "ir.as_storage_and_layout": "x freeze want_contiguous stride_order allow_padding exact_strides",
    _I + "ops_handler.DefaultHandler._default": "self name args kwargs",
    _I + "ops_handler.WrapperHandler.__init__": "self inner",
}

# What of Inductor's own choices would undo what the planner has decided, or has no meaning here.
CONFIG = {
    "force_disable_caches": True,  # its keys know nothing of device layouts
    "inplace_buffers": False, "split_reductions": False, "unroll_reductions_threshold": 1, "fallback_random": True,
    "memory_planning": False, "comprehensive_padding": False, "alignment_asserts": False, "combo_kernels": False,
    "loop_ordering_after_fusion": False, "layout_optimization": False, "graph_partition": False, "cpp_wrapper": False,
    "triton.cudagraphs": False, "benchmark_kernel": False,
}


def _found(name):
    """What a dotted name stands for, or None."""
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            value = inspect.getattr_static(value, part, None)
        return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    return None


def complaint(name):
    """What is wrong with a hook, or None."""
    function = _found(name)
    if function is None:
        return f"{name} is gone"
    has = " ".join(p for p in inspect.signature(function).parameters if p != "cls")
    return None if has == HOOKS[name] else f"{name} takes ({has}), and took ({HOOKS[name]})"


@functools.cache
def check():
    """Nothing, or a RuntimeError that says what PyTorch has changed."""
    wrong = [c for c in map(complaint, HOOKS) if c is not None]
    wrong += [f"torch._inductor.config has no {name}" for name in CONFIG if not _has_setting(name)]
    if wrong:
        raise RuntimeError(f"backend spyre-inductor does not fit PyTorch {torch.__version__}; the backend spyre needs "
                           "none of this:\n  " + "\n  ".join(wrong))


def _has_setting(name):
    try:
        functools.reduce(getattr, name.split("."), config)
    except AttributeError:
        return False
    return True


# ---- the device ---------------------------------------------------------------------------------


class Properties:
    type, multi_processor_count, major, minor = "spyre", 32, 0, 0


class Interface(DeviceInterface):
    """What Dynamo and Inductor ask of a device."""

    class Worker:
        @staticmethod
        def get_device_properties(device=None):
            return Properties()

        @staticmethod
        def current_device():
            return 0

        @staticmethod
        def set_device(device):
            torch.spyre.set_device(device)

    current_device = staticmethod(lambda: 0)
    device_count = staticmethod(lambda: 1)
    is_available = staticmethod(lambda: True)
    set_device = staticmethod(lambda device: torch.spyre.set_device(device))
    synchronize = staticmethod(lambda device=None: torch.spyre.synchronize(device))
    get_compute_capability = staticmethod(lambda device=None: "")
    is_triton_capable = staticmethod(lambda device=None: False)
    is_bf16_supported = staticmethod(lambda including_emulation=False: True)


class OpOverrides(DeviceOpOverrides):
    """What generated code says about the one device: nothing has to be chosen, or waited for."""

    def import_get_raw_stream_as(self, name):
        return f"{name} = lambda device: 0"

    def set_device(self, device_idx):
        return "pass"

    def synchronize(self):
        return "pass"

    def device_guard(self, device_idx):
        return "torch._ops.contextlib.nullcontext()"


# ---- intermediate representation ----------------------------------------------------------------


class DeviceKernel(ir.ExternKernelOut):
    """A call of an operation. `opened(tensors)` are its arguments with these tensors in place of its inputs."""

    def __init__(self, layout, op, inputs, constants, opened):
        super().__init__(layout=layout, inputs=inputs, constant_args=constants, op_overload=op)
        self.opened = lambda tensors: opened(tensors, constants)

    def codegen(self, wrapper):
        wrapper.call_operation(self)


class Graph(GraphLowering):
    """Lowers by `lower(graph, target, args, kwargs)`, which may call `by_inductor`; before Inductor schedules,
    `plan(graph)` gives every tensor of the device its layout."""

    def __init__(self, module, example_inputs, lower, plan):
        super().__init__(module, example_inputs=example_inputs, shape_env=V.fake_mode.shape_env, is_inference=True)
        self.lower, self.plan = lower, plan

    def call_function(self, target, args, kwargs):
        return self.lower(self, target, args, kwargs)

    def by_inductor(self, target, args, kwargs):
        return super().call_function(target, args, kwargs)

    def _update_scheduler(self):
        self.plan(self)
        self.scheduler = Scheduler(self.operations)

    def get_allocation_storage_size(self, node):
        layout = node.get_layout()
        if getattr(layout, "device_layout", None) is not None:
            return layout.storage_size()
        return super().get_allocation_storage_size(node)

    def get_dep_size_hint(self, dep, count_bytes=True):
        buffer = self.try_get_buffer(dep.name)
        layout = getattr(buffer, "layout", None)
        if getattr(layout, "device_layout", None) is not None:
            return layout.device_bytes if count_bytes else int(layout.storage_size())
        return super().get_dep_size_hint(dep, count_bytes)


def _patch_memory():
    """The order that Inductor chooses for the least memory: with the bytes that the device has to give."""
    before = memory.compute_size_for_scheduler_buffer

    @functools.wraps(before)
    def compute_size_for_scheduler_buffer(name_to_buf):
        sizes = before(name_to_buf)
        for name, buffer in name_to_buf.items():
            layout = getattr(buffer.node, "layout", None)
            if getattr(layout, "device_layout", None) is not None and name in sizes:
                sizes[name] = tuple(layout.device_bytes if size else 0 for size in sizes[name])
        return sizes

    memory.compute_size_for_scheduler_buffer = compute_size_for_scheduler_buffer


# ---- generated code -----------------------------------------------------------------------------


def _reuse_key(node):
    """Memory goes on to a tensor of the same layout alone: its storage knows which elements lie where."""
    layout = getattr(node, "layout", None)
    if getattr(layout, "device_layout", None) is None:
        return buffer_reuse_key(node)
    return (*buffer_reuse_key(node), repr(layout))


class _Allocate(AllocateLine):
    def plan(self, state):
        if self.node.get_name() in V.graph.removed_buffers:
            return NullLine(self.wrapper)
        key = _reuse_key(self.node)
        if config.allow_buffer_reuse and key in state:
            free = state.pop(key)
            size = int(V.graph.get_allocation_storage_size(self.node)) * self.node.get_dtype().itemsize
            if self.should_reuse_buffer(free, size):
                free.is_reused = True
                self.wrapper.estimate_peak.update_peak_between(free, self)
                return ReuseLine(self.wrapper, free.node, self.node)
            state.push(key, free)
        return self


class _Free(FreeIfNotReusedLine):
    def plan(self, state):
        if self.node.get_inputs_that_alias_output() or isinstance(self.node.layout, ir.MultiOutputLayout):
            return self
        if self.node.get_name() in V.graph.removed_buffers:
            return NullLine(self.wrapper)
        if config.allow_buffer_reuse:
            state.push(_reuse_key(self.node), self)
        return self


class Wrapper(PythonWrapperCodegen):
    """The program around the kernels, in Python: allocations in device layouts, and calls of the device's own."""

    @staticmethod
    def create(is_subgraph, subgraph_name, parent_wrapper, partition_signatures=None):
        if is_subgraph:
            raise NotImplementedError("the backend spyre-inductor compiles no subgraphs")
        return Wrapper()

    def write_header(self):
        super().write_header()
        self.header.writeline("from tegula.torch.inductor_runtime import *")

    def writeline(self, line):
        if type(line) is AllocateLine:
            line = _Allocate(line.wrapper, line.node, line.comm_buffer)
        elif type(line) is FreeIfNotReusedLine:
            line = _Free(line.wrapper, line.node)
        super().writeline(line)

    def make_buffer_allocation(self, buffer):
        layout = buffer.get_layout()
        if getattr(layout, "device_layout", None) is None:
            return super().make_buffer_allocation(buffer)
        return f"{buffer.get_name()} = {layout.allocation()}"

    def call_operation(self, kernel):
        """A line with the arguments of a kernel."""
        tensors = [_Reference(tensor.codegen_reference()) for tensor in kernel.inputs]
        args, kwargs = kernel.opened(tensors)
        words = [self.val_to_arg_str(a) for a in args] + [f"{k}={self.val_to_arg_str(a)}" for k, a in kwargs.items()]
        self.writeline(kernel.text(words))


class _Reference:
    """A name, that is printed as it is."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


class Scheduling(BaseScheduling):
    """Every loop nest becomes a function of its own; nothing is fused, since each tensor has its layout."""

    write_kernel = None  # of a buffer: (its source with the name KERNEL, names of the arguments)

    def can_fuse_vertical(self, node1, node2):
        return False

    can_fuse_horizontal = can_fuse_vertical

    def group_fn(self, sizes):
        return tuple(V.graph.sizevars.simplify(sympy.prod(size)) for size in sizes)

    def codegen_node(self, node):
        wrapper = V.graph.wrapper_code
        for part in node.get_nodes():
            part.mark_run()
            source, arguments = type(self).write_kernel(part.node)
            name = f"kernel_{wrapper.next_kernel_suffix()}"
            wrapper.header.splice("\n\n" + source.replace("KERNEL", name))
            wrapper.writeline(f"{name}({', '.join(arguments)})")
        self.free_buffers_in_scheduler()

    def codegen_sync(self):
        pass

    def flush(self):
        pass


@functools.cache
def register(write_kernel):
    """Make Inductor know the device. write_kernel: the source of a loop nest."""
    check()
    Scheduling.write_kernel = staticmethod(write_kernel)
    register_interface_for_device("spyre", Interface)
    register_device_op_overrides("spyre", OpOverrides())
    register_backend_for_device("spyre", Scheduling, Wrapper)
    _patch_memory()
