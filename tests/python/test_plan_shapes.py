"""Shapes that are not what follows from the operands are refused, whatever the opcode; those that are go through."""
import pytest

import graph_c as g
import hlo_ctypes as hlo
import tegula_c as t

# `a` and `b` are alike, `c` is as large as `a` and turned, `i` is an index; the last line is the root.
TEXT = """sum {{ p = f16[] parameter(0)
  q = f16[] parameter(1)
  ROOT r = f16[] add(p, q) }}
odd {{ p = f16[] parameter(0)
  q = f16[] parameter(1)
  r = f16[] multiply(q, q)
  ROOT s = f16[] add(p, r) }}
best {{ p0 = f16[] parameter(0)
  p1 = s32[] parameter(1)
  q0 = f16[] parameter(2)
  q1 = s32[] parameter(3)
  ROOT r = (f16[], s32[]) tuple(p0, q1) }}
less {{ p = f16[] parameter(0)
  q = f16[] parameter(1)
  ROOT r = pred[] compare(p, q), direction=LT }}
turn {{ p = f16[4,64] parameter(0)
  ROOT r = f16[64,4] transpose(p), dimensions={{1,0}} }}
same {{ p = f16[4,64] parameter(0)
  ROOT r = f16[4,64] negate(p) }}
wide {{ p = f16[64,64] parameter(0)
  ROOT r = f16[64,64] negate(p) }}
yes {{ p = f16[4,64] parameter(0)
  ROOT r = pred[] constant(true) }}
number {{ p = f16[4,64] parameter(0)
  ROOT r = s32[] constant(1) }}
ENTRY main {{
  a = f16[4,64] parameter(0)
  b = f16[4,64] parameter(1)
  c = f16[64,4] parameter(2)
  i = s32[] parameter(3)
  s = f16[] parameter(4)
  w = f32[4,64] parameter(5)
  z = s32[4,64] parameter(6)
  m = pred[4,64] parameter(7)
  one = f16[1,64] parameter(8)
  batch = f16[2,4,64] parameter(9)
  image = f16[2,8,8,64] parameter(10)
  kernel = f16[3,3,64,128] parameter(11)
  rows = s32[7] parameter(12)
  square = f16[64,64] parameter(13)
  lines = f16[7,64] parameter(14)
  yes = pred[] parameter(15)
  whole = s8[64,64] parameter(16)
  complex = c64[4] parameter(17)
  ROOT {last}
}}
"""
DOT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
BATCHED = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}"
CONV = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"
GATHER = "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}"
SCATTER = ("update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
           "to_apply=sum")
WINDOW = "window={size=1x2 stride=1x2}, to_apply=sum"

