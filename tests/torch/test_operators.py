"""PyTorch's own operator samples: each operator on the device against the CPU, values, types, sizes and gradients.

A bounded set of samples here; `make check-torch-long` takes as many as there are.
"""
import pytest
import torch

import opinfo
from writes import Watch

ENTRIES = {name: entry for name, entry in sorted(opinfo.entries().items()) if not opinfo.is_left_out(entry)}
SAMPLES = 2
compared = {}


@pytest.mark.parametrize("name", ENTRIES)
def test_operator(name):
    """Watched: an argument that a kernel writes, and the device would not get, is a failure."""
    entry = ENTRIES[name]
    with Watch():
        _run(entry, name)
    if not compared.get(name):
        pytest.skip("no sample can be on the device: complex or 64-bit numbers, or results without numbers")


def _run(entry, name):
    for dtype in (torch.float32, torch.float16, torch.int32, torch.int64):
        if dtype in entry.dtypes:
            count, _, failure = opinfo.run_entry(entry, dtype, SAMPLES)
            assert failure is None, f"{dtype}: {failure}"
            compared[name] = compared.get(name, 0) + count
    if entry.supports_autograd and torch.float32 in entry.dtypes:
        _, _, failure = opinfo.run_gradients(entry, 1)
        assert failure is None, f"gradients: {failure}"


def test_left_out_with_a_reason():
    """The list of what is left out names operators that exist, and does not grow over the rest."""
    names = {entry.name for entry in opinfo.entries().values()}
    for listed in opinfo.LEFT_OUT.values():
        assert listed <= names
    assert len(ENTRIES) > 600
