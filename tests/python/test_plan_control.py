"""Loops, branches, indices and searches in HLO: what is copied, how often, which layouts go together, and what is said
of operations that have no plan. Costs are worked out by hand."""
import re

import numpy as np
import pytest

import graph_c as g
import hlo_ctypes as hlo
import plan_hlo
import sim_c
import tegula
import tegula_c as t

SQUARE = 128 * 128 * 2  # bytes of f16[128,128], which has no padding


def ops_of(answer):
    return {op["name"]: op for op in answer["ops"]}


def copies_of(answer):
    return [(r["producer"], sorted(r["consumers"]), r["bytes"], r["times"]) for r in answer["restickifies"]]


# ---- loops ----------------------------------------------------------------------------------------------

def loop(body, shapes, rounds="backend_config={\"known_trip_count\":{\"n\":\"6\"}}", count=None):
    """while (i < 6) over (i, *shapes); body: lines from %i, %a, %b, ... to the tuple of the next round."""
    names = "abcdef"[:len(shapes)]
    types = ", ".join(["s32[]", *shapes])
    gets = "\n".join(f"  {n} = {s} get-tuple-element(p), index={k + 1}" for k, (n, s) in enumerate(zip(names, shapes)))
    inputs = "\n".join(f"  {n}0 = {s} parameter({k})" for k, (n, s) in enumerate(zip(names, shapes)))
    return f"""cond {{ p = ({types}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] {"constant(6)" if count is None else count}
  ROOT t = pred[] compare(i, n), direction=LT }}
body {{ p = ({types}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
{gets}
{body} }}
ENTRY main {{
  zero = s32[] constant(0)
{inputs}
  start = ({types}) tuple(zero, {", ".join(n + "0" for n in names)})
  ROOT w = ({types}) while(start), condition=cond, body=body{", " + rounds if rounds else ""} }}
"""


M = "f16[128,128]"
TURNED = f"""  y = {M} dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
  ROOT n = (s32[], {M}, {M}) tuple(j, y, b)"""


def test_what_a_loop_does_not_change_is_copied_once():
    """a @ b.t() wants b.t() with its columns in the sticks: b is copied in front of the loop, not in each round."""
    answer = plan_hlo.plan(loop(TURNED, [M, M]))
    assert answer["optimal"] and answer["restickify_bytes"] == SQUARE == answer["lower_bound_bytes"]
    assert copies_of(answer) == [("b0", ["w#2"], SQUARE, 1)]


BACK = f"""  t = {M} transpose(a), dimensions={{1,0}}
  y = {M} add(t, b)
  ROOT n = (s32[], {M}, {M}) tuple(j, y, b)"""


def test_what_a_loop_turns_is_copied_in_every_round():
    """a = a.t() + b: y has the sticks of a on the other dimension, so either b and y agree and a is copied, or y is."""
    answer = plan_hlo.plan(loop(BACK, [M, M]))
    assert answer["optimal"] and answer["restickify_bytes"] == 6 * SQUARE
    (copied,) = copies_of(answer)
    assert copied[2:] == (SQUARE, 6)


def layouts_of(answer, *names):
    return {ops_of(answer)[name]["layout"] for name in names}


@pytest.mark.parametrize("body", [TURNED, BACK])
def test_a_loop_keeps_layouts(body):
    answer = plan_hlo.plan(loop(body, [M, M]))
    assert len(layouts_of(answer, "w#1", "w/next#1")) == 1
    assert ops_of(answer)["w/next#1"]["kind"] == "carry"
    assert "w/next#2" not in ops_of(answer)  # b is not changed


