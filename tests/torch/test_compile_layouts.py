"""torch.compile and layouts: published programs cost what is published, a layout is planned once, and what cannot be
planned says why."""
import json
import math
from pathlib import Path

import pytest
import torch

import tegula.torch
from tegula.torch import SpyreTensorLayout, compile_backend, hint, restickify
from tegula.torch.compile_lower import CompileError

PLANS = Path(__file__).resolve().parent.parent / "spec/spyre_plans.json"
CASES = json.loads(PLANS.read_text())["restickify"]["cases"]
NO_PROGRAMS = {"fallback", "fanout"}  # written in other words than PyTorch's
LARGE = {"4d_mixed", "4d_chain"}
NAMES = {"ones_like": torch.ones_like, "exp": torch.exp}


def agree(made, wanted, roundings=4):
    """Up to the roundings of DLFloat16, 9 fraction bits: the simulated device rounds float32 once for each operation,
    and without torch.compile the CPU rounds to float16 first."""
    assert made.size() == wanted.size() and made.dtype == wanted.dtype
    made, wanted = made.cpu().double(), wanted.cpu().double()
    return (made - wanted).abs().max() <= roundings * 2.0**-9 * max(1.0, wanted.abs().max())


def programs_of(function, *given, **options):
    seen = []
    with compile_backend.watching(lambda compiled, program, new, again: seen.append((program, new))):
        result = torch.compile(function, backend="spyre", fullgraph=True, options=options)(*given)
    (program, _), = seen
    return result, program


def tensor(size, order=None):
    x = torch.rand(size).to(torch.float16)
    return x.to("spyre") if order is None else x.to("spyre", device_layout=SpyreTensorLayout(size, x.dtype, order))


def cases():
    """One of each expression."""
    chosen = {(c["expr"], str(c["layouts"])): c for c in CASES if c["name"] not in NO_PROGRAMS | LARGE}
    return list(chosen.values())


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case['name']} {case['expr']}")
def test_published_program(case):
    torch._dynamo.reset()
    function = eval(f"lambda {', '.join(case['shapes'])}: {case['expr']}", NAMES)
    given = [tensor(size, case["layouts"].get(name, {}).get("dim_order")) for name, size in case["shapes"].items()]
    if case["cost"] is None:
        with pytest.raises(CompileError, match="gather elements from multiple sticks"):
            programs_of(function, *given, model="torch-spyre")
        return
    result, program = programs_of(function, *given, model="torch-spyre")
    assert program.plan.optimal and program.plan.restickify_elements == case["cost"]
    assert agree(result, function(*given))
    assert result.device_tensor_layout() == program.plan.device_layout(program.views[program.outputs[0]].index)


def test_copies_are_what_the_plan_says():
    """x + y.t() copies one of them: executed, into the layout of the plan, for all its readers at once."""
    torch._dynamo.reset()

    class Counting(type(compile_backend.machine)):
        made = []

        def restickify(self, value, target, layout):
            copy = super().restickify(value, target, layout)
            self.made.append((value.size(), copy.device_tensor_layout()))
            return copy

    before, compile_backend.machine = compile_backend.machine, Counting()
    try:
        x, y = tensor((128, 256)), tensor((256, 128))
        result, program = programs_of(lambda x, y: (x + y.t()) * (x - y.t()), x, y)
    finally:
        compile_backend.machine = before
    (size, layout), = Counting.made
    copy, = program.plan.restickifies
    assert {reader.node.opcode for reader in copy.readers} == {"aten.add.Tensor", "aten.sub.Tensor"}
    assert size == copy.producer.shape and layout.device_size == list(copy.dst.device_size)
    assert layout.stride_map == list(copy.dst.stride_map) != x.device_tensor_layout().stride_map
    wanted = (x.cpu() + y.cpu().t()).double() * (x.cpu() - y.cpu().t()).double()
    assert (result.cpu().double() - wanted).abs().max() < 2**-8


def test_a_layout_is_planned_once():
    torch._dynamo.reset()
    seen = []
    run = torch.compile(lambda x, y: x + y, backend="spyre", fullgraph=True)
    x, y = tensor((6, 70)), tensor((6, 70))
    with compile_backend.watching(lambda compiled, program, new, again: seen.append((new, program.plan.cost))):
        for other in (y, restickify(y, 0), y, restickify(y, 0), tensor((6, 70))):
            assert agree(run(x, other), x + other, 1)
    assert [new for new, _ in seen] == [True, True, False, False, False]
    assert seen[0][1] == 0 and seen[1][1] > 0


