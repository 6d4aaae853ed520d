"""SuperDSC a second time, from its description (docs/plan.md), for kernels whose tensors are made here: so it is known
beforehand what every device dimension counts, and nothing is found from strides.

A tensor is a list of host dimensions, each walked by a loop (or by none, at one place), in an order; the last one is in
the sticks. Device dimensions are those of the constructor: order[1:], the last of which counts sticks, order[0], and
the places in a stick.
"""
import dataclasses
import itertools
import math

SEGMENT = 1 << 34
FORMATS = {0: ("SEN169_FP16", 64), 1: ("IEEE_FP32", 32)}
OUTER = ["mb", "x", "y", "i", "j", "ki", "kj"]
PRODUCT = ["ki", "kj", "y", "x", "mb", "out", "in"]
MASKS = {("0", 0): 0, ("0", 1): 0, ("-inf", 0): 0xFFFF, ("-inf", 1): 0xFF800000, ("+inf", 0): 0x7FFF,
         ("+inf", 1): 0x7F800000, ("1", 0): 0x3E00, ("1", 1): 0x3F800000}


@dataclasses.dataclass
class Dim:
    size: int            # of the host tensor
    loop: int = None     # that walks it
    start: int = 0       # where the loop begins, or the place that is touched


@dataclasses.dataclass
class Tensor:
    dims: list
    order: list          # of places in dims; -1 behind the last one: sparse
    fmt: int = 0
    address: int = 0
    in_lx: bool = False

    @property
    def eps(self):
        return FORMATS[self.fmt][1]

    def axes(self):
        """What the device dimensions count but for the innermost: (place in dims, or None for nothing; extent)."""
        def extent(d):
            return 1 if d == -1 else self.dims[d].size
        if not self.order:
            return [(None, 1)]
        *outer, stick = self.order
        rows = [(d, extent(d)) for d in outer[1:] + [stick] + outer[:1]]  # the sticks are counted before order[0]
        return [(None if d == -1 else d, -(-n // self.eps) if d == stick and d != -1 else n) for d, n in rows]

    def stick(self):
        """The loop in the sticks, None if they have one element."""
        d = self.order[-1] if self.order else -1
        return None if d == -1 else self.dims[d].loop

    def device_size(self):
        return [n for _, n in self.axes()] + [self.eps]

    def host_strides(self):
        strides, step = [0] * len(self.dims), 1
        for d in reversed(range(len(self.dims))):
            strides[d], step = step, step * self.dims[d].size
        return strides

    def stride_map(self):
        strides, stick = self.host_strides(), self.order[-1] if self.order else -1
        rows = [-1 if d is None or self.dims[d].size == 1 else strides[d] * (self.eps if d == stick else 1)
                for d, _ in self.axes()]
        return rows + [-1 if stick == -1 or self.dims[stick].size == 1 else strides[stick]]

    def place(self, values):
        """The device element that loops of these values touch."""
        at = [d.start + (values[d.loop] if d.loop is not None else 0) for d in self.dims]
        stick, out = self.order[-1] if self.order else -1, 0
        for d, extent in self.axes():
            out = out * extent + (0 if d is None else at[d] // self.eps if d == stick else at[d])
        return out * self.eps + (0 if stick == -1 else at[stick] % self.eps)

    def as_tuple(self):
        strides = self.host_strides()
        terms = [(d.loop, strides[i]) for i, d in enumerate(self.dims) if d.loop is not None]
        offset = sum(d.start * strides[i] for i, d in enumerate(self.dims))
        row = (self.device_size(), self.stride_map(), self.fmt, offset, terms, self.address)
        return row + (True,) if self.in_lx else row


@dataclasses.dataclass
class Kernel:
    op: str
    kind: str            # pointwise, reduction, matmul, restickify
    ranges: list
    splits: list
    tensors: list
    masked: list = dataclasses.field(default_factory=list)
    value: str = "0"


def affine(alpha):
    return {"Affine": {"alpha_": alpha, "beta_": 0}}


def factor(number, label):
    return {"factor_": number, "label_": label}


class Answer:
    def __init__(self, k):
        self.k, self.product = k, k.kind == "matmul"
        self.loops = [loop for loop, n in enumerate(k.ranges) if n > 1]
        whole = k.tensors[0] if k.kind == "reduction" else k.tensors[-1]
        self.sticks = [self.live(t.stick()) for t in k.tensors]
        self.stick = self.live(whole.stick())
        self.idle = not self.product and self.stick is None
        self.filler = any(self.lies_apart(t) for t in k.tensors)
        self.dims = self.loops + ["idle"] * self.idle + ["filler"] * self.filler
        if self.idle:
            self.stick = "idle"
        self.split = {d: k.splits[d] if d in self.loops else 1 for d in self.dims}
        self.extent = {d: {"idle": k.tensors[0].eps, "filler": 1}.get(d) or self.rounded(d) for d in self.dims}
        self.per_core = {d: self.extent[d] // self.split[d] for d in self.dims}
        self.names = self.name()
        self.ncores = math.prod(self.split.values())
        self.orders = [self.natural(t) for t in k.tensors]
        self.whole = self.orders[0] if k.kind == "reduction" else self.orders[-1]
        self.lists = [self.listed(i) for i in range(len(k.tensors))]
        self.label()

    def live(self, loop):
        return loop if loop in self.loops else None

    def rounded(self, loop):
        n = self.k.ranges[loop]
        for t in self.k.tensors:
            if t.stick() == loop:
                n = -(-n // t.eps) * t.eps
        return n

    def name(self):
        n = len(self.loops)
        if not self.product:
            return dict(zip(self.dims, (OUTER[:n - 1] + ["out"] if n else []) + OUTER[n:]))
        return {**dict(zip(self.loops, PRODUCT[-n:])), "filler": PRODUCT[-n - 1]}

    def walked(self, t):
        """Whole sticks up to the first loop, and the loops of the tensor, innermost first, each with how often it fits
        before the next one begins: device dimensions from the inside, but for the sticks' places."""
        before, rows = 1, []
        for d, extent in reversed(t.axes()):
            loop = None if d is None else self.live(t.dims[d].loop)
            if loop is not None:
                rows.append([loop, extent])
            elif rows:
                rows[-1][1] *= extent
            else:
                before *= extent
        return before, rows

    def lies_apart(self, t):
        before, rows = self.walked(t)
        return before > 1 and rows != [] and self.k.ranges[rows[0][0]] > (t.eps if rows[0][0] == t.stick() else 1)

    def natural(self, t):
        return ["filler"] * self.filler + [loop for loop, _ in self.walked(t)[1]]

    def scale(self, i, d):
        t = self.k.tensors[i]
        if d in ("idle", "filler") or d in self.orders[i]:
            return 1
        return -2 if self.sticks[i] is None and d == self.stick and not self.idle else -1

    def listed(self, i):
        if not self.product:
            return self.orders[i] + [d for d in self.whole if d not in self.orders[i]] + ["idle"] * self.idle
        if i != 0:
            return self.orders[i]
        y, result = self.orders[1], self.orders[2]
        return self.orders[0] + [d for d in y if d in result and d not in self.orders[0] and d != self.sticks[1]]

    def label(self):
        names = ["INPUT", "KERNEL", "OUTPUT", "KERNEL_IDX"] if self.product else ["OUTPUT", "KERNEL", "INPUT",
                                                                                 "KERNEL_IDX"]
        self.labels, self.label_of = {}, []
        for i, t in enumerate(self.k.tensors):
            stick = self.stick if self.sticks[i] is None else self.sticks[i]
            key = stick, frozenset(self.lists[i]), t.eps
            if key not in self.labels:
                self.labels[key] = names[len(self.labels)], self.lists[i]
            self.label_of.append(self.labels[key])

    # ---- cores

    def numbering(self):
        """In which order the slices of dimensions are counted: a split sum of a product first."""
        summed = [d for d in self.dims if self.product and self.split[d] > 1 and d not in self.orders[2]]
        return summed + [d for d in self.dims if d not in summed]

    def slices(self, core):
        """Cores in the order of all combinations, the first dimension changing fastest."""
        order = self.numbering()
        every = itertools.product(*(range(self.split[d]) for d in reversed(order)))
        row = next(itertools.islice(every, core, None))
        return dict(zip(order, reversed(row)))

    def first(self, core):
        """Where the loops begin on a core."""
        values, slices = [0] * len(self.k.ranges), self.slices(core)
        for d in self.loops:
            values[d] = slices[d] * self.per_core[d]
        return values

    def address(self, i, core):
        t = self.k.tensors[i]
        return t.address if t.in_lx else t.address + t.place(self.first(core)) * (128 // t.eps)

    # ---- tensors

    def gaps(self, i):
        """Places that a device dimension has beyond those of its loop."""
        t, found = self.k.tensors[i], {}
        before, rows = self.walked(t)
        if self.filler:
            found["filler"] = before - 1
        elif rows:
            rows[0][1] *= before  # a loop of one step: what is passed over is behind it as well as before it
        for loop, room in rows:
            sticks = loop == self.sticks[i]
            found[loop] = abs((room * t.eps if sticks else room) - self.extent[loop])
        return {d: n for d, n in found.items() if n}

    def coordinate(self, i, d):
        t, scale = self.k.tensors[i], self.scale(i, d)
        stick = d == (self.stick if self.sticks[i] is None else self.sticks[i])
        size, cores = (self.per_core[d], self.split[d]) if scale == 1 else (1, 1)
        inner = [(1, size, "elem_arr_0")]
        alpha = size
        if stick and scale == -2:
            alpha, inner = t.eps, [(t.eps, 1, "elem_arr_1"), (0, t.eps, "elem_arr_0")]
        elif stick:
            inner = [(t.eps, size // t.eps, "elem_arr_1"), (1, t.eps, "elem_arr_0")]
        folds = [(alpha, cores, "core_fold"), (0, 1, "corelet_fold"), (0, 1, "row_fold")] + inner
        return {"spatial": 3, "temporal": 0, "elemArr": len(inner), "padding": "nopad",
                "folds": {"dim_prop_func": [affine(a) for a, _, _ in folds],
                          "dim_prop_attr": [factor(n, label) for _, n, label in folds]}}

    def allocation(self, i):
        t, where = self.k.tensors[i], "lx" if self.k.tensors[i].in_lx else "hbm"
        cores = range(self.ncores)
        out = {"nodeType_": "allocate", "name_": f"allocate-Tensor{i}_{where}", "prev_": "", "ldsIdx_": i,
               "component_": where, "layoutDimOrder_": [self.names[d] for d in self.lists[i]],
               "maxDimSizes_": [-1] * len(self.lists[i]), "indirectAllocType_": "no_indirection",
               "startAddressCoreCorelet_": {
                   "dim_prop_func": [{"Map": {}}, {"Const": {}}, {"Const": {}}],
                   "dim_prop_attr": [factor(self.ncores, "core"), factor(1, "corelet"), factor(1, "time")],
                   "data_": {f"[{c}, 0, 0]": str(self.address(i, c)) for c in cores}}}
        gaps = {self.names[d]: {str(c): str(n) for c in cores} if t.in_lx else {"-1": str(n)}
                for d, n in self.gaps(i).items()}
        if gaps:
            out["backGapCore_"] = gaps
        out["coordinates_"] = {"coordInfo": {self.names[d]: self.coordinate(i, d) for d in self.label_of[i][1]},
                               "coreIdToWkSlice_": {}}
        return out

    def labeled(self, i):
        t = self.k.tensors[i]
        memory = {"lx": {"isPresent": 1}} if t.in_lx else {"hbm": {"isPresent": 1}, "lx": {"isPresent": 1}}
        return {"ldsIdx_": i, "dsName_": f"Tensor{i}", "dsType_": self.label_of[i][0],
                "scale_": [self.scale(i, d) for d in self.label_of[i][1]], "wordLength": 128 // t.eps,
                "dataFormat_": FORMATS[t.fmt][0], "memOrg_": memory}

    # ---- the whole

    def masks(self):
        return {self.names[d]: [[self.k.ranges[d], self.extent[d] - self.k.ranges[d]]] for d in self.loops
                if d in self.k.masked and self.extent[d] > self.k.ranges[d]}

    def constants(self):
        if not self.masks():
            return "{}"
        fmt = self.k.tensors[0].fmt
        data = {"dim_prop_func": [{"Const": {}}, {"Const": {}}, {"Map": {}}],
                "dim_prop_attr": [factor(self.ncores, "core"), factor(1, "corelet"), factor(1, "time")],
                "data_": {"[0, 0, 0]": [MASKS[self.k.value, fmt]]}}
        return {"0": {"dataFormat_": FORMATS[fmt][0], "name_": "samv-maskvalue", "data_": data}}

    def function(self):
        last = len(self.k.tensors) - 1
        across = self.k.kind == "reduction" and -2 not in [self.scale(last, d) for d in self.lists[last]]
        return self.k.op + "nonstick" * across

    def describe(self):
        count, sizes = len(self.k.tensors), {f"{self.names[d]}_": self.per_core[d] for d in self.dims}
        inputs = count if self.k.kind == "reduction" else count - 1
        return {
            "numCoresUsed_": self.ncores, "numCoreletsUsed_": 1, "coreIdsUsed_": list(range(self.ncores)),
            "N_": {"name_": "n", **{f"{self.names[d]}_": self.extent[d] for d in self.dims}},
            "coordinateMasking_": self.masks(), "maskingConstId_": 0 if self.masks() else -1,
            "dataStageParam_": {"0": {"ss_": {"name_": "core", **sizes}, "el_": {"name_": "core", **sizes}}},
            "primaryDsInfo_": {name: {"layoutDimOrder_": [self.names[d] for d in dims],
                                      "stickDimOrder_": [self.names[stick]], "stickSize_": [eps]}
                               for (stick, _, eps), (name, dims) in self.labels.items()},
            "scheduleTree_": [self.allocation(i) for i in range(count)],
            "labeledDs_": [self.labeled(i) for i in range(count)],
            "constantInfo_": self.constants(),
            "computeOp_": [{"exUnit": "pt" if self.product else "sfp", "opFuncName": self.function(),
                            "attributes_": {"dataFormat_": FORMATS[self.k.tensors[0].fmt][0], "fidelity_": "regular"},
                            "location": "Inner", "inputLabeledDs": [f"Tensor{i}-idx{i}" for i in range(inputs)],
                            "outputLabeledDs": [f"Tensor{count - 1}-idx{count - 1}"]}]}

    def superdsc(self, number):
        cores = [str(c) for c in range(self.ncores)]
        return {f"{number}_{self.function()}": {
            "sdscFoldProps_": [factor(1, "time")],
            "sdscFolds_": {"dim_prop_func": [affine(1)], "dim_prop_attr": [factor(1, "time")], "data_": {"[0]": "0"}},
            "coreFoldProp_": factor(self.ncores, "core"), "coreletFoldProp_": factor(1, "corelet"),
            "numCoresUsed_": self.ncores, "coreIdToDsc_": {c: 0 for c in cores},
            "numWkSlicesPerDim_": {self.names[d]: self.split[d] for d in self.dims},
            "coreIdToWkSlice_": {c: {self.names[d]: n for d, n in self.slices(int(c)).items()} for c in cores},
            "coreIdToDscSchedule": {c: [[-1, 0, 0, 0]] for c in cores},
            "dscs_": [{self.function(): self.describe()}]}}
