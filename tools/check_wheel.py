#!/usr/bin/env python3
"""Build the wheel, and use it in an environment that has nothing else.

    tools/check_wheel.py [--root DIR] [--keep DIR]

As `pip install .` does, with the meson-python beside the Python that runs this instead of one that pip fetches, and
no optimisation: what is looked at here does not depend on it, and the release build is tested elsewhere. The
wheel must be for every CPython from 3.11 on, hold one extension and no other binary, ask for the C library alone
(with its libm: the planner takes logarithms), and show nothing to other libraries.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PROGRAM = """
import tegula, tegula.hlo
layout = tegula.Layout("f16[5,100,150] spyre")
assert layout.offset(4, 99, 149) == 95957 and layout.coord(95999) is None
there = tegula.relayout(bytes(range(12)), "u8[3,4]{0,1}", src_layout="u8[3,4]")
assert bytes(there) == bytes([0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]), bytes(there)
assert memoryview(tegula.relayout(there, "u8[3,4]")).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
assert tegula.hlo.parse("ENTRY e { ROOT c = f32[] constant(1) }").computations[0]["name"] == "e"
assert tegula.relayout(bytes(1 << 22), "u8[2048,2048]{0,1}", src_layout="u8[2048,2048]", threads=3).nbytes == 1 << 22
print(tegula.__version__)
"""


def run(command, folder, environment=None):
    print("$", *command, flush=True)
    done = subprocess.run(command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    print(done.stdout, end="")
    return done.stdout if done.returncode == 0 else None


def build(root, folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run([sys.executable, "-m", "pip", "wheel", str(root), "--no-deps", "--no-build-isolation", "--quiet",
         "--config-settings=setup-args=-Doptimization=0", "--disable-pip-version-check", "--wheel-dir", str(folder)],
        folder, os.environ | {"PATH": path})
    wheels = list(folder.glob("*.whl"))
    return wheels[0] if len(wheels) == 1 else None


def install(wheel, folder):
    """The Python of a fresh environment with the wheel in it, or None."""
    python = folder / "venv/bin/python"
    if run([sys.executable, "-m", "venv", str(folder / "venv")], folder) is None:
        return None
    done = run([str(python), "-m", "pip", "install", "--no-index", "--no-deps", "--quiet",
                "--disable-pip-version-check", str(wheel)], folder)
    return python if done is not None else None


def needed(extension, folder):
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", run(["readelf", "-d", extension], folder) or "")
    return all(name.startswith(("libc.so", "libm.so", "ld-linux", "libpthread.so")) for name in names) and names


def shown(extension, folder):
    lines = (run(["nm", "-D", "--defined-only", extension], folder) or "").splitlines()
    return [line.split()[-1] for line in lines if line.split()[-2] not in "wW"]


def main():
    parser = argparse.ArgumentParser(description="Build the wheel and use it alone.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--keep", type=Path, help="where the wheel is left, for tools/check_torch_install.py")
    options = parser.parse_args()
    root = options.root.resolve()
    version = re.search(r"version: '(.*)'", (root / "meson.build").read_text()).group(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(root, folder)
        if wheel is None:
            sys.exit("FAILED build")
        files = zipfile.ZipFile(wheel).namelist()
        zipfile.ZipFile(wheel).extract("tegula/_core.abi3.so", folder)
        extension = str(folder / "tegula/_core.abi3.so")
        if options.keep:
            shutil.rmtree(options.keep, ignore_errors=True)
            options.keep.mkdir(parents=True)
            shutil.copy(wheel, options.keep)
        python = install(wheel, folder)
        results = {
            "every CPython from 3.11 on": re.fullmatch(rf"tegula-{version}-cp311-abi3-\w+\.whl", wheel.name),
            "one binary, and the types": [file for file in files if ".so" in file] == ["tegula/_core.abi3.so"]
                                         and {"tegula/py.typed", "tegula/_core.pyi"} <= set(files)
                                         and not any(file.endswith((".h", ".a")) for file in files),
            "libc alone": needed(extension, folder),
            "nothing is shown but the module": shown(extension, folder) == ["PyInit__core"],
            "it works alone": python and run([str(python), "-I", "-c", PROGRAM], folder) == version + "\n",
        }
    for name, fine in results.items():
        print("ok" if fine else "FAILED", name)
    sys.exit(not all(results.values()))


if __name__ == "__main__":
    main()
