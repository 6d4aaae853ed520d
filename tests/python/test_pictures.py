"""The figures of README.md and docs/ are what the commands above them draw (tools/pictures made them)."""
import re
import subprocess

import pytest

import console

DOCUMENTS = [console.ROOT / "README.md", *sorted((console.ROOT / "docs").glob("*.md"))]
DRAWN = [(path.name, command) for path in DOCUMENTS for command in console.read_document(path.read_text())
         if re.search(r"^tegula draw .* -o \S+\.svg$", command.text)]


def test_documents_have_pictures():
    named = [command.text.split()[-1] for _, command in DRAWN]
    assert len(named) == len(set(named))
    assert set(named) == {path.name for path in (console.ROOT / "docs" / "pictures").glob("*.svg")}
    assert any(name == "README.md" for name, _ in DRAWN)


@pytest.mark.parametrize("name, command", DRAWN, ids=lambda value: value if isinstance(value, str) else value.line)
def test_pictures_of_documents_are_what_the_command_draws(name, command, tmp_path):
    work, env = tmp_path / "work", console.environment(tmp_path)
    work.mkdir()
    subprocess.run(["bash", "-c", command.text], cwd=work, env=env, check=True)
    file = command.text.split()[-1]
    assert (work / file).read_bytes() == (console.ROOT / "docs" / "pictures" / file).read_bytes(), "make pictures"
    assert f"pictures/{file})" in (console.ROOT / ("." if name == "README.md" else "docs") / name).read_text()
