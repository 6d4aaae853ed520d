"""A planned graph that can be run: its steps, with the layout of every tensor and the copies that the plan wants.

Operations run on the simulated device (tegula.Simulator), as many in a row as it knows; the others on the CPU, as
without torch.compile, and `fallbacks` names them. compile_run.py is a call of a program.
"""
import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

import tegula
from tegula import SpyreTensorLayout
from tegula.torch import compile_run, fallback, memory
from tegula.torch.compile_lower import CompileError, Lowering, name_of, place_of

MOST_ATTEMPTS = 50  # plans for one graph, each with more reads copied than the one before


class Machine:
    """What runs steps. Tensors are PyTorch's, on the device, in the layouts of the plan."""

    def simulate(self, simulator, nodes, lent):
        """Nodes in a row on the simulated device; lent: as Simulator._run_part takes it."""
        try:
            simulator._run_part(nodes, lent)
        except tegula.ArgumentError as error:  # what a program says is right: what is left are places that data says
            raise IndexError(str(error)) from error

    def restickify(self, tensor, target, layout):
        """A copy that the plan wants, of a whole tensor. Made as any other; the name is for who watches a machine."""
        return self.copy(tensor, target, layout)

    def copy(self, tensor, target, layout):
        """The elements of a view in a tensor of their own."""
        return memory.copy(tensor, memory.make(torch.Size(target.size), target.dtype, target.stride, layout))

    def compute(self, op, args, kwargs, targets, layouts):
        """The results of an operation that runs on the CPU: those on the device in these layouts, rounded by being
        stored; targets are None for others."""
        if isinstance(op, torch._ops.OpOverload) and op.namespace in ("aten", "prims"):
            results = fallback.results_on_cpu(op, args, kwargs)
        else:
            results = op(*args, **kwargs)
        leaves, spec = tree_flatten(results)
        for leaf, target in zip(leaves, targets):
            _check_size(op, leaf, target)
        placed = [leaf if target is None or _lies(leaf, target, layout) else self.copy(leaf, target, layout)
                  for leaf, target, layout in zip(leaves, targets, layouts)]
        return tree_unflatten(placed, spec)


def _check_size(op, made, target):
    """What was planned is what the operation's fake kernel has said."""
    if target is not None and tuple(made.size()) != target.size:
        raise RuntimeError(f"{name_of(op)} gave a tensor of size {list(made.size())}, and its fake kernel told "
                           f"torch.compile {list(target.size)}")


def _lies(tensor, target, layout):
    return (memory.is_spyre(tensor) and tensor.stride() == target.stride and tensor.storage_offset() == 0 and
            tensor.device_tensor_layout() == layout)


# ---- planning ----------------------------------------------------------------------------------


def _dims(size, stride):
    return sorted((step, n) for n, step in zip(size, stride) if n > 1 and step > 0)


def _is_plain(view, whole):
    """Whether a view shows whole dimensions of its tensor."""
    return view.offset == 0 and set(_dims(view.size, view.stride)) <= set(_dims(whole.size, whole.stride))


def _worth_cutting(lowering, conflict):
    """The reads of the operations that cannot agree that would see other sticks in a copy."""
    steps = {index: step for step in lowering.steps for index in step.results}
    found = set()
    for row in conflict:
        step = steps.get(row.node.index)
        if step is None or step.kind != "compute":
            continue
        for position in step.operands:
            view = step.reads[position]
            repeated = row.node.kind in ("matmul", "convolution") and 0 in view.stride
            if repeated or not _is_plain(view, lowering.tensors[view.index]):
                found.add((step.node.name, position))
    return found


def _explain(error):
    lines = [str(error).splitlines()[0]]
    for row in error.conflict:
        node = row.node.tag
        lines.append(f"  {row.node.name} = {name_of(node.target)}{place_of(node)}")
        lines.append(f"    rule: {row.rule}")
        for obstacle in row.obstacles:
            if obstacle.reason:
                stick = "nothing" if obstacle.stick_loop is None else f"p{obstacle.stick_loop}"
                lines.append(f"    operand {obstacle.operand}, {obstacle.producer.name}, as {obstacle.layout}, "
                             f"with {stick} in the sticks: {obstacle.reason}")
    lines += str(error).splitlines()[1 + len(error.conflict):]
    return "\n".join([*lines, "with conflicts=\"resolve\" they run all the same, with copies or outside of the plan"])


PLANNERS = ("model", "method", "width", "cores", "max_branches", "restickify_reductions")  # those of Graph.plan
OPTIONS = (*PLANNERS, "conflicts", "simulate")
CONFLICTS = ("resolve", "boundary", "error")  # what becomes of operations that cannot agree


def check_options(options):
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise ValueError(f"the backend spyre has no option {', '.join(unknown)}; there are {', '.join(OPTIONS)}")
    if options.get("conflicts", "error") not in CONFLICTS:
        raise ValueError(f"conflicts={options['conflicts']!r}: there are {', '.join(CONFLICTS)}")
    return dict(options)


def take_conflicts(options):
    """What becomes of operations that cannot agree, taken out of the options: an error where torch-spyre's rules are
    asked for, which is how torch-spyre has it, and else they run."""
    return options.pop("conflicts", "error" if options.get("model") == "torch-spyre" else "resolve")


def give_way(error, apart, hinted, options, conflicts):
    """What to change where no other copies help: whether there was anything left. Reductions may ask for a copy; then
    the last operation becomes a boundary, since without one of them the others can agree. Never one that a hint is
    about."""
    last = error.conflict[-1].node.tag.name
    if conflicts == "resolve" and not options.get("restickify_reductions"):
        options["restickify_reductions"] = True
    elif conflicts != "error" and last not in apart and last not in hinted:
        apart.add(last)
    else:
        return False
    return True


