"""tegula.Graph and tegula.plan: the same as `tegula plan`, as the C interface and as the plans of the oracle; and
refusals, threads, references."""
import copy
import gc
import json
import pickle
import subprocess
import threading
import weakref

import pytest
from hypothesis import given, strategies as st

import console
import plan_oracle as o
import tegula
from lost_blocks import loses_blocks
import tegula.hlo
from tegula import Graph, Layout, SpyreTensorLayout
from tegula._spyre_names import DataFormats

ATTENTION = console.ROOT / "examples" / "attention.hlo"
SPARSE = """HloModule sparse
least { p = f16[] parameter(0)
  q = f16[] parameter(1)
  ROOT r = f16[] minimum(p, q) }
ENTRY main {
  a = f16[128,128,128] parameter(0)
  b = f16[128,128] parameter(1)
  inf = f16[] constant(inf)
  low = f16[128,128] reduce(a, inf), dimensions={2}, to_apply=least
  ROOT sum = f16[128,128] add(low, b)
}
"""
PADDED = """HloModule padded
most { p = f16[] parameter(0)
  q = f16[] parameter(1)
  ROOT r = f16[] maximum(p, q) }
ENTRY main {
  x = f16[100,100] parameter(0)
  y = f16[100,100] parameter(1)
  c = c64[4] parameter(2)
  low = f16[] constant(-inf)
  d = c64[4] negate(c)
  xy = f16[100,100] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT top = f16[100] reduce(xy, low), dimensions={1}, to_apply=most
}
"""


def attention(graph):
    """examples/attention.hlo from shapes."""
    x, *w = [graph.add_input(shape, "f16") for shape in ((128, 64), (64, 64), (64, 64), (64, 64))]
    q, k, v = (graph.matmul(x, each, name=name) for each, name in zip(w, "qkv"))
    scores = graph.matmul(q, (k, ".mT"), name="scores")
    top = graph.reduce(scores, -1, "max", name="top", keep_dims=True)
    below = graph.pointwise([scores, top], name="below")
    powers = graph.pointwise([below], name="powers")
    total = graph.reduce(powers, 1, name="total", keep_dims=True)
    weights = graph.pointwise([powers, total], name="weights")
    return graph.matmul(weights, v, name="out")


# ---- the same as the command -----------------------------------------------------------------------------

def command(path, *words):
    done = subprocess.run([console.TEGULA, "plan", path, "--json", *words], capture_output=True)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("text", [ATTENTION.read_text(), SPARSE, PADDED], ids=["attention", "sparse", "padded"])
def test_plans_are_those_of_the_command(text, tmp_path):
    (tmp_path / "graph.hlo").write_text(text)

    def ours(**params):
        try:
            return tegula.plan(text, **params).to_dict()
        except tegula.PlanInfeasible as error:
            return error.plan.to_dict()
    for words, params in (((), {}), (["--cores", "7"], {"cores": 7}),
                          (["--model", "torch-spyre"], {"model": "torch-spyre"}),
                          (["--method", "greedy"], {"method": "greedy"}), (["--method", "beam"], {"method": "beam"}),
                          (["--restickify-reductions", "--keep-unit-dims"],
                           {"restickify_reductions": True, "keep_unit_dims": True})):
        assert ours(**params) == command(tmp_path / "graph.hlo", *words), words


def test_text_bytes_and_modules_are_the_same_graph():
    text = ATTENTION.read_text()
    plans = [tegula.plan(source).to_dict() for source in (text, text.encode(), tegula.hlo.parse(text),
                                                          Graph.from_hlo(text))]
    assert all(plan == plans[0] for plan in plans) and plans[0]["module"] == "attention"


def test_names_of_any_letters():
    graph, name = Graph(), "q\"\\/ \u00e9\u2713\t\n\x01\x7f"
    graph.add_input((64, 64), "f16", name=name)
    graph.pointwise([0], name=name + "'", opcode="negate")
    assert [op["name"] for op in tegula.plan(graph).to_dict()["ops"]] == [name, name + "'"]


