"""Hypothesis draws the same examples in every run, and a busy machine is not a failure.

For new examples: pytest --hypothesis-profile=default --hypothesis-seed=N.
"""
import gc
import os
import pathlib
import signal
import sys

from hypothesis import settings

settings.register_profile("tegula", deadline=None, derandomize=True, database=None)
settings.load_profile("tegula")

# A script's shell makes what it runs in the background ignore signals, and so would all commands that tests signal.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# The package as ninja builds it, or as TEGULA_PYTHON says ("" for the installed one).
BUILT = pathlib.Path(__file__).resolve().parents[2] / "build" / "python"
if os.environ.get("TEGULA_PYTHON", BUILT):
    sys.path.insert(0, str(os.environ.get("TEGULA_PYTHON", BUILT)))


def pytest_collection_finish():
    """Five thousand tests and the modules they import stay to the end: the collector of cycles need not walk them each
    time that it walks all."""
    gc.collect()
    gc.freeze()
