#!/usr/bin/env python3
"""Install the wheel with its extra `torch` in a fresh environment, and use the switch there.

    tools/check_torch_install.py WHEEL [--torch ENVIRONMENT]

As `pip install '.[torch]'` does, but for PyTorch itself: the fresh environment sees the packages of .venv-torch, which
pip takes for installed, so it must find the extra satisfied without looking anywhere. Then what a user does: nothing
(the device is off), `enable`, the program of the README, `disable`, the environment variable, torch_spyre by name.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = "import torch; print(torch._C._get_privateuse1_backend_name())"
PROGRAM = """
import torch
x = torch.arange(750).to(torch.float16).view(5, 150)
y = x.to("spyre")
print(y.device_tensor_layout().device_size, torch.equal(y.cpu(), x), (y + y)[4, 149].item())
"""
NAMES = "from torch_spyre._C import SpyreTensorLayout; import torch; print(SpyreTensorLayout((5, 150), torch.float16))"
LAYOUT = "SpyreTensorLayout(device_size=[3, 5, 64], stride_map =[64, 150, 1], device_dtype=DataFormats.SEN169_FP16)\n"


class Environment:
    def __init__(self, folder, torch):
        self.folder, self.python = folder, folder / "bin/python"
        self.clean = {k: v for k, v in os.environ.items() if not k.startswith(("TEGULA_", "PYTHONPATH"))}
        self.run(sys.executable, "-m", "venv", "--without-pip", folder)  # pip is there as well
        site = next(folder.glob("lib/python*/site-packages"))
        there = next(torch.glob("lib/python*/site-packages"))
        (site / "packages_of_torch.pth").write_text(f"{there}\n")

    def run(self, *command, **environment):
        print("$", *command, flush=True)
        done = subprocess.run([str(word) for word in command], cwd=self.folder.parent, env=self.clean | environment,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        print(done.stdout, end="")
        return done.stdout if done.returncode == 0 else None

    def says(self, *words, **environment):
        return self.run(self.python, *words, **environment)


def check(wheel, torch, folder):
    env = Environment(folder / "venv", torch)
    marker = folder / "venv/tegula-spyre-on"
    installed = env.says("-m", "pip", "install", "--no-index", "--quiet", "--disable-pip-version-check",
                         f"{wheel}[torch]")
    yield "the extra is satisfied", installed is not None
    yield "no device by itself", env.says("-c", NAME) == "privateuseone\n"
    yield "status: off", env.says("-m", "tegula.torch", "status") == "off, by the default\n"
    yield "enable", env.says("-m", "tegula.torch", "enable") == f"on, by {marker}\n"
    yield "import torch alone", env.says("-c", PROGRAM) == "[3, 5, 64] True 1498.0\n"
    yield "off for one process", env.says("-c", NAME, TEGULA_SPYRE="0") == "privateuseone\n"
    yield "disable", env.says("-m", "tegula.torch", "disable") == "off, by the default\n"
    yield "on for one process", env.says("-c", PROGRAM, TEGULA_SPYRE="1") == "[3, 5, 64] True 1498.0\n"
    yield "torch_spyre by name", env.says("-c", NAMES) == LAYOUT
    yield "uninstalled, nothing is left", (
        env.says("-m", "pip", "uninstall", "--yes", "--quiet", "--disable-pip-version-check", "tegula") is not None
        and env.says("-c", NAME, TEGULA_SPYRE="1") == "privateuseone\n")


def main():
    root = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Install the wheel beside PyTorch, and use the switch.")
    parser.add_argument("wheel", type=Path, help="the wheel, or a folder with one")
    parser.add_argument("--torch", type=Path, default=root / ".venv-torch", help="an environment with PyTorch")
    options = parser.parse_args()
    wheels = sorted(options.wheel.glob("*.whl")) if options.wheel.is_dir() else [options.wheel]
    if len(wheels) != 1:
        sys.exit(f"FAILED: {len(wheels)} wheels in {options.wheel}")
    fine = True
    with tempfile.TemporaryDirectory() as name:
        for what, good in check(wheels[0].resolve(), options.torch.resolve(), Path(name)):
            print("ok" if good else "FAILED", what, flush=True)
            fine = fine and good
    sys.exit(not fine)


if __name__ == "__main__":
    main()