def test_records_say_what_the_json_says():
    for text in (ATTENTION.read_text(), PADDED):
        plan = tegula.plan(text)
        told, graph = plan.to_dict(), plan.graph
        assert [(r.producer.name, [x.node.name for x in r.readers], str(r.src), str(r.dst), r.stick_dim, r.elements,
                 r.bytes, r.times) for r in plan.restickifies] == [tuple(row.values()) for row in told["restickifies"]]
        assert [(p.kind, p.tensor.name, p.dim, p.valid, p.padded, p.value, p.reader.name, p.readers)
                for p in plan.paddings] == [tuple(row.values()) for row in told["paddings"]]
        assert [node.name for node in plan.boundaries] == told["boundaries"]
        for node, row in zip(graph, told["ops"], strict=True):
            layout = plan.layout(node)
            assert (node.name, node.opcode, node.kind, layout and str(layout), plan.stick_loop(node),
                    list(node.loops)) == tuple(row.values())[:6]
            division = plan.divide(node)
            assert {f"p{l}": n for l, n in enumerate(division.splits) if n > 1} == row["splits"]
            assert (division.cores, division.in_span) == (row["cores"], row["in_span"])
            if layout:
                device = plan.device_layout(node)
                assert isinstance(device, SpyreTensorLayout) and tuple(device.device_size) == layout.device_size
                assert layout in plan.candidates(node)
        assert plan.verify() is None and plan.optimal and plan.cost == plan.lower_bound == plan.restickify_bytes


def test_a_graph_by_hand_is_that_of_the_text():
    graph = Graph()
    attention(graph)
    plan, of_text = graph.plan(), tegula.plan(ATTENTION.read_text())
    assert plan.cost == of_text.cost == 16384
    assert [(str(r.src), str(r.dst)) for r in plan.restickifies] == \
        [(str(r.src), str(r.dst)) for r in of_text.restickifies]
    for name in ("scores", "below", "powers", "weights"):
        assert plan.layout(name) == of_text.layout(name)


def test_operands_are_read_as_the_command_explains():
    text = subprocess.run([console.TEGULA, "plan", ATTENTION, "--explain", "below"], capture_output=True, text=True,
                          check=True).stdout.splitlines()
    told = {}
    for i, line in enumerate(text):
        if line.startswith(("  operand", "  result")):
            at = text[i + 2].strip().removeprefix("at [").split("];")[0]
            told[line.strip().split(":")[0]] = (text[i + 1].strip(), at)
    plan = tegula.plan(ATTENTION.read_text())
    assert told == {f"operand {k}": (str(plan.operand_layout("below", k)), ", ".join(plan.coordinates("below", k)))
                    for k in (0, 1)} | {"result": (str(plan.layout("below")), ", ".join(plan.coordinates("below")))}
    copy, = plan.restickifies
    assert plan.operand_layout("scores", 1) == copy.dst and plan.layout(copy.producer) == copy.src
    off = tegula.plan(PADDED)
    assert off.coordinates("d", 0) is None is off.operand_layout("d", 0)
    for call in (lambda: plan.operand_layout("below", 2), lambda: plan.coordinates("below", -1)):
        with pytest.raises(tegula.ArgumentError, match="has no operand"):
            call()


# ---- why there is no plan ------------------------------------------------------------------------------------

def test_no_plan_is_an_exception_that_says_why():
    with pytest.raises(tegula.PlanInfeasible) as caught:
        tegula.plan(SPARSE)
    error = caught.value
    assert isinstance(error, tegula.Error) and error.status == "INFEASIBLE" and "1 operation cannot" in error.message
    assert "restickify_reductions=True" in error.message and "sum (pointwise)" in error.message
    conflict, = error.conflict
    assert conflict.node.name == "sum" and conflict.rule == conflict.node.rule
    reasons = {(row.operand, row.producer.name, row.stick_loop): row.reason for row in conflict.obstacles}
    assert "gather" in reasons[0, "low", 1] and reasons[0, "low", None] is None and "scatter" in reasons[1, "b", None]
    told = error.plan.to_dict()
    assert [(row.operand, row.producer.name, str(row.layout), row.stick_loop, row.reason)
            for row in conflict.obstacles] == [tuple(row.values()) for row in told["conflict"][0]["operands"]]
    assert not error.plan.feasible and error.plan.layout("sum") is None and error.plan.verify()
    assert tegula.plan(SPARSE, restickify_reductions=True).cost == 4 << 20
    with pytest.raises(tegula.ArgumentError):
        error.plan.divide("sum")
    with pytest.raises(tegula.PlanInfeasible):
        tegula.plan(SPARSE, method="greedy")


# ---- the oracle -------------------------------------------------------------------------------------------------

def graph_of(ops):
    graph = Graph()
    for node in o.graph_nodes(ops):
        if node.kind == "input":
            layout = Layout.spyre(node.shape, "f16", device_size=node.layout[0], stride_map=node.layout[1])
            graph.add_input(layout, tag=node)
        else:
            graph.add(node.kind, node.shape, node.dtype, loops=node.ranges, result=node.result, tag=node,
                      operands=[(operand, terms, offset) for operand, offset, terms in node.operands])
    return graph


