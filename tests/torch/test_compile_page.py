"""The page that explain writes, in a real browser: it opens without a word in the console and asks nobody for anything,
and a click lights up what belongs together, in all three columns, where it can be seen."""
import os

import pytest
import torch

import browser
from models_language import Block
from tegula.torch import explain

pytestmark = pytest.mark.skipif(browser.find() is None, reason="no browser: the Debian package chromium has one")

PARTS = """[...document.querySelectorAll('.part')].map(part => {
  const column = part.closest('.column'), box = part.getBoundingClientRect(), frame = column.getBoundingClientRect();
  return {column: column.getAttribute('aria-label'), text: part.innerText, on: part.classList.contains('on'),
          selected: part.getAttribute('aria-selected') === 'true', numbers: part.dataset.n.split(' '),
          colour: getComputedStyle(part).backgroundColor,
          seen: box.top >= frame.top - 1 && box.top < Math.min(frame.bottom, innerHeight)};
})"""

CONTRAST = """[...document.querySelectorAll('.part, .part small, .line, h2, h3, .key')].map(part => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  let behind = part;
  while (numbers(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const [a, b] = [light(numbers(getComputedStyle(part).color)),
                  light(numbers(getComputedStyle(behind).backgroundColor))].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
})"""


def mixed(x, y):
    total = x + y.t()
    best = total.sort(1)[0]
    return best * 2


@pytest.fixture(scope="module")
def small():
    torch._dynamo.reset()
    return explain(mixed, torch.rand(128, 256).half().to("spyre"), torch.rand(256, 128).half().to("spyre"))


@pytest.fixture(scope="module")
def large():
    """Forward and backward of a layer of a language model: columns are longer than the window."""
    torch._dynamo.reset()
    return explain(Block(77).half().to("spyre"), torch.rand(2, 13, 77).half().to("spyre"), backward=True)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with browser.Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def show(page, told, folder):
    told.save_html(folder / "page.html")
    page.said.clear()
    page.asked.clear()
    page.prefers("light")
    page.open(folder / "page.html")
    return page.run(PARTS)


def click(page, parts, number):
    """A click of the mouse in the middle of a part, wherever its column has to be scrolled to."""
    box = page.run(f"""(() => {{
      const part = document.querySelectorAll('.part')[{number}];
      part.scrollIntoView({{block: 'center'}});
      const box = part.getBoundingClientRect();
      return [box.left + box.width / 2, box.top + Math.min(8, box.height / 2)];
    }})()""")
    page.click(*box)
    return page.run(PARTS)


def belong(told, wanted):
    """Of a number of the page, g.n, the node that it names."""
    return {told.graphs[int(number.split(".")[0])].nodes[int(number.split(".")[1])]["name"] for number in wanted}


def save(page, name):
    """For whoever wants to look: TEGULA_PICTURES names a folder."""
    folder = os.environ.get("TEGULA_PICTURES")
    if folder:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(page.picture())


def test_it_opens(page, small, tmp_path):
    parts = show(page, small, tmp_path)
    save(page, "small.png")
    assert page.said == [] and page.asked == [(tmp_path / "page.html").as_uri()]
    assert {part["column"] for part in parts} == {"Source", "Graph", "Plan"} and not any(part["on"] for part in parts)
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    assert page.run("[...document.querySelectorAll('.column')].every(c => c.scrollWidth <= c.clientWidth)")
    assert page.run("document.title") == "tegula.torch.explain"


def test_a_click_shows_what_belongs_together(page, small, tmp_path):
    parts = show(page, small, tmp_path)
    line = next(i for i, part in enumerate(parts) if "total = x + y.t()" in part["text"] and part["column"] == "Source")
    lit = [part for part in click(page, parts, line) if part["on"]]
    save(page, "small-line.png")
    assert belong(small, parts[line]["numbers"]) == {"add"}
    copy, = small.restickifies
    add = "add = aten.add.Tensor(x, y[128,256] strides=[1,128])"
    assert {(part["column"], part["text"].split("\n")[0]) for part in lit} == {
        ("Source", parts[line]["text"]), ("Graph", add), ("Plan", "add"),
        ("Plan", f"restickify {copy['name']}, 64.0 KiB")}
    assert all(part["selected"] for part in lit) and len({part["colour"] for part in lit}) == 1
    again = click(page, parts, line)  # a second click puts the light out
    assert not any(part["on"] or part["selected"] for part in again)
    assert [part["colour"] for part in again] == [part["colour"] for part in parts]
    restickify = next(i for i, part in enumerate(parts) if part["text"].startswith("restickify"))
    lit = {part["text"].split("\n")[0] for part in click(page, parts, restickify) if part["on"]}
    assert {copy["name"], "add", add} <= lit and not any("sort" in text for text in lit)
    assert page.said == []


def test_every_part_answers(page, small, tmp_path):
    """Whatever is chosen: just the parts that share a node with it are lit."""
    parts = show(page, small, tmp_path)
    for number, chosen in enumerate(parts):
        lit = [part["on"] for part in click(page, parts, number)]
        assert lit == [bool(set(part["numbers"]) & set(chosen["numbers"])) for part in parts]
    assert page.said == []


def test_what_is_lit_can_be_seen(page, large, tmp_path):
    """Columns scroll to it: the first lit part of each."""
    parts = show(page, large, tmp_path)
    save(page, "large.png")
    assert page.said == [] and page.run("document.documentElement.scrollWidth <= innerWidth")
    assert page.run("[...document.querySelectorAll('.column')].some(c => c.scrollHeight > c.clientHeight)")
    for line in ("self.gate(x)", "a * cos - b * sin", "self.between(x)"):
        chosen = next(i for i, part in enumerate(parts) if line in part["text"] and part["column"] == "Source")
        now = click(page, parts, chosen)
        save(page, f"large-{chosen}.png")
        for column in ("Source", "Graph", "Plan"):
            first = next(part for part in now if part["on"] and part["column"] == column)
            assert first["seen"], (line, column)
    kinds = {number.split(".")[0] for number in parts[chosen]["numbers"]}
    assert kinds == {"0", "1"}  # nodes of the forward and of the backward graph come from this line


def test_keys(page, small, tmp_path):
    show(page, small, tmp_path)
    page.press("Tab", 9)
    assert page.run("document.activeElement.className").startswith("part")
    page.press("Enter", 13, "\r")
    assert page.run("document.activeElement.classList.contains('on')")
    page.press(" ", 32, " ")
    assert not page.run("document.querySelector('.on') !== null") and page.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read(page, small, tmp_path, scheme):
    """A contrast of 4.5 at least, as the rules for accessible pages want it, lit or not."""
    parts = show(page, small, tmp_path)
    page.prefers(scheme)
    ground = [page.run(f"getComputedStyle(document.querySelector('{name}')).backgroundColor")
              for name in ("body", ".tegula")]
    assert ground[0] == ground[1] == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 25, 31)"}[scheme]
    assert min(page.run(CONTRAST)) >= 4.5
    click(page, parts, next(i for i, part in enumerate(parts) if part["text"].startswith("restickify")))
    save(page, f"small-{scheme}.png")
    assert min(page.run(CONTRAST)) >= 4.5
