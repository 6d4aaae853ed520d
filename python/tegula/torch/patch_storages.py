"""Storages: making them, and copies of what has one. PyTorch has no allocator for a device made from Python."""
import torch

from tegula.torch import memory
from tegula.torch.memory import is_spyre
from tegula.torch.patching import on_spyre, patch, wrap


@patch
def storage_new():
    """torch.UntypedStorage(n, device="spyre") and storage.new() end the process: PyTorch finds no allocator."""
    storage = torch.UntypedStorage
    original = storage.__new__

    def new(cls, *args, device=None, **kwargs):
        if not on_spyre(device):
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

    wrap(storage, "new", fresh)


@patch
def storage_clone():
    """A copy of a storage, which is what copy.deepcopy makes of a tensor, keeps the layout."""
    def make(before):
        def clone(self):
            return memory.clone_storage(self) if self.device.type == "spyre" else before(self)
        return clone

    wrap(torch.UntypedStorage, "clone", make)


@patch
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

    wrap(torch.nn.Parameter, "__deepcopy__", make)


def _in_a_mode(tensor):
    from tegula.torch import fake
    return fake.mode_for(tensor) is not None