@pytest.mark.parametrize("part", range(4))
def test_small_graphs(part):
    answers = []
    for seed in range(part, 300, 4):
        ops = o.random_graph(seed, 5 + seed % 4)
        wanted, graph = o.cheapest(ops), graph_of(ops)
        answers.append(wanted)
        try:
            plan = graph.plan()
        except tegula.PlanInfeasible as error:
            assert wanted is None and error.conflict, f"seed {seed}"
            continue
        assert plan.cost == wanted and plan.verify() is None, f"seed {seed}"
        assert sum(r.bytes for r in plan.restickifies) == wanted, f"seed {seed}"
    assert any(answers) and None in answers


# ---- nodes ---------------------------------------------------------------------------------------------------------

def test_nodes_are_read_back_as_they_were_written():
    graph = Graph()
    a, b = graph.add_input((128, 64), "float16", name="a"), graph.add_input("f16[64,128] spyre", name="b")
    sum_ = graph.pointwise([a, (b, ".T")], name="sum", opcode="add", tag=print)
    assert [n.name for n in graph] == ["a", "b", "sum"] and len(graph) == 3 and list(graph) == [a, b, sum_]
    assert graph[2] == graph[-1] == graph["sum"] == sum_ and int(sum_) == sum_.index == 2 and sum_.tag is print
    assert (sum_.kind, sum_.opcode, sum_.dtype, sum_.shape, sum_.strides) == ("pointwise", "add", "f16", (128, 64),
                                                                             (64, 1))
    assert sum_.inputs == (a, b) and sum_.host == Layout("f16[128,64]") and sum_.on_device
    assert sum_.operands[1].terms == ((0, 1, 0, 128), (1, 128, 0, 64)) and sum_.result.node == sum_
    assert "sum" in graph and sum_ in graph and "x" not in graph and Graph() is not graph and 3 not in graph
    same = graph.add(sum_.kind, sum_.shape, sum_.dtype, loops=sum_.loops, operands=sum_.operands, result=sum_.result)
    assert [x.terms for x in same.operands] == [x.terms for x in sum_.operands]
    assert len({sum_, graph[2], same}) == 2 and sum_ != same and sum_ != 2
    assert repr(sum_) == "<GraphNode 2 sum: pointwise f16(128, 64)>" and "4 nodes" in repr(graph)
    same.tag = sum_.tag
    del sum_.tag
    assert sum_.tag is None and same.tag is print and a.tag is None


def test_tags_of_a_graph_from_text():
    graph = Graph.from_hlo(ATTENTION.read_text())
    assert graph["scores"].tag is None
    graph["scores"].tag = ["fx"]
    graph[-1].tag = 7
    assert graph["scores"].tag == ["fx"] and graph[-1].tag == 7 and graph[0].tag is None
    graph.add_input((4,), "f16", tag=8)
    assert graph[-1].tag == 8 and graph[-2].tag == 7


def test_an_operand_is_a_node_and_a_view():
    graph = Graph()
    a = graph.add_input((64, 128), "f16", name="a")
    spelled = [(a, ".T"), (a, a.host.transpose(0, 1)), (a, (128, 64), (1, 128)), ("a", (128, 64), (1, 128), 0),
               (0, [128, 64], [1, 128])]
    accesses = [graph.pointwise([operand]).operands for operand in spelled]
    assert all(access == accesses[0] for access in accesses)
    piece = graph.pointwise([(a, "[3:5, 64:]")])
    assert piece.shape == (2, 64) and piece.operands[0].offset == 3 * 128 + 64
    flat = graph.pointwise([(a, ".reshape(-1)")])
    assert flat.shape == (8192,) and flat.loops == (8192,)
    assert graph.add("clone", (64, 128), "f16", operands=[a]).operands[0].terms == ((0, 128, 0, 0), (1, 1, 0, 0))


def test_results_may_be_strided_and_of_other_dtypes():
    graph = Graph()
    a, b = graph.add_input((64, 128), "f32"), graph.add_input((64, 128), "f32")
    turned = graph.pointwise([a, b], shape=(64, 128), strides=(1, 64), dtype="f16")
    assert turned.strides == (1, 64) and turned.dtype == "f16" and turned.result.terms[0].step == 1
    larger = graph.pointwise([(a, "[0]")], shape=(5, 128))
    assert larger.loops == (5, 128) and larger.operands[0].terms == ((1, 1, 0, 128),)
    less = graph.pointwise([a, b], dtype="pred")
    assert less.on_device and graph.reduce(less, None, "and").shape == ()
    half = graph.pointwise([], kind="constant", shape=(3,), dtype="f16", device_dtype=DataFormats.IEEE_FP32)
    assert half.kind == "constant" and half.inputs == ()
    assert graph.plan().layout(half).device_dtype == "IEEE_FP32"
    assert graph.reduce(a, (0, -1), "max", keep_dims=True).shape == (1, 1)
    assert graph.concatenate([a, b, (a, "[:3]")]).shape == (131, 128)
    assert graph.concatenate([a, b], -1).loops == (64, 256)


