"""Layouts of tensors that have no memory: FakeTensor, and the guards of torch.compile.

A FakeTensor stands for a tensor while PyTorch traces. The layout belongs to the storage, so it is remembered for the
storage of the fake, and views answer by sharing it. A new tensor has the default layout, as one that an operation
makes on the device has. Both parts of PyTorch load slowly, so what they need is put in when somebody loads them.
"""
import functools
import importlib.abc
import importlib.util
import sys
import weakref

import torch

from tegula import SpyreTensorLayout, _core
from tegula.torch import compile_hooks, memory

_layouts = {}  # address of a fake storage: (a reference that knows when it is gone, its layout or None)


def is_fake(tensor):
    loaded = sys.modules.get("torch._subclasses.fake_tensor")
    return loaded is not None and isinstance(tensor, loaded.FakeTensor)


def mode_for(tensor):
    """The mode in which tensors are made from this one: its own, or the one that is active; None: they are real."""
    if is_fake(tensor):
        return tensor.fake_mode
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)


def _remember(tensor, layout):
    from torch.multiprocessing.reductions import StorageWeakRef
    storage = tensor.untyped_storage()
    if len(_layouts) > 4096:
        for address in [a for a, (reference, _) in _layouts.items() if reference.expired()]:
            del _layouts[address]
    _layouts[storage._cdata] = (StorageWeakRef(storage), layout)


def _known(tensor):
    """Whether the storage of a fake has been seen, and its layout."""
    address = tensor.untyped_storage()._cdata
    reference, layout = _layouts.get(address, (None, None))
    if reference is not None and not reference.expired():
        return True, layout
    return False, None


def _default(tensor):
    """The layout that a tensor of this size would get; None where sizes are symbols."""
    if not all(type(n) is int for n in (*tensor.size(), *tensor.stride())):
        return None
    try:
        order = list(range(tensor.dim()))
        return SpyreTensorLayout(tensor.size(), memory.dense_strides(tensor), tensor.dtype, order)
    except (RuntimeError, ValueError):
        return None


def layout_of(tensor):
    known, layout = _known(tensor)
    return layout if known else _default(tensor)


def empty(mode, like, layout):
    """An uninitialised fake with the size, strides and dtype of `like`. Errors are those of a real one."""
    size, stride = tuple(like.size()), tuple(like.stride())
    if all(type(n) is int for n in (*size, *stride)):
        _core._spyre_check(size, stride, like.dtype, layout)
    elif not isinstance(layout, SpyreTensorLayout):
        raise TypeError(f"device_layout is a SpyreTensorLayout, not {layout!r}")
    with mode:
        made = torch.empty_strided(size, stride, dtype=like.dtype, device="spyre")
    _remember(made, layout)
    return made


# ---- FakeTensor --------------------------------------------------------------------------------


def _patch_fake_tensor(module):
    """Fakes of real tensors remember the layout; results of operations get theirs while they are whole."""
    convert = module.FakeTensorConverter.from_real_tensor

    @functools.wraps(convert)
    def from_real_tensor(self, fake_mode, t, *args, **kwargs):
        made = convert(self, fake_mode, t, *args, **kwargs)
        if t.device.type == "spyre" and not is_fake(t) and is_fake(made):
            real = t.device_tensor_layout()
            if real is not None:
                _remember(made, real)
        return made

    dispatch = module.FakeTensorMode.dispatch

    @functools.wraps(dispatch)
    def with_layouts(self, func, types, args=(), kwargs=None):
        results = dispatch(self, func, types, args, kwargs)
        for made in results if isinstance(results, (list, tuple)) else (results,):
            if isinstance(made, module.FakeTensor) and made.fake_device.type == "spyre" and not _known(made)[0]:
                _remember(made, _default(made))
        return results

    module.FakeTensorConverter.from_real_tensor = from_real_tensor
    module.FakeTensorMode.dispatch = with_layouts


def _patch_meta_kernels(module):
    """Kernels of the CPU and of others give results of other sizes, and fakes ask whose they are: the device's are
    the CPU's."""
    hint = module.device_hint

    @functools.wraps(hint)
    def device_hint(tensor):
        device = hint(tensor)
        return "cpu" if device == "spyre" else device

    module.device_hint = device_hint


# ---- torch.compile -----------------------------------------------------------------------------


@functools.lru_cache(1024)
def _usual(size, stride, dtype):
    try:
        return SpyreTensorLayout(size, stride, dtype, list(range(len(size))))
    except (RuntimeError, ValueError):
        return None


def _guarded(tensor):
    """What a guard compares: the layout, or "default" for the usual one of a storage, whatever its size. Sizes that are
    symbols would else be traced again one by one; what a graph is planned for, it looks at itself."""
    layout = tensor.device_tensor_layout()
    numbers = None if layout is None or is_fake(tensor) else _core._spyre_describe(memory.key(tensor))
    if numbers is None:
        return layout
    return "default" if layout == _usual(tuple(numbers[4]), tuple(numbers[5]), tensor.dtype) else layout


def _patch_guards(module):
    """A compiled function is compiled again for another layout, as for another size."""
    match = module.GuardBuilder.TENSOR_MATCH

    @functools.wraps(match)
    def tensor_match(self, guard, value=None):
        match(self, guard, value=value)
        value = self.get(guard) if value is None else value
        value = value() if isinstance(value, (weakref.ref, torch.utils.weak.TensorWeakRef)) else value
        if not memory.is_spyre(value):
            return
        expected = _guarded(value)
        self.get_guard_manager(guard).add_lambda_guard(
            lambda tensor: not memory.is_spyre(tensor) or _guarded(tensor) == expected,
            [f"device_tensor_layout() == {expected}"], guard.user_stack)

    module.GuardBuilder.TENSOR_MATCH = tensor_match


PATCHES = {
    "torch._meta_registrations": _patch_meta_kernels,
    "torch._subclasses.fake_tensor": _patch_fake_tensor,
    "torch._dynamo.guards": _patch_guards,
    **compile_hooks.PATCHES,
}


class _AfterLoading(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of PATCHES as Python would, and patches them once they are loaded."""

    def __init__(self):
        self.inside = set()

    def find_spec(self, name, path, target=None):
        if name not in PATCHES or name in self.inside:
            return None
        self.inside.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.inside.discard(name)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, PATCHES[name])
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader, patch):
        self.loader, self.patch = loader, patch

    def __getattr__(self, name):  # get_source, is_package, ...: whatever the real one has
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.patch(module)


def install_when_loaded():
    missing = False
    for name, patch in PATCHES.items():
        module = sys.modules.get(name)
        if module is not None:
            patch(module)
        else:
            missing = True
    if missing:
        sys.meta_path.insert(0, _AfterLoading())
