"""What `import torch` runs where Tegula is installed (entry point torch.backends): nothing, unless it is switched on.

A device that appears by itself becomes the accelerator of every PyTorch program, so the switch is off by default:
TEGULA_SPYRE=1 in the environment, or `python -m tegula.torch enable` for this environment. TEGULA_SPYRE=0 wins.
"""
import os
import sys

OFF = ("", "0", "false", "no", "off")
MARKER = os.path.join(sys.prefix, "tegula-spyre-on")


def enabled():
    said = os.environ.get("TEGULA_SPYRE")
    return said.strip().lower() not in OFF if said is not None else os.path.exists(MARKER)


def autoload():
    """An exception here would break `import torch` of the whole environment; it becomes a warning."""
    if not enabled():
        return
    try:
        import tegula.torch  # noqa: F401
    except Exception as error:
        import warnings
        warnings.warn(f"the device spyre of Tegula is switched on, but it cannot be loaded: {error}", stacklevel=2)
