"""Compiled graphs on the simulated device: what runs there and what does not, in whose memory, and that a wrong plan
gives wrong numbers."""
import threading

import pytest
import torch
from torch.nn import functional as F

import tegula
from tegula.torch import compile_backend, explain, memory


class Recording(type(compile_backend.machine)):
    """What a Machine is asked for."""

    def __init__(self):
        self.asked, self.lent = [], []

    def simulate(self, simulator, nodes, lent):
        self.asked.append(("simulate", len(nodes)))
        self.lent.append(lent)
        super().simulate(simulator, nodes, lent)

    def compute(self, op, args, kwargs, targets, layouts):
        self.asked.append(("compute", op.overloadpacket.__name__))
        return super().compute(op, args, kwargs, targets, layouts)

    def restickify(self, value, target, layout):
        self.asked.append(("restickify", tuple(value.size())))
        return super().restickify(value, target, layout)


@pytest.fixture
def machine():
    before, compile_backend.machine = compile_backend.machine, Recording()
    yield compile_backend.machine
    compile_backend.machine = before


def compiled(function, *given, **options):
    torch._dynamo.reset()
    programs = []
    with compile_backend.watching(lambda compiled, program, new, again: programs.append(program)):
        result = torch.compile(function, backend="spyre", fullgraph=True, options=options)(*given)
    return result, programs[-1]


def mixed(x, y):
    """The CPU sorts in the middle; y is copied for readers on both sides, and so is what comes before."""
    first = (x + y.t()).exp()
    second = first.sort(-1)[0] * 2
    return second.t() + y, first.t() * y


def test_rows_of_operations(machine):
    x, y = torch.rand(70, 100).to("spyre"), torch.rand(100, 70).to("spyre")
    result, program = compiled(mixed, x, y)
    assert [what for what in machine.asked if what[0] != "restickify"] == [
        ("simulate", 2), ("compute", "sort"), ("simulate", 3)]
    for a, b in zip(result, mixed(x.cpu().double(), y.cpu().double()), strict=True):
        assert (a.cpu() - b).abs().max() < 2**-18 * b.max()
    fallback, = [(step.node.name, why) for step, why in program.fallbacks]
    assert fallback == ("sort", "the device has nothing that sorts")


def test_each_restickify_is_made_once(machine):
    """Whoever reads it: those of the plan are as many as are made here and inside of the simulator."""
    x, y = torch.rand(70, 100).to("spyre"), torch.rand(100, 70).to("spyre")
    _, program = compiled(mixed, x, y)
    made = sum(what[0] == "restickify" for what in machine.asked)
    borrowed = sum(lent[2] and not lent[3] for lents in machine.lent for lent in lents)
    assert made + borrowed == len(program.plan.restickifies) > 0


def test_memory_is_lent(machine):
    """Inputs and results are the simulator's own tensors: the same storages, and nothing else outlives the call."""
    x = torch.rand(70, 100).to("spyre")
    run = torch.compile(lambda x: (x * 2 + 1).sum(-1), backend="spyre", fullgraph=True)
    result = run(x)
    (lent,) = machine.lent
    assert [(row[1], row[3]) for row in lent] == [(memory.key(x), True), (memory.key(result), False)]
    before = torch.spyre.memory_allocated()
    run(x)
    assert torch.spyre.memory_allocated() == before


def test_fallbacks_are_told(capsys, monkeypatch):
    monkeypatch.setenv("TEGULA_LOGS", "restickify")
    torch._dynamo.reset()
    told = explain(lambda x: torch.cumprod(x, 0) * torch.special.i0(x) + 1, torch.rand(5, 70).to("spyre"))
    assert {(row["opcode"], row["why"]) for row in told.fallbacks} == {
        ("aten.cumprod.default", "no rule knows it"),
        ("aten.i0.default", "the simulated device has no such operation")}
    assert "2 operations on the CPU" in told.graphs[0].headline()
    said = capsys.readouterr().err
    assert "on the CPU i0 = aten.i0.default: the simulated device has no such operation" in said
    assert "boundary cumprod" in said and "on the CPU cumprod" not in said  # boundaries are, anyway
    assert told.to_dict()["graphs"][0]["fallbacks"] == told.fallbacks and "on the CPU i0" in told.html()
    assert explain(lambda x: x + 1, torch.rand(5).to("spyre")).fallbacks == []


def test_without_simulating(machine):
    """options={"simulate": False}: the CPU calculates everything, and that is said."""
    x = torch.rand(5, 70).to("spyre")
    result, program = compiled(lambda x: (x + 1).sum(-1), x, simulate=False)
    assert machine.asked == [("compute", "add"), ("compute", "sum")] and len(program.fallbacks) == 2
    assert (result.cpu() - (x.cpu() + 1).sum(-1)).abs().max() < 1e-4


