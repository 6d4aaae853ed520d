"""What has to be changed in PyTorch itself, each with its reason; tests/torch/test_patches.py has a test for each.

A patch looks at tensors of the device alone: for all others it calls what was there before. Those of the compiler and
of FakeTensor are in fake.py, which waits until PyTorch loads these parts.
"""
import functools
import threading
import types

import torch

from tegula import _core
from tegula.torch import memory
from tegula.torch.memory import is_spyre

INSTALLED = []  # names, in order


def _patch(install):
    INSTALLED.append(install)
    return install


def _on_spyre(device):
    return device is not None and torch.device(device).type == "spyre"


def _wrap(owner, name, make):
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


def _for_subclasses(before):
    """A function of torch whose first argument is a tensor: __torch_function__ is given what torch has by that name."""
    def function(*args, **kwargs):
        if args and torch.overrides.has_torch_function(args[:1]):
            known = getattr(torch, before.__name__)
            return torch.overrides.handle_torch_function(known, args[:1], *args, **kwargs)
        return before(*args, **kwargs)
    return function


# ---- storages ----------------------------------------------------------------------------------


@_patch
def storage_new():
    """torch.UntypedStorage(n, device="spyre") and storage.new() end the process: PyTorch finds no allocator."""
    storage = torch.UntypedStorage
    original = storage.__new__

    def new(cls, *args, device=None, **kwargs):
        if not _on_spyre(device):
            return original(cls, *args, **kwargs) if device is None else original(cls, *args, device=device, **kwargs)
        if len(args) == 1 and not isinstance(args[0], int):
            values = original(cls, args[0])
            return memory.make_storage(values.nbytes()).copy_(values)
        return memory.make_storage(args[0] if args else kwargs.get("size", 0))

    storage.__new__ = new

    def fresh(before):
        def method(self):
            return memory.make_storage(0) if self.device.type == "spyre" else before(self)
        return method

    _wrap(storage, "new", fresh)


@_patch
def storage_clone():
    """A copy of a storage, which is what copy.deepcopy makes of a tensor, keeps the layout."""
    def make(before):
        def clone(self):
            return memory.clone_storage(self) if self.device.type == "spyre" else before(self)
        return clone

    _wrap(torch.UntypedStorage, "clone", make)


@_patch
def parameter_deepcopy():
    """copy.deepcopy of a Parameter is a clone of its numbers, in the default layout; here it keeps its own."""
    def make(before):
        def deepcopy(self, memo):
            data = self.data
            if type(data) is not torch.Tensor or not is_spyre(data) or data.is_neg() or id(self) in memo:
                return before(self, memo)
            if torch._C._functorch.is_functorch_wrapped_tensor(self) or _in_a_mode(self):
                return before(self, memo)
            memo[id(self)] = made = type(self)(memory.clone_block(data), self.requires_grad)
            return made
        return deepcopy

    _wrap(torch.nn.Parameter, "__deepcopy__", make)


def _in_a_mode(tensor):
    from tegula.torch import fake
    return fake.mode_for(tensor) is not None


# ---- layouts in the interface ------------------------------------------------------------------


@_patch
def device_tensor_layout():
    """Tensor.device_tensor_layout(): torch-spyre's. None for tensors of other devices, and for bytes without one."""
    def layout(self):
        """The SpyreTensorLayout of a tensor on spyre, else None."""
        if self.device.type != "spyre":
            return None
        if type(self) not in (torch.Tensor, torch.nn.Parameter):
            from tegula.torch import fake
            if fake.is_fake(self):
                return fake.layout_of(self)
        return memory.layout_of(self)

    torch.Tensor.device_tensor_layout = layout


def _place(like, device_layout, source=None):
    """An uninitialised tensor on the device with the size, strides and dtype of `like`, which may be on any device; a
    fake one where the tensor that it is made from is."""
    if not _on_spyre(like.device) and like.device.type != "meta":
        raise ValueError(f"device_layout needs the device spyre, not {like.device}")
    from tegula.torch import fake
    mode = fake.mode_for(like if source is None else source)
    if mode is not None:
        return fake.empty(mode, like, device_layout)
    return memory.make(like.size(), like.dtype, like.stride(), device_layout)


