#!/usr/bin/env python3
"""Check the layers from the #include lines; an include that breaks them is a build error.

    tools/check_includes.py [--root DIR] [--stamp FILE]

The rooms of the library are the folders of src/. ROOMS says which other rooms each may include, and
is the layer diagram of CONTRIBUTING.md in a form that a machine reads:

    base <- layout <- notation          a room may include itself, base, and what ROOMS lists;
    base <- kernels                     anything else is refused, an unknown room included
    layout + kernels <- relayout
    layout <- io
    notation <- hlo

Everything outside the library (cli, bench, fuzz, examples) sees <tegula/...> and files of its own
folder. A notation can be deleted without touching another, so notation files include each other's
headers only within one notation (files whose names start with the same word) or notation/notation.h.
"""

import argparse
import re
import sys
from pathlib import Path

ROOMS = {
    "base": set(),
    "layout": set(),
    "notation": {"layout"},
    "kernels": set(),
    "relayout": {"layout", "kernels"},
    "transfer": {"layout"},
    "io": {"layout"},
    "hlo": {"layout", "notation"},
    "graph": {"layout", "notation", "transfer", "hlo"},
    "sim": {"layout", "notation", "relayout", "hlo", "graph"},
    "draw": {"layout"},
}

EVERYWHERE = {"limits.h", "stdbool.h", "stddef.h", "stdint.h", "string.h"}
PUBLIC_HEADERS = {"stdbool.h", "stddef.h", "stdint.h"}
POSIX = {"errno.h", "fcntl.h", "unistd.h", "sys/mman.h", "sys/stat.h", "sys/types.h"}
SYSTEM = {
    "base": {"stdarg.h"},
    "kernels": {"immintrin.h", "arm_neon.h"},
    "relayout": {"stdlib.h", "pthreadpool.h"},
    "io": {"stdlib.h"} | POSIX,
    "draw": {"stdlib.h"},
    "hlo": {"stdlib.h", "protobuf-c/protobuf-c.h", "xla_data.pb-c.h"}, # the last is made from hlo/xla_data.proto
    "graph": {"math.h", "stdlib.h"},
    "sim": {"math.h", "stdlib.h"},
}
# Public headers of a room besides tegula/ROOM.h.
OWN_HEADERS = {
    "hlo": {"tegula/hlo_report.h", "tegula/padding.h", "tegula/xla.h", "tegula/xla_proto.h"},
    "transfer": {"tegula/view.h"},
    "graph": {"tegula/graph_ops.h", "tegula/hlo.h", "tegula/memory.h", "tegula/plan_report.h",
              "tegula/rules.h", "tegula/sdsc.h", "tegula/transfer.h", "tegula/view.h"},
}

USERS = ("cli", "python", "bench", "fuzz", "examples")
SUFFIXES = {".c", ".h", ".inc", ".def"}
INCLUDE = re.compile(r"^\s*#\s*include\b\s*(.*)$")
TARGET = re.compile(r'^(?:"([^"]+)"|<([^>]+)>)')


def includes(path):
    """(line number, quoted, name) of every include; name is None where a macro hides it."""
    text = path.read_text(errors="replace").replace("\\\n", "")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            target = TARGET.match(match.group(1))
            quoted = bool(target and target.group(1))
            yield number, quoted, (target.group(1) or target.group(2)) if target else None


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES and p.is_file()) if folder.is_dir() else []


def same_notation(a, b):
    return a.stem.split("_")[0] == b.stem.split("_")[0]


class Checker:
    def __init__(self, root):
        self.root = root.resolve()
        self.src = self.root / "src"
        self.include = self.root / "include"
        self.problems = []

    def refuse(self, path, line, text):
        self.problems.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def resolve(self, path, quoted, name):
        """The file of this tree that the compiler would take, or None for a system header."""
        places = [path.parent] if quoted else []
        for place in places + [self.src, self.include]:
            candidate = (place / name).resolve()
            if candidate.is_file():
                return candidate
        return None

    def check_room_include(self, path, line, quoted, name):
        room = path.relative_to(self.src).parts[0]
        target = self.resolve(path, quoted, name)
        if target is None:
            if quoted:
                self.refuse(path, line, f'"{name}" is no file of this tree')
            elif name not in EVERYWHERE | SYSTEM.get(room, set()):
                self.refuse(path, line, f"{room} may not include <{name}>")
        elif target.is_relative_to(self.include):
            if name not in {"tegula/tegula.h", f"tegula/{room}.h"} | OWN_HEADERS.get(room, set()):
                self.refuse(path, line, f"{room} may not include <{name}>, a header for others")
        elif not target.is_relative_to(self.src):
            self.refuse(path, line, f'"{name}" is outside src/ and include/')
        else:
            self.check_room_pair(path, line, room, target)

    def check_room_pair(self, path, line, room, target):
        other = target.relative_to(self.src).parts[0]
        if other not in ROOMS[room] | {room, "base"}:
            self.refuse(path, line, f"{room} may not include {other} ({target.relative_to(self.src)})")
        if room == other == "notation" and target.name != "notation.h" and not same_notation(path, target):
            self.refuse(path, line, f"notations do not include each other ({path.name}, {target.name})")

    def check_library(self):
        for path in sources(self.src):
            room = path.relative_to(self.src).parts[0]
            if room not in ROOMS:
                self.refuse(path, 1, f"src/{room} is no room of the library; its layer belongs in ROOMS of {__file__}")
                continue
            for line, quoted, name in includes(path):
                if name is None:
                    self.refuse(path, line, "an include through a macro cannot be checked")
                else:
                    self.check_room_include(path, line, quoted, name)

    def check_public_headers(self):
        for path in sources(self.include):
            for line, quoted, name in includes(path):
                own = name is not None and not quoted and name.startswith("tegula/")
                if not own and name not in PUBLIC_HEADERS:
                    self.refuse(path, line, f"a public header may not include {name}")

    def check_user(self, folder):
        for path in sources(folder):
            for line, quoted, name in includes(path):
                target = None if name is None else self.resolve(path, quoted, name)
                if name is None:
                    self.refuse(path, line, "an include through a macro cannot be checked")
                elif quoted and (target is None or not target.is_relative_to(folder)):
                    self.refuse(path, line, f'{folder.name} sees public headers and its own folder only, not "{name}"')
                elif target is not None and target.is_relative_to(self.src):
                    self.refuse(path, line, f"{folder.name} sees public headers only, not <{name}>")

    def run(self):
        self.check_library()
        self.check_public_headers()
        for user in USERS:
            self.check_user(self.root / user)
        return self.problems


def main():
    parser = argparse.ArgumentParser(description="Check the layers from the #include lines.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--stamp", type=Path, help="file to write when all is well")
    options = parser.parse_args()
    problems = Checker(options.root).run()
    if problems:
        sys.exit("\n".join(problems))
    if options.stamp:
        options.stamp.write_text("")


if __name__ == "__main__":
    main()
