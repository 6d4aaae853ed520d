"""What torch.compile has to be told of the device: each hook into PyTorch that is not public is here.

fake.py puts them in when the modules that they change are loaded.
"""
import functools
import types


def patch_registry(module):
    """The names "spyre" and "spyre-inductor" among the backends of torch.compile; torch.compiler.list_backends() shows
    them."""
    def spyre(graph, example_inputs, **options):
        from tegula.torch.compile_backend import backend
        return backend(graph, example_inputs, **options)

    def inductor(graph, example_inputs, **options):
        from tegula.torch.inductor_backend import backend
        return backend(graph, example_inputs, **options)

    for name, function in (("spyre", spyre), ("spyre-inductor", inductor)):
        if name not in module._COMPILER_FNS:
            module.register_backend(function, name=name)


def patch_compile_fx(module):
    """Inductor, the default backend, has no code for the device: graphs that have to do with it are ours."""
    before = module.compile_fx

    @functools.wraps(before)
    def compile_fx(model_, example_inputs_, *args, **kwargs):
        from tegula.torch import compile_backend
        if compile_backend.concerns_spyre(model_, example_inputs_):
            return compile_backend.backend(model_, example_inputs_)
        return before(model_, example_inputs_, *args, **kwargs)

    module.compile_fx = compile_fx


def _codes(code):
    yield code
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _codes(value)


def _functions(module):
    """All functions of a module, those of its classes included."""
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, types.FunctionType):
            yield value
        elif isinstance(value, type):
            yield from (method for method in vars(value).values() if isinstance(method, types.FunctionType))


def patch_eval_frame(module):
    """PyTorch calls the device's kernels, which are Python, while Dynamo watches what Python runs: between two graphs
    it would compile them, and all that they call."""
    from tegula.torch import autocast, cells, device, fallback, kernels, operations
    skip = module.FrameExecStrategy(module.FrameAction.SKIP, module.FrameAction.SKIP)
    entries = [f for part in (autocast, cells, device, fallback, kernels) for f in _functions(part)]
    for function in [*entries, operations._hint_on_device]:
        for code in _codes(function.__code__):
            module.set_code_exec_strategy(code, skip)


PATCHES = {
    "torch._dynamo.eval_frame": patch_eval_frame,
    "torch._dynamo.backends.registry": patch_registry,
    "torch._inductor.compile_fx": patch_compile_fx,
}
