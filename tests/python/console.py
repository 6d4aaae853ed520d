"""Sessions: commands with the output that they must have, in documents and in tests/cli/.

    $ tegula coord 'f16[5,100,150] spyre' 95999
    padding
    [1]

A command stands after `$ ` and goes on after `> `. What follows, up to the next command, a blank line before it or a
`# ` remark, is its output and errors together; `[1]` is its exit status if that is not 0. `...` stands for anything:
in a line for a part of it, alone for any lines. The commands of a session run in order in one temporary folder.

Run as a program, `console.py --update FILE...` writes what the commands answer now into session files; read the
difference before you commit it.
"""
import argparse
import dataclasses
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEGULA = pathlib.Path(os.environ.get("TEGULA", ROOT / "build" / "tegula")).resolve()
SECONDS = 300  # against a command that never ends


@dataclasses.dataclass
class Command:
    text: str
    line: int           # of the file, from 1
    end: int            # first line after its output
    expected: list      # lines of output
    status: int | None  # None: not said


def read_session(lines, first=1):
    """The commands in some lines; `first` is the number of the first one."""
    commands = []
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            commands.append(Command(line[2:], number, number + 1, [], None))
        elif line.startswith("> ") and commands and not commands[-1].expected:
            commands[-1].text += "\n" + line[2:]
            commands[-1].end = number + 1
        elif line.startswith("# "):
            continue
        elif commands and re.fullmatch(r"\[\d+\]", line):
            commands[-1].status = int(line[1:-1])
            commands[-1].end = number + 1
        elif commands:
            commands[-1].expected.append(line)
            if line:
                commands[-1].end = number + 1
    for command in commands:
        while command.expected and not command.expected[-1]:
            command.expected.pop()
    return commands


def read_document(text):
    """The commands in the ```console blocks of a Markdown text, as one session."""
    commands, block, start = [], None, 0
    for number, line in enumerate(text.splitlines(), 1):
        if block is None and line.strip() == "```console":
            block, start = [], number + 1
        elif block is not None and line.strip() == "```":
            commands += read_session(block, start)
            block = None
        elif block is not None:
            block.append(line)
    return commands


def environment(folder):
    """Ours, with the tegula under test and this Python first in PATH, and nothing that changes answers."""
    if not TEGULA.exists():
        raise FileNotFoundError(f"{TEGULA}: `make` builds it, or TEGULA names another")
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    if not (programs / "tegula").exists():
        (programs / "tegula").symlink_to(TEGULA)
    (folder / "tmp").mkdir(exist_ok=True)
    path = [str(programs), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LANG")}
    return kept | {"PATH": os.pathsep.join(path), "TMPDIR": str(folder / "tmp"), "LC_ALL": "C.UTF-8",
                   "PYTHONDONTWRITEBYTECODE": "1"}


def run(command, folder, env):
    """What the command prints, as lines, and its exit status."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    done = subprocess.run(["bash", "-c", command.text], cwd=work, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
    lines = done.stdout.decode("utf-8", "backslashreplace").split("\n")
    while lines and not lines[-1]:
        lines.pop()
    return lines, done.returncode


def matches(expected, actual):
    pattern = ""
    for line in expected:
        pattern += r"(?:.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in actual)) is not None


def problem(name, command, lines, status, check_status):
    """What is wrong with an answer, or None."""
    wrong_status = check_status and status != (command.status or 0)
    if matches(command.expected, lines) and not wrong_status:
        return None
    diff = difflib.unified_diff(command.expected, lines, "expected", "printed", lineterm="")
    said = f"exit status {status}, expected {command.status or 0}\n" if wrong_status else ""
    return f"{name}:{command.line}: $ {command.text}\n{said}" + "\n".join(diff)


def problems(name, commands, check_status, examples=False):
    """Run a session, with the folder examples/ in reach if asked for; the list of what went wrong."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        env = environment(folder)
        (folder / "work").mkdir()
        if examples:
            (folder / "work" / "examples").symlink_to(ROOT / "examples")
        for command in commands:
            lines, status = run(command, folder, env)
            found.append(problem(name, command, lines, status, check_status))
    return [each for each in found if each]


def update(path):
    """Replace the outputs in a session file that do not match."""
    lines = path.read_text().split("\n")
    commands = read_session(lines)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        env = environment(folder)
        answers = [run(command, folder, env) for command in commands]
    for command, (output, status) in reversed(list(zip(commands, answers))):
        if problem(path.name, command, output, status, True):
            typed = command.text.count("\n") + 1
            said = [f"[{status}]"] if status else []
            lines[command.line - 1 + typed:command.end - 1] = output + said
    path.write_text("\n".join(lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the present answers into session files.")
    parser.add_argument("--update", nargs="+", type=pathlib.Path, required=True, metavar="FILE")
    for each in parser.parse_args().update:
        update(each)
