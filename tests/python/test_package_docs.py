"""The examples of docs/python.md and of the README do what they show, and `pip install` says what is true."""
import doctest
import re

import pytest

import console

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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_examples(path):
    test = doctest.DocTestParser().get_doctest(examples(path), {}, path.name, str(path), 0)
    assert len(test.examples) > 2
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not said, "".join(said)


def test_what_pip_installs_is_this_version():
    import tegula
    meson = (console.ROOT / "meson.build").read_text()
    assert tegula.__version__ == re.search(r"version: '(.*)'", meson).group(1)
    project = (console.ROOT / "pyproject.toml").read_text()
    assert "dynamic = ['version']" in project and not re.search(r"^version", project, re.M)
    pins = dict(re.findall(r"'([a-z-]+)==([0-9.]+)'", project))
    lists = [console.ROOT / "tools" / f"requirements-{level}.txt" for level in ("build", "check")]
    listed = dict(re.findall(r"^([a-z-]+)==([0-9.]+)$", "".join(path.read_text() for path in lists), re.M))
    assert pins == {name: listed[name] for name in ("meson-python", "meson", "ninja")}
