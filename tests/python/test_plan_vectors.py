"""Published cases of planning: what restickifying costs, coordinates, layouts of results. tests/spec/spyre_plans.json
has them with their sources."""
import json
import math
import re

import pytest

import graph_c as g
import plan_hlo
import tegula_c as t

CASES = json.loads((plan_hlo.ROOT / "tests" / "spec" / "spyre_plans.json").read_text())
RULES = json.loads((plan_hlo.ROOT / "tests" / "spec" / "spyre_rules.json").read_text())


# ---- restickify -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("case", CASES["restickify"]["cases"], ids=lambda case: f"{case['name']} {case['expr']}")
def test_cost_in_the_model_of_torch_spyre(case):
    text = plan_hlo.text_of(case)
    if case["cost"] is None:
        answer = plan_hlo.plan(text, "--model", "torch-spyre", status=3)
        assert "gather elements from multiple sticks" in json.dumps(answer)
        assert plan_hlo.plan(text, status=3)["feasible"] is False
        return
    answer = plan_hlo.plan(text, "--model", "torch-spyre")
    assert answer["optimal"]
    assert answer["restickify_elements"] == case["cost"]
    ours = plan_hlo.plan(text)
    assert ours["optimal"] and ours["lower_bound_bytes"] == ours["restickify_bytes"]
    assert ours["restickify_bytes"] <= answer["restickify_bytes"]


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_baselines_cost_no_less(method):
    for case in CASES["restickify"]["cases"]:
        if case["cost"] is None:
            continue
        answer = plan_hlo.plan(plan_hlo.text_of(case), "--model", "torch-spyre", "--method", method)
        assert answer["restickify_elements"] >= case["cost"]
        assert method == "greedy" or answer["restickify_elements"] == case["cost"]


def test_a_copy_is_shared():
    """outer_diff reads one tensor twice, with the same dimension in the sticks: torch-spyre copies it twice."""
    case = next(c for c in CASES["restickify"]["cases"] if c["name"] == "outer_diff")
    answer = plan_hlo.plan(plan_hlo.text_of(case))
    assert answer["restickify_bytes"] == 64 * 64 * 2 and len(answer["restickifies"]) == 1
    assert len(answer["restickifies"][0]["consumers"]) == 2


@pytest.mark.parametrize("case", CASES["restickify"]["target_layout"], ids=lambda case: str(case["size"]))
def test_target_layout(case):
    to = g.restickify((case["device_size"], case["stride_map"]), case["size"], case["new_stick_dim"])
    wanted = tuple(case["new_device_size"]), tuple(case["new_stride_map"])
    if case["size"] == [3, 128, 64]:  # published without a place for the second stick: half of the tensor is lost
        assert math.prod(wanted[0]) < math.prod(case["size"])
        wanted = (64, 2, 3, 64), (1, 4096, 8192, 64)
    assert to == wanted


# ---- coordinates -----------------------------------------------------------------------------------------

def read_index(text, names):
    """Offset and terms of "1048576*p0 + 4096*(Mod(p1, 256)) + 200"."""
    offset, terms = 0, []
    for part in re.sub(r"\((Mod\([^)]*\))\)", r"\1", text).replace(" - ", " + -").split("+"):
        part = part.strip()
        if re.fullmatch(r"-?\d+", part):
            offset += int(part)
            continue
        factor, _, rest = part.rpartition("*")
        step = int(factor) if factor else -1 if rest.startswith("-") else 1
        match = re.fullmatch(r"-?(?:Mod\((\w+), *(\d+)\)|(\w+))", rest)
        terms.append((names.index(match[1] or match[3]), step, int(match[2] or 0), 0))
    return offset, terms


def value_of(text, values):
    scope = {f"p{i}": value for i, value in enumerate(values)}
    return eval(text, {"Mod": lambda a, b: a % b, "floor": math.floor, **scope})


