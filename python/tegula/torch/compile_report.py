"""tegula.torch.explain: the graphs that a function becomes, their layouts, and the lines that caused their copies."""
import collections
import inspect

import torch

from tegula.torch.compile_lower import name_of, source_of


def _bytes(count):
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024


def _count(number, word):
    plural = word[:-1] + "ies" if word.endswith("y") else word + "s"
    return f"{number} {word if number == 1 else plural}"


def _source(node):
    at = source_of(node)
    return None if at is None else {"file": at[0], "line": at[1], "function": at[2], "text": at[3]}


def _place(source):
    return "" if source is None else f"{source['file']}:{source['line']}: {source['text']}"


def _note(step):
    """What is not as on the CPU: the first operation of a softmax in 16 bits, where there is no NaN to come to."""
    whole, value = step.node.meta.get("original_aten"), step.node.meta.get("val")
    softmax = str(whole) in ("aten._softmax.default", "aten._log_softmax.default")
    if not softmax or step.kind != "compute" or str(step.node.target) != "aten.amax.default":
        return None
    if value is None or value.dtype not in (torch.float16, torch.bfloat16):
        return None
    return {"node": step.results[0], "name": step.node.name, "opcode": str(whole), "source": _source(step.node),
            "why": "in 16 bits a row of -inf alone is an average, and NaN on the CPU"}


def tiled(node):
    """How the work of a node that is done in tiles is shared out."""
    return (f"in {' x '.join(map(str, node['tiles']))} tiles of its loops, one after the other, each in "
            f"{' x '.join(map(str, node['splits']))} slices")


def padded(row):
    """What the plan makes of the places behind the end of a dimension."""
    end = f"behind the {row['valid']} of dimension {row['dim']}"
    if row["kind"] == "mask":
        return f"mask {row['name']} {end} as {row['value']}"
    return f"fill {row['name']} with {row['value']} {end}, up to {row['padded']}"


def _merged(size, strides):
    """Sizes and strides with as few dimensions as the same elements in the same order have."""
    made = []
    for n, step in zip(size, strides):
        if n == 1:
            continue
        if made and made[-1][1] == step * n:
            made[-1] = made[-1][0] * n, step
        else:
            made.append((n, step))
    return made


def _view(view, whole):
    """What an operand sees of the tensor that a node makes; None: all of it, in its order."""
    if view.offset == 0 and _merged(view.size, view.stride) == _merged(whole.shape, whole.strides):
        return None
    return {"shape": list(view.size), "strides": list(view.stride), "offset": view.offset}


def _numbers(values):
    return ",".join(map(str, values))


def operands(node, nodes):
    """"add, add[2,3] strides=[12,1] offset=6": the operands of a node, with the views that they are."""
    found = []
    for index, view in zip(node["operands"], node["views"]):
        text = nodes[index]["name"]
        if view is not None:
            text += f"[{_numbers(view['shape'])}] strides=[{_numbers(view['strides'])}]"
            text += f" offset={view['offset']}" if view["offset"] else ""
        found.append(text)
    return ", ".join(found)


def moved(report):
    """What a graph, or all of them, copy: restickifies, and next to them all other copies."""
    restickifies = f"{_count(len(report.restickifies), 'restickify')}, {_bytes(report.bytes)}"
    copies = f"{_count(len(report.copies), 'other copy')}, {_bytes(report.copied_bytes)}"
    return restickifies, copies


