"""What tegula.torch.explain tells, the page that it makes, and the hooks of torch.compile."""
import html.parser
import json
import subprocess
import sys

import pytest
import torch

from conftest import PACKAGE
from tegula.torch import compile_backend, compile_hooks, compile_log, explain, restickify


def mixed(x, y):
    total = x + y.t()
    best = total.sort(1)[0]
    return best * 2


def pair():
    return torch.rand(128, 256).half().to("spyre"), torch.rand(256, 128).half().to("spyre")


@pytest.fixture(scope="module")
def told():
    torch._dynamo.reset()
    return explain(mixed, *pair())


def test_explanation(told):
    graph, = told.graphs
    copy, = told.restickifies
    assert copy["name"] in ("x", "y") and [r["name"] for r in copy["readers"]] == ["add"]
    assert copy["source"]["text"] == "total = x + y.t()" and copy["source"]["file"] == __file__
    assert told.bytes == told.bound == copy["bytes"] == 128 * 256 * 2
    assert {node["opcode"] for node in told.boundaries} == {"aten.sort.default"} and told.recompiles == []
    text = str(told)
    assert "1 restickify, 64.0 KiB; proven" in text and "total = x + y.t()" in text and "boundary sort.0" in text
    assert told.result.size() == (128, 256) and graph.new
    data = json.loads(json.dumps(told.to_dict()))
    assert data["schema"] == "tegula.explain/1" and len(data["graphs"][0]["nodes"]) == len(graph.nodes)
    layouts = {node["name"]: node["layout"] for node in data["graphs"][0]["nodes"]}
    assert layouts["x"] == "f16[128,256] spyre device_size=[4,128,64] stride_map=[64,256,1]"


def test_what_becomes_of_padding():
    """Each fill and mask of the plan: in the text, as data and on the page."""
    torch._dynamo.reset()
    x, y = torch.rand(5, 70).to("spyre"), torch.rand(70, 9).to("spyre")
    told = explain(lambda x, y: (x @ y, x.amax(-1)), x, y)
    rows = told.to_dict()["graphs"][0]["paddings"]
    assert [(row["kind"], row["name"], row["dim"], row["valid"], row["padded"], row["value"], row["reader"]["name"])
            for row in rows] == [("fill", "y", 0, 70, 96, "0", "mm"), ("mask", "x", 1, 70, 96, "-inf", "amax")]
    for text in ("fill y with 0 behind the 70 of dimension 0, up to 96", "mask x behind the 70 of dimension 1 as -inf"):
        assert text in str(told) and text in told.html()


@pytest.mark.parametrize("backend", ["spyre", "spyre-inductor"])
def test_views_of_operands(backend):
    """Queries, keys and values of one projection are told apart; what is read whole, in its order, says nothing."""
    torch._dynamo.reset()

    def fused(x):
        q, k, v = (x * 2).view(5, 3, 64).unbind(1)
        return (q.t() - q.t().exp()).t().relu() @ k.t() @ v

    x = torch.rand(5, 192).to("spyre")
    told = explain(torch.compile(fused, backend=backend), x)
    torch.testing.assert_close(told.result.cpu(), fused(x.cpu()))
    nodes = json.loads(json.dumps(told.to_dict()))["graphs"][0]["nodes"]
    doubled, = [node["node"] for node in nodes if node["name"].startswith("mul")]
    whole, seen = x.cpu() * 2, set()
    for view in (v for node in nodes for i, v in zip(node["operands"], node["views"], strict=True) if i == doubled):
        numbers = torch.as_strided(whole, view["shape"], view["strides"], view["offset"]).flatten().sort()[0]
        seen |= {i for i in range(3) if torch.equal(numbers, whole.view(5, 3, 64)[:, i].flatten().sort()[0])}
    assert seen == {0, 1, 2}
    for text in (str(told), told.html()):
        assert f"{nodes[doubled]['name']}[5,64] strides=[192,1] offset=128" in text
        assert "(x)" in text and "x[5,192]" not in text


def test_bytes_of_copies():
    """Those of reshapes, and those that the program asks for: in a sum of their own, as device memory with its
    padding."""
    torch._dynamo.reset()

    def moving(x, y):
        return (x.reshape(-1) * 2).view(3, 40).t().contiguous(), y.clone()

    told = explain(moving, torch.rand(12, 10).to("spyre"), torch.tensor(3.0).to("spyre"))
    rows = told.to_dict()["graphs"][0]["copies"]
    assert [(row["why"], row["bytes"]) for row in rows] == [
        ("the reshape cuts sticks", 4 * 128), ("the reshape cuts sticks", 3 * 2 * 128),
        ("the program asks for it", 40 * 128), ("the program asks for it", 128)]
    assert told.copies == rows and told.copied_bytes == told.to_dict()["copied_bytes"] == sum(r["bytes"] for r in rows)
    assert told.bytes == 0 and told.restickifies == []
    for text in (str(told), told.html()):
        assert "0 restickifies, 0 bytes; " in text and "4 other copies, 6.4 KiB" in text
        assert "copy view.copy, 512 bytes" in text


