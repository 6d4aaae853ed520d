"""What a GraphPlan says: everything that `tegula plan` can be asked, word for word as the command answers."""
import json
import pickle
import random
import subprocess
import time

import pytest

import console
import tegula
from made_once import made_once
from test_package_graph import ATTENTION, PADDED, SPARSE, attention

CAST = """HloModule cast
ENTRY e { x = bf16[64,128] parameter(0)
  w = f32[128] parameter(1)
  f = f32[64,128] convert(x)
  b = f32[64,128] broadcast(w), dimensions={1}
  m = f32[64,128] multiply(f, b)
  ROOT r = f32[64,128] tanh(m) }
"""
FAN = """HloModule fan
ENTRY main {
  a = f16[256,128] parameter(0)
  x = f16[128,256] parameter(1), frontend_attributes={spyre_layout="spyre dim_order=[1,0]"}
  t = f16[128,256] transpose(a), dimensions={1,0}
  s = f16[128,256] add(t, x)
  u = f16[128,256] multiply(t, s)
  ROOT d = f16[128,128] dot(u, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}
}
"""
ONE = "ENTRY e { ROOT a = f16[] parameter(0) }"
OPTIONS = [
    ((), {}),
    (("--device-formats",), {"device_formats": True}),
    (("--release", "2026-06", "--cores", "7"), {"release": "2026-06", "cores": 7}),
    (("--solver", "greedy", "--lx-fraction", "0.98"), {"solver": "greedy", "lx_fraction": 0.98}),
    (("--solver", "bestfit", "--model", "torch-spyre"), {"solver": "bestfit", "model": "torch-spyre"}),
    (("--solver", "firstfit", "--method", "greedy", "--restickify-reductions"),
     {"solver": "firstfit", "method": "greedy", "restickify_reductions": True}),
]


