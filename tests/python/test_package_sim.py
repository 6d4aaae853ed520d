"""tegula.Simulator: what NumPy calculates, on the device in its layouts."""
import gc
import json
import math
import threading
import weakref

import numpy as np
import pytest

import console  # noqa: F401, the package of the build folder
import plan_hlo
import tegula

RNG = np.random.default_rng(1)


def rounded(x):
    """float16 as DLFloat16 has it: 9 fraction bits."""
    fraction, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.floor(np.abs(fraction) * 1024 + 0.5) / 1024 * np.sign(fraction), exponent)


def draw(*shape):
    return rounded(RNG.uniform(0.5, 2, shape) * RNG.choice([-1, 1], shape)).astype(np.float16)


def run(graph, calculations, inputs, **how):
    simulator = tegula.Simulator(graph.plan(restickify_reductions=True), calculations, **how)
    for node, data in inputs.items():
        simulator.write(node, data)
    simulator.run()
    return simulator


def result(simulator, node, dtype=np.float16):
    node = simulator.plan.graph[int(node)]
    return np.frombuffer(simulator.read(node), dtype).reshape(node.shape)


def near(made, wanted, share=2**-10):
    assert made.shape == wanted.shape
    assert (np.abs(made.astype(np.float64) - wanted) <= share * np.abs(wanted) + 1e-12).all()


def test_formulas_round_once():
    """Numbers between steps are float32: a * b - 1 keeps what a product in 16 bits would lose."""
    graph = tegula.Graph()
    x, y = graph.add_input((5, 100), "f16"), graph.add_input((100,), "f16")
    z = graph.pointwise([x, y])
    steps = [("multiply", "$0", "$1"), ("subtract", "$2", 1), ("maximum", "$3", -0.75), ("add", "$4", "$0")]
    a, b = draw(5, 100), draw(100)
    simulator = run(graph, {z: {"op": "formula", "steps": steps}}, {x: a, y: b})
    wide, long = a.astype(np.float64), b.astype(np.float64)
    near(result(simulator, z), np.maximum(wide * long - 1, -0.75) + wide)
    deviation = simulator.check(z)
    assert deviation.elements == 500 and deviation.lost == 0 and deviation.largest <= deviation.scale * 2**-10


@pytest.mark.parametrize("reduction, wanted", [("sum", np.sum), ("max", np.max), ("min", np.min)])
@pytest.mark.parametrize("dim", [0, 1])
def test_reductions(reduction, wanted, dim):
    graph = tegula.Graph()
    x = graph.add_input((70, 100), "f32")
    y = graph.reduce(x, [dim], reduction)
    a = RNG.standard_normal((70, 100)).astype(np.float32)
    simulator = run(graph, {y: {"op": "reduce", "reduction": reduction, "steps": [("divide", "$0", 4)]}}, {x: a})
    made = result(simulator, y, np.float32)
    assert np.abs(made - wanted(a.astype(np.float64), dim) / 4).max() < 1e-5


@pytest.mark.parametrize("n", [64, 77, 100, 130])
def test_rows_that_are_read_one_after_the_other(n):
    """The second row of a flattened tensor begins inside a stick, unless a row is whole sticks: torch-spyre's rule
    forgets what is left, and a plan that follows it reads other elements."""
    graph = tegula.Graph()
    x, a, w = graph.add_input((2, 13, n), "f32"), graph.add_input((2 * n, 20), "f32"), graph.add_input((20, 13), "f32")
    v = graph.add_input((n, 100), "f32")
    y = graph.matmul(a, w)
    r = graph.pointwise([x, (y, (2, 13, n), (13 * n, 1, 13), 0)])
    m = graph.matmul((r, (26, n), (n, 1), 0), v)
    data = {node: RNG.standard_normal(node.shape).astype(np.float32) for node in (x, a, w, v)}
    simulator = run(graph, {y: "product", r: "add", m: "product"}, data)
    wanted = data[x] + (data[a] @ data[w]).reshape(2, n, 13).transpose(0, 2, 1)
    assert np.abs(result(simulator, r, np.float32) - wanted).max() < 1e-4
    assert np.abs(result(simulator, m, np.float32) - wanted.reshape(26, n) @ data[v]).max() < 1e-3


