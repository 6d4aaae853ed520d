"""Programs for models and their answers take jax seconds: each is run once, whatever number of processes ask for it."""
import fcntl
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
# The text that XLA prints of a program is that from before LLVM; numbers are compared within a tolerance.
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


def run_folder(tmp_path_factory):
    """The folder of this run of pytest, which the workers of xdist share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(tmp_path_factory, script, *words):
    """The folder that is the last word of `script`, filled by it; other processes wait for the first one."""
    name = "-".join([pathlib.Path(script).stem, *words])
    folder = run_folder(tmp_path_factory) / name
    done = folder.with_suffix(".done")
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir(exist_ok=True)
            flags = " ".join([os.environ.get("XLA_FLAGS", ""), QUICK])
            subprocess.run([sys.executable, HERE / script, *words, folder], check=True, timeout=600,
                           env=os.environ | {"XLA_FLAGS": flags})
            done.touch()
    return folder
