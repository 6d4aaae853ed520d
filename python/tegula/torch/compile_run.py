"""One call of a program (compile_program.py): its tensors, each as long as somebody reads it."""
import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from tegula.torch import memory


class Run:
    """The tensors of one call."""

    def __init__(self, program, machine, values):
        self.program, self.machine, self.values = program, machine, values
        self.store = dict(program.constants)  # index, or ("copy", number): a tensor of the device
        self.simulated = set()                # what of the store the simulated device has made, padding and all
        self.host = {}                        # torch.fx node: what is no tensor of the device
        for (node, view), given, value in zip(program.inputs, program.given, values):
            if view is None:
                self.host[node] = value
            elif view.index not in self.store:
                self.store[view.index] = given.whole(value)

    def all(self):
        for item in self.program.work:
            numbers = item if isinstance(item, list) else [item]
            if isinstance(item, list):
                self._simulate(numbers)
            else:
                step = self.program.steps[item]
                getattr(self, "_" + step.kind)(step)
            for number in numbers:
                for what in self.program.ends[number]:
                    self.store.pop(what, None)
        return [self._output(node) for node in self.program.outputs]

    def _seen(self, whole, view):
        if tuple(whole.size()) == view.size and whole.stride() == view.stride and view.offset == 0:
            return whole
        return memory._as_strided._op_dk(memory.CPU, whole, view.size, view.stride, view.offset)

    def _restickified(self, index, copy):
        if ("copy", copy) not in self.store:
            self.store["copy", copy] = self.machine.restickify(self.store[index], self.program.tensors[index],
                                                               self.program.targets[copy])
        return self.store["copy", copy]

    def _read(self, step, position):
        view = step.reads[position]
        copy = self.program.copy_read(step, position)
        return self._seen(self.store[view.index] if copy is None else self._restickified(view.index, copy), view)

    # ---- the simulated device ------------------------------------------------------------------

    def _make(self, index, layout):
        target = self.program.tensors[index]
        return memory.make(torch.Size(target.size), target.dtype, target.stride, layout)

    def _simulate(self, numbers):
        """Steps in a row. What is read of others lends its memory, and so does what others read afterwards."""
        program = self.program
        nodes = [program.steps[number].results[0] for number in numbers]
        made, lent = set(nodes), {}
        for step in (program.steps[number] for number in numbers):
            for position, view in step.reads.items():
                copy = program.copy_read(step, position)
                if view.index not in made:
                    self._lend(lent, view.index, copy)
                    if step.results[0] in program.indexed:  # numbers are read where they are
                        self._lend(lent, view.index, None)
                elif copy is not None and program.last["copy", copy] > numbers[-1]:
                    self._borrow(lent, ("copy", copy), view.index, program.targets[copy])
        for index in nodes:
            if program.last[index] > numbers[-1]:
                self._borrow(lent, index, index, program.layouts[index])
        self.machine.simulate(program.simulator, nodes, list(lent.values()))

    def _lend(self, lent, index, copy):
        """A tensor that is there, or its restickify. Only what the simulated device has made has padding to rely on."""
        what = index if copy is None else ("copy", copy)
        if what not in lent:
            tensor = self.store[index] if copy is None else self._restickified(index, copy)
            lent[what] = (index if copy is None else copy, memory.key(tensor), copy is not None, True,
                          what not in self.simulated, index not in self.simulated)

    def _borrow(self, lent, what, index, layout):
        if what not in lent:
            self.store[what] = tensor = self._make(index, layout)
            self.simulated.add(what)
            lent[what] = (what[1] if isinstance(what, tuple) else what, memory.key(tensor), isinstance(what, tuple),
                          False, False, False)

    # ---- one by one ----------------------------------------------------------------------------

    def _arguments(self, step):
        leaves, spec = tree_flatten((step.node.args, step.node.kwargs))
        values = [self._read(step, i) if i in step.reads else self.host[leaf] if isinstance(leaf, torch.fx.Node)
                  else leaf for i, leaf in enumerate(leaves)]
        return tree_unflatten(values, spec)

    def _copy(self, step):
        position, = step.reads
        index, = step.results
        self.store[index] = self.machine.copy(self._read(step, position), self.program.tensors[index],
                                              self.program.layouts[index])

    def _compute(self, step):
        args, kwargs = self._arguments(step)
        targets = [self.program.tensors.get(i) for i in step.results]
        layouts = [self.program.layouts.get(i) for i in step.results]
        results = self.machine.compute(step.node.target, args, kwargs, targets, layouts)
        for index, tensor in zip(step.results, tree_leaves(results)):
            if index is not None:
                self.store[index] = tensor
        if not isinstance(results, torch.Tensor):
            self.host[step.node] = results  # some of them may be the host's

    def _host(self, step):
        if step.node.op == "get_attr":
            self.host[step.node] = self.program.attributes[step.node]
        else:
            args, kwargs = self._arguments(step)
            self.host[step.node] = step.node.target(*args, **kwargs)

    def _output(self, node):
        if not isinstance(node, torch.fx.Node) or node not in self.program.views:
            return self.host[node] if isinstance(node, torch.fx.Node) else node
        if node in self.program.places:
            return self.values[self.program.places[node]]
        view = self.program.views[node]
        made = self._seen(self.store[view.index], view)
        promised = node.meta.get("val")
        if view.index in self.program.copied and promised is not None and made.stride() != promised.stride():
            strides = tuple(map(int, promised.stride()))
            made = memory.copy(made, memory.make(made.size(), made.dtype, strides))
        return made
