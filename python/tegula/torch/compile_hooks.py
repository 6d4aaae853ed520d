"""What torch.compile has to be told of the device: each hook into PyTorch that is not public is here.

fake.py puts them in when the modules that they change are loaded.
"""
import functools


def patch_registry(module):
    """The name "spyre" among the backends of torch.compile; torch.compiler.list_backends() shows it."""
    def spyre(graph, example_inputs, **options):
        from tegula.torch.compile_backend import backend
        return backend(graph, example_inputs, **options)

    if "spyre" not in module._COMPILER_FNS:
        module.register_backend(spyre, name="spyre")


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


def patch_eval_frame(module):
    """PyTorch asks our device guard for its type while a graph runs; Dynamo would compile that question, too."""
    from tegula.torch import device
    module.skip_code(device._Guard.type_.__code__)


PATCHES = {
    "torch._dynamo.eval_frame": patch_eval_frame,
    "torch._dynamo.backends.registry": patch_registry,
    "torch._inductor.compile_fx": patch_compile_fx,
}