def test_products_copies_and_fills():
    """Transposed, ragged, in a batch: with the copies and the zeros of the plan."""
    graph = tegula.Graph()
    x, y = graph.add_input((3, 33, 100), "f16"), graph.add_input((3, 70, 100), "f16")
    z = graph.matmul(x, (y, ".mT"))
    a, b = draw(3, 33, 100), draw(3, 70, 100)
    simulator = run(graph, {z: "product"}, {x: a, y: b})
    assert simulator.plan.restickifies and [padding.kind for padding in simulator.plan.paddings] == ["fill"]
    wanted = a.astype(np.float64) @ b.astype(np.float64).swapaxes(1, 2)
    assert np.abs(result(simulator, z) - wanted).max() <= 2**-10 * np.abs(wanted).max()


def test_a_plan_without_its_padding():
    graph = tegula.Graph()
    x, y = graph.add_input((5, 100), "f16"), graph.add_input((100, 70), "f16")
    z = graph.matmul(x, y)
    wrong = run(graph, {z: "product"}, {x: draw(5, 100), y: draw(100, 70)}, left_out=[0])
    assert np.isnan(result(wrong, z)).all() and wrong.check(z).lost == 5 * 70


def test_convolution():
    graph = tegula.Graph()
    x, w = graph.add_input((2, 3, 9), "f32"), graph.add_input((5, 3, 3), "f32")
    # dimension 2: 3 wide, in steps of 2, one place of padding in front
    z = graph.add("convolution", (2, 5, 4), "f32", loops=(2, 5, 4, 3), in_channel=3, out_channel=1, no_split=[2],
                  windows=[(2, 3, 2, 1, 1, 1, 1, 9, 1)],
                  operands=[(x, [(0, 27), (3, 9), (None, 1, 0, 9)]), (w, [(1, 9), (3, 3), (None, 1, 0, 3)])])
    a, b = RNG.standard_normal((2, 3, 9)).astype(np.float32), RNG.standard_normal((5, 3, 3)).astype(np.float32)
    simulator = run(graph, {z: "product"}, {x: a, w: b})
    padded = np.pad(a, ((0, 0), (0, 0), (1, 0)))
    wanted = np.stack([np.einsum("ncw,ocw->no", padded[:, :, 2 * i:2 * i + 3], b) for i in range(4)], -1)
    assert np.abs(result(simulator, z, np.float32) - wanted).max() < 1e-5


def test_rows_that_data_picks():
    graph = tegula.Graph()
    table, places = graph.add_input((7, 100), "f16"), graph.add_input((4,), "s32")
    rows = graph.add("gather", (4, 100), "f16", loops=(4, 100),
                     operands=[(table, [(None, 100, 0, 7), (1, 1)]), (places, [(0, 1)])])
    a = draw(7, 100)

    def picked(numbers, rule):
        said = {"op": "copy", "indices": [(0, 100, 6, (places, [(0, 1)]), rule)]}
        return result(run(graph, {rows: said}, {table: a, places: np.array(numbers, np.int32)}), rows)

    assert (picked([6, 0, 3, 3], "strict") == a[[6, 0, 3, 3]]).all()
    assert (picked([-1, 0, -7, 3], "wrap") == a[[6, 0, 0, 3]]).all()
    assert (picked([-1, 9, 0, 3], "clamp") == a[[0, 6, 0, 3]]).all()
    for numbers, rule in (([0, 7, 0, 0], "strict"), ([0, -1, 0, 0], "strict"), ([0, -8, 0, 0], "wrap")):
        with pytest.raises(tegula.ArgumentError, match=f"index {numbers[1]} is out of range: there are 7 places"):
            picked(numbers, rule)


