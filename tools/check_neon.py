#!/usr/bin/env python3
"""Run the unit tests the way an Arm processor runs them, so that the NEON loops are tested too.

    tools/check_neon.py [--jobs N] [--compiler gcc|clang] [--seed N]

The library and the tests are compiled for aarch64 and run by qemu's user emulation. Debian's cmocka and
pthreadpool are for the processor of this machine only: tests/neon/cmocka.h stands in for the former,
and what needs the latter is left out. Objects and logs go to build-neon/COMPILER/. The last line is
`N passed, N failed`; the tools that are needed are the packages of tools/packages-neon.txt.
"""

import argparse
import fnmatch
import itertools
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SYSROOT = "/usr/aarch64-linux-gnu"
COMPILERS = {"gcc": ["aarch64-linux-gnu-gcc"], "clang": ["clang", "--target=aarch64-linux-gnu"]}
PROOFS = {  # package: a program or file that shows that it is there, also where packages have other names
    "clang": "clang",
    "gcc-aarch64-linux-gnu": "aarch64-linux-gnu-gcc",
    "libc6-dev-arm64-cross": f"{SYSROOT}/include/stdio.h",
    "qemu-user": "qemu-aarch64",
}
FLAGS = ("-std=c11 -O2 -g -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wstrict-prototypes "
         "-Wmissing-prototypes -Wvla -Werror -Iinclude -Isrc -Itests/neon -DTG_TESTS_IMITATED").split()
LEFT_OUT = {
    "src/relayout/threads.c": "needs pthreadpool",
    "tests/unit/test_relayout_threads.c": "needs pthreadpool",
    "tests/unit/test_file.c": "asks the operating system, which is this machine's all the same",
    "src/graph/*": "needs the room hlo, and has no vectors",
    "src/hlo/*": "needs protobuf-c, and has no vectors",
    "src/sim/*": "needs the room graph, and has no vectors",
    "tests/unit/test_bench_lines.c": "tests loops of the benchmark, which x86-64 alone has",
    "tests/unit/test_divide.c": "tests src/graph",
    "tests/unit/test_draw.c": "stands in for calloc, which needs the linker of Meson's build",
    "tests/unit/test_graph.c": "tests src/graph",
    "tests/unit/test_hlo*": "tests src/hlo",
    "tests/unit/test_memory.c": "tests src/graph",
    "tests/unit/test_network.c": "tests src/graph",
    "tests/unit/test_padding.c": "tests src/hlo",
    "tests/unit/test_sim*": "tests src/sim",
    "tests/unit/test_xla_[epqs]*": "tests src/hlo",
}
SECONDS = 600  # for one command
LOG_TAIL = 20


def wanted_packages():
    lines = (ROOT / "tools/packages-neon.txt").read_text().splitlines()
    return [text for text in (line.split("#")[0].strip() for line in lines) if text]


def missing_packages():
    return [name for name in wanted_packages() if not shutil.which(PROOFS[name]) and not Path(PROOFS[name]).exists()]


def sources(pattern):
    paths = (path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob(pattern)))
    return [path for path in paths if not any(fnmatch.fnmatch(path, pattern) for pattern in LEFT_OUT)]


def run(command, log, environment=None):
    """What the command said, and whether all went well; the log tells both."""
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, timeout=SECONDS, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output, status = late.stdout or b"", f"more than {SECONDS} seconds"
    text = output.decode(errors="replace")
    log.write_text(f"$ {' '.join(map(str, command))}\n{text}status: {status}\n")
    return text, status == 0


def count(word, text):
    """Of the line with which tests/neon/cmocka.h ends a group."""
    return sum(map(int, re.findall(rf"^\[  {word}  \] (\d+) test", text, re.MULTILINE)))


class Build:
    """The objects, programs and logs of one compiler."""

    def __init__(self, compiler, seed):
        self.compiler = compiler
        self.environment = os.environ | {"TG_SEED": str(seed)}
        self.folder = ROOT / "build-neon" / compiler
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def path(self, source, suffix):
        return self.folder / (Path(source).stem + suffix)

    def compile(self, source):
        command = [*COMPILERS[self.compiler], *FLAGS, "-c", source, "-o", self.path(source, ".o")]
        fine = run(command, self.path(source, ".log"))[1]
        if not fine:
            self.report(source, f"{self.compiler}: does not compile: {source}", False)
        return fine

    def test(self, source, library):
        """Link and run one test; how many of its cases passed and failed."""
        start = time.monotonic()
        program, log = self.path(source, ""), self.path(source, ".log")
        objects = [self.path(name, ".o") for name in (source, *library)]
        text, fine = run([*COMPILERS[self.compiler], *objects, "-lm", "-o", program], log)
        if fine:
            text, fine = run(["qemu-aarch64", "-L", SYSROOT, program], log, self.environment)
        passed, failed = count("PASSED", text), count("FAILED", text)
        failed = failed if fine and passed else max(failed, 1)
        self.report(source, f"{time.monotonic() - start:6.1f}s  {self.compiler}: {program.name}  "
                            f"({passed} passed, {failed} failed)", failed == 0)
        return passed, failed

    def report(self, source, line, fine):
        tail = [] if fine else self.path(source, ".log").read_text().splitlines()[-LOG_TAIL:]
        print("\n".join([f"{'ok' if fine else 'FAILED':<7}{line}", *(f"    | {text}" for text in tail)]), flush=True)


def main():
    parser = argparse.ArgumentParser(description="Run the unit tests on an emulated Arm processor.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--compiler", choices=sorted(COMPILERS), help="only this one")
    parser.add_argument("--seed", type=int, default=1, help="of the random blocks (TG_SEED)")
    options = parser.parse_args()
    missing = missing_packages()
    if missing:
        sys.exit("check-neon: nothing was checked. What is missing comes with this line:\n"
                 "sudo apt-get install --no-install-recommends " + " ".join(missing))
    library, tests = sources("src/*/*.c"), sources("tests/unit/*.c")
    tests.sort(key=lambda path: -(ROOT / path).stat().st_size)  # so that no long one is alone at the end
    builds = [Build(name, options.seed) for name in COMPILERS if options.compiler in (None, name)]
    with ThreadPoolExecutor(options.jobs) as pool:
        if not all(list(pool.map(lambda job: job[0].compile(job[1]), itertools.product(builds, library + tests)))):
            sys.exit("check-neon: no test was run")
        counts = list(pool.map(lambda job: job[0].test(job[1], library), itertools.product(builds, tests)))
    passed, failed = map(sum, zip(*counts))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