class GraphReport:
    """One graph with its plan, as plain data: `nodes`, `restickifies`, `paddings` (fills and masks), `copies` (those
    that are no restickifies), `boundaries`, `fallbacks` (what the simulated device does not calculate) are lists of
    dicts."""

    def __init__(self, kind, program, new=True, recompiled=()):
        plan = program.plan
        self.kind, self.plan, self.program = kind, plan, program
        self.new, self.recompiled = new, list(recompiled)
        self.bytes, self.bound, self.optimal = plan.cost, plan.lower_bound, plan.optimal
        self.whys = {index: step.why for step in program.steps for index in step.results if step.why}
        self.nodes = [self._node(node) for node in program.graph]
        self.restickifies = [self._restickify(copy) for copy in plan.restickifies]
        self.paddings = [self._padding(padding) for padding in plan.paddings]
        self.copies = [self._copy(step) for step in program.steps if self._is_copy(step)]
        self.boundaries = [{"node": node.index, "name": node.name, "opcode": node.opcode,
                            "why": self.whys.get(node.index, ""), "source": _source(node.tag)}
                           for node in plan.boundaries]
        self.fallbacks = [{"node": next(i for i in step.results if i is not None), "name": step.node.name,
                           "opcode": name_of(step.node.target), "why": why, "source": _source(step.node)}
                          for step, why in program.fallbacks]
        self.notes = [note for step in program.steps if (note := _note(step)) is not None]
        self.on_host = [{"name": step.node.name, "opcode": name_of(step.node.target)} for step in program.steps
                        if step.kind == "host" and step.node.op == "call_function"]

    def _node(self, node):
        layout, work = self.plan.layout(node), self.plan.divide(node)
        return {"node": node.index, "name": node.name, "kind": node.kind, "opcode": node.opcode, "dtype": node.dtype,
                "shape": list(node.shape), "operands": [operand.index for operand in node.inputs],
                "views": self._views(node),
                "layout": None if layout is None else str(layout), "bytes": None if layout is None else layout.bytes,
                "stick_loop": self.plan.stick_loop(node), "splits": list(work.splits),
                "tiles": None if work.tiles is None else list(work.tiles), "source": _source(node.tag)}

    def _views(self, node):
        reads = self.program.reads.get(node.index, ())
        return [_view(view, operand) for view, operand in zip(reads, node.inputs, strict=True)]

    def _is_copy(self, step):
        """A hint's tensor is an input for the planner; a clone that does not fit its rules is a boundary."""
        return step.kind == "copy" or any(i is not None and self.program.graph[i].kind == "clone" for i in step.results)

    def _copy(self, step):
        made = self.nodes[step.results[0]]
        return {"node": made["node"], "name": made["name"], "bytes": made["bytes"],
                "why": step.why or "the program asks for it", "source": _source(step.node)}

    @property
    def copied_bytes(self):
        """Of all copies that are no restickifies: what they take on the device."""
        return sum(copy["bytes"] for copy in self.copies)

    def beside(self):
        """The fallbacks that are no boundaries: planned all the same."""
        known = {node["node"] for node in self.boundaries}
        return [node for node in self.fallbacks if node["node"] not in known]

    def _restickify(self, copy):
        reader = copy.readers[0]
        return {"producer": copy.producer.index, "name": copy.producer.name, "bytes": copy.bytes,
                "stick_dim": copy.stick_dim, "from": str(copy.src), "to": str(copy.dst),
                "readers": [{"node": r.node.index, "name": r.node.name, "operand": r.operand} for r in copy.readers],
                "rule": reader.node.rule, "source": _source(reader.node.tag)}

    @staticmethod
    def _padding(padding):
        return {"kind": padding.kind, "tensor": padding.tensor.index, "name": padding.tensor.name, "dim": padding.dim,
                "valid": padding.valid, "padded": padding.padded, "value": padding.value,
                "reader": {"node": padding.reader.index, "name": padding.reader.name, "operand": padding.operand},
                "source": _source(padding.reader.tag)}

    def to_dict(self):
        return {"kind": self.kind, "new": self.new, "recompiled": self.recompiled, "bytes": self.bytes,
                "lower_bound": self.bound, "optimal": self.optimal, "copied_bytes": self.copied_bytes,
                "nodes": self.nodes, "restickifies": self.restickifies, "paddings": self.paddings,
                "copies": self.copies, "boundaries": self.boundaries, "fallbacks": self.fallbacks,
                "notes": self.notes, "host": self.on_host}

    # ---- text ----------------------------------------------------------------------------------

    def headline(self):
        kinds = collections.Counter(node["kind"] for node in self.nodes)
        restickifies, copies = moved(self)
        proof = "proven: no plan copies less" if self.optimal else f"no plan copies less than {_bytes(self.bound)}"
        return (f"{self.kind} graph: {_count(len(self.nodes), 'node')} "
                f"({', '.join(f'{n} {kind}' for kind, n in kinds.items())}); "
                f"{restickifies}; {proof}" + (f"; {copies}" if self.copies else "")
                + (f"; {_count(len(self.fallbacks), 'operation')} on the CPU" if self.fallbacks else ""))

    def _restickify_lines(self):
        for copy in self.restickifies:
            readers = ", ".join(f"{r['name']} (operand {r['operand']})" for r in copy["readers"])
            yield f"  restickify {copy['name']}, {_bytes(copy['bytes'])}, for {readers}"
            yield f"    from {copy['from']}"
            yield f"    to   {copy['to']}"
            yield f"    why  {copy['rule']}"
            if copy["source"]:
                yield f"    at   {_place(copy['source'])}"
        for row in self.paddings:
            reader = row["reader"]
            yield (f"  {padded(row)}, for {reader['name']} (operand {reader['operand']}); "
                   f"{_place(row['source'])}").rstrip("; ")
        for copy in self.copies:
            yield (f"  copy {copy['name']}, {_bytes(copy['bytes'])}: {copy['why']}; "
                   f"{_place(copy['source'])}").rstrip("; ")
        for node in self.boundaries:
            yield (f"  boundary {node['name']} = {node['opcode']}: {node['why'] or 'reads one'}; "
                   f"{_place(node['source'])}").rstrip("; ")
        for node in self.beside():
            yield (f"  on the CPU {node['name']} = {node['opcode']}: {node['why']}; "
                   f"{_place(node['source'])}").rstrip("; ")
        for note in self.notes:
            yield f"  note {note['name']} = {note['opcode']}: {note['why']}; {_place(note['source'])}".rstrip("; ")

    def _node_lines(self, layouts):
        for node in self.nodes:
            made = f"{node['opcode']}({operands(node, self.nodes)})" if node["opcode"] else node["kind"]
            yield f"  {node['node']:4} {node['name']} = {made}, {node['kind']} {node['dtype']}{node['shape']}"
            if layouts:
                yield f"         {node['layout']}"
            if layouts and node["tiles"] is not None:
                yield f"         {tiled(node)}"

    def text(self, words=("layouts", "restickify")):
        lines = [self.headline()]
        lines += [f"  compiled again: {why}" for why in self.recompiled]
        if "restickify" in words:
            lines += self._restickify_lines()
        if "graph" in words or "layouts" in words:
            lines += self._node_lines("layouts" in words)
        return "\n".join(lines)


