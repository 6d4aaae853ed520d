#!/usr/bin/env python3
"""Install the build into a folder, move the folder, and use it from there as a stranger would.

    tools/check_install.py [--root DIR] [--build DIR]

A program outside the tree is built with pkg-config (shared and static) and with CMake's
find_package(tegula) (both targets), and run. It calls what needs protobuf-c, so the static library must bring it
along; with the shared one pkg-config must find nothing else. The folder is moved first because packages are. Meson and
CMake are those beside the Python that runs this: .venv/bin/python tools/check_install.py.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS = Path(sys.executable).parent

PROGRAM = r"""
#include <tegula/io.h>
#include <tegula/tegula.h>
#include <tegula/xla_proto.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    const tg_xla_shape token = {.kind = TG_XLA_TOKEN};
    unsigned char      bytes[2] = {0};
    size_t             need = 0;
    if (tg_xla_shape_to_proto(bytes, sizeof bytes, &need, &token, 1, NULL) != TG_OK) return 1;
    printf("%s %zu %x\n", tg_version(), need, bytes[1]);
    return strcmp(tg_version(), WANTED) != 0 || need != 2 || bytes[1] != 17;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(stranger C)
find_package(tegula 0.1 REQUIRED)
foreach(kind tegula static)
  add_executable(with_${kind} program.c)
  target_compile_definitions(with_${kind} PRIVATE "WANTED=\\"${tegula_VERSION}\\"")
  target_link_libraries(with_${kind} PRIVATE tegula::${kind})
endforeach()
"""


def run(command, folder, environment=None):
    print("$", command, flush=True)
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    print(done.stdout, end="")
    return done.returncode == 0


def pkg_config(folder, prefix, static):
    # LIBDIR is instead of the system's files: what libtegula needs itself is no affair of who links it.
    environment = os.environ | {"PKG_CONFIG_LIBDIR": f"{prefix}/lib/pkgconfig", "LD_LIBRARY_PATH": f"{prefix}/lib"}
    query = "pkg-config --define-prefix tegula --cflags --libs"
    flags = f"$({query} --static | sed 's/-ltegula/-l:libtegula.a/')" if static else f"$({query})"
    wanted = '"-DWANTED=\\"$(pkg-config --modversion tegula)\\""'
    return run(f"cc {wanted} program.c {flags} -o program && ./program", folder, environment)


def cmake(folder, prefix):
    tool = TOOLS / "cmake"
    return run(f"{tool} -S . -B out -DCMAKE_PREFIX_PATH={prefix} && {tool} --build out && "
               "out/with_tegula && out/with_static", folder)


def main():
    parser = argparse.ArgumentParser(description="Install the build and use it as a stranger would.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--build", type=Path, default=Path("build"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.c").write_text(PROGRAM)
        (folder / "CMakeLists.txt").write_text(PROJECT)
        build = (options.root / options.build).resolve()
        destination, prefix = folder / "destination", folder / "moved"
        installed = run(f"{TOOLS}/meson install -C {build} --no-rebuild --quiet --destdir {destination}", options.root)
        headers = list(destination.rglob("include/tegula/tegula.h"))
        if not installed or not headers:
            sys.exit("FAILED install")
        headers[0].parents[2].rename(prefix)
        results = {
            "install": (prefix / "bin/tegula").is_file(),
            "pkg-config, shared": pkg_config(folder, prefix, static=False),
            "pkg-config, static": pkg_config(folder, prefix, static=True),
            "CMake, shared and static": cmake(folder, prefix),
            "the installed command runs": run(f"{prefix}/bin/tegula --version", folder),
        }
    for name, fine in results.items():
        print("ok" if fine else "FAILED", name)
    sys.exit(not all(results.values()))


if __name__ == "__main__":
    main()
