"""The backend "spyre-inductor": results are those of the CPU, generated programs allocate what the device needs, and
copies are where the plan has them."""
import copy
import math
import re

import pytest
import test_compile_blocks as blocks
import test_compile_layouts as layouts
import torch

import tegula.torch
from conftest import LONG
from tegula.torch import DataFormats, SpyreTensorLayout, compile_backend, hint, memory
from tegula.torch.compile_lower import CompileError

STICK = 128  # bytes


def compiled(function, *given, **options):
    """The results, and the programs that ran."""
    torch._dynamo.reset()
    programs = []
    with compile_backend.watching(lambda made, program, new, again: programs.append(program)):
        result = torch.compile(function, backend="spyre-inductor", fullgraph=True, options=options)(*given)
    return result, programs


def tensor(size, order=None, dtype=torch.float16):
    x = torch.rand(size).to(dtype)
    return x.to("spyre") if order is None else x.to("spyre", device_layout=SpyreTensorLayout(size, dtype, order))


def body(program):
    """The lines of call(), without comments."""
    text = program.source[program.source.index("def call("):]
    return [line.split("#")[0].strip() for line in text[:text.index("return (")].splitlines()]


def allocated(program):
    """{name of a buffer: its layout}, of those that the program allocates."""
    found = {}
    for line in body(program):
        made = re.match(r"(\w+) = spyre_empty_with_layout\((.*)\)$", line)
        if made:
            names = {"torch": torch, "SpyreTensorLayout": SpyreTensorLayout, "DataFormats": DataFormats}
            found[made[1]] = eval(f"({made[2]})", names)[-1]
    return found


# ---- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", blocks.BLOCKS)
def test_block(name):
    """In 16 bits where the block is fit for it, else in 32."""
    function, shapes, ints, boundaries = blocks.BLOCKS[name]
    dtype, digits = (torch.float16, 6) if name in blocks.IN_16_BITS else (torch.float32, 17)
    given = blocks.arguments(shapes, ints, dtype)
    made, (program,) = compiled(function, *[value.to("spyre") for value in given])
    wanted = function(*[value.double() if value.is_floating_point() else value for value in given])
    made, wanted = (value if isinstance(value, tuple) else (value,) for value in (made, wanted))
    for a, b in zip(made, wanted, strict=True):
        blocks.near(a, b, digits)
    assert program.plan.verify() is None
    assert {node.opcode for node in program.plan.boundaries} == boundaries


# One of each kind: the plan is that of the backend spyre, for which test_compile_layouts.py has them all.
KINDS = ("multi 128x128 a.t()+b.t()+x a.t()+b.t()+x", "matmul x@y.t()", "rect a.t()@b", "chain_t (a.t()+b).t()+c",
         "mm_both (a+b.t())@(c+d.t())", "const_free ones_like(x)+x.t()", "sparse_dense a.amin(-1)+b",
         "sparse_bcast_d0 a.amin(-1)+b", "unsq_d0 a.unsqueeze(-1)+b",
         "outer_diff exp(a.unsqueeze(-1).expand(-1,-1,64)-a.unsqueeze(-2))")


def published():
    named = {f"{case['name']} {case['expr']}": case for case in layouts.cases()}
    return named if LONG else {name: named[name] for name in KINDS}


@pytest.mark.parametrize("case", published().values(), ids=published())
def test_published_program(case):
    """The mixed layouts of torch-spyre's own tests cost what is published."""
    function = eval(f"lambda {', '.join(case['shapes'])}: {case['expr']}", layouts.NAMES)
    given = [tensor(size, case["layouts"].get(name, {}).get("dim_order")) for name, size in case["shapes"].items()]
    if case["cost"] is None:
        with pytest.raises(CompileError, match="gather elements from multiple sticks"):
            compiled(function, *given, model="torch-spyre")
        return
    result, (program,) = compiled(function, *given, model="torch-spyre")
    assert program.plan.optimal and program.plan.restickify_elements == case["cost"]
    assert program.source.count("torch.ops.tegula.restickify.out(") == len(program.plan.restickifies)
    assert torch.equal(result.cpu(), function(*given).cpu())


