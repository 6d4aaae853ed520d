"""The backend "spyre-inductor" of torch.compile: our plan, in a program that Inductor writes.

As with the backend "spyre", nothing is compiled before a graph is called, and each kind of inputs has a program: only
then are the layouts of inputs known, those of a backward graph included.
"""
import contextlib
import operator

import torch
from torch.utils._pytree import tree_leaves

from tegula.torch import compile_backend, compile_inputs
from tegula.torch.compile_lower import CompileError, name_of, place_of
from tegula.torch.inductor_hooks import CONFIG, DebugContext, Graph, V, config, register
from tegula.torch.inductor_kernels import write
from tegula.torch.inductor_lower import Lowering
from tegula.torch.inductor_plan import Pass


class _Static:
    """A graph for inputs of one kind: sizes are numbers, and `meta["val"]` of each node is a fake tensor. `places` are
    those of the inputs that are tensors, and `outputs` has a node where the result is one."""

    def __init__(self, module, values):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv
        self.mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv(), static_shapes=True)
        self.graph, self.inputs = torch.fx.Graph(), []
        self.places = [place for place, value in enumerate(values) if isinstance(value, torch.Tensor)]
        self.known = {}  # node of the module: node of the graph, or what it is if it is no tensor
        left = iter(values)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                self._input(node, next(left))
            elif node.op == "output":
                self.outputs = [self.known[n] if isinstance(n, torch.fx.Node) else n for n in tree_leaves(node.args[0])]
            else:
                self._add(node, self._value(module, node))
        self._finish(module)

    def _finish(self, module):
        tensors = [n for n in self.outputs if isinstance(n, torch.fx.Node) and n.op != "placeholder"]
        self.graph.output(tuple(tensors)).meta.update(
            user_visible_output_idxs=list(range(len(tensors))),
            original_output_strides=[tuple(n.meta["val"].stride()) for n in tensors])
        self.graph.eliminate_dead_code()
        self.module = torch.fx.GraphModule(module, self.graph)

    def _input(self, node, value):
        if isinstance(value, torch.Tensor):
            value = self.mode.from_tensor(value)
            self.inputs.append(value)
        self._add(node, value)

    def _add(self, node, value):
        if isinstance(value, (int, float, bool)) or (value is None and node.op == "placeholder"):
            self.known[node] = value
        else:
            self.known[node] = self.graph.node_copy(node, self.known.__getitem__)
            self.known[node].meta["val"] = value

    def _value(self, module, node):
        def fake(n):
            known = self.known[n]
            return known.meta["val"] if isinstance(known, torch.fx.Node) else known

        if node.op == "get_attr":
            value = operator.attrgetter(node.target)(module)
            return self.mode.from_tensor(value) if isinstance(value, torch.Tensor) else value
        if node.op != "call_function":
            raise CompileError(f"{node.op} {node.target}: only operations can be compiled")
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), fake)
        try:
            with self.mode, torch.no_grad():
                return node.target(*args, **kwargs)
        except Exception as error:
            raise CompileError(f"{name_of(node.target)}{place_of(node)}: {error}") from error


class Program:
    """A program of Inductor's: `source` is its text, `operations` are Inductor's in their order, `restickifies` those
    that copy. What a report asks for is as in compile_program.py."""

    inputs = ()  # a graph looks at them by itself
    fallbacks = ()  # nothing is simulated: all kernels run on the CPU

    def __init__(self, module, given, values, names, options):
        self.given = given
        static = _Static(module, values)
        self.places = static.places
        self.outputs = [self._where(n, static) for n in static.outputs]
        passing = Pass(Lowering(), [given[place] for place in static.places], names, options)
        with contextlib.ExitStack() as stack:
            for context in (config.patch(CONFIG), DebugContext(), V.set_fake_mode(static.mode)):
                stack.enter_context(context)
            graph = Graph(static.module, static.inputs, passing.lowering, passing)
            stack.enter_context(V.set_graph_handler(graph))
            stack.enter_context(V.set_extern_kernel_nodes([]))
            with static.mode:
                graph.run(*static.inputs)
            self.module = graph.compile_to_module()
        with open(self.module.__file__, encoding="utf-8") as file:
            self.source = file.read()
        self.graph, self.plan, self.steps = passing.graph, passing.plan, passing.steps
        self.reads = {index: [read.view for read in reads] for index, reads in passing.building.reads.items()}
        self.restickifies, self.operations = passing.restickifies, graph.operations

    @staticmethod
    def _where(output, static):
        """A result of the program is a node; an input is its place among all, in a tuple; else it is what it is."""
        placeholders = [n for n in static.graph.nodes if n.op == "placeholder"]
        if isinstance(output, torch.fx.Node) and output.op == "placeholder":
            return (static.places[placeholders.index(output)],)
        return output

    def run(self, machine, values):
        given = [_as_described(values[place], self.given[place]) for place in self.places]
        kept = [values[output[0]] if isinstance(output, tuple) else output for output in self.outputs]
        values.clear()  # references here would keep memory alive
        with torch.no_grad():
            results = iter(self.module.call(given))
        made = [next(results) if _from_program(output) else None for output in self.outputs]
        return [a if _from_program(output) else b for output, a, b in zip(self.outputs, made, kept)]


def _from_program(output):
    return isinstance(output, torch.fx.Node)


def _as_described(value, given):
    """A tensor, or a copy of it where its storage has no layout."""
    return compile_inputs._anew(value) if getattr(given, "anew", False) else value


class Compiled(compile_backend.Compiled):
    """One graph, and its programs."""

    def build(self, values):
        register(write)
        given = compile_inputs.describe_all(values)
        return Program(self.module, given, list(map(_as_described, values, given)), self.names, self.options)


def backend(module, example_inputs, options=None, mode=None):
    """What torch.compile(..., backend="spyre-inductor") calls. options are those of the backend "spyre"."""
    register(write)
    return compile_backend.backend(module, example_inputs, options, mode, compiled=Compiled)