@pytest.mark.parametrize("rounds, count, times", [
    ("", None, 6),                  # i from 0, below 6, one by one
    ("", "parameter(1)", 2),        # no constant: unknown, counts as twice
    ('backend_config={"known_trip_count":{"n":"100"}}', None, 100),
    ('backend_config={"known_trip_count":{"n":"2000000"}}', None, 2000000),
    ('backend_config={"known_trip_count":{"n":"0"}}', None, 1),
])
def test_rounds(rounds, count, times):
    text = loop(BACK, [M, M], rounds, count)
    if count:
        text = text.replace("n = s32[] parameter(1)", "n = s32[] negate(i)")
    assert plan_hlo.plan(text)["restickify_bytes"] == times * SQUARE


@pytest.mark.parametrize("rounds", ["1073741825", "9223372036854775807", "99999999999999999999"])
def test_more_rounds_than_are_counted(rounds):
    ran = plan_hlo.run(loop(BACK, [M, M], f'backend_config={{"known_trip_count":{{"n":"{rounds}"}}}}'))
    assert ran.returncode == 2 and "w: " in ran.stderr and "are more than 1073741824" in ran.stderr


def test_loops_in_loops():
    inner = loop(BACK, [M, M])
    head, entry = inner.split("ENTRY main {")
    outer = head + f"""cond2 {{ p = (s32[], {M}, {M}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(5)
  ROOT t = pred[] compare(i, n), direction=LT }}
body2 {{ p = (s32[], {M}, {M}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  zero = s32[] constant(0)
  a = {M} get-tuple-element(p), index=1
  b = {M} get-tuple-element(p), index=2
  start = (s32[], {M}, {M}) tuple(zero, a, b)
  w = (s32[], {M}, {M}) while(start), condition=cond, body=body
  x = {M} get-tuple-element(w), index=1
  ROOT n = (s32[], {M}, {M}) tuple(j, x, b) }}
ENTRY main {{""" + entry.replace("condition=cond, body=body", "condition=cond2, body=body2").replace(
        'n":"6"', 'n":"5"')
    answer = plan_hlo.plan(outer)
    assert answer["optimal"] and answer["restickify_bytes"] == 5 * 6 * SQUARE


def test_a_body_that_gives_another_shape_is_refused():
    text = loop(f"  y = f16[64,128] slice(a), slice={{[0:64], [0:128]}}\n  ROOT n = (s32[], {M}) tuple(j, y)", [M])
    with hlo.Module(text) as module, g.Graph() as graph, pytest.raises(
            t.TegulaError, match=r"tuple n: its result is f16\[64,128\], not f16\[128,128\]"):
        graph.add_hlo(module)


# ---- branches ---------------------------------------------------------------------------------------------

BRANCHES = f"""straight {{ x = {M} parameter(0)
  ROOT r = {M} negate(x) }}
turned {{ x = {M} parameter(0)
  t = {M} transpose(x), dimensions={{1,0}}
  ROOT r = {M} negate(t) }}
ENTRY main {{ p = %s parameter(0)
  a = {M} parameter(1)
  ROOT c = {M} conditional(p, a, a), %s }}
"""


@pytest.mark.parametrize("index, words", [
    ("s32[]", "branch_computations={straight, turned}"),
    ("pred[]", "true_computation=straight, false_computation=turned"),
])
def test_branches_write_one_layout(index, words):
    answer = plan_hlo.plan(BRANCHES % (index, words))
    assert answer["optimal"] and answer["restickify_bytes"] == SQUARE
    ops = ops_of(answer)
    assert {"c#0/r", "c#1/r", "c"} <= set(ops) and ops["c"]["stick_loop"] is not None


# ---- searches ---------------------------------------------------------------------------------------------

def test_the_best_are_not_searched_in_sticks():
    answer = plan_hlo.plan("""ENTRY e { x = f32[32,256] parameter(0)
  b = (f32[32,8], s32[32,8]) topk(x), k=8, largest=true
  v = f32[32,8] get-tuple-element(b), index=0
  i = s32[32,8] get-tuple-element(b), index=1
  ROOT r = (f32[32,8], s32[32,8]) tuple(v, i) }""")
    assert [(p, c) for p, c, *_ in copies_of(answer)] == [("x", ["b#0", "b#1"])]  # one for both
    for name in ("b#0", "b#1"):
        assert ops_of(answer)[name]["kind"] == "search" and ops_of(answer)[name]["stick_loop"] == 0