def test_every_kind_can_be_added():
    graph = Graph()
    x = graph.add_input((1, 8, 8, 64), "f16")
    w = graph.add_input((64, 64), "f16")
    table, rows = graph.add_input((1000, 128), "f16"), graph.add_input((32,), "s32")
    convolution = graph.add("convolution", (1, 8, 8, 64), "f16", loops=(1, 8, 8, 64, 64), in_channel=4, out_channel=3,
                            operands=[(x, [(0, 4096), (1, 512), (2, 64), (4, 1)]), (w, [(4, 64), (3, 1)])],
                            no_split=[1])
    picked = graph.add("gather", (32, 128), "f16", operands=[(table, [(None, 128, 0, 1000), (1, 1)]), (rows, [(0, 1)])])
    assert convolution.kind == "convolution" and picked.operands[0].terms[0].loop is None
    for kind in ("default", "boundary", "clone"):
        assert graph.pointwise([picked], kind=kind).kind == kind
    plan = graph.plan()
    assert plan.verify() is None and plan.stick_loop(convolution) == 3 and plan.divide(convolution).splits[1] == 1
    assert [node.kind for node in plan.boundaries] == ["boundary"]


WINDOW = (2, 3, 2, 1, 1, 1, 1, 9, 1)  # 3 wide in steps of 2 over 9 places, one of them in front


@pytest.mark.parametrize("window, words", [
    (WINDOW, None), ((*WINDOW, True), None), ((9, *WINDOW[1:]), "window 0 moves with loop 9; the node has 4 loops"),
    ((2, 3, 0, *WINDOW[3:]), "out of range"), ((2, -1, *WINDOW[2:]), "out of range"),
    ((2, 3, 2**62, *WINDOW[3:]), "out of range"), ((2, 2**31, 1, 2**40, *WINDOW[4:]), "out of range"),
    ((*WINDOW[:6], -1, 9, 1), "below 0"), ((*WINDOW[:7], 10, 1), "leave operand 0"),
    ((*WINDOW[:8], 2), "leave operand 1"), ((*WINDOW[:6], 2**62, 9, 1), "leave operand 0"),
    (WINDOW[:8], "a tuple of 9 or 10"), (7, "a tuple of 9 or 10")])
def test_windows(window, words):
    graph = Graph()
    x, w = graph.add_input((2, 3, 9), "f32"), graph.add_input((5, 3, 3), "f32")

    def add():
        return graph.add("convolution", (2, 5, 4), "f32", loops=(2, 5, 4, 3), in_channel=3, out_channel=1,
                         windows=[window], operands=[(x, [(0, 27), (3, 9), (None, 1, 0, 9)]),
                                                     (w, [(1, 9), (3, 3), (None, 1, 0, 3)])])
    if words is None:
        node = add()
        assert node.windows == ((*WINDOW, len(window) == 10),) and x.windows == ()
        assert graph.add("convolution", (2, 5, 4), "f32", loops=(2, 5, 4, 3), in_channel=3, out_channel=1,
                         windows=node.windows, operands=node.operands).windows == node.windows
        return
    with pytest.raises(tegula.ArgumentError, match=words):
        add()
    assert len(graph) == 2
    with pytest.raises(TypeError):
        graph.add("pointwise", (2,), "f32", windows="abc")
    with pytest.raises(tegula.ArgumentError, match="0 operands has 1 windows"):
        graph.add("constant", (2,), "f32", windows=[(0, *WINDOW[1:])])