def test_a_graph_looks_at_layouts_itself():
    """Without the guards of Dynamo: a program is chosen for the inputs that come."""
    torch._dynamo.reset()
    kept = []
    with compile_backend.watching(lambda compiled, program, new, again: kept.append(compiled)):
        torch.compile(lambda x: x.sum(0), backend="spyre")(tensor((6, 70)))
    compiled, = set(kept)
    for order in ([0, 1], [1, 0], [0, 1]):
        x = tensor((6, 70), order)
        made, = compiled([x])
        assert torch.allclose(made.cpu().float(), x.cpu().float().sum(0), rtol=2**-8)
    assert len(compiled.programs) == 2


def test_inputs_that_are_views():
    """Of one storage, from the middle of it, and of bytes without a layout."""
    torch._dynamo.reset()
    whole = tensor((8, 150))
    raw = torch.empty(0, dtype=torch.float16, device="spyre").set_(
        torch.UntypedStorage(140, device="spyre"), 0, (70,), (1,)).copy_(torch.arange(70.0))
    a, b = whole[1:7, 64:134], whole.t()[5:75, 2:8].t()
    result, program = programs_of(lambda a, b, c: a * 2 + b - c, a, b, raw)
    assert agree(result, a * 2 + b - raw)
    assert sum(node.kind == "input" for node in program.graph) == 2


def test_inputs_that_are_written():
    torch._dynamo.reset()
    x, y = tensor((6, 70)), tensor((6, 70), [1, 0])
    expected = (x + y.relu()).cpu()
    layout = y.device_tensor_layout()

    def run(x, y):
        y.relu_()
        x.add_(y)
        return x[1:]

    view = torch.compile(run, backend="spyre", fullgraph=True)(x, y)
    assert agree(x, expected, 1) and torch.equal(view.cpu(), x.cpu()[1:])
    assert y.device_tensor_layout() == layout and (y.cpu() >= 0).all()
    x.zero_()
    assert not view.cpu().any()


def test_sizes_left_open():
    """Each size has a program of its own."""
    torch._dynamo.reset()
    run = torch.compile(lambda x: x.softmax(-1).flatten() * x.size(0), backend="spyre", fullgraph=True, dynamic=True)
    for n in (3, 5, 65, 3):
        x = torch.rand(n, 70)
        torch.testing.assert_close(run(x.to("spyre")).cpu(), x.softmax(-1).flatten() * n)


def test_why_there_is_no_plan():
    torch._dynamo.reset()

    def sparse(a, b):
        low = a.amin(-1)
        return low + b

    given = tensor((64, 64, 64)), tensor((64, 64))
    with pytest.raises(CompileError) as caught:
        programs_of(sparse, *given, conflicts="error")
    text = str(caught.value)
    assert "add = aten.add.Tensor at " in text and "test_compile_layouts.py" in text and "(return low + b)" in text
    assert "no mechanism to gather elements" in text and "restickify_reductions=True" in text
    assert caught.value.conflict[0].node.name == "add"
    for words in ({}, {"restickify_reductions": True, "conflicts": "error"}):  # by itself, and as it is told
        result, program = programs_of(sparse, *given, **words)
        assert agree(result, sparse(*given)) and program.plan.cost == 64**3 * 2
        assert program.plan.boundaries == ()


def test_conflicts_can_be_boundaries():
    """The outer product of two vectors: each has its only dimension in its sticks."""
    torch._dynamo.reset()
    a, b = tensor(70), tensor(5)
    with pytest.raises(CompileError, match='conflicts="resolve"'):
        programs_of(lambda a, b: torch.outer(a, b) + 1, a, b, conflicts="error")
    for words in ({"conflicts": "boundary"}, {"conflicts": "resolve"}, {}):
        torch._dynamo.reset()
        result, program = programs_of(lambda a, b: torch.outer(a, b) + 1, a, b, **words)
        boundary, = program.plan.boundaries
        assert boundary.opcode == "aten.mul.Tensor" and agree(result, torch.outer(a, b) + 1)


def test_options_are_those_of_the_planner():
    x = tensor((4, 70))
    for words, match in (({"options": {"beams": 3}}, "no option beams"), ({"mode": "max-autotune"}, "no mode"),
                         ({"options": {"conflicts": "x"}}, "there are resolve, boundary, error")):
        torch._dynamo.reset()
        with pytest.raises(Exception, match=match):
            torch.compile(lambda x: x + 1, backend="spyre", **words)(x)