WRONG = [
    # element by element
    ("f16[64,4] negate(a)", "one of its operands has another shape"),
    ("f16[4,64] negate(s)", "one of its operands has another shape"),
    ("f16[4,64] add(s, s)", "all of its operands are scalars"),
    ("f16[4,64] add(a, c)", "one of its operands has another shape"),
    ("f16[4,64] add(a, one)", "one of its operands has another shape"),
    ("s32[4,64] add(a, b)", "its result is of type f16, not s32"),
    ("pred[4,64] add(a, b)", "its result is of type f16, not pred"),
    ("f16[4,64] compare(a, b), direction=LT", "its result is of type pred, not f16"),
    ("s32[4,64] is-finite(a)", "its result is of type pred, not s32"),
    ("f32[64,4] convert(a)", "one of its operands has another shape"),
    ("f16[4,64] select(m, s, b)", "one of its operands has another shape"),
    ("s32[4,64] select(m, a, b)", "its result is of type f16, not s32"),
    ("f16[4,64] clamp(s, s, s)", "one of its operands has another shape"),
    ("c64[4] abs(complex)", "its result is of type f32, not c64"),
    ("f16[4,64] map(a, s), dimensions={0,1}, to_apply=sum", "one of its operands has another shape"),
    ("s32[4,64] map(a, b), dimensions={0,1}, to_apply=sum", "its result is of type f16, not s32"),
    ("f16[4,64] map(a), dimensions={0,1}, to_apply=sum", "computation sum takes 2 arguments, and is given 1"),
    ("f16[4,64] map(a), dimensions={0,1}, to_apply=same", "what it applies makes no scalar"),
    ("s32[4,64] all-reduce(a), replica_groups={}, to_apply=sum", "its result is of type f16, not s32"),
    ("f16[4,64] iota(), iota_dimension=2", "it counts along no dimension"),
    ("f16[4,64] iota()", "it counts along no dimension"),
    # views
    ("f16[64,4] transpose(a), dimensions={0,1}", r"its result is f16\[4,64\], not f16\[64,4\]"),
    ("f16[4,64] transpose(a), dimensions={1,0}", r"its result is f16\[64,4\], not f16\[4,64\]"),
    ("f16[4,4,16] transpose(a), dimensions={0,1}", r"its result is f16\[4,64\], not f16\[4,4,16\]"),
    ("f32[64,4] transpose(a), dimensions={1,0}", r"its result is f16\[64,4\], not f32\[64,4\]"),
    ("f32[256] reshape(a)", r"its result is f16\[256\], not f32\[256\]"),
    ("f32[2,4,64] broadcast(a), dimensions={1,2}", r"its result is f16\[2,4,64\], not f32\[2,4,64\]"),
    ("f16[64,64] broadcast(square), dimensions={0,0}", "its dimensions do not fit those of its operand"),
    ("f16[4,64] slice(a), slice={[0:2], [0:64]}", r"its result is f16\[2,64\], not f16\[4,64\]"),
    ("f16[1,64] slice(a), slice={[0:4:2], [0:64]}", r"its result is f16\[2,64\], not f16\[1,64\]"),
    ("f16[64,4] copy(a)", r"its result is f16\[4,64\], not f16\[64,4\]"),
    ("f16[64,4] opt-barrier(a)", r"its result is f16\[4,64\], not f16\[64,4\]"),
    ("f16[4,64] negate(f16[64,4] a)", r"one of its operands is f16\[4,64\], not f16\[64,4\]"),
    ("f16[256] bitcast(f16[256] a)", r"one of its operands is f16\[4,64\], not f16\[256\]"),
    ("f32[4,64] bitcast(a)", "it changes the number of bytes"),
    ("f16[4,64] transpose(a, b), dimensions={0,1}", "it takes 1 operand, not 2"),
    # tuples and calls
    ("t = (f16[4,64]) tuple(a, b)", "its result is a tuple of 2, and its shape says one of 1"),
    ("t = (f16[4,64], f16[4,64]) tuple(a, c)", r"its result is f16\[64,4\], not f16\[4,64\]"),
    ("t = f16[4,64] tuple(a)", "its result is a tuple, and its shape says an array"),
    ("t = token[] copy(a)", "its result is an array, and its shape says no array"),
    ("f16[4,64] call(a), to_apply=turn", r"its result is f16\[64,4\], not f16\[4,64\]"),
    ("f16[64,4] fusion(c), kind=kLoop, calls=turn", r"parameter p: its argument is f16\[64,4\], not f16\[4,64\]"),
    ("f16[64,4] call(a, b), to_apply=turn", "computation turn takes 1 argument, and is given 2"),
    ("f16[4,64] call(a), to_apply=sum", "computation sum takes 2 arguments, and is given 1"),
    ("f16[64,4] while(a), condition=yes, body=turn", r"its body gives another shape"),
    ("f16[64,4] while(a), condition=yes, body=same", r"its result is f16\[4,64\], not f16\[64,4\]"),
    ("f16[4,64] while(a), condition=number, body=same", r"what its condition gives is s32\[\], not pred\[\]"),
    ("f16[4,64] while(a), condition=same, body=same", r"what its condition gives is f16\[4,64\], not pred\[\]"),
    ("f16[64,4] conditional(yes, a, b), true_computation=same, false_computation=same",
     r"its result is f16\[4,64\], not f16\[64,4\]"),
    ("f16[4,64] conditional(s, a, b), branch_computations={same, same}", "neither s32 nor, of two branches, pred"),
    ("f16[4,64] conditional(yes, a), branch_computations={same}", "neither s32 nor, of two branches, pred"),
    # reductions
    ("s32[4] reduce(a, s), dimensions={1}, to_apply=sum", "its result is of type f16, not s32"),
    ("f16[4] reduce(a, i), dimensions={1}, to_apply=sum", "what it starts with is of type s32, not f16"),
    ("f16[4] reduce(a, b), dimensions={1}, to_apply=sum", r"what it starts with is f16\[4,64\], and no scalar"),
    ("f16[64] reduce(a, s), dimensions={1}, to_apply=odd", "its dimensions do not fit its result"),
    ("(f16[4], s32[4]) reduce(a, c, s, i), dimensions={1}, to_apply=best", "its operands have different shapes"),
    ("(f16[4], f16[4]) reduce(a, z, s, i), dimensions={1}, to_apply=best", "a result is of type s32, not f16"),
    ("(f16[4]) reduce(a, z, s, i), dimensions={1}, to_apply=best", "one result for each operand"),
    ("(f16[4,1], s32[4,1]) reduce(a, z, s, i), dimensions={1}, to_apply=best", "its dimensions do not fit its result"),
    ("f16[4,64] reduce-window(a, s), " + WINDOW, "its window has 32 places along dimension 1, not 64"),
    ("s32[4,32] reduce-window(a, s), " + WINDOW, "a result is of type f16, not s32"),
    ("f16[4,32] select-and-scatter(a, b, s), select=less, scatter=sum, window={size=1x2 stride=1x2}",
     r"its result is f16\[4,64\], not f16\[4,32\]"),
    ("f16[4,64] select-and-scatter(a, b, s), select=less, scatter=sum, window={size=1x2 stride=1x2}",
     "its window has 32 places along dimension 1, not 64"),
    # pieces
    ("f16[8,64] concatenate(a, z), dimensions={0}", "a piece is of type s32, not f16"),
    ("s32[8,64] concatenate(a, b), dimensions={0}", "a piece is of type f16, not s32"),
    ("s32[6,64] pad(a, i), padding=1_1x0_0", "its result is of type f16, not s32"),
    ("f16[6,64] pad(a, i), padding=1_1x0_0", "what it pads with is of type s32, not f16"),
    ("f16[6,64] pad(a, b), padding=1_1x0_0", r"what it pads with is f16\[4,64\], and no scalar"),
    ("f32[2,64] dynamic-slice(a, i, i), dynamic_slice_sizes={2,64}", r"its result is f16\[2,64\], not f32\[2,64\]"),
    ("f16[2,64] dynamic-slice(a, i, i), dynamic_slice_sizes={4,64}", r"its result is f16\[4,64\], not f16\[2,64\]"),
    ("f16[2,64] dynamic-slice(a, i), dynamic_slice_sizes={2,64}", "for each dimension where it begins"),
    ("f16[2,64] dynamic-slice(a, s, s), dynamic_slice_sizes={2,64}", "where it begins is no whole number"),
    ("f16[4,64] dynamic-update-slice(a, square, i, i)", "the update is larger than its operand"),
    ("f16[4,64] dynamic-update-slice(a, z, i, i)", "the update is of type s32, not f16"),
    ("f16[1,64] dynamic-update-slice(a, one, i, i)", r"its result is f16\[4,64\], not f16\[1,64\]"),
    ("f16[4,64] dynamic-update-slice(a, one, i)", "for each dimension where it begins"),
    ("f16[64,4] reverse(a), dimensions={0}", r"its result is f16\[4,64\], not f16\[64,4\]"),
    ("f16[4,64] reverse(a), dimensions={0,0}", "it reverses a dimension twice"),
    ("f16[4,32] all-gather(one), dimensions={0}", r"its result is f16\[4,64\], not f16\[4,32\]"),
    ("f16[3,64] reduce-scatter(a), dimensions={0}, to_apply=sum", "not a whole number of its results"),
    ("f16[2,32] reduce-scatter(a), dimensions={0}, to_apply=sum", "dimension 1 of its result has size 64, not 32"),
    # products
    (f"f16[4,4] dot(a, a), {DOT}", "its operands have sizes 64 and 4 along a dimension that is summed up"),
    (f"f16[64,64] dot(a, c), {DOT}", r"its result is f16\[4,4\], not f16\[64,64\]"),
    (f"f16[4,4,1] dot(a, c), {DOT}", r"its result is f16\[4,4\], not f16\[4,4,1\]"),
    (f"f16[2,4,4] dot(batch, image2), {BATCHED}".replace("image2", "other"), "its operands have sizes 2 and 3"),
    (f"f16[3,4,4] dot(batch, batch), {BATCHED}", r"its result is f16\[2,4,4\], not f16\[3,4,4\]"),
    ("f16[] dot(square, square), lhs_contracting_dims={1,1}, rhs_contracting_dims={0,1}",
     "its dimensions do not fit its operands"),
    (f"s4[64,64] dot(whole, whole), {DOT}", "its result has fewer bits than its operands"),
    ("f16[4,4] dot(col, col), lhs_contracting_dims={1}, rhs_contracting_dims={1}".replace("col", "thin"),
     r"its result is f16\[5,5\], not f16\[4,4\]"),
    (f"f16[2,7,8,128] convolution(image, kernel), {CONV}", "dimension 1 of its result has size 8, not 7"),
    (f"f16[1,8,8,128] convolution(image, kernel), {CONV}", "dimension 0 of its result has size 2, not 1"),
    (f"f16[2,8,8,64] convolution(image, kernel), {CONV}", "dimension 3 of its result has size 128, not 64"),
    (f"f16[2,8,8,128] convolution(image, kernel), {CONV}, feature_group_count=2",
     "its weights have not as many channels"),
    (f"f16[2,8,8,128] convolution(image, kernel), {CONV}, feature_group_count=3", "its groups do not fit its shapes"),
    (f"f16[2,8,8,128] convolution(image, kernel), {CONV}, feature_group_count=2, batch_group_count=2",
     "it has groups of features and of the batch"),
    ("f16[2,8,8,128] convolution(image, kernel), window={size=2x2}, dim_labels=b01f_01io->b01f",
     "its window does not fit its shapes"),
    ("f16[2,8,128] convolution(image, kernel), window={size=3}, dim_labels=b0f_0io->b0f",
     "its labels do not fit its shapes"),
    # at places that the data says
    (f"f16[8,64] gather(a, rows), {GATHER}", "its slices are not as many as its indices"),
    (f"f32[7,64] gather(a, rows), {GATHER}", r"its result is f16\[7,64\], not f32\[7,64\]"),
    (f"f16[7,64] gather(a, s), {GATHER}", "its indices are no whole numbers"),
    (f"f16[7,65] gather(a, rows), {GATHER}".replace("1,64}", "1,65}"), "its dimensions do not fit its result"),
    (f"f16[7,64] gather(a, rows), {GATHER}".replace("dim=1", "dim=2"), "which dimension of its indices is a place"),
    (f"f16[7,64] gather(a, rows), {GATHER}".replace("dim=1", "dim=0"), "one number for each dimension"),
    (f"f16[7,64] gather(a, rows), {GATHER}".replace("map={0}", "map={2}"), "a dimension that is not there"),
    (f"f16[4,64] scatter(a, rows, a), {SCATTER}", "its slices are not as many as its indices"),
    (f"f16[4,64] scatter(a, rows, whole7), {SCATTER}", "what it writes is of type s8, not f16"),
    (f"f16[7,64] scatter(a, rows, lines), {SCATTER}", r"its result is f16\[4,64\], not f16\[7,64\]"),
    # looking along
    ("f16[4,32] sort(a), dimensions={1}, to_apply=less", "dimension 1 of its result has size 64, not 32"),
    ("s32[4,64] sort(a), dimensions={1}, to_apply=less", "a result is of type f16, not s32"),
    ("(f16[4,64], f16[4,64]) sort(a, c), dimensions={1}, to_apply=less", "of its result has size 64, not 4"),
    ("(f16[4,65], s32[4,65]) topk(a), k=65, largest=true", "it finds more than there is"),
    ("(f16[5,6], s32[5,6]) topk(a), k=6, largest=true", "dimension 0 of its result has size 4, not 5"),
    ("(f16[4,6], f16[4,6]) topk(a), k=6, largest=true", "where it finds that is no whole number"),
    ("f16[4,6] topk(a), k=6, largest=true", "its result is not a pair of arrays"),
    # on the host
    ("f16[4,64] bitcast-convert(w)", "its last dimension is not the parts of an element"),
    ("f16[4,32] bitcast-convert(a)", "it changes the shape"),
    ("f16[4,64] cholesky(square)", r"its result is f16\[64,64\], not f16\[4,64\]"),
    ("f16[64,64] triangular-solve(square, c), left_side=true", r"its result is f16\[64,4\], not f16\[64,64\]"),
    # copies in two parts
    ("copy-done(a)", "no copy that has begun"),
    ("f16[4,64] custom-call(z), custom_call_target=\"Sharding\"", "its result is of type s32, not f16"),
]