@pytest.mark.parametrize("dtype, model", [("f16", "tegula"), ("f32", "tegula"), ("f16", "torch-spyre")])
def test_single_elements_that_data_picks(dtype, model):
    """Of a vector, of rows of one element, and of rows that lie across the sticks: whatever lane they are in."""
    graph = tegula.Graph()
    number = np.float16 if dtype == "f16" else np.float32
    vector, column, places = (graph.add_input(size, kind) for size, kind in
                              (((200,), dtype), ((200, 1), dtype), ((5,), "s32")))
    across = graph.add_input((200, 3), dtype, layout=tegula.SpyreTensorLayout((200, 3), dtype, [1, 0]))
    rows = [graph.add("gather", shape, dtype, loops=shape, operands=[(table, terms), (places, [(0, 1)])])
            for table, shape, terms in ((vector, (5,), [(None, 1, 0, 200)]), (column, (5, 1), [(None, 1, 0, 200)]),
                                        (across, (5, 3), [(None, 3, 0, 200), (1, 1)]))]
    told = {row: {"op": "copy", "indices": [(0, step, 199, (places, [(0, 1)]), "strict")]}
            for row, step in zip(rows, (1, 1, 3))}
    there = np.array([199, 0, 65, 64, 63], np.int32)
    a = [draw(*size).astype(number) for size in ((200,), (200, 1), (200, 3))]
    simulator = tegula.Simulator(graph.plan(model=model), told)
    for node, data in zip((vector, column, across, places), (*a, there), strict=True):
        simulator.write(node, data)
    simulator.run()
    for row, table in zip(rows, a):
        assert (result(simulator, row, number) == table[there]).all()


def test_pieces_constants_and_counting():
    graph = tegula.Graph()
    x, y = graph.add_input((5, 64), "f16"), graph.add_input((5, 36), "f16")
    both = graph.concatenate([x, y], 1)
    ones = graph.pointwise([], kind="constant", shape=(5, 100), dtype="f16")
    count = graph.pointwise([], kind="default", shape=(100,), dtype="f16")
    total = graph.pointwise([both, ones, count])
    a, b = draw(5, 64), draw(5, 36)
    simulator = run(graph, {
        both: {"op": "pieces", "pieces": [(0, 1, 0, 64), (1, 1, 64, 36)]},
        ones: {"op": "constant", "data": np.array([1.5], np.float16)},
        count: {"op": "iota", "loop": 0, "dtype": "f32", "steps": [("multiply", "$0", 0.5), ("add", "$1", 3)]},
        total: {"op": "formula", "steps": [("add", "$0", "$1"), ("add", "$3", "$2")]}}, {x: a, y: b})
    near(result(simulator, total), np.concatenate([a, b], 1).astype(np.float64) + 1.5 + np.arange(100) * 0.5 + 3)


def test_types_that_are_calculated_in():
    """Integers by default, and floats where it is said; truth from comparisons."""
    graph = tegula.Graph()
    x = graph.add_input((70,), "s32")
    halves = graph.pointwise([x], dtype="f32")
    whole = graph.pointwise([x])
    odd = graph.pointwise([x], dtype="pred")
    a = np.arange(-35, 35, dtype=np.int32)
    half = {"op": "formula", "steps": [("divide", "$0", 2)]}
    simulator = run(graph, {halves: half | {"dtype": "f32"}, whole: half, odd: {
        "op": "formula", "steps": [("remainder", "$0", 2), ("ne", "$1", 0)]}}, {x: a})
    assert (result(simulator, halves, np.float32) == a / 2).all()
    assert (result(simulator, whole, np.int32) == np.trunc(a / 2)).all()
    assert (result(simulator, odd, np.bool_) == (a % 2 == 1)).all()