def test_splits_that_are_wanted():
    """In the loops of the node; divide does as it is told, or says why not."""
    graph = Graph()
    x, y = graph.add_input((128, 256), "f16"), graph.add_input((256, 64), "f16")
    plain = graph.pointwise([x])
    added = graph.pointwise([x], splits={0: 8, 1: 2})
    product = graph.matmul(x, y, splits={0: 4, 1: 1, 2: 1})
    summed = graph.reduce(x, 1, splits={0: 16, 1: 1})
    pieces = graph.concatenate([x, x], splits={0: 2, 1: 2})
    node = graph.add("pointwise", (128, 256), "f16", operands=[x], splits={1: 4, 0: 1})
    plan = graph.plan()
    assert plan.divide(plain).splits == (32, 1) and plan.divide(added).splits == (8, 2)
    assert plan.divide(product).splits == (4, 1, 1) and plan.divide(summed).splits == (16, 1)
    assert plan.divide(pieces).splits == (2, 2) and plan.divide(node).splits == (1, 4)
    for splits, match in (({0: 3}, "128 rounds, which are no multiple of 3"),
                          ({1: 8}, "4 sticks, which are no multiple"), ({0: 64}, "more slices than 32 cores")):
        wrong = graph.pointwise([x], splits=splits)
        with pytest.raises(tegula.ArgumentError, match=match):
            graph.plan().divide(wrong)
    before = len(graph)
    for splits, error in (([8, 2], TypeError), ({"0": 8}, TypeError), ({0: 0}, tegula.ArgumentError),
                          ({2: 8}, tegula.ArgumentError), ({-1: 8}, tegula.ArgumentError),
                          ({n: 1 for n in range(33)}, tegula.ArgumentError), ({0: 2**70}, OverflowError)):
        with pytest.raises(error):
            graph.pointwise([x], splits=splits)
    assert len(graph) == before


def test_layouts_of_inputs():
    graph = Graph()
    turned = Layout.spyre((128, 64), "f16", dim_order=[1, 0])
    device = SpyreTensorLayout(list(turned.device_size), list(turned.stride_map), graph_format())
    a = graph.add_input(turned)
    b = graph.add_input((128, 64), "f16", layout=turned)
    c = graph.add_input((128, 64), "f16", layout=device)
    d = graph.add_input((128, 64), "f16", strides=(1, 128))
    e = graph.add_input((4,), "c64")
    plan = graph.plan()
    assert plan.layout(a) == plan.layout(b) == plan.layout(c) == turned and plan.layout(e) is None
    assert plan.layout(d).strides == (1, 128) and d.strides == (1, 128) and not e.on_device


def graph_format():
    return SpyreTensorLayout((4,), "f16").device_dtype


