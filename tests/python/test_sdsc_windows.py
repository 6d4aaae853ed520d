"""Kernels of convolutions, read back as a device would that knows windows: every tap of every position touches the
element that the definition says, where the layout has it."""
import itertools
import json
import random

import numpy as np
import pytest

import conv_oracle
import graph_c as g
import hlo_ctypes as hlo
import plan_hlo
import sdsc_c as s
import tegula
from sdsc_reader import Reader, place_of


class Convolution:
    """HLO text, and where each tensor has which element; dimensions in any order."""

    def __init__(self, rng, windows, batch, channels, out, extents, more="", depthwise=False):
        self.windows, self.extents, self.depthwise = windows, extents, depthwise
        more += f", feature_group_count={channels}" if depthwise else ""
        positions = [w.positions(e) for w, e in zip(windows, extents)]
        space = "012"[:len(windows)]
        self.sizes = {"x": {"b": batch, "f": channels} | dict(zip(space, extents)),
                      "k": {"i": 1 if depthwise else channels, "o": out} | {d: w.size for d, w in zip(space, windows)},
                      "c": {"b": batch, "f": out} | dict(zip(space, positions))}
        self.order = {name: rng.sample(list(sizes), len(sizes)) for name, sizes in self.sizes.items()}
        shape = {name: ",".join(str(self.sizes[name][d]) for d in order) for name, order in self.order.items()}
        labels = {name: "".join(order) for name, order in self.order.items()}
        self.text = (f"ENTRY e {{ x = f16[{shape['x']}] parameter(0)\n  k = f16[{shape['k']}] parameter(1)\n"
                     f"  ROOT c = f16[{shape['c']}] convolution(x, k), window={conv_oracle.text_of(windows)}, "
                     f"dim_labels={labels['x']}_{labels['k']}->{labels['c']}{more} }}")

    def flat(self, name, at):
        index = 0
        for d in self.order[name]:
            index = index * self.sizes[name][d] + at[d]
        return index