def test_infinity_beside_a_format_without_it():
    graph = tegula.Graph()
    x = graph.add_input((70,), "f16")
    low = graph.pointwise([x])
    there = graph.pointwise([low], dtype="pred")
    steps = [("select", "$0", "$0", -math.inf)]
    simulator = run(graph, {low: {"op": "formula", "steps": steps},
                            there: {"op": "formula", "steps": [("eq", "$0", -math.inf)], "dtype": "f32"}},
                    {x: np.arange(70).astype(np.float16) % 2})
    assert (result(simulator, there, np.bool_) == (np.arange(70) % 2 == 0)).all()


def test_storage_is_as_the_layout_says():
    graph = tegula.Graph()
    x = graph.add_input((5, 40), "f32")
    y = graph.pointwise([x])
    a = RNG.standard_normal((5, 40)).astype(np.float32)
    simulator = run(graph, {y: "negate"}, {x: a})
    stored = np.frombuffer(simulator.storage(y), np.float32).reshape(2, 5, 32)
    assert (stored[0] == -a[:, :32]).all() and (stored[1, :, :8] == -a[:, 32:]).all()
    assert np.isnan(stored[1, :, 8:]).all()


def small():
    graph = tegula.Graph()
    x = graph.add_input((5, 70), "f16", name="x")
    return graph, x, graph.pointwise([x], name="y")


@pytest.mark.parametrize("said, words", [
    ("nothing", "is no operation"), ({"op": "abs", "what": 1}, "says nothing of what a node calculates"),
    ({"op": "formula", "steps": [("add", "$0")]}, "another number of operands"),
    ({"op": "formula", "steps": [("reduce", "$0")]}, "another number of operands"),
    ({"op": "formula", "steps": [("abs", "x")]}, "is no value of a formula"),
    ({"op": "formula", "steps": [("abs", "$7")]}, "a step of its formula has no operand"),
    ({"op": "formula", "steps": [("abs", "$0")] * 33}, "at most 32 steps"),
    ({"op": "formula", "steps": ["abs"]}, "are at most"), ({"op": "formula"}, "a step of its formula"),
    ({"op": "reduce", "reduction": "most"}, "is no reduction"),
    ({"op": "copy", "indices": [(0, 1, 2)]}, "indices are at most"),
    ({"op": "copy", "indices": [(0, 1, 2, "x", "never")]}, "is no rule for indices"), ("add", "number of operands"),
])
def test_what_cannot_be_said(said, words):
    graph, x, y = small()
    with pytest.raises(tegula.ArgumentError, match=words):
        tegula.Simulator(graph.plan(), {y: said})


def test_errors():
    graph, x, y = small()
    plan = graph.plan()
    with pytest.raises(TypeError, match="an operation is a str"):
        tegula.Simulator(plan, {y: 3})
    with pytest.raises(TypeError, match="are a sequence"):
        tegula.Simulator(plan, {y: {"op": "formula", "steps": 3}})
    with pytest.raises(tegula.ArgumentError, match="no node named"):
        tegula.Simulator(plan, {"z": "abs"})
    with pytest.raises(tegula.Unsupported, match="nothing is known that calculates"):
        tegula.Simulator(plan, {})
    with pytest.raises(tegula.ArgumentError, match="there is no padding 0"):
        tegula.Simulator(plan, {y: "abs"}, left_out=[0])
    with pytest.raises(tegula.LimitError, match="more than 100 bytes"):
        tegula.Simulator(plan, {y: "abs"}, max_bytes=100)
    simulator = tegula.Simulator(plan, {y: "abs"})
    with pytest.raises(tegula.ArgumentError, match="was not written"):
        simulator.run()
    with pytest.raises(tegula.ArgumentError, match="node 0 has 700 bytes, not 10"):
        simulator.write(x, bytes(10))
    with pytest.raises(tegula.ArgumentError, match="is no input"):
        simulator.write(y, bytes(700))
    with pytest.raises(tegula.ArgumentError, match="nothing was run"):
        simulator.read(y)
    with pytest.raises(TypeError, match="cannot pickle"):
        simulator.__reduce__()
    assert repr(simulator) == "<tegula.Simulator of 2 nodes>" and simulator.plan is plan
    assert simulator.obstacle(y) is None and "is an input" in simulator.obstacle(x)
    graph.pointwise([y])
    with pytest.raises(tegula.ArgumentError, match="has got more nodes"):
        tegula.Simulator(plan, {y: "abs"})