GOOD = [
    "f32[4,64] add(a, w)", "f16[4,64] add(a, s)", "f16[4,64] clamp(s, a, s)", "f16[4,64] select(yes, a, b)",
    "s8[4,64] convert(a)", "f32[4] abs(complex)", "pred[4,64] compare(a, w), direction=GE", "s32[4,64] popcnt(z)",
    "pred[4,64] map(a, b), dimensions={0,1}, to_apply=less",
    "f16[4,64] broadcast(one), dimensions={0,1}", "f16[4,64]{0,1} copy(a)", "f16[4,64] negate(f16[4,64]{0,1} a)",
    "f16[2,64] slice(a), slice={[0:4:2], [0:64]}", "f16[0,64] slice(a), slice={[0:0], [0:64]}",
    "(f16[4,64], (f16[64,4])) tuple(a, t)", "f16[64,4] call(a), to_apply=turn",
    "f16[4,64] conditional(i, a, a, a), branch_computations={same, same, same}",
    "f16[4,64] while(a), condition=yes, body=same", f"f32[4,4] dot(a, c), {DOT}",
    f"s32[64,64] dot(whole, whole), {DOT}", f"f32[4,64] dot(a, whole), {DOT}",
    f"f16[2,4,4] dot(batch, batch), {BATCHED}",
    f"f32[2,8,8,128] convolution(image, kernel), {CONV}",
    "f16[2,3,3,128] convolution(image, kernel), window={size=3x3 stride=2x2}, dim_labels=b01f_01io->b01f",
    "f16[2,4,4,128] convolution(image, kernel), window={size=3x3 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f",
    "f16[2,13,13,128] convolution(image, kernel), window={size=3x3 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f",
    "f16[1,8,8,128] convolution(image, kernel), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
    "batch_group_count=2",
    "(f16[4], s32[4]) reduce(a, z, s, i), dimensions={1}, to_apply=best", "f16[4,32] reduce-window(a, s), " + WINDOW,
    "f16[64] reduce(a, s), dimensions={0}, to_apply=odd", "f16[8,64] concatenate(a, b), dimensions={0}",
    "f16[2,64] dynamic-slice(a, i, i), dynamic_slice_sizes={2,64}", "f16[4,64] dynamic-update-slice(a, one, i, i)",
    f"f16[7,64] gather(a, rows), {GATHER}", f"f16[4,64] scatter(a, rows, lines), {SCATTER}",
    f"f32[4,64] scatter(w, rows, lines), {SCATTER}", "(f16[4,6], s32[4,6]) topk(a), k=6, largest=true",
    "(f16[4,64], s32[4,64]) sort(a, z), dimensions={1}, to_apply=less", "f32[4,32] bitcast-convert(parts)",
    "f16[4,64,2] bitcast-convert(w)", "f16[64,4] triangular-solve(square, c), left_side=true",
    "f16[2,64] reduce-scatter(a), dimensions={0}, to_apply=sum", "f16[8,64] all-gather(a), dimensions={0}",
    "f16[2,64] custom-call(a), custom_call_target=\"SPMDFullToShardShape\"",
    "f16[8,64] custom-call(a), custom_call_target=\"SPMDShardToFullShape\"",
]
# More that a line may need before it.
MORE = {"other": "f16[3,4,64] parameter(18)", "thin": "f16[5,1] parameter(18)", "whole7": "s8[7,64] parameter(18)",
        "t": "(f16[64,4]) tuple(c)", "parts": "f16[4,32,2] parameter(18)"}


