"""Every allocation of the command fails once in turn: it says so and exits with 4, or did not need it.

The failing allocator is tests/alloc/fail_nth.c, preloaded. Whatever fails, nothing crashes, no partial
answer is printed with exit status 0, and no file is left behind.
"""
import os
import subprocess

import numpy as np
import pytest

import console

TEGULA = os.environ.get("TEGULA", str(console.ROOT / "build" / "tegula"))
SPYRE = "f16[5,100,150] spyre"
STEP = str(console.ROOT / "examples" / "step.hlo")
COMMANDS = {
    "show": ["show", SPYRE],
    "show json": ["show", SPYRE, "--json"],
    "show tuple": ["show", "(f32[2]{0}, (s8[3]{0}, token[]))", "--json"],
    "explain": ["explain", "bf16[3,5,7]{1,2,0:T(*,4)(2,1)L(64)S(1)}"],
    "explain json": ["explain", SPYRE, "--json"],
    "explain tuple": ["explain", "(f32[2]{0:T(4)}, (s8[3]{0}, token[]))"],
    "index json": ["index", SPYRE, "4,99,149", "--json"],
    "coord json": ["coord", SPYRE, "95957", "--json"],
    "equal json": ["equal", "f16[8,8]", "f16[8,8]{0,1}", "--json"],
    "convert json": ["convert", SPYRE, "--to", "xla", "--json"],
    "relayout": ["relayout", "--from", "f16[64,100]", "--to", "f16[64,100] spyre", "in.npy", "out.bin",
                 "--verify", "--json"],
    "relayout with threads": ["relayout", "--from", "s8[2097152]", "--to", "s8[2097152]", "big.bin", "out.bin",
                              "--threads", "2", "--json"],
    "hlo": ["hlo", STEP],
    "hlo json": ["hlo", STEP, "--json"],
    "hlo padding": ["hlo", STEP, "--report", "padding"],
    "hlo padding json": ["hlo", STEP, "--report", "padding", "--json"],
    "hlo copies": ["hlo", STEP, "--report", "copies"],
    "hlo copies json": ["hlo", STEP, "--report", "copies", "--json"],
    "draw": ["draw", SPYRE],
    "draw json": ["draw", "f16[3,100] spyre", "--diff", "f16[3,100]", "--json"],
    "draw svg": ["draw", SPYRE, "-o", "out.svg"],
    "error": ["show", "f16[5"],
}


@pytest.fixture(scope="session")
def failing(tmp_path_factory):
    library = tmp_path_factory.mktemp("fail") / "fail_nth.so"
    source = console.ROOT / "tests/alloc/fail_nth.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return str(library)


def run(command, folder, env=None):
    return subprocess.run([TEGULA, *command], cwd=folder, env={**os.environ, **(env or {})}, capture_output=True,
                          timeout=60)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_allocation_fails_once(name, failing, tmp_path):
    np.save(tmp_path / "in.npy", np.arange(6400, dtype=np.float16).reshape(64, 100) % 100)
    with open(tmp_path / "big.bin", "wb") as file:
        file.truncate(2 << 20)  # with the output, enough for a pool of threads
    good = run(COMMANDS[name], tmp_path)
    assert good.returncode in (0, 1, 2), good.stderr
    for nth in range(1, 2000):
        for left in tmp_path.glob("out*"):
            left.unlink()
        got = run(COMMANDS[name], tmp_path, {"LD_PRELOAD": failing, "TEGULA_FAIL_NTH": str(nth)})
        told = f"allocation {nth}: status {got.returncode}, {got.stderr!r}"
        assert got.returncode == 4 or got.returncode == good.returncode, told
        names = {path.name for path in tmp_path.iterdir()} - {"in.npy", "big.bin"}
        if got.returncode == 4:
            assert got.stderr.startswith(b"tegula: "), told
            assert not names, f"{told}: left {names}"
        elif "relayout" not in name:
            assert got.stdout == good.stdout, told
        assert not any(name.startswith(".tegula") for name in names), f"{told}: left {names}"
        if nth > 40 and got.returncode == good.returncode:
            probe = run(COMMANDS[name], tmp_path, {"LD_PRELOAD": failing, "TEGULA_FAIL_NTH": str(nth + 200)})
            if probe.returncode == good.returncode:
                return
    pytest.fail("the command never ran out of allocations")
