"""A program that leaves no process behind, whichever way it ends.

Tests start processes in sessions of their own (Meson does for each, browsers do), so that the end of a process group
does not reach them, and workers of pytest go on where the process that they answer to is gone. So a guarded program is
three:

    front     in the group of its caller, which Ctrl-C and the end of the group reach
    keeper    in a session of its own, which they do not reach; every orphan below becomes its child
    runner    does the work

Front and keeper end all that is below them when their child has ended, when a signal ends them, and when the process
above is gone. For the front that counts as a hangup, which nohup turns off. Only both killed at once could leave
something. Linux alone tells a process that its parent has ended.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def parents():
    """{process: its parent} of all that run; the dead that nobody has asked for yet are left out."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]  # a name may hold blanks and brackets
        except OSError:  # it ended meanwhile
            continue
        if state not in "ZX":
            found[int(path.parent.name)] = int(parent)
    return found


def descendants(root):
    parent_of = parents()
    below, level = set(), {root}
    while level:
        level = {pid for pid, parent in parent_of.items() if parent in level} - below
        below |= level
    return below


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def end_below(root):
    """Stopped before they are killed, so that none gets away by a fork in between."""
    stopped = set()
    while new := descendants(root) - stopped:
        for pid in new:
            send(pid, signal.SIGSTOP)
        stopped |= new
    for pid in stopped:
        send(pid, signal.SIGKILL)


def end_tree(root):
    send(root, signal.SIGSTOP)
    end_below(root)
    send(root, signal.SIGKILL)


def end_with_parent(number, parent):
    prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # it ended before we asked
        os.kill(os.getpid(), number)


def end_all(number, _):
    end_below(os.getpid())
    os._exit(128 + number)


def watch():
    """Return in a child; this process stays here until the child has ended, and exits as it did."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    parent = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    child = os.fork()
    if child != 0:
        for number in ENDS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, end_all)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    if child == 0:
        end_with_parent(signal.SIGTERM, parent)
        return
    ended, status = 0, 0
    while ended != child:  # the others are orphans
        ended, status = os.wait()
    end_below(parent)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


def guard():
    """Return in the runner."""
    sys.stdout.flush()
    end_with_parent(signal.SIGHUP, os.getppid())
    watch()
    os.setsid()
    watch()
    for number in ENDS:  # a shell that starts us with & has them ignored, and tests would inherit that
        signal.signal(number, signal.SIG_DFL)