LARGER = """larger { a = f16[] parameter(0)
  i = s32[] parameter(1)
  b = f16[] parameter(2)
  k = s32[] parameter(3)
  g = pred[] compare(a, b), direction=GT
  x = f16[] select(g, a, b)
  y = s32[] select(g, i, k)
  ROOT t = (f16[], s32[]) tuple(x, y) }
"""


@pytest.mark.parametrize("text, copied", [
    ("s = f16[64,128] sort(x), dimensions={1}", 1),
    ("s = f16[64,128] sort(x), dimensions={0}", 0),
    ("s = f16[64,128] reverse(x), dimensions={1}", 1),
    ("s = f16[64,128] reverse(x), dimensions={0}", 0),
    ("""m = s32[64,128] iota(), iota_dimension=1
  n = f16[] constant(-inf)
  z = s32[] constant(0)
  s = (f16[64], s32[64]) reduce(x, m, n, z), dimensions={1}, to_apply=larger""", 1),
])
def test_what_is_looked_along_is_in_no_sticks(text, copied):
    answer = plan_hlo.plan(LARGER + f"ENTRY e {{ x = f16[64,128] parameter(0)\n  ROOT {text} }}".replace(
        "ROOT m", "m").replace("\n  s = (", "\n  ROOT s = ("))
    assert answer["boundaries"] == [] and len(answer["restickifies"]) == copied


# ---- rows that the data picks --------------------------------------------------------------------------------

SCATTER = """add { a = f16[] parameter(0)
  b = f16[] parameter(1)
  ROOT s = f16[] add(a, b) }
ENTRY e { x = f16[512,256] parameter(0)
  i = s32[32,1] parameter(1)
  u = f16[32,256] parameter(2)
  ROOT r = f16[512,256] scatter(x, i, u), %s, index_vector_dim=1, to_apply=add }"""


@pytest.mark.parametrize("words, update", [
    ("update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}", "f16[32,256]"),
    ("update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}", "f16[32,1,256]"),
])
def test_scattered_rows_are_outermost(words, update):
    answer = plan_hlo.plan((SCATTER % words).replace("f16[32,256]", update))
    assert answer["restickifies"] == [] and answer["boundaries"] == []
    assert "device_size=[512,4,64] stride_map=[256,64,1]" in ops_of(answer)["r"]["layout"]


def test_rows_from_another_layout():
    text = SCATTER % "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}"
    text = text.replace("parameter(2)", 'parameter(2), frontend_attributes={spyre_layout="spyre dim_order=[1,0]"}')
    answer = plan_hlo.plan(text)
    assert copies_of(answer) == [("u", ["r"], 64 * 256 * 2, 1)]  # its 32 rows were padded to a stick


def test_gathered_rows_in_a_dimension_of_one():
    answer = plan_hlo.plan("""ENTRY e { x = f16[512,256] parameter(0)
  i = s32[32,1] parameter(1)
  ROOT r = f16[32,1,256] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0},
    index_vector_dim=1, slice_sizes={1,256} }""")
    assert answer["boundaries"] == [] and copies_of(answer) == [("x", ["r"], 512 * 256 * 2, 1)]


# ---- groups of channels -------------------------------------------------------------------------------------

@pytest.mark.parametrize("channels, reason", [(64, None), (32, "its groups of channels are not whole sticks")])
def test_groups_are_whole_sticks(channels, reason):
    answer = plan_hlo.plan(f"""ENTRY e {{ x = f16[2,8,8,{4 * channels}] parameter(0)
  k = f16[3,3,{channels},{4 * channels}] parameter(1)
  ROOT c = f16[2,8,8,{4 * channels}] convolution(x, k), window={{size=3x3 pad=1_1x1_1}},
    dim_labels=b01f_01io->b01f, feature_group_count=4 }}""")
    op = ops_of(answer)["c"]
    assert op.get("reason") == reason and answer["restickifies"] == []
    if reason is None:
        assert op["loops"][3] == channels and op["stick_loop"] == 3


