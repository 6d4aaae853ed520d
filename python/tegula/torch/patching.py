"""How a function of PyTorch is replaced: patches.py tells which are."""
import functools
import types

import torch

INSTALLED = []  # what puts the replacements in, in order


def patch(install):
    INSTALLED.append(install)
    return install


def on_spyre(device):
    return device is not None and torch.device(device).type == "spyre"


def wrap(owner, name, make):
    """owner.name becomes make(what it was)."""
    original = getattr(owner, name)
    replacement = functools.update_wrapper(make(original), original)
    del replacement.__wrapped__  # who asks for the source of a function must not be sent to one without
    if not isinstance(original, types.FunctionType):  # PyTorch's own in C: pickle looks for it by this name
        of_class = isinstance(owner, type)
        replacement.__module__ = owner.__module__ if of_class else owner.__name__
        replacement.__qualname__ = f"{owner.__qualname__}.{name}" if of_class else name
    setattr(owner, name, replacement)
    # What LazyModule may do with a Parameter without a size is a list of functions.
    allowed = torch.nn.parameter.UninitializedTensorMixin._allowed_methods
    if original in allowed:
        allowed[allowed.index(original)] = replacement


def for_subclasses(before):
    """A function of torch whose first argument is a tensor: __torch_function__ is given what torch has by that name."""
    def function(*args, **kwargs):
        if args and torch.overrides.has_torch_function(args[:1]):
            known = getattr(torch, before.__name__)
            return torch.overrides.handle_torch_function(known, args[:1], *args, **kwargs)
        return before(*args, **kwargs)
    return function