def test_reads_of_cut_sticks_are_copied():
    """Heads of 16 cut sticks of 64: the reshape becomes a copy, and is told."""
    torch._dynamo.reset()
    x = tensor((5, 48))
    result, program = programs_of(lambda x: x.view(5, 3, 16).transpose(0, 1) @ x.view(5, 3, 16).permute(1, 2, 0), x)
    assert {step.why for step in program.steps if step.kind == "copy"} == {"the reshape cuts sticks"}
    heads = x.cpu().float().view(5, 3, 16).transpose(0, 1)
    assert (result.cpu().float() - heads @ heads.mT).abs().max() < 16 * 2**-9


def test_random_numbers_and_several_results():
    torch._dynamo.reset()
    x = tensor((200, 100))

    def run(x):
        kept = torch.nn.functional.dropout(x, 0.25, True)
        return kept, *x.sort(-1)

    kept, values, places = torch.compile(run, backend="spyre", fullgraph=True)(x)
    zeros = (kept.cpu() == 0).float().mean().item()
    assert math.isclose(zeros, 0.25, abs_tol=0.03)
    assert torch.equal(values.cpu(), x.cpu().sort(-1)[0]) and torch.equal(x.cpu().gather(1, places.cpu()), values.cpu())


def test_results_that_are_not_wanted():
    """The gradient of a convolution's input is None in the middle of the others."""
    torch._dynamo.reset()
    layer = torch.nn.Conv1d(3, 4, 3)
    x, copy = torch.rand(2, 3, 9), torch.nn.Conv1d(3, 4, 3).to("spyre")
    copy.load_state_dict(layer.state_dict())
    layer(x).square().sum().backward()
    torch.compile(copy, backend="spyre")(x.to("spyre")).square().sum().backward()
    for a, b in zip(copy.parameters(), layer.parameters()):
        torch.testing.assert_close(a.grad.cpu(), b.grad)


def test_the_host_takes_part():
    """A graph that begins and ends on the CPU."""
    torch._dynamo.reset()

    def run(x):
        y = (x * 2).to("spyre") @ torch.ones(3, 4, device="spyre")
        return y.cpu() + 1, y, x.sum()

    x = torch.rand(2, 3)
    for a, b in zip(torch.compile(run, backend="spyre", fullgraph=True)(x), run(x), strict=True):
        assert a.device == b.device and torch.allclose(a.cpu(), b.cpu())
    torch.testing.assert_close(torch.compile(torch.sin, backend="spyre")(x), x.sin())


def test_memory_comes_back():
    torch._dynamo.reset()
    run = torch.compile(lambda x: ((x + 1) * 2).sum(-1), backend="spyre")
    x = tensor((100, 100))
    run(x)
    before = torch.spyre.memory_allocated()
    for _ in range(3):
        run(x)
    assert torch.spyre.memory_allocated() == before


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("shape", [(4, 6), (4, 128), (3, 200), (5, 4, 64)])
def test_the_gradient_of_a_tail(shape, dtype):
    """It comes in the strides of the whole, with gaps, and is copied into another layout over the same strides."""
    torch._dynamo.reset()
    for keep in (lambda x: x.chunk(2, -1)[-1], lambda x: x[..., 1:], lambda x: x.chunk(2, 0)[-1]):
        x = torch.rand(shape).to(dtype).to("spyre").requires_grad_()
        torch.compile(keep, backend="spyre", fullgraph=True)(x).sum().backward()
        wanted = torch.zeros(shape)
        keep(wanted).fill_(1)
        assert torch.equal(x.grad.cpu().float(), wanted)


def test_pieces_of_whole_sticks():
    """One stick behind another: nothing is copied, and nothing is left to the CPU."""
    torch._dynamo.reset()
    for sizes in ((64, 64), (128, 64), (64, 10)):
        parts = [tensor((n,)) for n in sizes]
        result, program = programs_of(lambda *parts: torch.cat(parts) + 1, *parts)
        assert agree(result, torch.cat([part.cpu() for part in parts]) + 1)
        assert not (program.fallbacks or program.plan.boundaries or program.plan.restickifies)


# ---- hints -----------------------------------------------------------------------------------------


