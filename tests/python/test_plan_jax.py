"""Models as jax emits them, before and after XLA: planned as they are, proven optimal, and judged by the verifier."""
import json

import pytest

import graph_c as g
import hlo_ctypes as hlo
import memory_c as m
import sdsc_c
from made_once import made_once
from sdsc_reader import Checked
from test_memory_loops import check_rounds

NAMES = ["block", "small heads", "gradient", "ragged", "decoder", "mlp", "resnet block", "mixture",
         "cache", "norm gradient", "rotary", "loop", "loop gradient", "recurrent", "until", "branches", "routed",
         "best expert", "embedding gradient", "resnet gradient", "mixture gradient", "groups", "groups gradient",
         "depthwise gradient", "order"]
# XLA for the CPU takes select-and-scatter apart.
BOUNDARIES = {("resnet gradient", "compiled"): {
    "scatter": "it picks single elements, and the device moves whole sticks"}}
FORMS = ["lowered", "compiled"]
# What has nothing between two kernels that slice it alike.
FEW = ["order", "loop", "until", "branches", "best expert", "groups", "groups gradient", "depthwise gradient"]
# Bytes of copies that a person finds by looking at the model: q @ k.T alone needs one, of the keys.
KEYS = {"block": 2 * 128 * 256 * 2, "mlp": 0, "resnet block": 0, "cache": 0}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    found = json.loads((made_once(tmp_path_factory, "plan_models.py") / "models.json").read_text())
    assert sorted(found) == sorted(NAMES)
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_model(models, name, form):
    text = models[name][form]
    with hlo.Module(text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        boundaries = {str(n.opcode): str(n.reason) for n in graph.nodes() if g.KINDS[n.kind] == "boundary"}
        assert boundaries == BOUNDARIES.get((name, form), {})
        with g.Plan(graph) as plan, g.Plan(graph, method="beam") as beam, g.Plan(graph, method="greedy") as greedy:
            s = plan.summary
            assert s.feasible and s.optimal and s.cost == s.lower_bound
            assert s.branches <= (100 if name == "rotary" else 0)
            assert plan.fault() == ""
            assert s.cost == KEYS.get(name, s.cost)
            for other in (beam, greedy):
                assert not other.summary.feasible or other.summary.cost >= s.cost and other.fault() == ""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_memory(models, name, form):
    """Everything that may stay in LX does, proven; where there is little room the exact solver saves the most."""
    with hlo.Module(models[name][form]) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan:
            with m.Memory(graph, plan) as memory:
                assert memory.fault() == "" and memory.summary.optimal
                assert memory.summary.lx_count > 0 or name in FEW
                check_rounds(graph, plan, memory)
                assert not any(m.REASONS[row.reason] == "spilled" for row in memory.rows())
            saved = {}
            for solver in m.SOLVERS:
                with m.Memory(graph, plan, solver, lx_bytes=8192) as memory:
                    assert memory.fault() == ""
                    saved[solver] = memory.summary.saved_bytes
            assert max(saved.values()) == saved["exact"]


def test_deep_model(models):
    """120 blocks, one after the other: as many copies as blocks, and nothing that has to be decided together grows."""
    text, inner = models["block"]["lowered"], None
    lines = text.replace("ENTRY ", "").splitlines()
    start = next(i for i, line in enumerate(text.splitlines()) if line.startswith("ENTRY "))
    inner = lines[start].split()[0]
    parameters = [line.strip().removeprefix("ROOT ") for line in lines[start:] if " parameter(" in line]
    names = {int(p.split("parameter(")[1].split(")")[0]): p.split(" parameter(")[0].split(" = ") for p in parameters}
    x = next(k for k, (_, shape) in names.items() if shape.startswith("bf16[2,128,256]"))
    body = [f"  q{k} = {shape} parameter({k})" for k, (_, shape) in names.items()]
    at = {k: f"q{k}" for k in names}
    for i in range(120):
        body.append(f"  c{i} = {names[x][1]} call({', '.join(at[k] for k in sorted(at))}), to_apply={inner}")
        at[x] = f"c{i}"
    deep = "\n".join(lines) + "\nENTRY deep {\n" + "\n".join(body) + "\n}\n"
    with hlo.Module(deep) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan:
            assert plan.summary.optimal and plan.fault() == ""
            assert plan.summary.cost == 120 * KEYS["block"] and plan.summary.width < 10


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_kernels_of_a_model(models, name, form):
    """Every kernel touches what the graph says; most of a model in 16 bits runs on the device."""
    with hlo.Module(models[name][form]) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan, sdsc_c.Bundle(plan) as bundle:
            checked = Checked(graph, plan, bundle).check()
            assert checked.kernels > 0 or name == "groups"
            if form == "lowered" and name in ("block", "mlp"):
                assert sum(checked.why.values()) < checked.kernels / 10, checked.why
