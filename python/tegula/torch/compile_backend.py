"""The backend "spyre" of torch.compile: AOTAutograd, our decompositions, the planner, and a program for each kind of
inputs.

Nothing is planned before a graph is called: only then the layouts of its inputs are known, and those of a backward
graph are what its forward graph left. A graph keeps a program for each key (compile_inputs.py), so a layout that comes
again is not planned again. Sizes that PyTorch left open (dynamic shapes) are part of the key: each has its own program.
"""
import re

import torch

from tegula.torch import compile_decompositions, compile_inputs, compile_log, compile_program, memory

machine = compile_program.Machine()
_watching = []  # who wants to see the graphs that run; those of a backward pass run in another thread
_last = {}  # (frame, kind, code): the inputs that it was last planned for, as describe_all tells them


class Compiled:
    """One graph, forward or backward, and its programs."""

    def __init__(self, module, kind, names=(), options=None, frame=None):
        """frame: Dynamo's number of the function that the graph is of."""
        self.module, self.kind, self.names, self.options, self.frame = module, kind, names, options, frame
        self.programs = {}

    def program(self, values):
        """The program for these inputs, planned if it is new."""
        key = compile_inputs.key_of(values)
        program = self.programs.get(key)
        again = []
        if program is None:
            program = self.build(values)
            self.programs[key] = program
            again = self._what_is_new(program)
            compile_log.planned(self, program, again)
            new = True
        else:
            new = False
        for watch in list(_watching):
            watch(self, program, new, again)
        return program

    def build(self, values):
        """A program for inputs like these."""
        return compile_program.build(self.module, compile_inputs.describe_all(values), self.names, self.options)

    def _what_is_new(self, program):
        """Against the last program of the same code, if there was one: the inputs that are different."""
        code = self.frame, self.kind, self.module.code
        before = _last.get(code)
        if len(_last) > 1000:
            _last.clear()
        _last[code] = program.given
        if before is None:
            return []
        names = [node.name if view is None else program.graph[view.index].name for node, view in program.inputs]
        return compile_inputs.differences(names, before, program.given)

    def __call__(self, values):
        given = list(values)
        if isinstance(values, list):
            values.clear()  # the caller's references would keep memory alive
        return self.program(given).run(machine, given)


class watching:
    """`with watching(f):` f(compiled, program, new, again) for each graph that runs meanwhile: whether its program was
    planned for this, and what was different the last time that its code was."""

    def __init__(self, watch):
        self.watch = watch

    def __enter__(self):
        _watching.append(self.watch)

    def __exit__(self, *error):
        _watching.remove(self.watch)


def _compiler(kind, names, options, make, frame):
    def compiler(module, example_inputs):
        compiled = make(module, kind, names, options, frame)

        def run(values):
            return compiled(values)

        run._boxed_call = True
        return run
    return compiler


_SOURCE = re.compile(r"\._(?:modules|parameters|buffers)\['([^']*)'\]")


def _input_names(module):
    """What the user calls the inputs of a graph of Dynamo's: x, layer.0.weight, batch['mask']."""
    names = []
    for node in module.graph.nodes:
        if node.op == "placeholder":
            source = getattr(node.meta.get("grapharg"), "source", None)
            text = getattr(source, "name", node.name)
            text = _SOURCE.sub(r".\1", text() if callable(text) else text)
            text = re.sub(r"^[LG]\['([^']*)'\]", r"\1", text)
            names.append(text.removeprefix("self."))
    return names


def backend(module, example_inputs, options=None, mode=None, compiled=Compiled):
    """What torch.compile(..., backend="spyre") calls with a graph of Dynamo's. options are those of Graph.plan, and
    what of CONFLICTS there is. The backend "spyre-inductor" has its own class of compiled graphs."""
    from torch._dynamo.backends.common import aot_autograd
    if mode not in (None, "default"):
        raise ValueError(f"the backend spyre has no mode {mode!r}; there is only the default one")
    frame = getattr(torch._guards.CompileContext.current_compile_id(), "frame_id", None)
    known = _input_names(module), compile_program.check_options(options or {}), compiled, frame
    compile_graph = aot_autograd(fw_compiler=_compiler("forward", *known), bw_compiler=_compiler("backward", *known),
                                 inference_compiler=_compiler("inference", *known),
                                 decompositions=compile_decompositions.table())
    return compile_graph(module, example_inputs)


# ---- the default backend -----------------------------------------------------------------------


def _names_spyre(value):
    return isinstance(value, (str, torch.device)) and torch.device(value).type == "spyre"


def concerns_spyre(module, example_inputs):
    """Whether a graph has to do with the device: an input, a parameter, or a tensor that it makes there."""
    if any(memory.is_spyre(value) for value in example_inputs):
        return True
    if not isinstance(module, torch.fx.GraphModule):
        return False
    held = [*module.parameters(), *module.buffers()]
    if any(memory.is_spyre(value) for value in held):
        return True
    for node in module.graph.nodes:
        if memory.is_spyre(node.meta.get("example_value")) or memory.is_spyre(node.meta.get("val")):
            return True
        device = node.kwargs.get("device")
        if isinstance(device, (str, torch.device)) and _names_spyre(device):
            return True
        if node.op == "get_attr" and memory.is_spyre(getattr(module, str(node.target), None)):
            return True
    return False
