"""Reading a SuperDSC as the device would: which byte each step of the loops touches, from its fields alone. And the
kernels of a plan, judged by what the graph says they touch."""
import collections
import itertools
import json
import math
import random

import graph_c as g
import tegula_c as t



class Reader:
    """Loops are named by the order of N_, in which they stand as in the graph, without those of range 1. What no loop
    walks comes behind them: the sticks of sparse tensors, and what lies between sticks. The places of a window are a
    loop behind those of the graph."""

    def __init__(self, superdsc, ranges):
        (self.key, whole), = superdsc.items()
        (self.op, kernel), = whole["dscs_"][0].items()
        self.whole, self.kernel, self.ranges = whole, kernel, ranges
        loops = [loop for loop, n in enumerate(ranges) if n > 1]
        names = [name[:-1] for name in kernel["N_"] if name not in ("name_", "paddingSizes_")]
        self.loop_of = dict(zip(names, loops + [None] * 2))
        assert len(loops) <= len(names) == len(self.loop_of)
        self.windows = kernel["N_"].get("paddingSizes_", {})
        self.extent = {name: kernel["N_"][name + "_"] for name in names}
        self.per_core = {name: kernel["dataStageParam_"]["0"]["ss_"][name + "_"] for name in names}
        self.cores = {tuple(sorted(row.items())): int(core) for core, row in whole["coreIdToWkSlice_"].items()}
        assert len(self.cores) == whole["numCoresUsed_"] == kernel["numCoresUsed_"]
        for name, loop in self.loop_of.items():
            assert self.per_core[name] * whole["numWkSlicesPerDim_"][name] == self.extent[name]
            assert loop is None or self.extent[name] >= ranges[loop]

    def core(self, values):
        """Who takes this step."""
        slices = {name: 0 if loop is None else values[loop] // self.per_core[name]
                  for name, loop in self.loop_of.items()}
        return self.cores[tuple(sorted(slices.items()))]

    def scales(self, tensor):
        row = self.kernel["labeledDs_"][tensor]
        label = self.kernel["primaryDsInfo_"][row["dsType_"]]
        return dict(zip(label["layoutDimOrder_"], row["scale_"])), label["stickDimOrder_"][0], label["stickSize_"][0]

    def is_beyond(self, name, stick):
        """A restickify's loop of whole sticks that the other tensor has no rows for: the gap counts what is missing."""
        loop = self.loop_of[name]
        return self.op == "ReStickifyOpHBM" and name != stick and self.extent[name] > self.ranges[loop]

    def moved(self, window, local, values):
        """Where a window reads, and how many places there are without padding."""
        tap = self.loop_of.get(window["windowDim_"])
        at = local * window["stride_"] + (0 if tap is None else values[tap]) * window["dilation_"]
        return at - window["padFront_"], window["totalSize_"] - window["padFront_"] - window["padBack_"]

    def address(self, tensor, values):
        node = self.kernel["scheduleTree_"][tensor]
        scales, stick, eps = self.scales(tensor)
        in_lx = node["component_"] == "lx"
        gaps = {name: int(row["-1"]) for name, row in node.get("backGapCore_", {}).items()}
        assert not (in_lx and gaps)
        elements, step = 0, eps
        for name in node["layoutDimOrder_"]:
            if scales[name] != 1:
                continue
            loop = self.loop_of[name]
            local, extent = 0 if loop is None else values[loop] % self.per_core[name], self.extent[name]
            if name in node.get("padding_", {}):
                local, extent = self.moved(self.windows[name], local, values)
            gap = gaps.get(name, 0) * (-1 if self.is_beyond(name, stick) else 1)
            unit = eps if name == stick else 1
            elements += local // unit * step + (local % eps if name == stick else 0)
            assert (extent + gap) % unit == 0
            step *= (self.per_core[name] if in_lx else extent + gap) // unit
        start = node["startAddressCoreCorelet_"]["data_"][f"[{self.core(values)}, 0, 0]"]
        return int(start) + elements * self.kernel["labeledDs_"][tensor]["wordLength"]