@pytest.mark.parametrize("case", CASES["coordinates"], ids=lambda case: case["note"])
def test_coordinates(case):
    names = list(case["ranges"])
    offset, terms = read_index(case["index"], names)
    arguments = case["size"], case["stride"], list(case["ranges"].values()), offset, terms
    if "error_contains" in case or offset < 0:  # what begins before its tensor is refused here
        with pytest.raises(t.TegulaError) as refused:
            g.coordinates(*arguments)
        assert case.get("error_contains", "before its tensor") in refused.value.message
        return
    texts = g.coordinates(*arguments)
    for values, wanted in case["samples"]:
        assert [value_of(text, values) for text in texts] == wanted


# ---- layouts of results ------------------------------------------------------------------------------------

def dense(shape):
    return [(d, math.prod(shape[d + 1:])) for d in range(len(shape))]


def reduction(shape, dims, keep):
    """A graph that reduces dims of an input."""
    survivors = [d for d in range(len(shape)) if d not in dims]
    out = [1 if d in dims else shape[d] for d in range(len(shape))] if keep else [shape[d] for d in survivors]
    steps = dict(dense(out))
    result = [(d, steps[d if keep else i]) for i, d in enumerate(survivors)]
    return [g.Node("input", shape), g.Node("reduce", out, shape, [(0, 0, dense(shape))], result)]


def product(x, y):
    """x @ y with as many batch dimensions as there are."""
    batch, m, k, n = x[:-2], x[-2], x[-1], y[-1]
    out = [*batch, m, n]
    nb = len(batch)
    ranges = [*out, k]
    a = [(d, s) for d, s in dense(x)[:-1]] + [(nb + 2, 1)]
    b = [(d, s) for d, s in dense(y)[:-2]] + [(nb + 2, n), (nb + 1, 1)]
    return [g.Node("input", x), g.Node("input", y),
            g.Node("matmul", out, ranges, [(0, 0, a), (1, 0, b)], dense(out))]


def graph_of(op):
    """The graph that an entry of op_output_layouts names; None for operations that have no node here."""
    shapes = [[int(n) for n in re.findall(r"\d+", s)] for s in re.findall(r"\[([\d,]+)\]", op)]
    if op.startswith(("sum(", "amax(")):
        return reduction(shapes[0], [int(re.search(r"\],(-?\d+)", op)[1]) % len(shapes[0])], "keepdim" in op)
    if op.startswith(("matmul(", "bmm(")):
        return product(*shapes)
    if op.startswith("exx2"):
        nodes = reduction(shapes[0], [len(shapes[0]) - 1], False)
        nodes[1].kind = "statistics"
        return nodes
    if op.startswith("clone"):
        return [g.Node("input", shapes[0]), g.Node("clone", shapes[0], shapes[0], [(0, 0, dense(shapes[0]))],
                                                   dense(shapes[0]))]
    return None


@pytest.mark.parametrize("case", CASES["op_output_layouts"], ids=lambda case: case["op"])
def test_layout_of_result(case):
    nodes = graph_of(case["op"])
    if nodes is None:
        assert case["op"].startswith("conv2d")  # test_plan_jax.py
        return
    with g.Graph(nodes) as graph, g.Plan(graph, keep_unit_dims=True, model="torch-spyre") as plan:
        assert plan.summary.feasible and plan.fault() == ""
        assert plan.layout(len(nodes) - 1) == (tuple(case["device_size"]), tuple(case["stride_map"]))
        assert plan.arrangements()[0][-1] == case["element_arrangement"]


# ---- work division --------------------------------------------------------------------------------------------

JUNE = 268435456  # the span that a core reached before August 2026


def pointwise(shape):
    return [g.Node("input", shape), g.Node("pointwise", shape, shape, [(0, 0, dense(shape))], dense(shape))]