# ---- refusals ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("call, error, words", [
    (lambda g, a, b: g.pointwise([a, b, 5]), tegula.ArgumentError, "there is no node 5; there are 2"),
    (lambda g, a, b: g.pointwise([a, "nobody"]), tegula.ArgumentError, "no node named 'nobody'"),
    (lambda g, a, b: g.pointwise([a, 2.5]), TypeError, "its number or its name"),
    (lambda g, a, b: g.pointwise([a, True]), TypeError, "bool"),
    (lambda g, a, b: g.pointwise([a, Graph().add_input((4,), "f16")]), tegula.ArgumentError, "another graph"),
    (lambda g, a, b: g.pointwise([(a, ".nonsense()")]), tegula.ParseError, "nonsense"),
    (lambda g, a, b: g.pointwise([(a, "[:, ::-1]")]), tegula.Error, ""),
    (lambda g, a, b: g.pointwise([(a, Layout("f16[64,64] spyre"))]), tegula.ArgumentError, "a strided layout"),
    (lambda g, a, b: g.pointwise([(a, (64, 64), (128, 1), 4097)]), tegula.ArgumentError, "whose last one is 8191"),
    (lambda g, a, b: g.pointwise([(a, (64,), (128, 1))]), tegula.ArgumentError, "2 strides for 1 dimension"),
    (lambda g, a, b: g.pointwise([(a, 3)]), TypeError, "a view is"),
    (lambda g, a, b: g.pointwise([()]), tegula.ArgumentError, "(node, view)"),
    (lambda g, a, b: g.pointwise(a), TypeError, "a sequence"),
    (lambda g, a, b: g.pointwise([a, (b, "[:3]")]), tegula.ArgumentError, "cannot be broadcast"),
    (lambda g, a, b: g.pointwise([a], kind="gather"), tegula.ArgumentError, "element by element"),
    (lambda g, a, b: g.pointwise([], shape=(4,)), tegula.ArgumentError, "a dtype"),
    (lambda g, a, b: g.pointwise([a], strides=(1,)), tegula.ArgumentError, "a shape"),
    (lambda g, a, b: g.pointwise([a], shape=(64, 3)), tegula.ArgumentError, "broadcast"),
    (lambda g, a, b: g.pointwise([a], no_stick=[32]), tegula.ArgumentError, "no_stick names loop 32"),
    (lambda g, a, b: g.pointwise([a], name=3), TypeError, ""),
    (lambda g, a, b: g.pointwise([a], name="\ud800"), UnicodeEncodeError, ""),
    (lambda g, a, b: g.pointwise([a], colour=1), TypeError, "colour"),
    (lambda g, a, b: g.matmul(a, a), tegula.ArgumentError, "no product"),
    (lambda g, a, b: g.reduce(a, 2), tegula.ArgumentError, "no dimension 2"),
    (lambda g, a, b: g.reduce(a, 1 << 40), tegula.ArgumentError, "no dimension"),
    (lambda g, a, b: g.reduce(a, (0, 0)), tegula.ArgumentError, "twice"),
    (lambda g, a, b: g.reduce(a, 0, "mean"), tegula.ArgumentError, "'mean' is no reduction"),
    (lambda g, a, b: g.concatenate([]), tegula.ArgumentError, "nothing"),
    (lambda g, a, b: g.concatenate([a, b], 7), tegula.ArgumentError, "no dimension 7"),
    (lambda g, a, b: g.concatenate([a, b], -3), tegula.ArgumentError, "no dimension -3"),
    (lambda g, a, b: g.add("input", (4,), "f16"), tegula.ArgumentError, "add_input"),
    (lambda g, a, b: g.add("softmax", (4,), "f16"), tegula.ArgumentError, "'softmax' is no kind of node"),
    (lambda g, a, b: g.add("clone", (4,), "f17"), tegula.ArgumentError, "f17"),
    (lambda g, a, b: g.add("clone", (4,), "f16", operands=[(a,)]), tegula.ArgumentError, "terms"),
    (lambda g, a, b: g.add("clone", (4,), "f16", operands=[(a, 3)]), TypeError, "a sequence"),
    (lambda g, a, b: g.add("clone", (4,), "f16", operands=[(a, [(0,)])]), tegula.ArgumentError, "a term is"),
    (lambda g, a, b: g.add("clone", (4,), "f16", operands=[(a, [(1, 1)])]), tegula.ArgumentError, "has 1 loop"),
    (lambda g, a, b: g.add("clone", (4,), "f16", operands=[(a, [(0, -1)])]), tegula.ArgumentError, "backwards"),
    (lambda g, a, b: g.add("clone", (4,), "f16", operands=[(a, [(0, 2731)])]), tegula.ArgumentError,
     "operand 0 is read up to element 8193; its tensor ends behind 8191"),
    (lambda g, a, b: g.add("clone", (4,), "f16", operands=[(b, []), (a, [(0, 1)], 8189)]), tegula.ArgumentError,
     "operand 1 is read up to element 8192"),
    (lambda g, a, b: g.add("gather", (4,), "f16", operands=[(a, [(None, 128, 0, 64), (0, 43)])]),
     tegula.ArgumentError, "operand 0 is read up to element 8193"),
    (lambda g, a, b: g.add("boundary", (4,), "f16", operands=[(a, [(0, 1 << 62)])]), tegula.OverflowError, "63 bits"),
    (lambda g, a, b: g.add("clone", (4,), "f16", result=[(0, 2)]), tegula.ArgumentError,
     "the result is written up to element 6; its tensor ends behind 3"),
    (lambda g, a, b: g.add("clone", (4,), "f16", operands=[(a, [(0, 1 << 70)])]), tegula.OverflowError, "64 bits"),
    (lambda g, a, b: g.add("clone", (4,), "f16", operands=[(a, [(0, 1)] * 65)]), tegula.ArgumentError, "limit is 64"),
    (lambda g, a, b: g.add("clone", (4,), "f16", loops=[1] * 33), tegula.LimitError, "33"),
    (lambda g, a, b: g.add("matmul", (4,), "f16", operands=[a]), tegula.ArgumentError, "has 2 operands"),
    (lambda g, a, b: g.add("convolution", (4,), "f16", operands=[a, b]), tegula.ArgumentError, "channels"),
    (lambda g, a, b: g.add("clone", None, "f16"), tegula.ArgumentError, "shape"),
    (lambda g, a, b: g.add("clone", (1 << 40, 1 << 40), "f16"), tegula.OverflowError, ""),
    (lambda g, a, b: g.add_input((4,)), tegula.ArgumentError, "a dtype"),
    (lambda g, a, b: g.add_input(None), TypeError, "a shape"),
    (lambda g, a, b: g.add_input("f16[4] spyre", "f16"), tegula.ArgumentError, "itself"),
    (lambda g, a, b: g.add_input("f16[8,128]{1,0:T(8,128)}"), tegula.ArgumentError, "strided or a Spyre"),
    (lambda g, a, b: g.add_input((4, 5), "f16", layout="f16[5,4] spyre"), tegula.ArgumentError, "is not of the"),
    (lambda g, a, b: g.add_input((4,), "f16", layout="f16[4]"), tegula.ArgumentError, "Spyre layout"),
    (lambda g, a, b: g.add_input((4,), "f16", strides=(-1,)), tegula.ArgumentError, "below 0"),
    (lambda g, a, b: g[2], IndexError, "no node 2"), (lambda g, a, b: g[-3], IndexError, ""),
    (lambda g, a, b: g["c"], KeyError, "c"), (lambda g, a, b: g[None], TypeError, ""),
    (lambda g, a, b: g.plan(model="gpu"), tegula.ArgumentError, "'tegula' or 'torch-spyre'"),
    (lambda g, a, b: g.plan(method=3), tegula.ArgumentError, "method is 3"),
    (lambda g, a, b: g.plan(width=-1), tegula.ArgumentError, "width is -1"),
    (lambda g, a, b: g.plan(cores=33), tegula.ArgumentError, "0 (the default) to 32"),
    (lambda g, a, b: g.plan().layout(2), tegula.ArgumentError, "there are 2"),
    (lambda g, a, b: g.plan().divide(a, cores=-1), tegula.ArgumentError, "cores is -1"),
    (lambda g, a, b: tegula.plan("HloModule m\nENTRY e {"), tegula.ParseError, ""),
    (lambda g, a, b: tegula.plan(3), TypeError, "str or bytes"),
    (lambda g, a, b: tegula.GraphPlan(), TypeError, ""), (lambda g, a, b: tegula.GraphNode(), TypeError, ""),
    (lambda g, a, b: Graph(3), TypeError, ""),
])
def test_bad_input_is_an_exception(call, error, words):
    graph = Graph()
    a, b = graph.add_input((64, 128), "f16", name="a"), graph.add_input((64, 128), "f16", name="b")
    with pytest.raises(error) as caught:
        call(graph, a, b)
    assert words in str(caught.value)
    assert len(graph) == 2 and graph.plan().verify() is None


