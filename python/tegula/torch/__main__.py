"""python -m tegula.torch enable|disable|status: whether `import torch` alone registers the device."""
import argparse
import os
import sys
from importlib.metadata import entry_points

import tegula_autoload


def _looked_at():
    """Whether `import torch` asks: the entry point comes with an installed Tegula, and not with a build folder."""
    return any(point.value == "tegula_autoload:autoload" for point in entry_points(group="torch.backends"))


def _status():
    said = os.environ.get("TEGULA_SPYRE")
    marked = os.path.exists(tegula_autoload.MARKER)
    why = f"TEGULA_SPYRE={said}" if said is not None else tegula_autoload.MARKER if marked else "the default"
    if not tegula_autoload.enabled():
        print(f"off, by {why}")
    elif os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
        print(f"off, by TORCH_DEVICE_BACKEND_AUTOLOAD=0 (it is on by {why})")
    elif not _looked_at():
        print(f"off, since Tegula is not installed here and `import torch` does not look for it (it is on by {why}); "
              "`import tegula.torch` works")
    else:
        print(f"on, by {why}")


def _enable(anywhere):
    if sys.prefix == sys.base_prefix and not anywhere:
        sys.exit("tegula.torch: this is not a virtual environment; the device would become the accelerator of every "
                 "PyTorch program of this Python. Say --system if that is what you want.")
    with open(tegula_autoload.MARKER, "w", encoding="utf-8") as file:
        file.write("import torch registers the device spyre; python -m tegula.torch disable takes it back\n")


def _disable():
    if os.path.exists(tegula_autoload.MARKER):
        os.remove(tegula_autoload.MARKER)


def main(words=None):
    parser = argparse.ArgumentParser(prog="python -m tegula.torch", description=(
        "Whether `import torch` alone registers the device spyre in this environment. TEGULA_SPYRE=0 or 1 in the "
        "environment goes before what is set here."))
    parser.add_argument("command", choices=["enable", "disable", "status"])
    parser.add_argument("--system", action="store_true", help="enable outside a virtual environment, too")
    options = parser.parse_args(words)
    try:
        if options.command == "enable":
            _enable(options.system)
        elif options.command == "disable":
            _disable()
    except OSError as error:
        sys.exit(f"tegula.torch: {error}")
    _status()


if __name__ == "__main__":
    main()