def test_training_of_a_transformer():
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
    twin, x = copy.deepcopy(model).to("spyre"), torch.rand(2, 5, 32)
    torch._dynamo.reset()
    kinds = []
    with compile_backend.watching(lambda made, program, new, again: kinds.append(made.kind)):
        y = torch.compile(twin, backend="spyre-inductor", fullgraph=True)(x.to("spyre"))
        y.square().mean().backward()
    wanted = model(x)
    wanted.square().mean().backward()
    assert kinds == ["forward", "backward"]
    torch.testing.assert_close(y.cpu(), wanted, rtol=1e-4, atol=1e-5)
    for a, b in zip(twin.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-3, atol=1e-5)


def many(x):
    """Integers, truth, what has several results, and what Inductor writes in words of its own."""
    y = x.float()
    return (x // 5, x % 3, -x // 5, (x > 3) & (x < 9), x.clamp(2, 7), x.sum(0), x.prod(1), x << 1, y / 7, y.round(),
            torch.div(y, 3, rounding_mode="floor"), torch.remainder(-y, 3), torch.fmod(-y, 3), torch.atan2(y, y + 1),
            torch.erf(y), y.lerp(y + 1, 0.3), y.log1p(), torch.nn.functional.softplus(y), y.masked_fill(x > 5, 2.0),
            torch.where(x > 5, x, 0), y.topk(2), x.sort(-1)[1], x.argmax(-1), y.cumsum(0), x.flip(0), x.roll(1, 1),
            y.tril(), torch.cat([x, x * 2], 1), x, x[:0] * 2, y.sum() * y.max(), x.view(2, 6).t().reshape(3, 4) + 1,
            torch.nn.functional.pad(y, (1, 1)), torch.addcmul(y, y, y), x.to(torch.int32), y.reshape(12)[::5])


def test_many_operations():
    x = torch.arange(12).view(3, 4)
    made, _ = compiled(many, x.to("spyre"))
    for a, b in zip(*(torch.utils._pytree.tree_leaves(value) for value in (made, many(x))), strict=True):
        assert a.dtype == b.dtype and a.is_spyre
        torch.testing.assert_close(a.cpu(), b)


def test_inputs_that_are_views():
    """Of one storage, from the middle of it, and of bytes without a layout."""
    whole = tensor((8, 150))
    raw = torch.empty(0, dtype=torch.float16, device="spyre").set_(
        torch.UntypedStorage(140, device="spyre"), 0, (70,), (1,)).copy_(torch.arange(70.0))
    a, b = whole[1:7, 64:134], whole.t()[5:75, 2:8].t()

    def run(a, b, c):
        return a * 2 + b - c, a.t() @ b, c

    made, (program,) = compiled(run, a, b, raw)
    for x, y in zip(made, run(a, b, raw)):
        assert torch.equal(x.cpu(), y.cpu())
    assert sum(node.kind == "input" for node in program.graph) == 2
    assert memory.key(made[2]) == memory.key(raw)


def test_inputs_that_are_written():
    x, y = tensor((6, 70)), tensor((6, 70), [1, 0])
    expected = (x + y.relu()).cpu()

    def run(x, y):
        y.relu_()
        x.add_(y)
        return x[1:]

    view, _ = compiled(run, x, y)
    assert torch.equal(x.cpu(), expected) and torch.equal(view.cpu(), expected[1:])
    x.zero_()
    assert not view.cpu().any()