@pytest.mark.parametrize("channels, layouts", [((1, 7), "b01f_01io->b01f"), ((1, 7), "bf01_oi01->bf01"),
                                               ((5, 1), "bf01_oi01->bf01")])
def test_a_single_channel_lies_in_no_sticks(channels, layouts):
    """Its tensor has something else there, which windows would have to pick apart: the host does that, and right."""
    sizes = {"b": 2, "f": channels[0], "i": channels[0], "o": channels[1], "0": 9, "1": 8}
    kernel = sizes | {"0": 3, "1": 2}
    result = sizes | {"f": channels[1], "0": 7, "1": 7}
    x, k, c = (",".join(str(of[d]) for d in dims) for of, dims in zip((sizes, kernel, result),
                                                                      layouts.replace("->", "_").split("_")))
    text = f"""ENTRY e {{ x = f32[{x}] parameter(0)
  k = f32[{k}] parameter(1)
  ROOT c = f32[{c}] convolution(x, k), window={{size=3x2}}, dim_labels={layouts} }}"""
    assert ops_of(plan_hlo.plan(text))["c"]["reason"] == "a single channel cannot lie in sticks"
    with sim_c.Simulation(text) as s:
        rng = np.random.default_rng(1)
        s.run(*(rng.standard_normal(shape).astype(np.float32) for shape, _ in s.input_shapes()))
        difference = s.difference(0)
    assert difference.lost == 0 and difference.largest < 2**-18 * difference.scale


# ---- what stays a boundary ------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, opcode, reason", [
    ("ROOT r = f32[64,64] cholesky(x), lower=true", "cholesky", "the host calculates it"),
    ("ROOT r = s32[64,64] bitcast-convert(x)", "bitcast-convert",
     "the bits of a device format are not those of the host"),
    ("c = f32[] constant(0)\n  d = f32[] constant(1)\n  ROOT r = f32[64,64] rng(c, d), distribution=rng_uniform", "rng",
     "the host makes random numbers"),
    ('ROOT r = f32[64,64] custom-call(x), custom_call_target="foo"', "custom-call",
     "its target is code of another library"),
    ("ROOT r = u64[64,64] convert(x)", "convert", "its type has no device format"),
    ("u = u64[64,64] convert(x)\n  ROOT r = f32[64,64] convert(u)", "convert",
     "the type of an operand has no device format"),
    ("f = f32[4096] reshape(x)\n  ROOT r = f32[4096] sort(f), dimensions={0}", "sort",
     "none of its dimensions can lie in sticks"),
    ("ROOT r = f32[64,64] all-to-all(x), dimensions={0}", "all-to-all",
     "pieces of tensors change places between devices"),
    ("ROOT r = f32[64,64] what-is-this(x)", "what-is-this", "nothing is known of the operation"),
])
def test_reasons(text, opcode, reason):
    answer = plan_hlo.plan(f"ENTRY e {{ x = f32[64,64] parameter(0)\n  {text} }}")
    op = ops_of(answer)["r"]
    assert (op["kind"], op["opcode"], op["reason"]) == ("boundary", opcode, reason)
    assert "r" in answer["boundaries"]


@pytest.mark.parametrize("text", [
    "ROOT r = f16[64,128] all-reduce(x), to_apply=add",
    "ROOT r = f16[64,128] collective-permute(x), source_target_pairs={{0,1}}",
    "ROOT r = f16[128,128] all-gather(x), dimensions={0}",
    "ROOT r = f16[32,128] reduce-scatter(x), dimensions={0}, to_apply=add",
])
def test_collectives_keep_sticks(text):
    head = SCATTER.split("ENTRY")[0]
    answer = plan_hlo.plan(f"{head}ENTRY e {{ x = f16[64,128] parameter(0)\n  {text} }}")
    assert answer["boundaries"] == [] and answer["restickifies"] == [] and ops_of(answer)["r"]["stick_loop"] == 1