class WindowReader:
    """The fields of a SuperDSC: names of loops to addresses. What is said of windows is what makes an address here."""

    def __init__(self, superdsc):
        (_, whole), = superdsc.items()
        (self.op, self.kernel), = whole["dscs_"][0].items()
        self.cores = {tuple(sorted(row.items())): core for core, row in whole["coreIdToWkSlice_"].items()}
        self.extent = {name[:-1]: n for name, n in self.kernel["N_"].items() if name not in ("name_", "paddingSizes_")}
        self.stage = self.kernel["dataStageParam_"]["0"]["ss_"]
        self.padding, self.per_core = self.kernel["N_"]["paddingSizes_"], self.stage["paddingSizes_"]

    def slices(self, name):
        return self.extent[name] // self.stage[name + "_"]

    def address(self, tensor, at):
        node, row = self.kernel["scheduleTree_"][tensor], self.kernel["labeledDs_"][tensor]
        label = self.kernel["primaryDsInfo_"][row["dsType_"]]
        (stick,), (eps,) = label["stickDimOrder_"], label["stickSize_"]
        moved = node.get("padding_", {})
        gaps = {name: int(gap["-1"]) for name, gap in node.get("backGapCore_", {}).items()}
        assert sorted(node["layoutDimOrder_"]) == sorted(label["layoutDimOrder_"]) and set(row["scale_"]) == {1}
        elements, step = at[stick] % self.stage[stick + "_"] % eps, eps
        for name in node["layoutDimOrder_"]:
            local, extent = at[name] % self.stage[name + "_"], self.extent[name]
            if name in moved:
                p = self.padding[name]
                local = local * p["stride_"] + at[p["windowDim_"]] * p["dilation_"] - p["padFront_"]
                extent = p["totalSize_"] - p["padFront_"] - p["padBack_"]
            unit = eps if name == stick else 1
            elements += local // unit * step
            step *= (extent + gaps.get(name, 0)) // unit
        slices = {name: at[name] // self.stage[name + "_"] for name in self.extent}
        core = self.cores[tuple(sorted(slices.items()))]
        return int(node["startAddressCoreCorelet_"]["data_"][f"[{core}, 0, 0]"]) + 2 * elements

    def check_windows(self, c):
        """What is said of a window, from its definition."""
        for name, w, extent in zip("ij", c.windows, c.extents):
            p, own, out = self.padding[name], self.per_core[name], self.extent[name]
            needed = (out - 1) * w.stride + (w.size - 1) * w.dilation + 1
            front, cut = max(w.low, 0), max(-w.low, 0)
            back = max(0, needed - front - extent + cut)
            assert (p["padFront_"], p["padBack_"]) == (front, back) and p["windowDim_"] == "k" + name
            assert p["totalSize_"] == front + extent - cut + back == needed + p["unneededPad_"]
            assert (p["stride_"], p["dilation_"]) == (w.stride, w.dilation)
            kind = "padded_nozeropad" if front or back else "padded_fullspan_wunneeded"
            assert self.kernel["scheduleTree_"][0]["padding_"][name] == kind
            told = self.kernel["scheduleTree_"][0]["coordinates_"]["coordInfo"][name]
            positions = out // self.slices(name)
            span = (positions - 1) * w.stride + (w.size - 1) * w.dilation + 1
            assert told["padding"] == kind
            assert told["folds"]["dim_prop_func"][0] == {"Affine": {"alpha_": positions * w.stride, "beta_": 0}}
            assert [row["factor_"] for row in told["folds"]["dim_prop_attr"]] == [self.slices(name), 1, 1, span]
            if self.slices(name) == 1:
                assert own == p
            else:
                assert own["totalSize_"] == span and own["unneededPad_"] == 0 and w.stride == 1
                assert {own["padFront_"], own["padBack_"]} == ({-1} if front or back else {0})


def random_convolution(rng, seed, depthwise=False):
    np_rng = np.random.default_rng(seed)
    space = rng.choice([1, 2, 2])
    windows, extents = [], []
    while len(windows) < space:
        extent = rng.randint(2, 12)
        w = conv_oracle.random_window(np_rng, extent, reversal=False)
        w.base = 1
        if w.size > 1 and w.positions(extent) > 1 and w.low > -extent:
            windows.append(w)
            extents.append(extent)
    channels, out = rng.choice([64, 192]), rng.choice([40, 64, 130])
    return Convolution(rng, windows, rng.choice([1, 2, 6]), out if depthwise else channels, out, extents,
                       depthwise=depthwise)


def check_kernel(c, rng, graph, plan, bundle):
    steps = list(plan.steps())
    last, reads = steps[-1]
    duty, numbers, why, _, _ = bundle.step(len(steps) - 1)
    assert duty == "device", why
    (number,) = numbers
    reader = WindowReader(json.loads(bundle.sdsc(number)))
    (operation,) = reader.kernel["computeOp_"]
    assert reader.op == operation["opFuncName"] == ("depthwiseconv2dnative" if c.depthwise else "conv2d")
    assert operation["exUnit"] == ("sfp" if c.depthwise else "pt")
    assert len(operation["inputLabeledDs"]) == (3 if c.depthwise else 2)  # a sum on that unit goes on from its result
    labels = ["OUTPUT", "INPUT"] if c.depthwise else ["INPUT", "KERNEL", "OUTPUT"]
    assert list(reader.kernel["primaryDsInfo_"]) == labels
    assert {name: reader.slices(name) for name in ("ki", "kj") if name in reader.extent}.items() <= {
        "ki": 1, "kj": 1}.items()
    reader.check_windows(c)
    places = [place_of(steps[i][0], graph) for i in (*reads, len(steps) - 1)]
    bases = [bundle.step(i)[3] for i in (*reads, len(steps) - 1)]
    seen = 0
    for _ in range(400):
        at = {name: rng.randrange(n) for name, n in reader.extent.items()}
        at["out"] %= c.sizes["c"]["f"]
        channel = at["out"] if c.depthwise else at["in"]
        taps = [at["k" + name] for name in "ij"[:len(c.windows)]]
        positions = [at[name] for name in "ij"[:len(c.windows)]]
        read = [w.places(e)[p, t] for w, e, p, t in zip(c.windows, c.extents, positions, taps)]
        of = {"x": {"b": at.get("mb", 0), "f": channel} | dict(zip("012", read)),
              "k": {"i": at.get("in", 0), "o": at["out"]} | dict(zip("012", taps)),
              "c": {"b": at.get("mb", 0), "f": at["out"]} | dict(zip("012", positions))}
        for k, name in enumerate("xkc"):
            if name == "x" and min(read) < 0:
                continue
            seen += 1
            assert reader.address(k, at) == bases[k] + 2 * places[k](c.flat(name, of[name])), (name, at)
    assert seen > 800
    return reader


@pytest.mark.parametrize("depthwise", [False, True], ids=["all channels", "each channel"])
@pytest.mark.parametrize("cores", [1, 5, 32])
@pytest.mark.parametrize("seed", range(20))
def test_convolutions(seed, cores, depthwise):
    rng = random.Random(seed)
    c = random_convolution(rng, seed, depthwise)
    with hlo.Module(c.text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan, s.Bundle(plan, cores=cores) as bundle:
            check_kernel(c, rng, graph, plan, bundle)


def test_positions_are_shared_out():
    """Some of those kernels have slices of what is padded."""
    shared = 0
    for seed in range(20):
        c = random_convolution(random.Random(seed), seed)
        with hlo.Module(c.text) as module, g.Graph() as graph:
            graph.add_hlo(module)
            with g.Plan(graph) as plan, s.Bundle(plan, cores=32) as bundle:
                reader = check_kernel(c, random.Random(seed), graph, plan, bundle)
                shared += any(own["padFront_"] == -1 for own in reader.per_core.values())
    assert shared >= 3


@pytest.mark.parametrize("cores", [1, 32])
def test_windows_of_one_place_multiply_each_channel(cores):
    text = """ENTRY e { x = f16[2,5,6,70] parameter(0)
  k = f16[1,1,1,70] parameter(1)
  ROOT c = f16[2,5,6,70] convolution(x, k), dim_labels=b01f_01io->b01f, feature_group_count=70 }"""
    with hlo.Module(text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan, s.Bundle(plan, cores=cores) as bundle:
            reader, steps = Reader(json.loads(bundle.sdsc(0)), [2, 5, 6, 70]), list(plan.steps())
            assert bundle.name(0) == "0_mul"
            places, bases = [place_of(steps[i][0], graph) for i in range(3)], [bundle.step(i)[3] for i in range(3)]
            for b, i, j, o in itertools.product((0, 1), (0, 3, 4), (0, 5), (0, 69)):
                flats = [((b * 5 + i) * 6 + j) * 70 + o, o, ((b * 5 + i) * 6 + j) * 70 + o]
                for k in range(3):
                    assert reader.address(k, [b, i, j, o]) == bases[k] + 2 * places[k](flats[k])


@pytest.mark.parametrize("cores", [1, 32])
def test_windows_of_one_place_are_a_product(cores):
    text = """ENTRY e { x = f16[2,5,6,128] parameter(0)
  k = f16[1,1,128,70] parameter(1)
  ROOT c = f16[2,5,6,70] convolution(x, k), dim_labels=b01f_01io->b01f }"""
    with hlo.Module(text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan, s.Bundle(plan, cores=cores) as bundle:
            reader, steps = Reader(json.loads(bundle.sdsc(0)), [2, 5, 6, 70, 128]), list(plan.steps())
            assert bundle.name(0) == "0_batchmatmul"
            places, bases = [place_of(steps[i][0], graph) for i in range(3)], [bundle.step(i)[3] for i in range(3)]
            for b, i, j, o, n in itertools.product((0, 1), (0, 3, 4), (0, 5), (0, 69), (0, 100)):
                flats = [((b * 5 + i) * 6 + j) * 128 + n, n * 70 + o, ((b * 5 + i) * 6 + j) * 70 + o]
                for k in range(3):
                    assert reader.address(k, [b, i, j, o, n]) == bases[k] + 2 * places[k](flats[k])


W = conv_oracle.Window
REFUSED = [
    ([W(3, base=2), W(3)], (2, 64, 64), "", "its activation is spread out, as that of a transposed convolution"),
    ([W(3, reversal=True), W(3)], (2, 64, 64), "", "its weights are read backwards"),
    ([W(1, stride=2), W(3)], (2, 64, 64), "", "a window of one place that moves in steps, or over padding"),
    ([W(8), W(3)], (2, 64, 64), "", "a window has one position only"),
    ([W(3), W(3)], (2, 70, 64), "", "its in-channels are no whole sticks, and nothing fills its weights"),
    ([W(3), W(3), W(3)], (2, 64, 64), "", "there are names for windows along 2 dimensions, not 3"),
    ([W(3), W(1), W(1)], (2, 64, 64), "", "a convolution has no name for loop"),
]


@pytest.mark.parametrize("windows, sizes, more, why", REFUSED)
def test_what_is_for_the_host(windows, sizes, more, why):
    c = Convolution(random.Random(1), windows, *sizes, [8] * len(windows), more)
    with hlo.Module(c.text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan, s.Bundle(plan) as bundle:
            duty, _, said, _, _ = bundle.step(len(list(plan.steps())) - 1)
    assert duty == "host" and why in said


@pytest.mark.parametrize("line, why", [
    ("y = f16[2,8,8,128] parameter(2)\n  v = f16[3,3,64,128] parameter(3)\n  "
     "ROOT c = f16[2,6,6,128] convolution(y, v), window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=2",
     "the device convolves all channels, or each by itself, and no groups of them"),
    ("z = f16[] constant(-inf)\n  ROOT c = f16[2,4,4,64] reduce-window(x, z), window={size=1x2x2x1 stride=1x2x2x1}, "
     "to_apply=most", "a pool that is no mean has no kernel"),
    ("ROOT c = f16[2,8,8,64] reverse(x), dimensions={1}", "it reads backwards")])
def test_other_windows_are_for_the_host(line, why):
    text = ("most { p = f16[] parameter(0)\n  q = f16[] parameter(1)\n  ROOT r = f16[] maximum(p, q) }\n"
            "ENTRY e { x = f16[2,8,8,64] parameter(0)\n  w = f16[3,3,1,64] parameter(1)\n  " + line + " }")
    with hlo.Module(text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan, s.Bundle(plan) as bundle:
            duty, _, said, _, _ = bundle.step(len(list(plan.steps())) - 1)
    assert duty == "host" and said == why


def test_a_result_may_stay_in_the_scratchpad():
    """Where a reader slices it alike; what reads by windows reads what other cores have written."""
    text = """ENTRY e { x = f16[2,8,9,128] parameter(0)
  k = f16[3,3,128,64] parameter(1)
  c = f16[2,8,9,64] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  a = f16[2,8,9,64] abs(c)
  k2 = f16[2,2,64,64] parameter(2)
  ROOT d = f16[2,4,4,64] convolution(a, k2), window={size=2x2 stride=2x2}, dim_labels=b01f_01io->b01f }"""
    with hlo.Module(text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as plan, s.Bundle(plan, cores=32) as bundle:
            made, read, last = (json.loads(bundle.sdsc(i)) for i in range(3))
            assert [bundle.name(i) for i in range(3)] == ["0_conv2d", "1_abs", "2_conv2d"]
            assert [bundle.step(i)[4] for i in range(6)] == [False, False, True, False, False, False]
    (conv,), (pointwise,) = made.values(), read.values()
    assert conv["numCoresUsed_"] == pointwise["numCoresUsed_"] > 1
    names = dict(zip(("mb", "i", "j", "out"), ("mb", "x", "y", "out")))  # loops in their order
    for core, slices in conv["coreIdToWkSlice_"].items():
        assert {names[n]: slices[n] for n in names} == pointwise["coreIdToWkSlice_"][core]
    (row,) = conv["dscs_"]
    assert [place["component_"] for place in row["conv2d"]["scheduleTree_"]] == ["hbm", "hbm", "lx"]
    assert list(row["conv2d"]["labeledDs_"][2]["memOrg_"]) == ["lx"]


def test_the_report_tells_windows():
    c = Convolution(random.Random(2), [W(3, 2, 1, 0, 1, 2), W(2, base=3, reversal=True)], 2, 64, 70, [9, 4])
    answer = plan_hlo.plan(c.text)
    op = {row["name"]: row for row in answer["ops"]}["c"]
    assert "windows" not in answer["ops"][0]
    first, second = op["windows"]
    assert (first["size"], first["stride"], first["dilation"], first["base_dilation"], first["low"], first["extent"],
            first["reversed"]) == (3, 2, 2, 1, 1, 9, False)
    assert (second["size"], second["base_dilation"], second["extent"], second["reversed"]) == (2, 3, 4, True)
    places = [c.order["c"].index(d) for d in "01"]
    assert [row["loop"] for row in op["windows"]] == places
    said = tegula.plan(c.text).explain("c").splitlines()
    assert f"  window with p{places[0]}: 3 wide, every 2 places, in steps of 2, 1 in front, over 9" in said
    assert f"  window with p{places[1]}: 2 wide, over 4 that are 3 apart, operand 1 backwards" in said
