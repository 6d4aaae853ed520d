"""What PyTorch's fake kernels say of results on the device is what its kernels make, for all that the operator samples
run: a graph is planned for the sizes that a fake has, and many fakes ask which device it is."""
import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

import opinfo
from conftest import LONG

SAMPLES = 4 if LONG else 1
DECOMPOSED = {  # with other statistics in evaluation, by a test of the device; compiled graphs never have them whole
    "aten.native_batch_norm.default", "aten._native_batch_norm_legit.default"}


def described(values):
    return [(value.dtype, list(value.size())) for value in tree_leaves(values) if isinstance(value, torch.Tensor)]


class Compare(TorchDispatchMode):
    """`wrong`: operation, and what its fake and the kernel gave."""

    def __init__(self):
        super().__init__()
        self.ran, self.wrong = set(), {}

    def fake(self, op, args, kwargs):
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        args, kwargs = tree_map(lambda v: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v, (args, kwargs))
        with mode:
            return described(op(*args, **kwargs))

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs, told = kwargs or {}, None
        if any(isinstance(v, torch.Tensor) and v.device.type == "spyre" for v in tree_leaves((args, kwargs))):
            try:
                told = self.fake(op, args, kwargs)
            except (DataDependentOutputException, DynamicOutputShapeException, RuntimeError):
                pass  # sizes that numbers decide, and what the device refuses
        made = op(*args, **kwargs)
        if told is not None:
            self.ran.add(str(op))
            if told != described(made) and str(op) not in DECOMPOSED:
                self.wrong[str(op)] = told, described(made)
        return made


@pytest.mark.filterwarnings("ignore")
def test_fakes_have_the_sizes_of_results():
    compare = Compare()
    for entry in opinfo.entries().values():
        if opinfo.is_left_out(entry) or torch.float32 not in entry.dtypes:
            continue
        for _, sample in zip(range(SAMPLES), entry.sample_inputs("cpu", torch.float32, requires_grad=False)):
            given = sample.input, sample.args, sample.kwargs
            if opinfo.unfit(tree_leaves(given)) is None:
                _run(compare, entry, *tree_map(opinfo.to_device, given))
    assert compare.wrong == {} and len(compare.ran) > 350


def _run(compare, entry, first, args, kwargs):
    """What the device refuses is for test_operators.py."""
    try:
        with compare:
            entry.op(first, *args, **kwargs)
    except (RuntimeError, OverflowError, TypeError):
        pass