class Explanation:
    """What explain gives: `graphs` in the order in which they ran. str() tells it, save_html shows it."""

    def __init__(self, graphs, result):
        self.graphs, self.result = graphs, result

    @property
    def restickifies(self):
        return [copy for graph in self.graphs for copy in graph.restickifies]

    @property
    def boundaries(self):
        return [node for graph in self.graphs for node in graph.boundaries]

    @property
    def fallbacks(self):
        """The operations that ran on the CPU, each with the reason."""
        return [node for graph in self.graphs for node in graph.fallbacks]

    @property
    def notes(self):
        """Where numbers may be others than the CPU's, beyond rounding."""
        return [note for graph in self.graphs for note in graph.notes]

    @property
    def recompiles(self):
        """Why graphs were compiled again: what is new about their inputs."""
        return [why for graph in self.graphs for why in graph.recompiled]

    @property
    def copies(self):
        """All copies that are no restickifies: of reshapes that cut sticks, and those that the program asks for."""
        return [copy for graph in self.graphs for copy in graph.copies]

    @property
    def bytes(self):
        """Of all restickifies."""
        return sum(graph.bytes for graph in self.graphs)

    @property
    def copied_bytes(self):
        """Of all other copies."""
        return sum(graph.copied_bytes for graph in self.graphs)

    @property
    def bound(self):
        """No plans of these graphs copy less."""
        return sum(graph.bound for graph in self.graphs)

    def __str__(self):
        return "\n\n".join(graph.text() for graph in self.graphs) or "no graph has to do with spyre"

    __repr__ = __str__

    def to_dict(self):
        return {"schema": "tegula.explain/1", "bytes": self.bytes, "lower_bound": self.bound,
                "copied_bytes": self.copied_bytes, "graphs": [graph.to_dict() for graph in self.graphs]}

    def html(self):
        from tegula.torch import compile_page
        return compile_page.page(self)

    def _repr_html_(self):
        from tegula.torch import compile_page
        return compile_page.fragment(self)

    def save_html(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html())


def _is_compiled(fn):
    return hasattr(fn, "_torchdynamo_orig_callable") or isinstance(fn, torch._dynamo.OptimizedModule)


def explain(fn, *args, backward=False, **kwargs):
    """Run fn once with these arguments through torch.compile and tell how: an Explanation.

    A function or module that torch.compile has made already is run as it is, so that a second call tells what was
    compiled again. With backward=True the sum of the results is differentiated, and its graphs are told too.
    """
    from tegula.torch import compile_backend
    graphs = []

    def watch(compiled, program, new, recompiled):
        graphs.append(GraphReport(compiled.kind, program, new, recompiled))

    run = fn if _is_compiled(fn) else torch.compile(_unwrapped(fn), backend="spyre")
    with compile_backend.watching(watch):
        result = run(*args, **kwargs)
        if backward:
            leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(result)
                      if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
            if not leaves:
                raise ValueError("backward=True, and no result needs a gradient")
            sum(leaf.sum() for leaf in leaves).backward()
    return Explanation(graphs, result)


def _unwrapped(fn):
    """A function object of its own: what Dynamo has kept for the original is not asked, nor added to."""
    if inspect.isfunction(fn):
        copy = type(fn)(fn.__code__.replace(), fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
        copy.__kwdefaults__ = fn.__kwdefaults__
        return copy
    return fn