def test_the_host_takes_part():
    def run(x, h):
        y = x.to("spyre") + torch.tensor([1.0, 2.0], device="spyre")
        return y.cpu() * 2 + h, y, h * 3

    x, h = torch.rand(3, 2), torch.rand(3, 2)
    made, _ = compiled(run, x, h)
    for a, b in zip(made, run(x, h)):
        assert a.device == b.device and torch.equal(a.cpu(), b.cpu())


def test_a_graph_that_holds_a_tensor():
    """It is an input to the planner, and can be copied."""
    from tegula.torch.inductor_backend import Compiled
    graph, module, x = torch.fx.Graph(), torch.nn.Module(), tensor((5, 100))
    module.register_buffer("held", tensor((7, 100)))
    given, held = graph.placeholder("x"), graph.get_attr("held")
    turned = graph.call_function(torch.ops.aten.permute.default, (held, [1, 0]))
    graph.output((graph.call_function(torch.ops.aten.mm.default, (given, turned)),))
    run, programs = Compiled(torch.fx.GraphModule(module, graph), "inference", options={}), []
    with compile_backend.watching(lambda made, program, new, again: programs.append(program)):
        made, = run([x])
    assert torch.equal(made.cpu(), (x @ module.held.t()).cpu()) and len(programs[0].restickifies) == 1


def test_subgraphs():
    def run(x, which):
        return torch.cond(which, lambda x: x + 1, lambda x: x * 2, (x,))

    with pytest.raises(CompileError, match="compiles no subgraphs"):
        compiled(run, tensor((6, 70)), torch.tensor(True))


def test_as_strided_counts_from_the_storage():
    def run(x):
        return x.as_strided((2, 3), (1, 2), 1) + 1

    x = tensor((6, 70))
    assert torch.equal(compiled(run, x)[0].cpu(), run(x).cpu())
    with pytest.raises(CompileError, match="not all of its storage"):
        compiled(run, x[2:])


# ---- layouts, and the memory for them -----------------------------------------------------------


def test_layouts_of_all_tensors():
    """Every tensor of the device has a FixedTiledLayout: inputs that of the tensor, results that of the plan."""
    columns = [1, 0]
    result, (program,) = compiled(lambda x, y: (x + y.t()).sum(-1) * 2, tensor((6, 70)), tensor((70, 6), columns))
    buffers = [operation for operation in program.operations if operation.get_device().type == "spyre"]
    assert len(buffers) == 3 and all(type(b.layout).__name__ == "FixedTiledLayout" for b in buffers)
    by_name = {node.name: program.plan.device_layout(node) for node in program.graph}
    assert [b.layout.device_layout for b in buffers] == [by_name["add"], by_name["sum_1"], by_name["mul"]]
    assert result.device_tensor_layout() == by_name["mul"]
    assert by_name["x"] == SpyreTensorLayout((6, 70), torch.float16)
    assert by_name["y"] == SpyreTensorLayout((70, 6), torch.float16, columns)


@pytest.mark.parametrize("size, dtype, sticks", [((5, 150), torch.float16, 5 * 3), ((5, 150), torch.float32, 5 * 5),
                                                 ((3, 2, 65), torch.int64, 6 * 3), ((7,), torch.bool, 1)], ids=str)
def test_allocated_sizes(size, dtype, sticks):
    """In generated code, for Inductor's planner of memory, and on the device: whole sticks, padding included."""
    x = torch.ones(size).to(dtype).to("spyre")
    result, (program,) = compiled(lambda x: x == 0 if dtype is torch.bool else x + x, x)
    (name, layout), = allocated(program).items()
    buffer, = program.operations
    assert buffer.get_name() == name and buffer.layout.device_layout == layout == result.device_tensor_layout()
    assert math.prod(layout.device_size[:-1]) == sticks
    assert buffer.layout.device_bytes == sticks * STICK
    assert int(buffer.layout.storage_size()) * dtype.itemsize == sticks * STICK
    del result
    before = torch.spyre.memory_allocated()
    made = torch.spyre.spyre_empty_with_layout(size, x.stride(), dtype, layout)
    assert torch.spyre.memory_allocated() - before == sticks * STICK and made.device_tensor_layout() == layout


