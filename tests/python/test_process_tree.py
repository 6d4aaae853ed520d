"""Nothing that a guarded program has started outlives it, whichever way it ends."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
MARK = "TEGULA_TEST_MARK"  # in the environment of all that belongs to a test
# A child in a session of its own, an orphan, and one that always has another child.
PROGRAM = """
import subprocess, sys, time
sys.path.insert(0, sys.argv[1])
import process_tree
process_tree.guard()
subprocess.Popen(["setsid", "sleep", "1000"])
subprocess.run(["sh", "-c", "setsid sleep 1000 & setsid setsid sleep 1000 &"])
subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"], start_new_session=True)
print("ready", flush=True)
if sys.argv[2:] == ["end"]:
    sys.exit(7)
time.sleep(1000)
"""


def running(mark):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX" and f"{MARK}={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:
            pass
    return found


def child_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:  # it ended meanwhile
            pass


def wait_for(number, mark):
    """Whether so many run. An orphan may not be there yet, and inside exec a process has no environment."""
    deadline = time.monotonic() + 120
    while len(running(mark)) < number:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def wait_until_gone(mark):
    deadline = time.monotonic() + 120
    while (left := running(mark)) and time.monotonic() < deadline:
        time.sleep(0.01)
    kill(left)
    return left


@pytest.fixture
def guarded(tmp_path):
    """Start the program in a shell; what is there once it says that all is running: the shell, and its mark."""
    shells = []

    def start(*words, before=""):
        mark = f"{os.getpid()}-{tmp_path}"
        script = f'{before} "$0" -c "$1" "$2" $3; exit $?'
        shell = subprocess.Popen(["sh", "-c", script, sys.executable, PROGRAM, str(TOOLS), *words], text=True,
                                 stdout=subprocess.PIPE, env=os.environ | {MARK: mark}, start_new_session=True)
        shells.append((shell, mark))
        assert shell.stdout.readline() == "ready\n"
        return shell, mark

    yield start
    for shell, mark in shells:
        kill(running(mark))
        shell.wait()
        shell.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_end_of_the_group(guarded, number):
    shell, mark = guarded()
    assert wait_for(8, mark)
    os.killpg(shell.pid, number)
    assert wait_until_gone(mark) == []


@pytest.mark.parametrize("depth", [0, 1, 2, 3], ids=["caller", "front", "keeper", "runner"])
def test_the_end_of_one_process(guarded, depth):
    shell, mark = guarded()
    pid = shell.pid
    for _ in range(depth):
        pid = child_of(pid)
    os.kill(pid, signal.SIGKILL)
    assert wait_until_gone(mark) == []


def test_an_end_by_itself_keeps_its_status(guarded):
    shell, mark = guarded("end")
    assert wait_until_gone(mark) == []
    assert shell.wait() == 7


def test_a_hangup_that_is_ignored(guarded):
    shell, mark = guarded(before="trap '' HUP;")
    front = child_of(shell.pid)
    os.kill(front, signal.SIGHUP)
    shell.kill()
    time.sleep(0.2)  # they would end in it
    assert wait_for(7, mark)
    os.kill(front, signal.SIGTERM)
    assert wait_until_gone(mark) == []
