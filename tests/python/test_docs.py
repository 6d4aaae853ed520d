"""Every example in README.md and docs/ does what it shows (console.py says how they are read)."""
import pytest

import console

DOCUMENTS = [console.ROOT / "README.md", *sorted((console.ROOT / "docs").glob("*.md"))]
SESSIONS = {path.name: console.read_document(path.read_text()) for path in DOCUMENTS if path.exists()}


@pytest.mark.parametrize("name", [name for name, commands in SESSIONS.items() if commands])
def test_examples(name):
    found = console.problems(name, SESSIONS[name], check_status=False)
    assert not found, "\n\n" + "\n\n".join(found)


def test_the_command_has_a_page():
    assert SESSIONS["command.md"]
