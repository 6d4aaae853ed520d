#!/usr/bin/env python3
"""Every public header compiles alone: as C11 and as C++17, with gcc and with clang, without a warning.

    tests/headers/check_headers.py [--root DIR]

A program that calls one function is also linked as C++, since only that shows a missing extern "C".
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]
LANGUAGES = (
    ("c", "c11", {"gcc": "gcc", "clang": "clang"}, ["-Wstrict-prototypes", "-Wmissing-prototypes"]),
    ("c++", "c++17", {"gcc": "g++", "clang": "clang++"}, []),
)


def compile_alone(compiler, language, standard, extra, header, include):
    source = f"#include <{header}>\n#include <{header}>\n"
    command = [compiler, "-x", language, f"-std={standard}", *WARNINGS, *extra, "-fsyntax-only", f"-I{include}", "-"]
    return subprocess.run(command, input=source, text=True, capture_output=True, check=False)


def link_from_cpp(root, folder):
    """Compile version.c as C and a caller as C++, and link the two."""
    caller = Path(folder) / "caller.cpp"
    caller.write_text("#include <tegula/tegula.h>\nint main() { return tg_version()[0] == '\\0'; }\n")
    library, program = Path(folder) / "version.o", Path(folder) / "caller"
    include = f"-I{root / 'include'}"
    script = [["gcc", "-c", include, f"-I{root / 'src'}", str(root / "src/base/version.c"), "-o", str(library)],
              ["g++", "-std=c++17", include, str(caller), str(library), "-o", str(program)],
              [str(program)]]
    for command in script:
        run = subprocess.run(command, text=True, capture_output=True, check=False)
        if run.returncode != 0:
            break
    return run


def main():
    parser = argparse.ArgumentParser(description="Compile every public header alone.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    root = parser.parse_args().root.resolve()
    results = []
    for header in sorted((root / "include").rglob("*.h")):
        name = header.relative_to(root / "include").as_posix()
        for language, standard, compilers, extra in LANGUAGES:
            for family, compiler in compilers.items():
                if shutil.which(compiler) is None:
                    sys.exit(f"FAILED {compiler} is not installed (tools/setup check)")
                run = compile_alone(compiler, language, standard, extra, name, root / "include")
                results.append((f"<{name}> as {standard} with {family}", run))
    with tempfile.TemporaryDirectory() as folder:
        results.append(("a C++ caller links", link_from_cpp(root, folder)))
    for name, run in results:
        print("ok" if run.returncode == 0 else "FAILED", name)
        if run.returncode != 0:
            print(run.stderr)
    sys.exit(any(run.returncode != 0 for _, run in results))


if __name__ == "__main__":
    main()