# ---- wrong plans -------------------------------------------------------------------------------


def broken(program, left_out):
    """The same program with a simulator that leaves paddings of the plan out."""
    program.simulator = tegula.Simulator(program.plan, program.calculations, in_parts=True, left_out=left_out)
    return program


BREAKABLE = {
    "a fill of zeros behind the summed rows": (lambda x, y: x @ y, (5, 70), (70, 9), "fill"),
    "a mask of a sum": (lambda x, y: (x + y).sum(-1), (5, 70), (5, 70), "mask"),
    "a mask of a maximum": (lambda x, y: (x - y - 2).amax(-1), (5, 70), (5, 70), "mask"),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["f32", "f16"])
@pytest.mark.parametrize("name", BREAKABLE)
def test_a_plan_without_its_padding_is_wrong(name, dtype):
    function, first, second, kind = BREAKABLE[name]
    given = [torch.rand(size).to(dtype).to("spyre") for size in (first, second)]
    wanted = function(*[x.cpu().double() for x in given])
    result, program = compiled(function, *given)
    which = [i for i, padding in enumerate(program.plan.paddings) if padding.kind == kind]
    assert which and (result.cpu() - wanted).abs().max() < 2**-8 * wanted.abs().max()
    wrong, = broken(program, which).run(compile_backend.machine, given)
    assert wrong.cpu().isnan().all()


def test_padding_of_inputs_is_poison():
    """Whatever the memory holds: an input that is zero behind its ends does not make a wrong plan right."""
    x, y = torch.rand(5, 70).to("spyre"), torch.zeros(70, 9).to("spyre")
    _, program = compiled(lambda x, y: x @ y, x, y)
    assert [padding.kind for padding in program.plan.paddings] == ["fill"]
    wrong, = broken(program, [0]).run(compile_backend.machine, [x, y])
    assert wrong.cpu().isnan().all()


# ---- the simulator's memory ----------------------------------------------------------------------


def simulator_of():
    graph = tegula.Graph()
    x = graph.add_input((5, 70), "f16", name="x")
    y = graph.pointwise([x], name="y")
    plan = graph.plan()
    return plan, tegula.Simulator(plan, {y: "negate"}, in_parts=True)


def test_memory_must_be_as_the_plan_has_it():
    plan, simulator = simulator_of()
    x = torch.rand(5, 70).half().to("spyre")
    made = memory.make((5, 70), torch.float16, (70, 1), plan.device_layout("y"))
    simulator._run_part([1], [(0, memory.key(x), False, True, True, True),
                              (1, memory.key(made), False, False, False, False)])
    assert torch.equal(made.cpu(), -x.cpu())
    other = x.to("spyre", device_layout=tegula.SpyreTensorLayout((5, 70), torch.float16, [1, 0]))
    for wrong in (other, x.float(), torch.rand(70, 5).half().to("spyre")):
        with pytest.raises(tegula.ArgumentError, match="does not lie in memory as the plan has it"):
            simulator._run_part([1], [(0, memory.key(wrong), False, True, True, True)])
    with pytest.raises(tegula.ArgumentError, match="neither lent nor made"):
        simulator._run_part([1], [])
    with pytest.raises(tegula.ArgumentError, match="is an input"):
        simulator._run_part([0], [(0, memory.key(x), False, True, True, True)])
    with pytest.raises(RuntimeError, match="is not the storage"):
        simulator._run_part([1], [(0, 4096, False, True, True, True)])
    with pytest.raises(tegula.ArgumentError, match="runs in parts"):
        simulator.run()


def test_threads_share_a_program():
    x = [torch.full((70, 130), float(i)).to("spyre") for i in range(4)]
    run = torch.compile(lambda x: (x @ x.t() + x.sum()).relu(), backend="spyre", fullgraph=True)
    wanted = [run(each).cpu() for each in x]
    graphs = []
    with compile_backend.watching(lambda compiled, program, new, again: graphs.append(compiled)):
        run(x[0])
    wrong = []

    def work(i):
        for _ in range(10):
            made, = graphs[0]([x[i]])
            if not torch.equal(made.cpu(), wanted[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_call_keeps_nothing():
    x = torch.rand(5, 70).to("spyre").requires_grad_()
    run = torch.compile(lambda x: F.gelu(x).sum(), backend="spyre")
    run(x).backward()
    x.grad = None
    before = torch.spyre.memory_allocated()
    for _ in range(3):
        run(x).backward()
        x.grad = None
    assert torch.spyre.memory_allocated() == before