def test_a_hint_without_compiling():
    x = torch.rand(6, 70).to("spyre").requires_grad_()
    y = hint(x, stick_dim=0)
    assert y.device_tensor_layout() == restickify(x, 0).device_tensor_layout() and torch.equal(y.cpu(), x.cpu())
    assert hint(x, dim_order=[1, 0]).device_tensor_layout() == y.device_tensor_layout()
    hint(x * 2, stick_dim=-2).sum().backward()
    assert (x.grad.cpu() == 2).all()
    host = torch.rand(3)
    assert hint(host, stick_dim=0) is host
    same = hint(y, splits={0: 2})
    assert torch.equal(same.cpu(), x.cpu()) and same is not y
    for words, error in (({}, TypeError), ({"stick_dim": 2}, IndexError), ({"dim_order": [0, 0]}, ValueError),
                         ({"splits": {2: 2}}, IndexError), ({"splits": {0: 0}}, ValueError),
                         ({"tiles": {2: 2}}, IndexError), ({"tiles": {0: 0}}, ValueError),
                         ({"tiles": {0: 2}, "dim_order": [1, 0]}, TypeError),
                         ({"splits": {0: 2}, "dim_order": [1, 0]}, TypeError),
                         ({"stick_dim": 0, "dim_order": [1, 0]}, TypeError)):
        with pytest.raises(error):
            hint(x, **words)


def test_a_hint_chooses_the_stick():
    """The sum is made with dimension 0 in its sticks: both operands are copied, and nothing is copied afterwards."""
    torch._dynamo.reset()
    x, y = tensor((128, 256)), tensor((128, 256))
    result, program = programs_of(lambda x, y: hint(x + y, stick_dim=0) * 2, x, y)
    assert program.plan.stick_loop("add") == 0 and len(program.plan.restickifies) == 2
    assert not any(step.kind == "copy" for step in program.steps)
    assert agree(result, (x + y) * 2, 1)


def test_a_hint_of_an_input_is_a_copy():
    torch._dynamo.reset()
    x = tensor((4, 5, 70)).requires_grad_()
    run = torch.compile(lambda x: hint(x, dim_order=[2, 0, 1]), backend="spyre", fullgraph=True)
    result = run(x)
    assert result.device_tensor_layout() == SpyreTensorLayout((4, 5, 70), torch.float16, [2, 0, 1])
    assert torch.equal(result.cpu(), x.cpu())
    result.sum().backward()
    assert (x.grad.cpu() == 1).all()


def test_an_impossible_hint_says_why():
    """What no operand has in its sticks is not there to be asked for."""
    torch._dynamo.reset()
    with pytest.raises(CompileError, match="gather elements|as a hint asks"):
        programs_of(lambda x: hint(x.amin(-1) + 1, stick_dim=1), tensor((64, 64, 64)), conflicts="error")


def test_restickify_is_an_operation():
    """In eager mode, with a result of one's own, and traced."""
    x, target = tensor((6, 70)), SpyreTensorLayout((6, 70), torch.float16, [1, 0])
    numbers = target.device_size, target.stride_map
    made = torch.ops.tegula.restickify(x, *numbers)
    assert made.device_tensor_layout() == target and torch.equal(made.cpu(), x.cpu())
    out = restickify(torch.zeros_like(x), 0)
    assert torch.ops.tegula.restickify.out(x, out=out) is out and torch.equal(out.cpu(), x.cpu())
    torch._dynamo.reset()
    again = torch.compile(lambda x: torch.ops.tegula.restickify(x * 2, *numbers) + 1, backend="aot_eager",
                          fullgraph=True)(x)
    assert torch.equal(again.cpu(), (x * 2 + 1).cpu())


def test_picking_from_a_number():
    x, places = torch.tensor(3.0).to("spyre"), torch.tensor([0]).to("spyre")
    torch._dynamo.reset()
    run = torch.compile(lambda x, places: x.index_select(0, places) * 2, backend="spyre", fullgraph=True)
    assert run(x, places).cpu().tolist() == 6


def test_a_hint_shares_out_the_work():
    """Slices of the dimensions of a result, each for a core; what is not asked for is left to the rules."""
    torch._dynamo.reset()
    x, y = tensor((128, 256)), tensor((128, 256))

    def run(x, y):
        total = hint(x + y, splits={0: 8, -1: 2})
        return hint(total @ y.t(), splits={0: 4}, stick_dim=1).relu()

    result, program = programs_of(run, x, y)
    assert program.plan.divide("add").splits == (8, 2) and program.plan.divide("relu").splits == (32, 1)
    assert program.plan.divide("mm").splits[0] == 4 and program.plan.stick_loop("mm") == 1
    assert agree(result, (x + y) @ y.t()) and not program.fallbacks
    x = torch.rand(4, 70).to("spyre").requires_grad_()
    torch.compile(lambda x: hint(x * 2, splits={0: 2}).sum(), backend="spyre", fullgraph=True)(x).backward()
    assert (x.grad.cpu() == 2).all()


