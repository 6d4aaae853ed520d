"""What has to be changed in PyTorch itself, each with its reason; tests/torch/test_patches.py has a test for each.

A patch looks at tensors of the device alone: for all others it calls what was there before. Each file patch_*.py has
those of one kind; what moves modules is in modules.py. Those of the compiler and of FakeTensor are in fake.py, which
waits until PyTorch loads these parts.
"""
from tegula.torch import (  # noqa: F401, in the order in which they are put in
    patch_storages, patch_layouts, patch_printing, patch_saving, patch_dlpack, patch_accelerator, patch_double,
    patch_processes, patch_nested, modules)
from tegula.torch.patching import INSTALLED


def install():
    for put_in in INSTALLED:
        put_in()
    from tegula.torch import fake
    fake.install_when_loaded()