def some_steps(ranges, rng, most=40):
    """All corners of a box of loops, and steps in between."""
    corners = itertools.product(*({0, n - 1} for n in ranges))
    inside = ([rng.randrange(n) for n in ranges] for _ in range(most))
    return [list(step) for step in itertools.islice(corners, most)] + list(inside)


# ---- whole plans ------------------------------------------------------------------------------------------------

def place_of(step, graph):
    """A function from flat host elements to device elements, by the evaluator of layouts."""
    host, spyre = graph.nodes()[step.node].host, step.layout
    shape, strides = list(host.shape[:host.ndim]), list(host.strides[:host.ndim])
    dtype = t.lib.tg_dtype_name(host.dtype).decode()
    size, maps = (",".join(map(str, row[:spyre.rank])) for row in (spyre.device_size, spyre.stride_map))
    fmt = t.lib.tg_format_name(spyre.device_dtype).decode()
    layout = t.parse(f"{dtype}[{','.join(map(str, shape))}] strides=[{','.join(map(str, strides))}] spyre "
                     f"device_size=[{size}] stride_map=[{maps}] device_dtype={fmt}").layout

    def place(flat):
        at = [0] * len(shape)
        for d in sorted(range(len(shape)), key=lambda d: -strides[d]):
            if shape[d] > 1:
                at[d], flat = divmod(flat, strides[d])
        assert flat == 0 and all(x < n for x, n in zip(at, shape))
        return t.offset(layout, at)
    return place


def ranges_of(node):
    """Of the loops, then of the places of windows."""
    return [*node.ranges[:node.nloops], *(w.size for w in node.windows[:node.nwindows])]


def flat_of(node, k, access, values):
    """The host element that operand k, or the result, touches; None for padding. A window moves operand 0 along."""
    flat = access.offset + sum(term.step * values[term.loop] for term in access.terms[:access.nterms] if term.loop >= 0)
    for w, tap in zip(node.windows[:node.nwindows], values[node.nloops:]):
        assert w.base_dilation == 1 and not w.reversed  # the device has neither
        place = values[w.loop] * w.stride + tap * w.dilation - w.low
        if k == 0 and not 0 <= place < w.extent:
            return None
        flat += (place * w.step, tap * w.kernel_step, 0)[min(k, 2)]
    return flat