# ---- text that cannot be ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, words", [
    ("ROOT x = f32[4,8]{64,0} parameter(0)", "does not list its dimensions"),
    ("ROOT x = f32[4,8]{0,0} parameter(0)", "does not list its dimensions"),
    ("x = f32[4,8] parameter(0)\n  ROOT y = f32[8,4]{1,7} bitcast(x)", "does not list its dimensions"),
    ("x = f32[4,8] parameter(0)\n  ROOT y = f32[512,4611686018427387904] bitcast(x)", "the number of elements"),
    ("x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] sort(x)", "does not say along what"),
    ("x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] while(x)", "does not name its computations"),
    ("x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] conditional(x)", "one operand for each branch"),
    ("x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] reverse(x), dimensions={2}", "a dimension that is not there"),
    ("x = f32[4,8] parameter(0)\n  i = s32[] constant(0)\n  "
     "ROOT y = f32[4,9] dynamic-slice(x, i, i), dynamic_slice_sizes={4,9}", "its result is larger than its operand"),
])
def test_what_is_refused(text, words):
    with g.Graph() as graph, pytest.raises(t.TegulaError, match=words):
        with hlo.Module(f"ENTRY e {{ {text} }}") as module:
            graph.add_hlo(module)


def doubled(levels, last, times=2):
    """(x,x) of (x,x) and so on: 2^levels arrays in a few lines, whose shapes the text leaves out."""
    lines = [f"  t{i + 1} = tuple({', '.join([f't{i}'] * times)})" for i in range(levels)]
    body = "\n".join(["  t0 = f32[4] parameter(0)"] + lines)
    return (f"same {{ ROOT p = parameter(0) }}\ngo {{ p = parameter(0)\n  "
            f"ROOT c = pred[] constant(true) }}\nENTRY main {{\n  b = s32[] constant(0)\n{body}\n"
            f"  ROOT r = {last % f't{levels}'}\n}}\n")


@pytest.mark.parametrize("last", [
    'f32[4] custom-call(%s), custom_call_target="f"', "while(%s), condition=go, body=same", "tuple(%s)",
    "conditional(b, %s), branch_computations={same}"])
@pytest.mark.parametrize("levels, times", [(60, 2), (300, 1)])
def test_tuples_of_tuples_end(last, levels, times):
    with hlo.Module(doubled(levels, last, times)) as module, g.Graph() as graph:
        with pytest.raises(t.TegulaError, match="arrays, or tuples at a depth") as caught:
            graph.add_hlo(module)
    assert "TG_ERR_LIMIT" in str(caught.value)


def test_many_arrays_are_no_fault():
    with hlo.Module(doubled(10, 'f32[4] custom-call(%s), custom_call_target="f"')) as module, g.Graph() as graph:
        graph.add_hlo(module)
        assert graph.nodes()[-1].noperands == 1024


def test_branches_read_what_chooses_them():
    """What says which branch runs is alive until it has, and the conditional is what reads it last."""
    text = BRANCHES % ("s32[]", "branch_computations={straight, turned}")
    text = text.replace("ENTRY main { p = s32[] parameter(0)", "ENTRY main { z = s32[] parameter(0)\n  "
                        "p = s32[] add(z, z)")
    graph = tegula.Graph.from_hlo(text)
    assert [node.name for node in graph["c"].inputs] == ["p", "c#0/r", "c#1/r"]
    assert graph["c"].operands[0].terms == () and graph["c"].kind == "pointwise"
    plan = graph.plan()
    life = next(row for row in plan.memory.tensors if row.node.name == "p")
    steps = [(row.kind, row.node.name) for row in plan.memory.tensors]
    assert steps[life.last] == ("node", "c") and plan.verify() is None