@_patch
def to_with_layout():
    """x.to("spyre", device_layout=...): the seeds', and torch-spyre's."""
    def make(before):
        def to(self, *args, device_layout=None, **kwargs):
            if device_layout is None:
                return before(self, *args, **kwargs)
            copy = kwargs.pop("copy", False)
            if args and isinstance(args[0], torch.Tensor):
                args = (args[0].device, args[0].dtype, *args[1:])
            device, dtype, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)
            device, dtype = device or self.device, dtype or self.dtype
            if not _on_spyre(device):
                raise ValueError(f"device_layout needs the device spyre, not {device}")
            if not copy and is_spyre(self) and dtype == self.dtype and self.device_tensor_layout() == device_layout:
                return self
            stride = memory.strides_for(self, device_layout)
            like = torch.empty_strided(self.size(), stride, dtype=dtype, device="meta")
            return _place(like, device_layout, self).copy_(self, non_blocking)
        return to

    _wrap(torch.Tensor, "to", make)


def _factory(before, fill):
    """A function that makes tensors, with device_layout=. Its arguments are read by PyTorch itself, on meta."""
    def factory(*args, device_layout=None, **kwargs):
        if device_layout is None:
            return before(*args, **kwargs)
        device = kwargs.pop("device", None)
        requires_grad = kwargs.pop("requires_grad", False)
        if device is None:
            device = args[0].device if args and isinstance(args[0], torch.Tensor) else torch.get_default_device()
        if not _on_spyre(device):
            raise ValueError(f"device_layout needs the device spyre, not {device}")
        made = _place(before(*args, device="meta", **kwargs), device_layout)
        value = fill(args, kwargs)
        if value is not None:
            made.fill_(value)
        return made.requires_grad_(requires_grad)
    return factory


def _contiguous_only(before):
    """torch-spyre's rule, and its words, for a tensor that is asked for."""
    def empty(*args, memory_format=torch.contiguous_format, **kwargs):
        if memory_format in (torch.contiguous_format, torch.preserve_format):
            return before(*args, **kwargs)
        if _on_spyre(kwargs.get("device") or torch.get_default_device()):
            raise RuntimeError(f"Spyre backend only supports contiguous memory format, not {memory_format}")
        return before(*args, memory_format=memory_format, **kwargs)
    return empty


def _fill_value(args, kwargs):
    """The value of full(size, value) and new_full(self, size, value): the last positional one."""
    return kwargs["fill_value"] if "fill_value" in kwargs else args[-1]


_FACTORIES = {
    "empty": lambda args, kwargs: None, "empty_strided": lambda args, kwargs: None,
    "zeros": lambda args, kwargs: 0, "ones": lambda args, kwargs: 1, "full": _fill_value,
    "empty_like": lambda args, kwargs: None, "zeros_like": lambda args, kwargs: 0, "ones_like": lambda args, kwargs: 1,
    "full_like": _fill_value,
}
_METHODS = {
    "new_empty": lambda args, kwargs: None, "new_empty_strided": lambda args, kwargs: None,
    "new_zeros": lambda args, kwargs: 0, "new_ones": lambda args, kwargs: 1, "new_full": _fill_value,
}


@_patch
def factories_with_layout():
    """torch.empty(..., device_layout=...) and its like."""
    from torch.utils._device import _device_constructors
    _device_constructors()  # remembers the functions as they are; it must not see ours
    for name, fill in _FACTORIES.items():
        _wrap(torch, name, functools.partial(_factory, fill=fill))
    _wrap(torch, "empty", _contiguous_only)
    for name in _FACTORIES:
        if name.endswith("_like"):
            _wrap(torch, name, _for_subclasses)
    for name in _FACTORIES:  # torch.jit.script knows PyTorch's functions as objects
        torch.jit._builtins._register_builtin(getattr(torch, name), f"aten::{name}")
    for name, fill in _METHODS.items():
        _wrap(torch.Tensor, name, functools.partial(_factory, fill=fill))