def test_threads_wait_for_each_other():
    graph, x, y = small()
    simulator = tegula.Simulator(graph.plan(), {y: "negate"})
    a = draw(5, 70)
    simulator.write(x, a)
    simulator.run()

    def work():
        for _ in range(50):
            simulator.write(x, a)
            simulator.run()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (result(simulator, y) == -a).all()


def test_it_is_collected_with_its_graph():
    graph, x, y = small()
    simulator = tegula.Simulator(graph.plan(), {y: "abs"})
    tagged = graph.pointwise([y], tag=[simulator])
    seen = weakref.ref(simulator)
    del graph, x, y, tagged, simulator
    gc.collect()
    assert seen() is None


# ---- what HLO says ------------------------------------------------------------------------------------------------

HLO = """
ENTRY main {
  w = f16[100,70] parameter(1)
  x = f16[20,100] parameter(0)
  y = f16[20,70] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f16[70,20] transpose(y), dimensions={1,0}
  i = s32[5] parameter(2)
  j = s32[5] add(i, i)
  ROOT out = (f16[70,20], s32[5]) tuple(t, j)
}
"""


@pytest.mark.parametrize("options", [{}, {"device_formats": True}, {"model": "torch-spyre"}], ids=str)
def test_a_plan_of_hlo_runs_as_the_command_says(options):
    words = [f"--{key.replace('_', '-')}" + ("" if value is True else f"={value}") for key, value in options.items()]
    done = plan_hlo.run(HLO, "--run", "--json", "--seed", "9", *words)
    told = json.loads(done.stdout)["outputs"]
    made = tegula.plan(HLO, **options).run(seed=9).check_outputs()
    said = [(row["elements"], row["lost"], row["right"], row["largest_error"], row["largest"], row["average_error"])
            for row in told]
    assert len(made) == 2 and said == [
        (d.elements, d.lost, d.right, *(float(f"{x:.9g}") for x in (d.largest, d.scale, d.average_error)))
        for d in made]


def test_a_plan_of_hlo_runs_with_given_inputs():
    """In the order of the parameters, not of the text."""
    x, w, i = draw(20, 100), draw(100, 70), np.arange(5, dtype=np.int32)
    plan = tegula.plan(HLO)
    ran = plan.run([x, w, i])
    made, wanted = np.frombuffer(ran.read("y"), np.float16).reshape(20, 70), x.astype(np.float64) @ w.astype(np.float64)
    assert np.abs(made - wanted).max() < np.abs(wanted).max() / 64
    assert (np.frombuffer(ran.read("j"), np.int32) == 2 * i).all() and all(d.right for d in ran.check_outputs())
    with pytest.raises(tegula.ArgumentError, match="the graph has 3 inputs, and inputs= 2"):
        plan.run([x, w])
    with pytest.raises(tegula.ArgumentError, match="node .* has 4000 bytes, not 14000"):
        plan.run([w, x, i])


def test_a_padding_that_is_not_made_is_wrong():
    simulator = tegula.Simulator(tegula.plan(HLO), left_out=[0])
    simulator.draw(3)
    simulator.run()
    assert [deviation.right for deviation in simulator.check_outputs()] == [False, True]


def test_what_is_drawn_is_the_same_for_the_same_seed():
    plan = tegula.plan(HLO)
    first, again, other = (plan.run(seed=seed).read("y") for seed in (1, 1, 2))
    assert first == again != other


def test_graphs_that_say_nothing_of_their_nodes():
    graph, x, y = small()
    with pytest.raises(tegula.ArgumentError, match="is not from HLO"):
        graph.plan().run()
    graph = tegula.Graph.from_hlo(HLO)
    graph.pointwise(["y"])
    with pytest.raises(tegula.ArgumentError, match="nodes that its HLO does not have"):
        graph.plan().run()