def test_sparse_results():
    """A sum along the stick has one element in each stick, and the program makes room for that."""
    _, (program,) = compiled(lambda x: x.sum(-1), tensor((5, 150)))
    layout, = allocated(program).values()
    assert layout.device_size[-1] == 64 and layout.stride_map[-1] == -1
    assert math.prod(layout.device_size) == 5 * 64


def test_memory_goes_on():
    """Memory that is free is given to the next tensor of the same layout, and to no other one."""
    def chain(x):
        for _ in range(5):
            x = torch.sin(x) + 1
        return x

    x = tensor((64, 150))
    program, = compiled(chain, x)[1]
    assert len(program.operations) == 10 and len(allocated(program)) == 2 and program.source.count("# reuse") == 8
    before = torch.spyre.memory_allocated()
    torch.spyre.reset_peak_memory_stats()
    program.run(None, [x])
    assert torch.spyre.max_memory_allocated() - before == 2 * 64 * 3 * STICK

    _, (program,) = compiled(lambda x, y: ((x + 1).sum(-1), (y + 1).sum(0)), x, tensor((150, 64)))
    made = allocated(program)
    for line in body(program):
        reused = re.match(r"(\w+) = (\w+);", line)
        if reused:
            assert made[reused[2]] == (made.setdefault(reused[1], made[reused[2]]))
    layouts_of = {b.get_name(): b.layout.device_layout for b in program.operations}
    assert made == {name: layouts_of[name] for name in made}


def test_sizes_that_inductor_plans_with(monkeypatch):
    from torch._inductor import memory as planner
    seen = {}
    before = planner.compute_size_for_scheduler_buffer if compiled(torch.sin, tensor((2, 3))) else None

    def watched(name_to_buf):
        sizes = before(name_to_buf)
        seen.update(sizes)
        return sizes

    monkeypatch.setattr(planner, "compute_size_for_scheduler_buffer", watched)
    _, (program,) = compiled(lambda x: x.sin().t().contiguous().cos(), tensor((5, 150)))
    assert seen == {b.get_name(): (b.layout.device_bytes,) * 2 for b in program.operations}
    assert {size for size, _ in seen.values()} == {5 * 3 * STICK, 150 * STICK}


# ---- copies -------------------------------------------------------------------------------------


def test_restickify_stands_where_the_plan_says():
    """One copy, for both readers, before the first of them; what reads something else is left alone."""
    x, y = tensor((128, 256)), tensor((256, 128))
    result, (program,) = compiled(lambda x, y: (x + y.t()) * (x - y.t()) + y.t().relu().sum(), x, y)
    planned, = program.plan.restickifies
    made, = program.restickifies
    lines = body(program)
    place, = (n for n, line in enumerate(lines) if "restickify" in line)
    out = made.get_name()
    assert f"out={out})" in lines[place]
    assert allocated(program)[out].device_size == list(planned.dst.device_size)
    assert allocated(program)[out].stride_map == list(planned.dst.stride_map)
    readers = [line for line in lines[place + 1:] if re.search(rf"kernel_\d+\(.*\b{out}\b", line)]
    assert len(readers) == len(planned.readers) == 2
    assert not any(re.search(rf"\b{out}\b", line) for line in lines[:place - 1])
    assert torch.equal(result.cpu(), ((x + y.t()) * (x - y.t()) + y.t().relu().sum()).cpu())


def test_a_tensor_that_is_read_in_two_ways():
    """One loop nest loads it twice, and one of the loads goes to the copy."""
    x = tensor((128, 128))
    result, (program,) = compiled(lambda x: x + x.t(), x)
    assert torch.equal(result.cpu(), (x + x.t()).cpu()) and len(program.restickifies) == 1
    (reader, operand), = program.plan.restickifies[0].readers
    kernel = program.source[program.source.index("def kernel_0"):]
    loads = re.findall(r"load\((\w+), 0, \(128, 128\), (\([^)]*\))\)", kernel)
    copied = loads[operand]
    assert copied[0] == program.restickifies[0].get_name() and loads[1 - operand][0] != copied[0]