def add(line):
    last = line if line.startswith("t = ") else f"r = {line}"
    more = [f"{name} = {text}" for name, text in MORE.items() if f"{name})" in line or f"{name}," in line]
    text = TEXT.format(last=last)
    with hlo.Module(text.replace("  ROOT " + last, "\n".join(more + ["  ROOT " + last]))) as module:
        with g.Graph() as graph:
            graph.add_hlo(module)
            with g.Plan(graph) as plan:
                assert plan.fault() == ""


@pytest.mark.parametrize("line, words", WRONG)
def test_a_shape_that_does_not_follow_is_refused(line, words):
    with pytest.raises(t.TegulaError, match=words) as caught:
        add(line)
    assert "TG_ERR_UNSUPPORTED" in str(caught.value)


@pytest.mark.parametrize("line", GOOD)
def test_a_shape_that_follows_is_planned(line):
    add(line)


def test_a_copy_in_two_parts_is_the_tensor():
    text = """ENTRY e {
  a = f16[4,64] parameter(0)
  start = (f16[4,64], f16[4,64], u32[]) copy-start(a)
  ROOT done = %s copy-done((f16[4,64], f16[4,64], u32[]) start)
}"""
    with hlo.Module(text % "f16[4,64]") as module, g.Graph() as graph:
        graph.add_hlo(module)
        assert len(graph.nodes()) == 1
    for wrong in (text % "f16[64,4]", text.replace("(f16[4,64], f16", "(f16[64,4], f16", 1) % "f16[4,64]"):
        with hlo.Module(wrong) as module, g.Graph() as graph:
            with pytest.raises(t.TegulaError, match=r"its result is f16\[4,64\], not f16\[64,4\]"):
                graph.add_hlo(module)
