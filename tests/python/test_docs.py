"""Every example in README.md and docs/ does what it shows (console.py says how they are read)."""
import os
import re
import subprocess

import pytest

import console

DOCUMENTS = [console.ROOT / "README.md", *sorted((console.ROOT / "docs").glob("*.md"))]
SESSIONS = {path.name: console.read_document(path.read_text()) for path in DOCUMENTS if path.exists()}


@pytest.mark.parametrize("name", [name for name, commands in SESSIONS.items() if commands])
def test_examples(name):
    found = console.problems(name, SESSIONS[name], check_status=False, examples=True)
    assert not found, "\n\n" + "\n\n".join(found)


def test_the_command_has_a_page():
    assert SESSIONS["command.md"]


def test_the_c_program_of_the_readme(tmp_path):
    """README shows examples/tile.c and what it prints; both are true."""
    text = (console.ROOT / "README.md").read_text()
    shown, printed = re.search(r"```c\n(.*?)```\n\n```text\n(.*?)```", text, re.S).groups()
    assert shown == (console.ROOT / "examples" / "tile.c").read_text()
    library = os.environ.get("TEGULA_ARCHIVE", str(console.ROOT / "build" / "libtegula.a"))
    program = tmp_path / "tile"
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", console.ROOT / "include",
                    console.ROOT / "examples" / "tile.c", library, "-lpthreadpool", "-o", program], check=True)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == printed