@_patch
def clone_with_layout():
    """x.clone(device_layout=...) and x.contiguous(device_layout=...)."""
    def clone(before):
        def method(self, *args, device_layout=None, **kwargs):
            if device_layout is None:
                return before(self, *args, **kwargs)
            return self.to(self.device, device_layout=device_layout, copy=True)
        return method

    def contiguous(before):
        def method(self, *args, device_layout=None, **kwargs):
            made = before(self, *args, **kwargs)
            return made if device_layout is None else made.to(made.device, device_layout=device_layout)
        return method

    _wrap(torch.Tensor, "clone", clone)
    _wrap(torch.Tensor, "contiguous", contiguous)


@_patch
def printing():
    """A tensor prints from one copy on the CPU, and not from twenty operations, some in float64, of the device."""
    def make(before):
        def text(self, *, tensor_contents=None):
            if not is_spyre(self) or type(self).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
                return before(self, tensor_contents=tensor_contents)
            if torch._C._functorch.is_functorch_wrapped_tensor(self):
                return before(self, tensor_contents=tensor_contents)
            with torch._C.DisableTorchFunctionSubclass():
                copy = self.detach().cpu()
                copy = copy if isinstance(self, torch.nn.Parameter) else copy.as_subclass(type(self))
            said = before(copy, tensor_contents=tensor_contents)
            suffix = f", device='{self.device}'"
            if self.grad_fn is not None:
                suffix += f", grad_fn=<{type(self.grad_fn).__name__}>"
            elif self.requires_grad:
                suffix += ", requires_grad=True"
            return said[:-1] + suffix + ")"
        return text

    _wrap(torch._tensor_str, "_str", make)


# ---- keeping the layout ------------------------------------------------------------------------

_STATE, _CODES = "_spyre_layout", "_spyre_codes"
_restoring = threading.local()  # .layout: the layout of the tensor that is read now comes later


@_patch
def saving():
    """torch.save and pickle write host elements, which any PyTorch reads; the layout travels as state beside them, and
    so do the bytes of the device where its numbers are beyond the host's type."""
    def reduce(before):
        def reduce_ex(self, proto):
            numbers = _core._spyre_describe(memory.key(self)) if type(self) is torch.Tensor and is_spyre(self) else None
            if numbers is None:
                return before(self, proto)
            self.__dict__[_STATE] = numbers
            codes = memory.codes_beyond_host(self) if self.dtype in memory.ONE_CODE else None
            if codes is not None:
                self.__dict__[_CODES] = codes.decode("latin-1")  # bytes are not what weights_only reads
            try:
                return before(self, proto)
            finally:
                # What was returned holds a copy of the dictionary.
                del self.__dict__[_STATE]
                self.__dict__.pop(_CODES, None)
        return reduce_ex

    def rebuild(before):
        def rebuild_from_type_v2(func, new_type, args, state):
            if not isinstance(state, dict) or _STATE not in state:
                return before(func, new_type, args, state)
            state = dict(state)
            numbers, codes = state.pop(_STATE), state.pop(_CODES, None)
            _restoring.layout = True
            try:
                made = before(func, new_type, args, state)
            finally:
                _restoring.layout = False
            if is_spyre(made):
                _restore(made, numbers)
                if codes is not None:
                    _core._spyre_set_device_bytes(memory.key(made), codes.encode("latin-1"))
            return made
        return rebuild_from_type_v2

    def with_own_state(before):
        def reduce_ex(self, proto):
            made = before(self, proto)
            if made[0] is torch._tensor._rebuild_from_type_v2 and isinstance(made[1][3], dict):
                func, new_type, args, state = made[1]
                made = (made[0], (func, new_type, args, dict(state)), *made[2:])
            return made
        return reduce_ex

    _wrap(torch.Tensor, "__reduce_ex__", with_own_state)
    _wrap(torch.Tensor, "__reduce_ex__", reduce)
    _wrap(torch._tensor, "_rebuild_from_type_v2", rebuild)


@_patch
def loading():
    """torch.load(a file of another device, map_location="spyre") gives storages of host bytes: they become tensors."""
    def make(before):
        def rebuild(*args, **kwargs):
            made = before(*args, **kwargs)
            if type(made) is torch.Tensor and is_spyre(made) and not getattr(_restoring, "layout", False):
                _settle(made)
            return made
        return rebuild

    _wrap(torch._utils, "_rebuild_tensor", make)
    _wrap(torch._utils, "_rebuild_tensor_v3", make)