def test_accesses_that_stay_inside():
    """To the last element; of what no round touches nothing is asked."""
    graph = Graph()
    a, none = graph.add_input((64, 128), "f16"), graph.add_input((0, 4), "f16")
    for terms, offset in ([[(0, 2730)], 1], [[(0, 4096, 2), (0, 1365)], 0], [[(0, 8191, 0, 2)], 0], [[(0, 1)], 8188],
                          [[(None, 128, 0, 64), (0, 42)], 1]):
        graph.add("default", (4,), "f16", operands=[(a, terms, offset)])
    graph.add("default", (0, 4), "f16", operands=[(a, [(0, 1 << 40), (1, 1 << 40)]), none])
    graph.add("boundary", (4,), "f16", operands=[(none, [])])
    assert len(graph) == 9 and graph.plan().verify() is None


def test_what_came_later_is_not_in_the_plan():
    graph = Graph()
    attention(graph)
    plan = graph.plan()
    late = graph.pointwise([graph["out"]])
    with pytest.raises(tegula.ArgumentError, match="there is no node 14"):
        plan.layout(late)
    with pytest.raises(tegula.ArgumentError, match="14 nodes when it was planned, and has 15 now"):
        plan.verify()
    assert len(plan.to_dict()["ops"]) == 14 and plan.divide("out").cores == 32 and graph.plan().verify() is None


ODD = st.one_of(st.none(), st.booleans(), st.integers(), st.integers(-3, 5), st.text(max_size=4), st.floats(),
                st.binary(max_size=3))
NESTED = st.recursive(ODD, lambda some: st.lists(some, max_size=4) | st.tuples(some, some) |
                      st.tuples(some, some, some), max_leaves=12)
WORDS = ["shape", "strides", "dtype", "device_dtype", "no_stick", "no_split", "splits", "loops", "operands", "result",
         "name", "windows", "result_offset", "reduction", "in_channel", "out_channel", "layout", "keep_dims", "kind",
         "model", "cores"]


@given(method=st.sampled_from(["add", "add_input", "pointwise", "reduce", "matmul", "concatenate", "plan"]),
       args=st.lists(NESTED, max_size=3), words=st.dictionaries(st.sampled_from(WORDS), NESTED, max_size=4))
def test_any_arguments_are_refused_or_planned(method, args, words):
    graph = Graph()
    for shape in ((4, 70), (70,), (70, 4)):
        graph.add_input(shape, "f16")
    try:
        getattr(graph, method)(*args, **words)
    except (tegula.Error, TypeError, UnicodeEncodeError, OverflowError, MemoryError):
        assert len(graph) == 3
    try:
        assert graph.plan().verify() is None
    except tegula.Error:
        pass