def test_reads_that_no_stick_fits():
    """Slices that begin inside a stick go through copies, as in the backend spyre."""
    x = tensor((4, 130))

    def run(x):
        return x[:, 3:67] + x[:, :64] @ x[:, 5:69].t()[:, :1] * x[:, 66:130]

    result, (program,) = compiled(run, x)
    assert torch.equal(result.cpu(), run(x).cpu()) and program.source.count("\n    copy(") >= 2


def test_what_cannot_agree():
    def sparse(a, b):
        return a.amin(-1) + b

    a, b = tensor((64, 64, 64)), tensor((64, 64))
    for options in ({"conflicts": "error"}, {"model": "torch-spyre"}):
        with pytest.raises(CompileError) as caught:
            compiled(sparse, a, b, **options)
        assert "return a.amin(-1) + b" in str(caught.value) and caught.value.conflict
    for options in ({}, {"conflicts": "boundary"}, {"restickify_reductions": True}, {"simulate": False}):
        assert torch.equal(compiled(sparse, a, b, **options)[0].cpu(), sparse(a, b).cpu())
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="no option speed"):
        compiled(sparse, a, b, speed=1)


@pytest.mark.parametrize("run", [lambda a, b: torch.outer(a, b) + 1, lambda a, b: a.index_add(0, b[:2].long(), b[2:4])],
                         ids=["outer", "index_add"])
def test_what_cannot_agree_runs(run):
    """By default, as in the backend spyre: what no copy helps is called outside of the plan."""
    a, b = tensor((70,)), tensor((50,))
    result, _ = compiled(run, a, b)
    assert torch.equal(result.cpu(), run(a, b).cpu())


@pytest.mark.parametrize("run", [lambda x: hint(x + 1, stick_dim=0) * 2, lambda x: hint(x, stick_dim=0) * 2,
                                 lambda x: hint(x.t(), dim_order=[0, 1]) + 1])
def test_hints(run):
    x = tensor((5, 100))
    made, _ = compiled(run, x)
    torch._dynamo.reset()
    wanted = torch.compile(run, backend="spyre", fullgraph=True)(x)
    assert layouts.agree(made, wanted, 2)  # the simulated device rounds once, the kernels of the CPU twice
    assert made.device_tensor_layout() == wanted.device_tensor_layout()
    assert made.device_tensor_layout() != x.device_tensor_layout()


def test_each_layout_and_size_has_a_program():
    torch._dynamo.reset()
    seen = []
    run = torch.compile(lambda x: x.softmax(-1).flatten() * x.size(0), backend="spyre-inductor", fullgraph=True,
                        dynamic=True)
    with compile_backend.watching(lambda made, program, new, again: seen.append(new)):
        for n, order in ((3, None), (5, None), (65, None), (3, None), (3, [1, 0]), (3, [1, 0])):
            x = tensor((n, 70), order, torch.float32)
            torch.testing.assert_close(run(x).cpu(), x.cpu().softmax(-1).flatten() * n)
    assert seen == [True, True, True, False, True, False]


def test_explain():
    run = torch.compile(lambda q, k: torch.relu(q @ k.t()), backend="spyre-inductor", fullgraph=True)
    told = tegula.torch.explain(run, tensor((128, 256)), tensor((64, 256)))
    copied, = told.restickifies
    assert told.bytes == told.bound == 32768 and copied["name"] == "k" and "q @ k.t()" in copied["source"]["text"]
    assert "restickify k" in str(told) and "<html" in told.html()
    assert "spyre-inductor" in torch._dynamo.list_backends()