def test_a_report_says_how_loops_count():
    text = loop(f"  y = {M} negate(a)\n  ROOT n = (s32[], {M}) tuple(j, y)", [M])
    assert "of HBM traffic (each loop's body counted once)" in tegula.plan(text).report()


# ---- what calls for too much ------------------------------------------------------------------------------

@pytest.mark.parametrize("levels", [21, 40, 62])
def test_few_lines_that_call_for_very_many(levels):
    """Each computation calls the one before twice: that is counted, not tried."""
    lines = ["f0 { p = f16[64] parameter(0)\n  ROOT r = f16[64] negate(p) }"]
    for k in range(1, levels + 1):
        lines.append(f"f{k} {{ p = f16[64] parameter(0)\n  a = f16[64] call(p), to_apply=f{k - 1}\n"
                     f"  ROOT r = f16[64] call(a), to_apply=f{k - 1} }}")
    lines.append(f"ENTRY e {{ p = f16[64] parameter(0)\n  ROOT r = f16[64] call(p), to_apply=f{levels} }}")
    ran = plan_hlo.run("\n".join(lines))
    total = 2 + 2 ** levels * 2 + 3 * (2 ** levels - 1)
    said = f"there are {total} instructions" if total < 2 ** 63 else "there are 2^63 instructions or more"
    assert ran.returncode == 2 and said in ran.stderr

# ---- reductions -------------------------------------------------------------------------------------------

SUM = "sum { p = f16[] parameter(0)\n  q = f16[] parameter(1)\n  ROOT r = f16[] add(p, q) }\n"