@given(st.lists(st.tuples(st.sampled_from(["pointwise", "clone", "constant", "default", "boundary", "reduce"]),
                          st.lists(st.integers(0, 130), max_size=3),
                          st.lists(st.tuples(st.integers(0, 5), st.lists(st.tuples(
                              st.integers(-1, 3), st.integers(0, 200), st.integers(0, 80), st.integers(0, 70)),
                              max_size=3), st.integers(0, 300)), max_size=3),
                          st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200)), max_size=3)), max_size=6))
def test_any_loops_are_refused_or_planned(nodes):
    graph = Graph()
    graph.add_input((128, 130), "f16")
    for kind, ranges, operands, result in nodes:
        try:
            graph.add(kind, ranges, "f16", operands=operands, result=result)
        except tegula.Error:
            pass
    try:
        plan = graph.plan()
    except tegula.PlanInfeasible as error:
        plan = error.plan
    plan.to_dict()


# ---- objects -----------------------------------------------------------------------------------------------------

def test_threads_plan_one_graph_at_once():
    graph = Graph()
    for _ in range(20):
        attention(graph)
    wanted, found, faults = graph.plan().to_dict(), [], []

    def work():
        try:
            for _ in range(4):
                plan = graph.plan()
                found.append(plan.to_dict() == wanted and plan.verify() is None)
        except BaseException as error:
            faults.append(error)
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 24 and not faults


def test_others_cannot_grow_a_graph_that_is_planned():
    graph, stop, refused, added = Graph(), threading.Event(), [], []
    for _ in range(200):
        attention(graph)

    def grow():
        while not stop.is_set():
            try:
                added.append(graph.add_input((4,), "f16"))
            except RuntimeError as error:
                refused.append(str(error))
            stop.wait(0.001)
    thread = threading.Thread(target=grow)
    thread.start()
    plans = [graph.plan() for _ in range(5)]
    stop.set()
    thread.join()
    assert all(plan.optimal for plan in plans) and len(graph) == 200 * 14 + len(added)
    assert refused == [] or set(refused) == {"another thread is planning this graph; it takes new nodes when that is "
                                             "done"}


def test_a_plan_keeps_its_graph_and_a_node_too():
    graph = Graph()
    node, gone = attention(graph), weakref.ref(graph)
    plan = graph.plan()
    plan_gone = weakref.ref(plan)
    del graph
    gc.collect()
    assert gone() is plan.graph is node.graph and plan.layout(node) is not None
    del plan
    assert plan_gone() is None and gone() is node.graph
    del node
    assert gone() is None


class Tag:
    pass


def test_tags_in_cycles_are_collected():
    graph, tag = Graph(), Tag()
    tag.node, tag.plan = graph.add_input((4,), "f16", tag=tag), graph.plan()
    gone, graph_gone = weakref.ref(tag), weakref.ref(graph)
    del graph, tag
    gc.collect()
    assert gone() is None and graph_gone() is None


def test_nothing_is_pickled_or_copied():
    graph = Graph()
    node = attention(graph)
    for thing in (graph, node, graph.plan()):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="cannot pickle"):
                pickle.dumps(thing, protocol)
        with pytest.raises(TypeError, match="cannot pickle"):
            copy.copy(thing)


def test_no_reference_is_lost():
    bad = [lambda g: g.add("clone", (4,), "f16", operands=[(0, [(0, 1), (7, 7)]), (0, [(0,)])], tag=Tag()),
           lambda g: g.pointwise([0, (0, ".x")]), lambda g: g.add_input((4,), "f16", layout="f16[5] spyre"),
           lambda g: g.plan(model="x"), lambda g: tegula.plan(SPARSE), lambda g: g.matmul(0, 0),
           lambda g: Graph.from_hlo("ENTRY {")]

    def everything():
        graph = Graph()
        node = attention(graph)
        node.tag = Tag()
        plan = graph.plan()
        plan.to_dict(), plan.restickifies, plan.paddings, plan.boundaries, plan.candidates(0), plan.divide(node)
        plan.operand_layout(node, 0), plan.coordinates(node), plan.device_layout(node), plan.layout(node)
        repr(plan), repr(graph), repr(node), node.operands, node.result, node.inputs, node.host, graph.name
        graph.add("clone", (4,), "f16", operands=node.operands[:0], result=[(0, 1)], tag=node)
        for call in bad:
            try:
                call(graph)
            except tegula.Error:
                pass
    assert not loses_blocks(everything, 10, 30, 100)
