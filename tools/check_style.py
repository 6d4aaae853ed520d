#!/usr/bin/env python3
"""Check what a reader should not have to: line ends, widths, and files that nobody builds.

    tools/check_style.py [--root DIR]

 - every text file: UTF-8, LF, a newline at the end, no blanks at line ends, tabs only in makefiles;
 - code: at most 120 columns, no TODO without an issue number;
 - every .c file is listed in the meson.build of its top folder, and its name is unique in the tree.
"""

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

WIDTH = 120
CODE = {".c", ".h", ".inc", ".def", ".proto", ".py", ".build", ".sh"}
TEXT = CODE | {".md", ".txt", ".json", ".cmake", ".in", ".yml", ".1", ".symbols", ".options"}
CODE_NAMES = {"setup", "check", "symbols", "sizes", "wrap", "run", "pictures"}
LISTED = ("src", "cli", "bench", "fuzz", "python", "tests")
SKIPPED = {"build", ".venv", ".venv-bench", ".venv-torch", ".git", ".cache", "corpus", "__pycache__", ".pytest_cache",
           ".hypothesis"}
OPEN_WORK = re.compile(r"\b(TODO|FIXME|XXX)\b(?!.*#\d+)")


def files(root):
    for path in sorted(root.iterdir()):
        if path.name in SKIPPED or path.name.startswith("build-") or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def is_code(path):
    return path.suffix in CODE or path.name in CODE_NAMES or path.name == "Makefile"


def text_problems(path):
    """(line number, what is wrong) in one file."""
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return [(1, "not UTF-8")]
    found = []
    if text and not text.endswith("\n"):
        found.append((text.count("\n") + 1, "no newline at the end of the file"))
    for number, line in enumerate(text.split("\n"), 1):
        if line.endswith((" ", "\t", "\r")):
            found.append((number, "blank or carriage return at the end of the line"))
        if "\t" in line and path.name != "Makefile":
            found.append((number, "tab"))
        if is_code(path) and len(line) > WIDTH:
            remedy = "; make format" if path.suffix in {".c", ".h", ".inc"} else ""
            found.append((number, f"{len(line)} columns, {WIDTH} is the limit{remedy}"))
        if is_code(path) and path.name != Path(__file__).name and OPEN_WORK.search(line):
            found.append((number, "open work without an issue number"))
    return found


def unlisted(root):
    for folder in LISTED:
        build = root / folder / "meson.build"
        listed = build.read_text() if build.is_file() else ""
        for path in files(root / folder) if (root / folder).is_dir() else []:
            name = path.relative_to(root / folder).as_posix()
            if path.suffix == ".c" and f"'{name}'" not in listed:
                yield f"{folder}/{name}:1: not listed in {folder}/meson.build, so nobody builds it"


def repeated(root):
    places = defaultdict(list)
    for path in files(root):
        if path.suffix == ".c":
            places[path.name].append(path.relative_to(root).as_posix())
    for same in places.values():
        for path in same[1:]:
            yield f"{path}:1: {same[0]} has the same file name"


def main():
    parser = argparse.ArgumentParser(description="Check line ends, widths, and files that nobody builds.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    problems = []
    for path in files(root):
        if path.suffix in TEXT or is_code(path):
            problems += [f"{path.relative_to(root)}:{line}: {text}" for line, text in text_problems(path)]
    problems += [*unlisted(root), *repeated(root)]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
