"""The examples of docs/python.md, the README and help() do what they show, and `pip install` says what is true."""
import doctest
import inspect
import re

import pytest

import console
import tegula
import tegula.hlo

DOCUMENTS = [console.ROOT / "docs" / "python.md", console.ROOT / "README.md"]


def examples(path):
    """The ```pycon blocks, each line at its place in the file."""
    lines, inside = [], False
    for line in path.read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```pycon"
            line = ""
        lines.append(line if inside else "")
    return "\n".join(lines) + "\n"


def run_examples(text, name, least):
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    assert len(test.examples) >= least
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_examples(path):
    run_examples(examples(path), path.name, 3)


@pytest.mark.parametrize("thing", [tegula, tegula.hlo, tegula.relayout], ids=lambda thing: thing.__name__)
def test_examples_of_help(thing):
    run_examples(inspect.getdoc(thing), thing.__name__, 2)


def test_help_of_relayout_tells_every_argument():
    told = re.findall(r"^  (\w+(?:, \w+)*)  ", inspect.getdoc(tegula.relayout), re.M)
    assert ", ".join(told).split(", ") == list(inspect.signature(tegula.relayout).parameters)


def test_what_pip_installs_is_this_version():
    meson = (console.ROOT / "meson.build").read_text()
    assert tegula.__version__ == re.search(r"version: '(.*)'", meson).group(1)
    project = (console.ROOT / "pyproject.toml").read_text()
    assert "dynamic = ['version']" in project and not re.search(r"^version", project, re.M)
    pins = dict(re.findall(r"'([a-z-]+)==([0-9.]+)'", project))
    lists = [console.ROOT / "tools" / f"requirements-{level}.txt" for level in ("build", "check")]
    listed = dict(re.findall(r"^([a-z-]+)==([0-9.]+)$", "".join(path.read_text() for path in lists), re.M))
    assert pins == {name: listed[name] for name in ("meson-python", "meson", "ninja")}