class Checked:
    """A bundle and the steps of its plan. What it says lives as long as the `with` that it was made in."""

    def __init__(self, graph, plan, bundle):
        self.graph, self.plan, self.bundle = graph, plan, bundle
        self.steps, self.why = list(plan.steps()), collections.Counter()
        self.kernels = self.in_lx = 0

    def tensors(self, i):
        """(step, access) of each operand and of the result of a node, in the order of the kernel."""
        step, reads = self.steps[i]
        access = [g.lib.tg_graph_access(self.graph.handle, step.node, k) for k in range(step.noperands)]
        pairs = [*zip(reads, access), (i, g.lib.tg_graph_access(self.graph.handle, step.node, -1))]
        loops = [{term.loop for term in a.terms[:a.nterms]} for _, a in pairs]
        if g.KINDS[self.graph.nodes()[step.node].kind] == "matmul" and loops[0] & loops[1] - loops[2] \
                and not (loops[1] & loops[2]) - loops[0]:
            pairs[:2] = pairs[1::-1]  # a vector on the right
        if g.KINDS[self.graph.nodes()[step.node].kind] == "carry":
            del pairs[0]  # written over
        return pairs

    def check_addresses(self, reader, tensor, step, flats, steps):
        place, row = place_of(self.steps[step][0], self.graph), self.steps[step][0]
        nbytes = 128 // row.layout.device_size[row.layout.rank - 1]
        base, in_lx = self.bundle.step(step)[3:]
        if in_lx:
            return self.check_scratchpad(reader, tensor, step, flats, steps)
        for values in steps:
            flat = flats(values)
            assert flat is None or reader.address(tensor, values) == base + nbytes * place(flat), (step, tensor, values)

    def check_scratchpad(self, reader, tensor, step, flats, steps):
        """Who touches an element is who has written it, at the place where it was written."""
        (number,), row = self.bundle.step(step)[1], self.steps[step][0]
        node = self.graph.nodes()[row.node]
        ranges, access = ranges_of(node), g.lib.tg_graph_access(self.graph.handle, row.node, -1)
        producer = Reader(json.loads(self.bundle.sdsc(number)), ranges)
        walked = {term.loop for term in access.terms[:access.nterms]}
        assert access.offset == 0 and all(n == 1 or producer.loop_of[name] in walked
                                          for name, n in producer.whole["numWkSlicesPerDim_"].items())
        for values in steps:
            flat, at = flats(values), [0] * len(ranges)
            for term in sorted(access.terms[:access.nterms], key=lambda x: -x.step):
                at[term.loop], flat = divmod(flat, term.step)
            assert flat == 0 and producer.core(at) == reader.core(values)
            assert producer.address(node.noperands, at) == reader.address(tensor, values)

    def check_node(self, i, number, rng):
        node = self.graph.nodes()[self.steps[i][0].node]
        ranges = ranges_of(node)
        reader = Reader(json.loads(self.bundle.sdsc(number)), ranges)
        for k, (source, access) in enumerate(self.tensors(i)):
            self.check_addresses(reader, k, source, lambda values, k=k, a=access: flat_of(node, k, a, values),
                                 some_steps(ranges, rng))

    def check_copy(self, i, number, rng):
        """A restickify, or the first kernel of a fill: all of the host tensor."""
        step, (source,) = self.steps[i]
        host = self.graph.nodes()[step.node].host
        shape, strides = list(host.shape[:host.ndim]), list(host.strides[:host.ndim])
        reader = Reader(json.loads(self.bundle.sdsc(number)), shape)
        for k, of in enumerate((source, i)):
            self.check_addresses(reader, k, of, lambda values: sum(a * b for a, b in zip(values, strides)),
                                 some_steps(shape, rng))

    def check_rest(self, i, number, rng):
        """The second kernel of a fill: zeros go behind the last row, nowhere else."""
        step, _ = self.steps[i]
        _, _, dim, valid, padded, *_ = list(self.plan.paddings())[step.index]
        host = self.graph.nodes()[step.node].host
        shape = list(host.shape[:host.ndim])
        rest = [padded - valid if d == dim else n for d, n in enumerate(shape)]
        reader = Reader(json.loads(self.bundle.sdsc(number)), rest)
        size, maps = (list(row[:step.layout.rank]) for row in (step.layout.device_size, step.layout.stride_map))
        k = next(k for k, (n, m) in enumerate(zip(size, maps)) if m == host.strides[dim] and n == padded)
        stride, nbytes = math.prod(size[k + 1:]), 128 // size[-1]
        base, seen = self.bundle.step(i)[3], set()
        for values in some_steps(rest, rng, 200):
            assert reader.address(0, values) == self.bundle.zeros()
            at = (reader.address(1, values) - base) // nbytes
            assert valid <= at // stride % padded == valid + values[dim] < padded
            seen.add((at, tuple(values)))
        assert len({at for at, _ in seen}) == len(seen)  # different steps, different places

    def check(self, seed=0):
        rng, last = random.Random(seed), 0
        for i, (step, _) in enumerate(self.steps):
            duty, numbers, why, address, in_lx = self.bundle.step(i)
            self.in_lx += in_lx
            assert numbers.start == last and all(self.bundle.step_of(n) == i for n in numbers)
            last = numbers.stop
            assert (address >= 0) == step.on_device and address % 128 == 0 or not step.on_device
            if duty != "device":
                assert len(numbers) == 0 and (why != "") == (duty == "host")
                self.why.update([why] if duty == "host" else [])
                continue
            self.kernels += len(numbers)
            kind = self.graph.nodes()[step.node].kind
            if step.kind == 0 and g.KINDS[kind] != "concatenate":
                self.check_node(i, numbers[0], rng)
            elif step.kind != 0:
                self.check_copy(i, numbers[0], rng)
            if step.kind == 2:
                self.check_rest(i, numbers[1], rng)
        assert last == self.bundle.count()
        return self
