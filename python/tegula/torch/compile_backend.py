"""The backend "spyre" of torch.compile: AOTAutograd, our decompositions, the planner, and a program for each kind of
inputs.

Nothing is planned before a graph is called: only then the layouts of its inputs are known, and those of a backward
graph are what its forward graph left. A graph keeps a program for each key (compile_inputs.py), so a layout that comes
again is not planned again. Sizes that PyTorch left open (dynamic shapes) are part of the key: each has its own program.
"""
import threading

import torch

from tegula.torch import compile_decompositions, compile_inputs, compile_log, compile_program, memory

machine = compile_program.Machine()
_watching = threading.local()  # .list: who wants to see the graphs of this thread


class Compiled:
    """One graph, forward or backward, and its programs."""

    def __init__(self, module, kind):
        self.module, self.kind = module, kind
        self.programs = {}

    def program(self, values):
        """The program for these inputs, planned if it is new."""
        key = compile_inputs.key_of(values)
        program = self.programs.get(key)
        if program is None:
            program = compile_program.build(self.module, compile_inputs.describe_all(values))
            self.programs[key] = program
            compile_log.planned(self, program)
        for watch in getattr(_watching, "list", ()):
            watch(self, program)
        return program

    def __call__(self, values):
        given = list(values)
        if isinstance(values, list):
            values.clear()  # the caller's references would keep memory alive
        return self.program(given).run(machine, given)


class watching:
    """`with watching(f):` f(compiled, program) for each graph that runs meanwhile."""

    def __init__(self, watch):
        self.watch = watch

    def __enter__(self):
        _watching.list = [*getattr(_watching, "list", ()), self.watch]

    def __exit__(self, *error):
        _watching.list = [w for w in _watching.list if w is not self.watch]


def _compiler(kind):
    def compiler(module, example_inputs):
        compiled = Compiled(module, kind)

        def run(values):
            return compiled(values)

        run._boxed_call = True
        return run
    return compiler


def backend(module, example_inputs, **options):
    """What torch.compile(..., backend="spyre") calls with a graph of Dynamo's."""
    from torch._dynamo.backends.common import aot_autograd
    compile_graph = aot_autograd(fw_compiler=_compiler("forward"), bw_compiler=_compiler("backward"),
                                 inference_compiler=_compiler("inference"),
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