def test_a_reduction_may_have_what_it_sums_up_in_the_sticks():
    """The sums go along rows of a, so they have to be sparse: x is copied with its summed rows in the sticks, which is
    half of a."""
    text = SUM + """ENTRY e {
  x = f16[64,128] parameter(0)
  a = f16[128,128] parameter(1)
  z = f16[] constant(0)
  s = f16[128] reduce(x, z), dimensions={0}, to_apply=sum
  b = f16[128,128] broadcast(s), dimensions={0}
  ROOT r = f16[128,128] add(a, b) }
"""
    answer = plan_hlo.plan(text, "--restickify-reductions")
    assert answer["optimal"] and copies_of(answer) == [("x", ["s"], SQUARE // 2, 1)]


def test_a_reduction_that_has_to_sum_up_the_sticks():
    """The same sums along rows and along columns agree in no other way."""
    text = SUM + """ENTRY e {
  x = f16[64,128] parameter(0)
  z = f16[] constant(0)
  s = f16[128] reduce(x, z), dimensions={0}, to_apply=sum
  b = f16[128,128] broadcast(s), dimensions={0}
  c = f16[128,128] broadcast(s), dimensions={1}
  ROOT r = f16[128,128] add(c, b) }
"""
    answer = plan_hlo.plan(text, "--restickify-reductions")
    assert answer["optimal"] and answer["restickify_bytes"] == SQUARE // 2


# ---- what no layout helps --------------------------------------------------------------------------------------

WHOLE = {
    "the largest of all": """f { a = f16[] parameter(0)
 b = s32[] parameter(1)
 c = f16[] parameter(2)
 d = s32[] parameter(3)
 gt = pred[] compare(a,c), direction=GT
 s = f16[] select(gt,a,c)
 t = s32[] select(gt,b,d)
 ROOT t2 = (f16[], s32[]) tuple(s,t) }
ENTRY e { x = f16[64,128] parameter(0)
  m = f16[] constant(-inf)
  i = s32[64,128] iota(), iota_dimension=1
  z = s32[] constant(0)
  ROOT r = (f16[], s32[]) reduce(x,i,m,z), dimensions={0,1}, to_apply=f }""",
    "the product of all": """mul { a = f16[] parameter(0)
 b = f16[] parameter(1)
 ROOT t2 = f16[] multiply(a,b) }
ENTRY e { x = f16[64,128] parameter(0)
  m = f16[] constant(1)
  ROOT r = f16[] reduce(x,m), dimensions={0,1}, to_apply=mul }""",
    "a window that the data picks": """ENTRY e { x = f16[64,128] parameter(0)
  i = s32[] parameter(1)
  ROOT r = f16[10,10] dynamic-slice(x,i,i), dynamic_slice_sizes={10,10} }""",
    "an element that the data picks": """ENTRY e { x = f16[64,128] parameter(0)
  i = s32[] parameter(1)
  ROOT r = f16[1,1] dynamic-slice(x,i,i), dynamic_slice_sizes={1,1} }""",
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_the_host_does_what_has_nothing_for_the_sticks(text):
    answer = plan_hlo.plan(text)
    hosts = [op for op in answer["ops"] if op["kind"] == "boundary"]
    assert hosts and all(op["name"].startswith("r") for op in hosts)
    assert {op["reason"] for op in hosts} == {"none of its dimensions can lie in sticks"}


@pytest.mark.parametrize("slice", ["f16[10,128] dynamic-slice(x,i,z), dynamic_slice_sizes={10,128}",
                                   "f16[64,10] dynamic-slice(x,z,i), dynamic_slice_sizes={64,10}"])
def test_rows_or_columns_that_the_data_picks(slice):
    text = f"ENTRY e {{ x = f16[64,128] parameter(0)\n i = s32[] parameter(1)\n z = s32[] constant(0)\n" \
           f" ROOT r = {slice} }}"
    assert ops_of(plan_hlo.plan(text))["r"]["kind"] == "pointwise"


# ---- what is not HLO ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("lines, words", [
    ("c = f16[3] constant({1,2,3,4,5})", "constant c: it has more elements than its shape"),
    ("c = f16[3] constant({1,2})", "constant c: it has fewer elements than its shape"),
    ("c = f16[3] constant({1,2,zzz})", "constant c: it has an element that is no number"),
    ("c = f16[] constant(1 2)", "constant c: it has more elements"),
    ("c = f16[100,64] concatenate(p,p), dimensions={0}", "concatenate c: its pieces do not make up its result"),
    ("c = f16[128,32] concatenate(p,p), dimensions={0}", "concatenate c: a piece does not fit its result"),
    ("z = f16[] constant(0)\n c = f16[64] reduce(p,z), dimensions={0,0}, to_apply=f",
     "reduce c: its dimensions do not fit its result"),
    ("z = f16[] constant(0)\n c = f16[64] reduce(p,z), dimensions={2}, to_apply=f", "reduce c: its dimensions"),
    ("q = f16[64,64] parameter(0)\n c = f16[64,64] add(p,q)", "parameter q: another one has the number 0, too"),
    ("q = f16[64,64] parameter(99999999)\n c = f16[64,64] add(p,q)",
     "parameter q: its number is 99999999, and the computation has 2"),
    ("c = f16[64,64] negate(p)\n c = f16[64,64] add(p,p)", "add c: c is the name of two instructions"),
    ("c = f16[64,64] select(p,p,p)", "select c: what it selects by is not of type pred"),
    ("q = s32[64,64] parameter(1)\n c = f16[64,64] add(p,q)", "add c: its operands have different types"),
    ("c = f16[64,64] add(p)", "add c: it takes 2 operands, not 1 (f16[64,64] -> f16[64,64])"),
    ("c = f16[64,64] tanh(p,p)", "tanh c: it takes 1 operand, not 2 (f16[64,64], f16[64,64] -> f16[64,64])"),
    ("c = f16[64,64] clamp(p,p)", "clamp c: it takes 3 operands, not 2"),
])
def test_what_is_no_hlo(lines, words):
    text = "f { a = f16[] parameter(0)\n b = f16[] parameter(1)\n ROOT c = f16[] add(a,b) }\n" \
           f"ENTRY e {{ p = f16[64,64] parameter(0)\n {lines}\n ROOT r = (f16[]) tuple(c) }}"
    ran = plan_hlo.run(text)
    assert ran.returncode == 2 and words in ran.stderr, ran.stderr
    name = words.split(":")[0].split(" ")[-1]
    said, line, caret = ran.stderr.splitlines()
    number = int(re.match("tegula: standard input, line ([0-9]+): ", said)[1])
    assert line.strip() == text.splitlines()[number - 1].strip() and line[caret.index("^")] == name, ran.stderr


@pytest.mark.parametrize("line, told", [
    ("r = f16[64] fusion(p), kind=kLoop, calls=w", ("line 2: ", "reshape v: ", "(f16[64,64] -> f16[64])", "v = ")),
    ("r = f16[64,64] call(p), to_apply=nobody", ("line 5: ", "call r: ", "(f16[64,64] -> f16[64,64])", "to_apply")),
    ('r = f16[64,64] negate(p), frontend_attributes={spyre_layout="spyre dim_order=[1,1]"}',
     ("line 5: ", "r: spyre_layout: dim_order lists dimension 1 twice", "(f16[64,64] -> f16[64,64])", "r = ")),
    ("r = f16[64,64] add(p, q)", ("line 5: ", "add r: nothing before it defines its operand q\n", "", "r = "))])
def test_errors_of_a_graph_have_a_place(line, told):
    """The innermost instruction, and the shapes that are known."""
    text = "w { p = f16[64,64] parameter(0)\n  ROOT v = f16[64] reshape(p)\n}\n" \
           f"ENTRY e {{ p = f16[64,64] parameter(0)\n  ROOT {line}\n}}\n"
    ran = plan_hlo.run(text)
    assert ran.returncode == 2 and all(words in ran.stderr for words in told[:3]), ran.stderr
    _, shown, caret = ran.stderr.splitlines()
    assert shown[caret.index("^"):].startswith(told[3]), ran.stderr


def test_a_long_name_leaves_place_for_the_reason():
    name = "n" * 200
    ran = plan_hlo.run(f"ENTRY e {{ p = f16[64,64] parameter(0)\n  ROOT {name} = f16[64] reshape(p)\n}}\n")
    assert f"reshape {name[:40]}...: a reshape changes the number of elements" in ran.stderr, ran.stderr


@pytest.mark.parametrize("text", ["f32[2,2] constant({ { 1, -2.5e-3 }, { inf, nan(0x200) } })",
                                  "pred[2] constant({true, false})", "f32[4] constant({...})", "f32[0] constant({})",
                                  "s32[2,1] constant({ /*i0=0*/ {1}, /*i0=1*/ {2} })", "c64[] constant((1, -2))",
                                  "f32[] constant(-inf)", "bf16[] constant(1e+03)", "s32[2]{0} constant({1, 2})"])
def test_constants_that_are_read(text):
    assert plan_hlo.run(f"ENTRY e {{ ROOT c = {text} }}").returncode == 0


def test_floats_of_two_precisions_go_together():
    text = "ENTRY e { p = f16[64] parameter(0)\n q = f32[64] parameter(1)\n ROOT r = f32[64] add(p,q) }"
    assert "have different types" not in plan_hlo.run(text).stderr


# ---- masks -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("reader, masked", [
    ("negate(e)", []), ("reduce(e, z), dimensions={0}, to_apply=sum", []),
    ("reduce(e, z), dimensions={1}, to_apply=sum", [("x", "e", "-inf")])])
def test_exponentials_are_masked_for_sums(reader, masked):
    """Over the stick, where 22 of its last elements are none; nobody else looks behind the end."""
    shape = "f16[128,150]" if "negate" in reader else "f16[150]" if "{0}" in reader else "f16[128]"
    text = SUM + f"""ENTRY e {{
  x = f16[128,150] parameter(0)
  z = f16[] constant(0)
  e = f16[128,150] exponential(x)
  ROOT r = {shape} {reader} }}
"""
    paddings = plan_hlo.plan(text)["paddings"]
    assert [(p["tensor"], p["consumer"], p["value"]) for p in paddings] == masked