def answer(path, *words):
    done = subprocess.run([console.TEGULA, "plan", path, *words], capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


def plan_of(text, **params):
    try:
        return tegula.plan(text, **params)
    except tegula.PlanInfeasible as error:
        return error.plan


def check(text, path, words, params):
    path.write_text(text)
    plan = plan_of(text, **params)
    assert plan.to_dict() == json.loads(answer(path, "--json", *words))
    said = answer(path, *words).replace("--restickify-reductions there", "restickify_reductions=True there")
    assert plan.report() == str(plan) == said
    if not plan.feasible:
        return
    assert plan.report(limit=1, memory=True) == answer(path, *words, "--limit", "1", "--memory")
    for node in [n for n in plan.graph if n.name][::17]:
        assert plan.explain(node) == plan.explain(node.name) == answer(path, *words, "--explain", node.name)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return json.loads((made_once(tmp_path_factory, "plan_models.py") / "models.json").read_text())


@pytest.mark.parametrize("words, params", OPTIONS, ids=[" ".join(words) for words, _ in OPTIONS])
def test_models_of_jax(models, words, params, tmp_path):
    for forms in models.values():
        check(forms["lowered"], tmp_path / "graph.hlo", words, params)


@pytest.mark.parametrize("words, params", OPTIONS, ids=[" ".join(words) for words, _ in OPTIONS])
@pytest.mark.parametrize("text", [ATTENTION.read_text(), SPARSE, PADDED, CAST, ONE],
                         ids=["attention", "sparse", "padded", "cast", "one"])
def test_small_graphs(text, words, params, tmp_path):
    check(text, tmp_path / "graph.hlo", words, params)


def test_memory_is_that_of_the_json():
    plan = tegula.plan(ATTENTION.read_text(), solver="exact")
    told, memory = plan.to_dict()["memory"], plan.memory
    for field in ("lx_count", "lx_capacity", "lx_peak", "lx_bytes", "saved_bytes", "traffic_bytes", "bound_bytes",
                  "optimal", "pool_count", "pool_peak", "own_count", "own_bytes", "none_count", "none_bytes"):
        assert getattr(memory, field) == told[field], field
    assert len(memory.tensors) == len(told["tensors"]) == 17
    for i, (row, other) in enumerate(zip(memory.tensors, told["tensors"])):
        assert other["step"] == i and row.node.name == other["tensor"]
        for field in ("kind", "home", "address", "bytes", "first", "last", "in_place_of", "why"):
            assert getattr(row, field) == other[field], field
    assert memory.tensors[12].in_place_of == 11 and memory.tensors[12].home == "lx"
    assert tegula.plan(ATTENTION.read_text(), solver="greedy").memory.bound_bytes is None
    assert tegula.plan(ATTENTION.read_text(), lx_fraction=1).memory.lx_count == 0


def test_device_formats_leave_the_graph_alone():
    graph = tegula.Graph.from_hlo(CAST)
    mine = graph["m"]
    mine.tag = "mine"
    kinds = [node.kind for node in graph]
    plan = graph.plan(device_formats=True)
    assert [node.kind for node in graph] == kinds and graph.plan().boundaries == ()
    assert plan.graph is not graph and plan.graph["m"].tag == "mine" and mine.kind == "pointwise"
    assert [node.name for node in plan.boundaries] == ["m", "r"]
    assert plan.layout(mine) == plan.layout("m")
    assert plan.arrangement(graph["f"]) == plan.arrangement("f") != "STANDARD"
    assert graph.plan().arrangement("f") == "STANDARD"
    with pytest.raises(tegula.ArgumentError, match="another graph"):
        plan.layout(tegula.Graph.from_hlo(CAST)["m"])
    with pytest.raises(tegula.ArgumentError, match="another graph"):
        graph.plan().layout(plan.graph["m"])


def test_a_graph_that_grew_has_no_memory():
    graph = tegula.Graph()
    attention(graph)
    plan = graph.plan()
    text = plan.report()
    assert "\nmemory: " in text and "memory" in plan.to_dict()
    graph.pointwise([graph["out"]])
    with pytest.raises(tegula.ArgumentError, match="14 nodes when it was planned, and has 15 now"):
        plan.memory
    assert "memory" not in plan.to_dict() and "\nmemory: " not in plan.report()
    assert plan.report().splitlines()[0] == text.splitlines()[0] and plan.explain("k").startswith("k = ")


def test_wanted_splits():
    plan = tegula.plan(ATTENTION.read_text())
    assert plan.divide("scores", splits={1: 2, 0: 4}).splits == (4, 2, 1)
    assert plan.divide("scores", splits={}).splits == plan.divide("scores").splits
    assert plan.divide("below", release="2026-06").cores == 32 and plan.cores == 32
    assert tegula.plan(ATTENTION.read_text(), cores=3).cores == 3
    for splits, error, words in [({0: 5}, tegula.ArgumentError, "5"), ({7: 2}, tegula.ArgumentError, "loop"),
                                 ({-1: 2}, tegula.ArgumentError, "loop"),
                                 ({0: 1 << 70}, tegula.OverflowError, "64 bits"),
                                 ([(0, 2)], TypeError, "dict"), ({"p0": 2}, TypeError, "int"),
                                 ({i: 1 for i in range(40)}, tegula.ArgumentError, "40 loops")]:
        with pytest.raises(error, match=words):
            plan.divide("scores", splits=splits)


def test_tiles_bring_it_within_reach():
    graph = tegula.Graph()
    x = graph.add_input((1 << 13, 1 << 17), "f16")
    near, far = graph.pointwise([x]), graph.plan().divide(1, cores=1, release="2026-06")
    assert not far.in_span and far.span_bytes <= 1 << 28 and max(far.tiles) > 1
    assert graph.plan().divide(near).in_span and graph.plan().divide(near).tiles is None


@pytest.mark.parametrize("words, error, text", [
    ({"release": "2025"}, tegula.ArgumentError, "release is '2025'; it can be '2026-08' or '2026-06'"),
    ({"solver": "best"}, tegula.ArgumentError, "'exact' or 'greedy' or 'firstfit' or 'bestfit'"),
    ({"lx_fraction": 1.5}, tegula.ArgumentError, "1"), ({"lx_fraction": "half"}, TypeError, "real"),
    ({"lx_fraction": float("nan")}, tegula.ArgumentError, "nan|fraction")])
def test_bad_wishes(words, error, text):
    with pytest.raises(error, match=text):
        tegula.plan(CAST, **words)


def test_bad_questions():
    plan = tegula.plan(ATTENTION.read_text())
    for ask, error, text in [(lambda: plan.report(limit=-1), tegula.ArgumentError, "limit is -1"),
                             (lambda: plan.explain("nobody"), tegula.ArgumentError, "no one node named 'nobody'"),
                             (lambda: plan.explain(16), tegula.ArgumentError, "there are 16"),
                             (lambda: plan.explain(2.5), TypeError, "a node is")]:
        with pytest.raises(error, match=text):
            ask()
    with pytest.raises(tegula.PlanInfeasible) as caught:
        tegula.plan(SPARSE)
    for ask in (lambda p: p.memory, lambda p: p.explain("sum")):
        with pytest.raises(tegula.ArgumentError, match="has no plan"):
            ask(caught.value.plan)


def test_names_by_their_last_part():
    text = """HloModule m
inner { p = f16[64,64] parameter(0)
  ROOT add.1 = f16[64,64] add(p, p) }
ENTRY e { x = f16[64,64] parameter(0)
  one = f16[64,64] call(x), to_apply=inner
  two = f16[64,64] %s
  three = f16[64,64] call(one), to_apply=other
  ROOT r = f16[64,64] add(two, three) }
other { q = f16[64,64] parameter(0)
  ROOT neg.1 = f16[64,64] negate(q) }
"""
    twice, once = (tegula.plan(text % two) for two in ("call(x), to_apply=inner", "negate(x)"))
    assert once.explain("add.1").startswith("one/add.1 = add") and once.explain("%neg.1").startswith("three/neg.1")
    with pytest.raises(tegula.ArgumentError, match="no one node"):
        twice.explain("add.1")


def stick_dim(node, layout):
    """The dimension in the sticks, by the last step of the layout's stride_map; None: one element a stick."""
    step = int(str(layout).rsplit("stride_map=[", 1)[1].split("]")[0].rsplit(",", 1)[-1])
    return next((d for d, s in enumerate(node.strides) if s == step and node.shape[d] > 1), None)


def reason_of(plan, copy):
    """What the report has to say of how the copied tensor is there."""
    node, has = copy.producer, stick_dim(copy.producer, copy.src)
    said = f"{node.name or f'node {node.index}'} ({node.kind}) "
    said += "comes with " if node.kind == "input" else "is written with "
    said += "one element a stick" if has is None else f"dimension {has} in the sticks"
    if node.kind == "input" or has == copy.stick_dim:
        return said + ".\n"
    if copy.stick_dim not in [stick_dim(node, layout) for layout in plan.candidates(node)]:
        return said + f";\n          it cannot be with dimension {copy.stick_dim} there.\n"
    if plan.optimal:
        return said + (f";\n          it is not with dimension {copy.stick_dim} there, where the graph would need as "
                       "much copying, or more.\n")
    return said + f";\n          it could be with dimension {copy.stick_dim} there.\n"


@pytest.mark.parametrize("method", ["exact", "greedy"])
def test_reasons_of_copies(models, method):
    seen = set()
    texts = [forms["lowered"] for forms in models.values()] + [SPARSE, SPARSE.replace("{2}", "{1}"), FAN]
    for text in texts:
        plan = plan_of(text, method=method, restickify_reductions=True)
        blocks = plan.report(limit=1000).split("\n     why  ")[1:]
        assert len(blocks) == len(plan.restickifies)
        for block, copy in zip(blocks, plan.restickifies):
            reason = reason_of(plan, copy)
            assert block.startswith(reason)
            seen.add(reason.split("dimension")[0].split(" (")[1].split(")")[1] + reason.split("\n")[1][:19])
            assert (", as it is; but the others have to be in another order." in block) == (
                stick_dim(copy.producer, copy.src) == copy.stick_dim)
    assert seen >= {" comes with ", " is written with           it cannot",
                    f" is written with           {'it is not' if method == 'exact' else 'it could '}"}


def test_hints_are_those_of_the_text():
    """Layouts and splits that the user wants, the same by hand and in HLO."""
    text = """ENTRY e { a = f16[128,128] parameter(0)
      b = f16[128,128] parameter(1)
      c = f16[128,128] add(a, b), frontend_attributes={spyre_layout="spyre dim_order=[1,0]",spyre_splits="p1=8"}
      ROOT d = f16[128,128] negate(c) }"""
    theirs = tegula.plan(text)
    wanted = theirs.layout("c")
    for layout in (wanted, str(wanted), theirs.device_layout("c")):
        graph = tegula.Graph()
        a, b = (graph.add_input((128, 128), "f16", name=name) for name in "ab")
        c = graph.pointwise([a, b], name="c", opcode="add", layout=layout, splits={1: 8})
        graph.add_output(graph.pointwise([c], name="d", opcode="negate"))
        assert graph.plan().to_dict() == theirs.to_dict() and theirs.divide("c").splits == (2, 8)
    c = graph.add("pointwise", (128, 128), "f16", operands=[a, b], layout=wanted, pins={0: 2}, splits={0: 2, 1: 1})
    assert graph.plan().divide(c).splits == (2, 1) and graph.plan().layout(c) == wanted


def test_words_of_nodes():
    graph = tegula.Graph.from_hlo("""ENTRY e { a = f16[4] parameter(0)
      c = pred[4] compare(a, a), direction=GT
      ROOT r = f16[4] nonsense(a) }""")
    assert (graph["c"].variant, graph["c"].times, graph["c"].reason) == ("GT", 1, "")
    assert graph["r"].reason == "nothing is known of the operation" and graph["r"].kind == "boundary"
    mine = tegula.Graph()
    a = mine.add_input((4,), "f16")
    node = mine.pointwise([a], kind="boundary", variant="v", reason="I say so", times=3)
    assert (node.variant, node.reason, node.times) == ("v", "I say so", 3)
    assert "I say so" in mine.plan().report()
    for words, error, text in [({"times": -1}, tegula.ArgumentError, "runs -1 times"),
                               ({"splits": {1: 2}}, tegula.ArgumentError, "loop 1 of 1"),
                               ({"pins": {0: 0}}, tegula.ArgumentError, "0 slices"), ({"pins": [1]}, TypeError, "dict"),
                               ({"layout": "f16[8] spyre"}, tegula.ArgumentError, "8"),
                               ({"layout": "f32[4] spyre"}, tegula.ArgumentError, "is of f32, the result of f16"),
                               ({"layout": "f16[4]"}, tegula.ArgumentError, "is a Spyre layout"),
                               ({"layout": "f16[8] spyre", "shape": (4,)}, tegula.ArgumentError, "is not of the")]:
        with pytest.raises(error, match=text):
            mine.pointwise([a], **words)
    assert len(mine) == 2


def test_outputs_and_loops():
    text = ATTENTION.read_text()
    graph = tegula.Graph.from_hlo(text)
    assert [(node.name, str(view)) for node, view in graph.outputs] == [("out", "f16[128,64]")] and graph.loops == ()
    mine = tegula.Graph()
    x = mine.add_input((64, 64), "f16", name="x")
    begin = mine.pointwise([x], name="begin")
    body = mine.pointwise([begin], name="body", times=6)
    carry = mine.add("carry", (64, 64), "f16", operands=[begin, body], name="next")
    mine.add_loop(body, carry)
    mine.add_output((carry, ".T"))
    mine.add_output(body)
    assert [(loop.first, loop.last, loop.test) for loop in mine.loops] == [(body, carry, None)]
    assert [(node.name, view.strides) for node, view in mine.outputs] == [("next", (1, 64)), ("body", (64, 1))]
    plan = mine.plan()
    assert next(row for row in plan.memory.tensors if row.node == carry).in_place_of == 1
    assert plan.bundle().manifest()["loops"] == [{"first": 2, "last": 3, "while": None}]
    for ask, words in [(lambda: mine.add_loop(carry, body), "a loop of nodes 3 to 3"),
                       (lambda: mine.add_loop(begin, body), "overlaps"),
                       (lambda: mine.add_output((x, (64,), (65,), 1)), "ends at element 4097, its tensor at 4096"),
                       (lambda: mine.add_output(9), "there is no node 9")]:
        with pytest.raises(tegula.ArgumentError, match=words):
            ask()
    mine.add_loop("begin", "next", test=body)
    assert mine.loops[0].test == body and len(mine.loops) == 2


def contents(directory):
    return {file.name: file.read_text() for file in directory.iterdir()}


@pytest.mark.parametrize("words, params", [OPTIONS[0], OPTIONS[1], OPTIONS[2]], ids=["usual", "formats", "june"])
@pytest.mark.parametrize("text", [ATTENTION.read_text(), PADDED, CAST], ids=["attention", "padded", "cast"])
def test_bundles_are_those_of_the_command(text, words, params, tmp_path):
    (tmp_path / "graph.hlo").write_text(text)
    answer(tmp_path / "graph.hlo", *words, "--out", tmp_path / "theirs")
    bundle = tegula.plan(text, **params).bundle()
    bundle.write(tmp_path / "ours")
    theirs, ours = contents(tmp_path / "theirs"), contents(tmp_path / "ours")
    assert sorted(theirs) == sorted(ours) and theirs["report.txt"] == ours["report.txt"]
    for name in theirs:
        if name != "report.txt":
            assert json.loads(theirs[name]) == json.loads(ours[name]), name
    assert bundle.manifest() == json.loads(theirs["bundle.json"])
    assert [bundle.sdsc(i) for i in range(len(bundle.kernels))] == [json.loads(theirs[f"{k}.json"])
                                                                    for k in bundle.kernels]
    assert repr(bundle) == (f"<tegula.Bundle: {len(bundle.kernels)} kernel{'s' * (len(bundle.kernels) != 1)}, "
                            f"{len(bundle.transfers)} transfer{'s' * (len(bundle.transfers) != 1)}>")


def test_transfers_of_a_bundle():
    plan = tegula.plan(ATTENTION.read_text())
    bundle, homes = plan.bundle(), plan.memory.tensors
    assert bundle.plan is plan and bundle.kernels[0] == "0_batchmatmul"
    assert [(row.node.name, row.direction) for row in bundle.transfers][:4] == [
        ("x", "h2d"), ("wq", "h2d"), ("wk", "h2d"), ("wv", "h2d")]
    for i, row in enumerate(bundle.transfers):
        assert row.layout == plan.layout(row.node) and row.address == homes[row.step].address
        assert bundle.dci(i) == tegula.dci(row.layout, direction=row.direction)
    for ask, text in [(lambda: bundle.sdsc(len(bundle.kernels)), "no kernel"), (lambda: bundle.dci(-1), "no transfer")]:
        with pytest.raises(tegula.ArgumentError, match=text):
            ask()


def test_what_nobody_reads_is_the_output_of_a_graph_that_names_none():
    """In memory and in the bundle; a tensor that is named is the only one."""
    graph = tegula.Graph()
    x = graph.add_input((128, 64), "f16", name="x")
    root = graph.pointwise([graph.pointwise([x], opcode="tanh", name="t")], opcode="tanh", name="root")
    plan = graph.plan()
    rows = {row["name"]: row for row in plan.bundle().manifest()["outputs"]}
    assert list(rows) == ["root"] and rows["root"]["shape"] == [128, 64] and rows["root"]["dci"]
    graph.add_output("t")
    rows = graph.plan().bundle().manifest()["outputs"]
    assert [row["name"] for row in rows] == ["t"] and root.name == "root"


def test_a_bundle_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    bundle = tegula.plan(ATTENTION.read_text()).bundle()
    target = tmp_path / "out"
    target.mkdir()
    bundle.write(str(target))
    before = contents(target)
    for force, words in ((False, "it is not empty"), (True, None)):
        if words:
            with pytest.raises(FileExistsError, match=words):
                bundle.write(target, force=force)
        else:
            bundle.write(target, force=True)
        assert contents(target) == before and [p.name for p in tmp_path.iterdir()] == ["out"]
    (target / "mine.txt").write_text("")
    with pytest.raises(FileExistsError, match="'mine.txt', which is no file of a bundle; nothing was replaced"):
        bundle.write(target, force=True)
    assert (target / "mine.txt").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "0_add.json").write_text("")
    with pytest.raises(FileExistsError, match="it has no bundle.json"):
        bundle.write(other, force=True)
    with pytest.raises(OSError):
        bundle.write(tmp_path / "missing" / "out")
    monkeypatch.chdir(other)
    with pytest.raises(FileExistsError, match="the working directory"):
        bundle.write(".", force=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        bundle.write(tmp_path / "file")
    assert (tmp_path / "file").read_text() == ""


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    import tegula._bundle
    bundle = tegula.plan(ATTENTION.read_text()).bundle()

    def fail(value):
        raise OSError("the disk is full")
    bundle.write(tmp_path / "out")
    before = contents(tmp_path / "out")
    monkeypatch.setattr(tegula._bundle, "one_line", fail)
    for name in ("out", "new"):
        with pytest.raises(OSError, match="full"):
            bundle.write(tmp_path / name, force=True)
    assert contents(tmp_path / "out") == before and [p.name for p in tmp_path.iterdir()] == ["out"]


def test_what_has_no_bundle():
    with pytest.raises(tegula.PlanInfeasible) as caught:
        tegula.plan(SPARSE)
    with pytest.raises(tegula.ArgumentError, match="has no plan"):
        caught.value.plan.bundle()
    graph = tegula.Graph()
    attention(graph)
    plan = graph.plan()
    graph.pointwise([0])
    with pytest.raises(tegula.ArgumentError, match="15 now"):
        plan.bundle()
    with pytest.raises(TypeError):
        tegula.Bundle()
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(tegula.plan(ATTENTION.read_text()).bundle())


def seconds(products):
    """To plan so many products, each of which wants a tensor of its own filled."""
    graph = tegula.Graph()
    x = graph.add_input((8, 100), "f16")
    for _ in range(products):
        graph.matmul(x, graph.add_input((100, 8), "f16"))
    start = time.process_time()
    assert len(graph.plan().paddings) == products
    return time.process_time() - start


def test_fills_are_found_in_constant_time():
    """Eight times as many take about eight times as long; when each was compared with all others it was 60 times."""
    assert min(seconds(32000) for _ in range(3)) < 24 * min(seconds(4000) for _ in range(5))


def amount(nbytes):
    """As C's printf would say it."""
    if nbytes < 1024:
        return "1 byte" if nbytes == 1 else f"{nbytes} bytes"
    value, unit = nbytes / 1024, 0
    while value >= 1024 and unit < 5:
        value, unit = value / 1024, unit + 1
    return f"{value:.2f} " * (value < 10) + f"{value:.1f} " * (value >= 10) + ["KiB", "MiB", "GiB", "TiB", "PiB"][unit]


def test_amounts():
    """Traffic of a copy of one input: twice its storage, which is whole sticks."""
    seeded = random.Random(7)
    sizes = [1 << n for n in range(44)] + [1152 << n for n in range(30)] + [10239, 10240, 1 << 20, (1 << 20) - 64]
    for n in sizes + [seeded.randrange(1 << seeded.randrange(7, 40)) + 1 for _ in range(200)]:
        graph = tegula.Graph()
        graph.pointwise([graph.add_input((n,), "f16")])
        plan = graph.plan()
        bytes_moved = 2 * -(-n // 64) * 128
        assert plan.memory.traffic_bytes == bytes_moved
        assert f"nothing stays in LX; {amount(bytes_moved)} of HBM traffic" in plan.report(), n