@pytest.mark.parametrize("nodes, params, splits, in_span", [
    (pointwise([128, 256]), {}, [32, 1], True),
    (pointwise([512, 256]), {}, [32, 1], True),
    (pointwise([37, 64]), {}, [1, 1], True),
    (pointwise([98000, 4096]), {"cores": 4}, [1, 4], True),  # the sticks must be split, first
    (pointwise([98000, 4096]), {"cores": 1}, [1, 1], False),
    (pointwise([4, 16384, 16384]), {"cores": 16}, [1, 16, 1], True),
    (pointwise([32, 8192, 17408]), {}, [1, 32, 1], False),  # 285212672 bytes even so
    (product([8192, 32768], [32768, 4096]), {}, [4, 2, 4], True),
    (product([8192, 32768], [32768, 4096]), {"max_span_bytes": JUNE}, [16, 1, 2], True),
    (product([512, 4096], [4096, 4096]), {}, [4, 8, 1], True),
    (product([8, 128, 128], [8, 128, 64]), {}, [2, 8, 1, 2], True),
    (reduction([100, 150], [1], False), {}, [25, 1], True),  # the end of a stick is masked: not split
], ids=str)
def test_splits(nodes, params, splits, in_span):
    with g.Graph(nodes) as graph, g.Plan(graph) as plan:
        assert plan.divide(len(nodes) - 1, **params) == (splits, in_span)
        assert plan.divide(0) == ([], True)


# ---- padding --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("case", RULES["padding"]["pad_amount"], ids=str)
def test_right_operands_are_filled(case):
    """With k = 1 there is no loop to sum."""
    k, padded = case["K"], case["K"] + case["pad"]
    with g.Graph(product([128, k], [k, 64])) as graph, g.Plan(graph) as plan:
        assert list(plan.paddings()) == ([("fill", 1, 0, k, padded, "0", 2, 1)] if k not in (1, padded) else [])


def test_a_fill_is_shared():
    nodes = product([128, 150], [150, 64])
    nodes.append(g.Node("matmul", [128, 64], [128, 64, 150], nodes[2].operands, nodes[2].result))
    with g.Graph(nodes) as graph, g.Plan(graph) as plan:
        assert list(plan.paddings()) == [("fill", 1, 0, 150, 192, "0", 2, 2)]


NEUTRAL = {name: str(value) for name, value in RULES["padding"]["neutral"].items() if name in g.REDUCTIONS}


@pytest.mark.parametrize("reduction_name, value", [*NEUTRAL.items(), ("and", "1"), ("or", "0")])
def test_reductions_are_masked(reduction_name, value):
    for case in RULES["padding"]["coordinate_mask"]:
        columns = case["reduce_extent"]
        wanted = [("mask", 0, 1, valid, valid + pad, value, 1, 1) for valid, pad in case["mask"]]
        nodes = reduction([100, columns], [1], False)
        nodes[1].reduction = reduction_name
        with g.Graph(nodes) as graph, g.Plan(graph) as plan:
            assert list(plan.paddings()) == wanted
    nodes = reduction([100, 150], [0], False)  # over rows, which end where they end
    with g.Graph(nodes) as graph, g.Plan(graph) as plan:
        assert list(plan.paddings()) == []


def test_zeros_of_an_exponential_need_no_mask():
    text = ("add { p = f16[] parameter(0)\n q = f16[] parameter(1)\n ROOT r = f16[] add(p, q)\n}\n"
            "ENTRY e {\n a = f16[64,100] parameter(0)\n z = f16[] constant(0)\n x = f16[64,100] exponential(a)\n"
            " s = f16[64] reduce(x, z), dimensions={1}, to_apply=add\n"
            " n = f16[64,100] negate(x)\n ROOT t = f16[64] reduce(n, z), dimensions={1}, to_apply=add\n}\n")
    wanted = [("mask", "a", "x", "-inf"), ("mask", "n", "t", "0")]
    found = plan_hlo.plan(text)["paddings"]
    assert [(p["kind"], p["tensor"], p["consumer"], p["value"]) for p in found] == wanted
    assert all((p["dim"], p["valid"], p["padded"]) == (1, 100, 128) for p in found)