def _way_out(lowering, error, cut, apart, options, conflicts):
    """First come reads that see other sticks in a copy."""
    more = _worth_cutting(lowering, error.conflict) - cut
    cut |= more
    return bool(more) or give_way(error, apart, (*lowering.sticks, *lowering.shares), options, conflicts)


def build(module, given, names=(), options=None):
    """The Program of a torch.fx graph for inputs of one kind. Reads that no plan can do where they are get copies; what
    still cannot agree is an error with conflicts="error", which is how torch-spyre has it."""
    options = dict(options or {})
    conflicts = take_conflicts(options)
    simulates = options.pop("simulate", True)
    cut, apart, first = set(), set(), None
    for _ in range(MOST_ATTEMPTS):
        lowering = Lowering(module, names, frozenset(cut), frozenset(apart)).run(given)
        try:
            plan = lowering.graph.plan(keep_unit_dims=memory._unit_dims[0], **options)
            return Program(lowering, plan, given, simulates)
        except tegula.PlanInfeasible as error:
            first = first or error
            if not _way_out(lowering, error, cut, apart, options, conflicts):
                break
    raise CompileError(_explain(first), first.conflict) from first


# ---- programs ----------------------------------------------------------------------------------


class Program:
    """`work` is what a call does: lists of steps that run on the simulated device together, and single steps."""

    def __init__(self, lowering, plan, given, simulates=True):
        self.steps, self.tensors, self.constants = lowering.steps, lowering.tensors, lowering.constants
        self.inputs, self.outputs, self.copied = lowering.inputs, lowering.outputs, lowering.copied
        self.attributes = lowering.attributes
        self.places = {node: place for place, (node, _) in enumerate(lowering.inputs)}
        self.graph, self.plan, self.given = lowering.graph, plan, given
        self.views = {node: lowering.view_of(fake) for node, fake in lowering.fakes.items()
                      if memory.is_spyre(fake)}
        self.reads = {index: [step.reads[position] for position in step.operands]
                      for step in lowering.steps for index in step.results}  # what operands of the planner's nodes see
        self.layouts = {index: plan.device_layout(index) for index in self.tensors}
        self.copies = {}  # (node, operand): number of the restickify
        self.targets = []
        for number, copy in enumerate(plan.restickifies):
            form = self.layouts[copy.producer.index].device_dtype
            self.targets.append(SpyreTensorLayout(list(copy.dst.device_size), list(copy.dst.stride_map), form))
            for reader in copy.readers:
                self.copies[reader.node.index, reader.operand] = number
        self._check_hints(lowering)
        self._find_last_uses()
        self.calculations = lowering.calculations if simulates else {}
        self.indexed = {index for index, said in self.calculations.items() if "indices" in said}
        self.simulator = tegula.Simulator(plan, self.calculations, in_parts=True)
        self.whys = {number: self._why_not(step, lowering, simulates) for number, step in enumerate(self.steps)}
        self.fallbacks = [(self.steps[number], why) for number, why in self.whys.items() if why]
        self.work = self._group()

    def _why_not(self, step, lowering, simulates):
        """Why a step does not run on the simulated device; "" if that is no loss."""
        index = next((i for i in step.results if i is not None), None)
        if not simulates and index is not None:
            return "nothing is simulated, as options ask"
        if index in lowering.calculations:
            return self.simulator.obstacle(index)
        moves = step.kind == "copy" or index is None  # a hint, or the host's
        return "" if moves else step.why or lowering.why_not[index]

    def _group(self):
        work, row = [], []
        for number in range(len(self.steps) + 1):
            if number < len(self.steps) and self.whys[number] is None:
                row.append(number)
                continue
            work += [row] if row else []
            work += [number] if number < len(self.steps) else []
            row = []
        return work

    def _check_hints(self, lowering):
        for name, wanted in lowering.sticks.items():
            node = self.graph[name]
            if self.plan.stick_loop(node) != wanted:
                raise CompileError(f"{name} = {node.opcode}{place_of(node.tag)} cannot have dimension {wanted} in its "
                                   f"sticks, as a hint asks: {node.rule}")
        for name, wanted in lowering.shares.items():
            self._check_shares(self.graph[name], wanted)

    def _check_shares(self, node, wanted):
        asked = ", ".join(f"dimension {dim} in {count} {'tiles' if what == 'tiles' else 'slices'}"
                          for what, counts in wanted.items() for dim, count in counts.items())
        said = f"{node.name} = {node.opcode}{place_of(node.tag)} cannot have {asked}, as a hint asks: "
        if node.kind == "boundary":
            raise CompileError(said + "it runs outside of the plan")
        try:
            self.plan.divide(node)
        except tegula.Error as error:
            raise CompileError(said + str(error)) from error

    def copy_read(self, step, position):
        """The number of the restickify that an argument is read through, or None."""
        first = next((i for i in step.results if i is not None), None)
        for operand, at in enumerate(step.operands):
            if at == position and (first, operand) in self.copies:
                return self.copies[first, operand]
        return None

    def _find_last_uses(self):
        self.last = last = {}  # index, or ("copy", number of a restickify): the last step that reads it
        for number, step in enumerate(self.steps):
            for position, view in step.reads.items():
                last[view.index] = number
                copy = self.copy_read(step, position)
                if copy is not None:
                    last["copy", copy] = number
            for index in step.results:
                last.setdefault(index, number)
        for node in self.outputs:
            if node in self.views:
                last[self.views[node].index] = len(self.steps)
        self.ends = [[] for _ in range(len(self.steps) + 1)]
        for what, number in last.items():
            self.ends[number].append(what)

    def run(self, machine, values):
        with torch.no_grad():
            return compile_run.Run(self, machine, values).all()
