"""Moving modules to the device, or from it.

PyTorch moves a Parameter by giving it other data where both devices are of its own (`.data =`), and else by a new
Parameter, which would part tied weights and leave an optimizer with the old ones. Its third way, swapping what two
tensors stand for (torch.utils.swap_tensors), keeps the Parameter, but refuses while anything knows of it: a forward
result that is alive, or a weak reference. So modules came apart, half moved.

Here what they stand for is swapped, whoever knows of them: the Parameter stays the object that it is, and what a
forward pass has kept stays what it was. Its backward pass would leave the gradient where nobody looks, so it raises.
"""
import torch
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

from tegula.torch.patching import patch, wrap


def _poison(parameter):
    """A backward pass of results from before the move is an error."""
    if parameter.requires_grad and parameter.is_leaf and parameter._use_count() > 1:
        def refuse(gradients):
            raise RuntimeError("backward reached a Parameter that has been moved since the forward pass; run forward "
                               "again, or move the module before it")
        torch.autograd.graph.get_gradient_edge(parameter).node.register_prehook(refuse)


def _exchange(tensor, moved):
    """The tensor stands for what `moved` does from now on; hooks stay with it."""
    hooks, later_hooks = tensor._backward_hooks, tensor._post_accumulate_grad_hooks
    _poison(tensor)
    torch._C._swap_tensor_impl(tensor, moved.requires_grad_(tensor.requires_grad))
    if hooks is not None:
        tensor._backward_hooks = hooks
    if later_hooks is not None:
        tensor._post_accumulate_grad_hooks = later_hooks


def _tensors(module):
    for part in module.modules():
        for parameter in part._parameters.values():
            if parameter is not None:
                yield parameter
                if parameter.grad is not None:
                    yield parameter.grad
        yield from (buffer for buffer in part._buffers.values() if buffer is not None)


class _Move:
    """What Module._apply of a module and of all its parts is given in place of the function that converts a tensor."""

    def __init__(self, convert):
        self.convert = convert
        self.done = {}   # id: a Parameter that has been moved
        self.ahead = {}  # id: (tensor, what it becomes)

    def __call__(self, tensor):
        with torch.no_grad():
            return self.ahead.pop(id(tensor))[1] if id(tensor) in self.ahead else self.convert(tensor)

    def check(self, module):
        """What can fail fails before anything is moved: types without a format, and numbers without a place."""
        with torch.no_grad():
            for tensor in _tensors(module):
                if tensor.dtype == torch.int64:
                    self.ahead[id(tensor)] = tensor, self.convert(tensor)
                else:
                    self.convert(torch.empty(0, dtype=tensor.dtype, device=tensor.device))

    def lazy(self, tensor):
        """One of LazyModule, which has no size yet: it is told where it will be."""
        moved = self.convert(torch.empty(0, dtype=tensor.dtype, device=tensor.device))
        made = type(tensor)(requires_grad=tensor.requires_grad, device=moved.device, dtype=moved.dtype)
        torch._C._swap_tensor_impl(tensor, made)

    def parameter(self, parameter):
        if id(parameter) in self.done:  # tied to one of another part
            return
        self.done[id(parameter)] = parameter
        if is_lazy(parameter):
            self.lazy(parameter)
            return
        moved, gradient = self(parameter), parameter.grad
        if moved is parameter:
            return
        if gradient is not None:
            parameter.grad = None
            _exchange(gradient, self(gradient).detach())
        _exchange(parameter, moved.detach())
        parameter.grad = gradient

    def run(self, module, recurse):
        if recurse:
            for child in module.children():
                child._apply(self)
        for parameter in module._parameters.values():
            if parameter is not None:
                self.parameter(parameter)
        for name, buffer in module._buffers.items():
            if is_lazy(buffer):
                self.lazy(buffer)
            elif buffer is not None:
                module._buffers[name] = self(buffer)
        return module


def _converted(convert):
    """What becomes of a tensor, or None where the conversion is not for such ones: that is PyTorch's affair."""
    with torch.no_grad():
        try:
            return convert(torch.empty(0))
        except Exception:
            return None


def _moves_here(module, convert):
    """Whether a conversion of a module comes to the device, or leaves it."""
    if any(p.device.type == "spyre" for p in module.parameters()):
        return True
    made = _converted(convert)
    return isinstance(made, torch.Tensor) and made.device.type == "spyre"


def _plain(module, convert):
    """Tensors are plain ones: a class of somebody else's, or FakeTensor, knows itself how it is moved."""
    kinds = (torch.nn.Parameter, torch.Tensor, UninitializedParameter, UninitializedBuffer)
    return (all(type(t) in kinds for t in _tensors(module))
            and type(_converted(convert)) in (torch.Tensor, type(None)))


def _swapping(before, module, convert, recurse):
    """PyTorch's own way to keep Parameters, which is a setting of the whole process."""
    future = torch.__future__
    future.set_swap_module_params_on_conversion(True)
    try:
        return before(module, convert, recurse)
    finally:
        future.set_swap_module_params_on_conversion(False)


def _apply(before):
    """Module._apply, for modules that come to the device or leave it."""
    def method(self, fn, recurse=True):
        if isinstance(fn, _Move):
            return fn.run(self, recurse)
        if torch.__future__.get_swap_module_params_on_conversion() or not _moves_here(self, fn):
            return before(self, fn, recurse)
        if not _plain(self, fn):
            return _swapping(before, self, fn, recurse)
        move = _Move(fn)
        move.check(self)
        return move.run(self, recurse)
    return method


@patch
def module_apply():
    """Module.to("spyre") must keep its Parameters: else tied weights come apart, and an optimizer that was made
    before holds the old ones."""
    wrap(torch.nn.Module, "_apply", _apply)
