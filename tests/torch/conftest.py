"""The device spyre of PyTorch: these tests need PyTorch, and a process in which the device may become the accelerator.

They run in .venv-torch with TEGULA_TORCH_TESTS=1 (`make check-torch`); elsewhere they are left out. The package is
the one of the build folder, build/python, or what TEGULA_PACKAGE names.
"""
import gc
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LONG = os.environ.get("TEGULA_TORCH_LONG") == "1"  # make check-torch-long: what make check has no time for
PACKAGE = os.environ.get("TEGULA_PACKAGE", str(ROOT / "build/python"))

if os.environ.get("TEGULA_TORCH_TESTS") == "1":
    sys.path.insert(0, PACKAGE)
    import hypothesis
    import pytest
    import quick  # noqa: F401
    import torch

    import tegula.torch  # noqa: F401

    torch.set_num_threads(1)
    hypothesis.settings.register_profile("tegula", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("tegula")

    @pytest.fixture(autouse=True)
    def _same_numbers():
        torch.manual_seed(0)

    frozen_modules = 0

    @pytest.fixture(autouse=True)
    def _modules_stay():
        """The collector of cycles need not walk them each time that it walks all. The first test that compiles imports
        hundreds."""
        global frozen_modules
        yield
        if len(sys.modules) > frozen_modules + 100:
            gc.collect()
            gc.freeze()
            frozen_modules = len(sys.modules)
else:
    collect_ignore_glob = ["*"]