@pytest.mark.parametrize("shape", [(128, 256), (96, 200)])
def test_a_hint_asks_for_tiles(shape):
    """Work in tiles, each shared out by itself."""
    torch._dynamo.reset()
    x, y = tensor(shape), tensor(shape)

    def run(x, y):
        total = hint(x + y, tiles={0: 8, -1: 2}, splits={0: 2})
        rows = hint((total * total).sum(0), tiles={0: 2})
        return hint(total @ y.t(), tiles={0: 4}, stick_dim=1).relu(), rows

    (result, rows), program = programs_of(run, x, y)
    divide = program.plan.divide
    assert divide("add").tiles == (8, 2) and divide("add").splits[0] == 2 and divide("relu").tiles is None
    assert divide("mm").tiles == (4, 1, 1) and program.plan.stick_loop("mm") == 1 and not program.fallbacks
    total = x + y
    assert agree(result, total @ y.t()) and agree(rows, (total * total).sum(0))


def test_tiles_are_told():
    torch._dynamo.reset()
    told = tegula.torch.explain(lambda x: hint(x + 1, tiles={0: 4}) * 2, tensor((128, 256)))
    added, doubled = (next(node for node in told.graphs[0].nodes if node["name"] == name) for name in ("add", "mul"))
    assert (added["tiles"], added["splits"], doubled["tiles"]) == ([4, 1], [32, 1], None)
    words = "in 4 x 1 tiles of its loops, one after the other, each in 32 x 1 slices"
    assert str(told).count(words) == 1 and words in told.html()
    x = tensor((4, 70)).requires_grad_()
    torch.compile(lambda x: hint(x * 2, tiles={0: 2}).sum(), backend="spyre", fullgraph=True)(x).backward()
    assert (x.grad.cpu() == 2).all()


IMPOSSIBLE = {
    "rounds": (lambda x: hint(x + 1, splits={0: 3}), {},
               "add = aten.add.Tensor at .* cannot have dimension 0 in 3 slices.* 128 rounds, which are no multiple"),
    "sticks": (lambda x: hint(x + 1, splits={1: 8}), {}, "4 sticks, which are no multiple of 8"),
    "cores": (lambda x: hint(x + 1, splits={0: 64}), {}, "more slices than 32 cores"),
    "fewer cores": (lambda x: hint(x + 1, splits={0: 8}), {"cores": 4}, "more slices than 4 cores"),
    "an input": (lambda x: hint(x, splits={0: 8}) + 1, {}, "of the operation that makes a tensor: x is"),
    "no rule": (lambda x: hint(x.cumprod(0), splits={0: 8}) + 1, {},
                "of the operation that makes a tensor: cumprod is"),
    "a view": (lambda x: hint((x + 1).t(), splits={0: 8}) + 1, {}, "of the operation that makes a tensor: add is"),
    "tiles of rounds": (lambda x: hint(x + 1, tiles={0: 3}), {},
                        "add = .* cannot have dimension 0 in 3 tiles.* 128 rounds, which are no multiple of 3 tiles"),
    "tiles of sticks": (lambda x: hint(x + 1, tiles={1: 8}), {}, "4 sticks, which are no multiple of 8 tiles"),
    "tiles and slices": (lambda x: hint(x + 1, tiles={0: 32}, splits={0: 8}), {},
                         "in 8 slices, dimension 0 in 32 tiles.* 4 rounds in a tile, which are no multiple of 8"),
    "tiles of an input": (lambda x: hint(x, tiles={0: 8}) + 1, {}, "^tiles at .* that makes a tensor: x is an input"),
    "tiles of what has no rule": (lambda x: hint(x.cumprod(0), tiles={0: 8}, splits={0: 2}) + 1, {},
                                  "^splits and tiles at .* of the operation that makes a tensor: cumprod is"),
    "no plan": (lambda x: hint(torch.outer(x[0], x[:, 0]), splits={0: 8}), {}, "cannot agree"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_splits_say_why(name):
    torch._dynamo.reset()
    function, options, match = IMPOSSIBLE[name]
    with pytest.raises(CompileError, match=match):
        programs_of(function, tensor((128, 256)), **options)
