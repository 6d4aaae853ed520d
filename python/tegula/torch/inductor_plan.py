"""The pass before Inductor schedules: layouts for all tensors of the device, and copies where operations cannot agree.

What the plan says goes into Inductor's operations: each FixedLayout becomes a FixedTiledLayout, in topological order,
and each restickify an operation before its first reader.
"""
import torch

import tegula
from tegula.torch import compile_program, memory
from tegula.torch.compile_lower import CompileError, View, _asks_producer, is_device
from tegula.torch.inductor_copies import move_before, place_of, redirect, view_of
from tegula.torch.inductor_hooks import V, ir, sympy
from tegula.torch.inductor_layout import FixedTiledLayout
from tegula.torch.inductor_lower import Restickify, clone
from tegula.torch.inductor_nodes import Building


class Pass:
    """plan() of a Graph. Afterwards: `plan`, `graph`, `steps`, `tensors`, `layouts` as a Program of compile_program.py
    has them, and `restickifies`, the operations that copy."""

    def __init__(self, lowering, given, names, options):
        self.lowering, self.given, self.names = lowering, given, names
        self.options = dict(options)
        self.conflicts = compile_program.take_conflicts(self.options)
        self.options.pop("simulate", None)  # nothing is

    def __call__(self, graph):
        self.ir = graph
        self.sticks = {node.args[0].name: node.args[1] for node in graph.module.graph.nodes
                       if _asks_producer(node)}
        self.shares = {}  # hints of them are errors (inductor_lower.py)
        self._freeze()
        building = self._agree()
        self.building, self.graph, self.tensors, self.steps = building, building.graph, building.tensors, building.steps
        self.layouts = {index: self.plan.device_layout(index) for index in self.tensors}
        compile_program.Program._check_hints(self, self)
        self.restickifies = [self._restickify(number) for number in range(len(self.plan.restickifies))]
        self._replace()

    def _freeze(self):
        """No stride of the host is left open."""
        for operation in self.ir.operations:
            if isinstance(operation, ir.Buffer) and isinstance(operation.layout, ir.FlexibleLayout):
                operation.freeze_layout()

    def _agree(self):
        """The graph with a plan; reads that no plan can do where they are go through copies."""
        apart, first = set(), None
        for _ in range(compile_program.MOST_ATTEMPTS):
            building = Building(self.ir, self.lowering, self.given, self.names, self.sticks, apart).run()
            try:
                self.plan = building.graph.plan(keep_unit_dims=memory._unit_dims[0], **self.options)
                return building
            except tegula.PlanInfeasible as error:
                first = first or error
                if not self._cut(building, error.conflict) and not compile_program.give_way(
                        error, apart, self.sticks, self.options, self.conflicts):
                    break
        raise CompileError(compile_program._explain(first), first.conflict) from first

    def _cut(self, building, conflict):
        """Copies of what the operations that cannot agree see of others; whether there are any."""
        found = False
        for row in conflict:
            for read in building.reads.get(row.node.index, ()):
                repeated = row.node.kind in ("matmul", "convolution") and 0 in read.view.stride
                whole = building.tensors[read.view.index]
                if repeated or (read.view.size and not compile_program._is_plain(read.view, whole)):
                    self._copy(read, row.node.tag)
                    found = True
        return found

    def _copy(self, read, node):
        """A clone of what is read, for this reader."""
        name, base = read.name, self._buffer(read.name)
        start = read.view.offset - self._offset(name)
        view = view_of(base, View(0, read.view.size, read.view.stride, start))
        with V.fake_mode:
            fake = torch.empty(read.view.size, dtype=base.get_dtype(), device="spyre")
        with self.ir.set_current_node(node), V.set_current_node(node):
            made = clone(node, view, fake)
        self.lowering.nodes = {made.get_operation_name(): node} | self.lowering.nodes
        self.lowering.whys[made.get_operation_name()] = "no stick fits what is read"
        move_before(self.ir.operations, made, read.operation)
        strides = fake.stride()

        def place(index, arguments):
            loops = [loop for part in arguments for loop in part]
            return sum((s * loops[n] for n, s in zip(read.loops, strides)), sympy.S.Zero)

        redirect(read.operation, read.places, made, View(0, tuple(fake.size()), strides, 0), place)

    def _offset(self, name):
        """Where an input begins in what its storage holds."""
        given = dict(zip(self.ir.graph_inputs, self.given))
        return given[name].offset if name in given else 0

    def _buffer(self, name):
        buffer = self.ir.try_get_buffer(name)
        while isinstance(buffer, ir.MutableBox):
            buffer = buffer.data
        return buffer

    def _restickify(self, number):
        planned = self.plan.restickifies[number]
        index = planned.producer.index
        form = self.layouts[index].device_dtype
        target = tegula.SpyreTensorLayout(list(planned.dst.device_size), list(planned.dst.stride_map), form)
        reads = [self.building.reads[r.node.index][r.operand] for r in planned.readers]
        name, host = self.building.sources.get(index, (reads[0].name, None))
        whole = self.tensors[index]
        layout = FixedTiledLayout(torch.device("spyre:0"), whole.dtype, list(whole.size), list(whole.stride), target)
        made = Restickify(layout, self._buffer(name), None if host is None else (host.size, host.stride))
        order = self.ir.operations
        move_before(order, made, min((read.operation for read in reads), key=lambda o: place_of(order, o)))
        for read in reads:
            base = self.building.at[read.name][1]
            redirect(read.operation, read.places, made, read.view, lambda index, arguments, base=base: index + base)
        return made

    def _replace(self):
        """Every layout of a tensor of the device by a FixedTiledLayout, in topological order."""
        for value, fake in zip(self.ir.graph_inputs.values(), self.ir.example_inputs, strict=True):
            if is_device(fake):
                buffer = value.data.data
                buffer.layout = FixedTiledLayout.of(buffer.layout, fake.device_tensor_layout())
        for operation in self.ir.operations:
            if isinstance(operation, ir.Buffer) and operation.get_name() in self.building.at:
                index, _ = self.building.at[operation.get_name()]
                operation.layout = FixedTiledLayout.of(operation.layout, self.layouts[index])