def test_explanation_of_training():
    torch._dynamo.reset()
    model = torch.nn.Linear(8, 4).to("spyre")
    told = explain(model, torch.rand(3, 8).to("spyre"), backward=True)
    assert [graph.kind for graph in told.graphs] == ["forward", "backward"]
    assert any(node["name"].endswith("weight") for node in told.graphs[0].nodes) and model.weight.grad is not None
    with pytest.raises(ValueError, match="no result needs a gradient"):
        explain(lambda x: x + 1, torch.rand(3).to("spyre"), backward=True)
    assert str(explain(lambda x: 3, 5)) == "no graph has to do with spyre"


def test_what_was_compiled_again():
    torch._dynamo.reset()
    run, (x, y) = torch.compile(mixed, backend="spyre"), pair()
    assert explain(run, x, y).graphs[0].new
    assert not explain(run, x, y).graphs[0].new
    why, = explain(run, x, restickify(y, 0)).recompiles
    assert why.startswith("y has the layout") and "and had" in why


class Parts(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.numbers, self.columns, self.outside = [], [], 0, []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if "data-n" in values:
            self.numbers.append((self.columns, set(values["data-n"].split())))
        self.columns += values.get("class") == "column"
        self.outside += [v for k, v in attributes if k in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page(told, tmp_path):
    """Well formed, by itself, and every node of the graph is in the columns of the graph and of the plan."""
    told.save_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    parts = Parts()
    parts.feed(text)
    assert parts.open == [] and parts.columns == 3 and parts.outside == [] and "http" not in text
    nodes = {f"0.{node['node']}" for node in told.graphs[0].nodes}
    for column in (2, 3):
        assert set().union(*(n for c, n in parts.numbers if c == column)) == nodes
    assert any({f"0.{told.restickifies[0]['producer']}"} < numbers for c, numbers in parts.numbers if c == 3)
    assert "total = x + y.t()" in text
    assert text.index(told._repr_html_()[:40]) > 0


def test_log(monkeypatch, capsys):
    torch._dynamo.reset()
    monkeypatch.setenv("TEGULA_LOGS", "restickify")
    torch.compile(mixed, backend="spyre")(*pair())
    said = capsys.readouterr().err
    assert "restickify " in said and "total = x + y.t()" in said and "stride_map" in said and "mul = " not in said
    monkeypatch.setenv("TEGULA_LOGS", "graph")
    torch.compile(lambda x: x * 3, backend="spyre")(pair()[0])
    assert "mul = aten.mul.Tensor(x)" in capsys.readouterr().err
    with pytest.raises(ValueError, match="there are graph, layouts, restickify"):
        compile_log._chosen("graphs")


# ---- hooks -----------------------------------------------------------------------------------------


def test_every_hook_has_its_test():
    names = {name.removeprefix("test_") for name in globals()}
    assert {hook.__name__ for hook in compile_hooks.PATCHES.values()} <= names


def test_patch_registry():
    """The name of the backend is known, and `import tegula.torch` does not load Dynamo for it."""
    assert "spyre" in torch._dynamo.list_backends()
    script = ("import sys, torch, tegula.torch; assert 'torch._dynamo' not in sys.modules\n"
              "import torch._dynamo; assert 'spyre' in torch._dynamo.list_backends()")
    subprocess.run([sys.executable, "-c", script], check=True, env={"PYTHONPATH": PACKAGE})


def test_patch_compile_fx():
    """The default backend: graphs that have to do with the device are ours, whatever it is that has."""
    torch._dynamo.reset()
    seen = []
    held = torch.nn.Linear(3, 2).to("spyre")
    x = torch.rand(4, 3)
    with compile_backend.watching(lambda compiled, program, new, again: seen.append(len(program.graph))):
        for function, given in ((lambda x: x * 2, x.to("spyre")), (lambda n: torch.arange(n, device="spyre") * 2, 5),
                                (lambda x: held(x.to("spyre")), x), (lambda x: (x * 2).to("spyre"), x)):
            made = torch.compile(function, fullgraph=True)(given)
            assert made.device.type == "spyre"
            torch.testing.assert_close(made.cpu(), function(given).cpu())
    assert len(seen) == 4 and all(seen)


def test_patch_eval_frame():
    """Dynamo leaves the device's kernels alone, in a graph and where one breaks: what comes after is a frame, too."""
    for function, frames in ((lambda x: x + 1, 1), (lambda x: x.sum().item() * 2, 2)):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.compile(function, backend="spyre")(torch.rand(3).to("spyre"))
        assert torch._dynamo.utils.counters["frames"]["total"] == frames


def test_graphs_of_the_cpu_stay_with_inductor():
    assert not compile_backend.concerns_spyre(torch.fx.symbolic_trace(torch.nn.Linear(2, 2)), [torch.rand(2)])
    graph = torch.fx.symbolic_trace(lambda n: torch.zeros(n, device="spyre"))
    assert compile_backend.concerns_spyre(graph, [5])