def _settle(tensor):
    """A storage of host bytes gets the default layout: of the tensor if that is all of it, and else of its elements in
    a line."""
    key, nbytes = memory.key(tensor), tensor.untyped_storage().nbytes()
    if _core._spyre_describe(key) is not None or nbytes == 0:
        return
    size, stride, item = tensor.size(), tensor.stride(), tensor.element_size()
    if tensor.numel() * item != nbytes or tuple(memory.dense_strides(tensor)) != tuple(stride):
        size, stride = (nbytes // item,), (1,)
    _core._spyre_set_layout(key, size, stride, tensor.dtype, None)


def _restore(tensor, numbers):
    device_size, stride_map, dtype, arrangement, size, stride, host_dtype = numbers
    from tegula._spyre_names import DataFormats, ElementArrangement
    layout = _core.SpyreTensorLayout(device_size, stride_map, DataFormats(dtype), ElementArrangement(arrangement))
    if _core._spyre_describe(memory.key(tensor)) != tuple(numbers):
        _core._spyre_set_layout(memory.key(tensor), size, stride, host_dtype, layout)


# ---- raw pointers ------------------------------------------------------------------------------


_TILED = ("the memory of a tensor on spyre is tiled, and DLPack cannot say how; take x.cpu(), or ask x.__dlpack__ for "
          "dl_device=(1, 0), the CPU")


@_patch
def dlpack():
    """x.__dlpack__() would hand tiled memory to somebody who reads it with host strides."""
    def export(before):
        def method(self, *args, dl_device=None, **kwargs):
            if not is_spyre(self):
                return before(self, *args, dl_device=dl_device, **kwargs)
            if dl_device is not None and tuple(map(int, dl_device)) == (1, 0):
                kwargs.pop("copy", None)  # it is one
                return self.detach().cpu().__dlpack__(*args, **kwargs)
            raise BufferError(_TILED)
        return method

    def device(before):
        def method(self):
            return (12, 0) if is_spyre(self) else before(self)  # kDLExtDev
        return method

    def capsule(before):
        def function(tensor, *args, **kwargs):
            if is_spyre(tensor):
                raise BufferError(_TILED)
            return before(tensor, *args, **kwargs)
        return function

    _wrap(torch.Tensor, "__dlpack__", export)
    _wrap(torch.Tensor, "__dlpack_device__", device)
    for owner, name in ((torch, "to_dlpack"), (torch.utils.dlpack, "to_dlpack"), (torch._C, "_to_dlpack"),
                        (torch._C, "_to_dlpack_versioned")):
        _wrap(owner, name, capsule)


# ---- what PyTorch does for accelerators --------------------------------------------------------


def _ours(device):
    """Whether a function of torch.accelerator is asked about the device, or about none that it names."""
    current = torch.accelerator.current_accelerator()
    return current is not None and current.type == "spyre" and (device is None or isinstance(device, int)
                                                                or _on_spyre(device))


def _no_memory_info(device=None):
    raise NotImplementedError("the memory of the simulated device is that of the machine; "
                              "torch.spyre.memory_allocated() tells what is in use")


@_patch
def accelerator():
    """torch.accelerator.synchronize() raises, a question about memory is an internal error, and empty_host_cache()
    ends the process: a device made from Python has no events and no allocator."""
    spyre = torch.spyre
    table = {
        "synchronize": spyre.synchronize,
        "set_device_index": spyre.set_device, "set_device_idx": spyre.set_device,
        "empty_cache": lambda device=None: spyre.empty_cache(), "empty_host_cache": lambda device=None: None,
        "memory_allocated": spyre.memory_allocated, "memory_reserved": spyre.memory_allocated,
        "max_memory_allocated": spyre.max_memory_allocated, "max_memory_reserved": spyre.max_memory_allocated,
        "reset_peak_memory_stats": spyre.reset_peak_memory_stats,
        "memory_stats": spyre.memory_stats, "get_memory_info": _no_memory_info,
        "reset_accumulated_memory_stats": _no_memory_info,
    }

    def make(ours):
        def replace(before):
            def function(device=None, /):
                if _ours(device):
                    return ours(device)
                return before() if device is None else before(device)
            return function
        return replace

    for name, ours in table.items():
        for owner in (torch.accelerator, torch.accelerator.memory):
            if hasattr(owner, name):
                _wrap(owner, name, make(ours))


def _wanted(tensor, device):
    """The device that memory is pinned for; None where a subclass has its own answer."""
    if torch.overrides.has_torch_function_unary(tensor):
        return None
    return device if device is not None else torch.accelerator.current_accelerator()


@_patch
def pinning():
    """x.pin_memory() and DataLoader(pin_memory=True) raise: there is no allocator of pinned memory, nor a need."""
    def pin(before):
        def method(self, device=None):
            wanted = _wanted(self, device)
            return self if _on_spyre(wanted) else before(self) if device is None else before(self, device)
        return method

    def pinned(before):
        def method(self, device=None):
            wanted = _wanted(self, device)
            return False if _on_spyre(wanted) else before(self) if device is None else before(self, device)
        return method

    _wrap(torch.Tensor, "pin_memory", pin)
    _wrap(torch.Tensor, "is_pinned", pinned)


@_patch
def tracing():
    """torch.jit.trace compares what it made with the function in float64, which the device has not."""
    import torch.jit._trace as trace

    def make(before):
        def check(*args, **kwargs):
            try:
                return before(*args, **kwargs)
            except RuntimeError as error:
                if "Spyre backend does not support dtype torch.float64" not in str(error):
                    raise
        return check

    _wrap(trace, "_check_trace", make)


@_patch
def grad_scaler():
    """GradScaler("spyre") takes the reciprocal of its scale in float64, which the device has not: the CPU does that."""
    def make(before):
        def unscale_(self, optimizer):
            scale = self._scale
            if scale is None or not is_spyre(scale):
                return before(self, optimizer)
            self._scale = scale.cpu()
            try:
                return before(self, optimizer)
            finally:
                self._scale = scale
        return unscale_

    _wrap(torch.amp.GradScaler, "unscale_", make)


# ---- other processes ---------------------------------------------------------------------------


_NOT_SHARED = ("a tensor on spyre cannot go to another process, since its memory is not shared; send x.cpu(), and move "
               "it to the device where it arrives")


def _holds_spyre(batch):
    leaves = torch.utils._pytree.tree_leaves(batch)
    inside = [list(getattr(leaf, "__dict__", {}).values()) for leaf in leaves if not isinstance(leaf, torch.Tensor)]
    return any(map(is_spyre, leaves)) or any(map(is_spyre, torch.utils._pytree.tree_leaves(inside)))


@_patch
def sharing():
    """A queue between processes refuses a tensor in a thread of its own: whoever waits for it, as DataLoader does for
    its workers, would wait forever. So workers refuse what they have fetched."""
    from multiprocessing.reduction import ForkingPickler
    from torch.utils.data._utils import fetch as fetching

    def refusing(before):
        def reduce(tensor):
            if is_spyre(tensor):
                raise RuntimeError(_NOT_SHARED)
            return before(tensor)
        return reduce

    def checked(before):
        def fetch(self, index):
            batch = before(self, index)
            if torch.utils.data.get_worker_info() is not None and _holds_spyre(batch):
                raise RuntimeError(f"{_NOT_SHARED}. Or let DataLoader have num_workers=0")
            return batch
        return fetch

    reductions = torch.multiprocessing.reductions
    _wrap(reductions, "reduce_tensor", refusing)
    for kind in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, reductions.reduce_tensor)
    _wrap(fetching._MapDatasetFetcher, "fetch", checked)
    _wrap(fetching._IterableDatasetFetcher, "fetch", checked)


# ---- modules -----------------------------------------------------------------------------------


@_patch
def module_apply():
    """Module.to("spyre") must keep its Parameters: else tied weights come apart, and an optimizer that was made
    before holds the old ones."""
    from tegula.torch import modules
    _wrap(torch.nn.Module, "_apply", modules.apply)


def install():
    for patch in list(INSTALLED):
        patch()
    from tegula.torch import fake
    fake.install_when_loaded()
