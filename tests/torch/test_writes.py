"""Every argument that an operation writes is written on the device: writes.py tells how that is seen.

The operators of OpInfo are watched in test_operators.py; here are those that it has not: lists of tensors, fused
optimizers, modules with state, and what the schemas themselves say.
"""
import warnings

import pytest
import torch
from torch.testing._internal.common_methods_invocations import (
    foreach_binary_op_db, foreach_other_op_db, foreach_pointwise_op_db, foreach_reduce_op_db, foreach_unary_op_db)
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db
from torch.utils._pytree import tree_leaves, tree_map

import opinfo
from tegula.torch import fallback
from writes import Watch, Watching

FOREACH = {entry.name: entry for db in (foreach_unary_op_db, foreach_binary_op_db, foreach_pointwise_op_db,
                                        foreach_reduce_op_db, foreach_other_op_db) for entry in db}


@pytest.fixture(autouse=True)
def _watched():
    with warnings.catch_warnings(), Watch():
        warnings.simplefilter("ignore")
        yield


def _moved(device):
    return lambda v: v.detach().to(device, copy=True) if isinstance(v, torch.Tensor) else v


def test_the_watch_sees_what_is_lost(monkeypatch):
    """native_batch_norm writes the running statistics, and its schema does not say so."""
    x, mean, var = torch.rand(4, 3, device="spyre"), torch.zeros(3, device="spyre"), torch.ones(3, device="spyre")
    torch.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5)
    monkeypatch.setattr(fallback, "_UNMARKED", {})
    monkeypatch.setattr(fallback, "_known", {})
    said = r"native_batch_norm.* writes arguments of sizes \[\[3\], \[3\]\]"
    with pytest.raises(AssertionError, match=said), Watch():
        torch.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5)


@pytest.mark.parametrize("name", sorted(FOREACH))
def test_lists_of_tensors(name):
    """Both forms, against the CPU: what is returned, and what is written."""
    entry = FOREACH[name]
    compared = 0
    for sample in entry.sample_inputs("cpu", torch.float32, noncontiguous=False):
        inputs = (sample.input, sample.args, {k: v for k, v in sample.kwargs.items() if k != "disable_fastpath"})
        if opinfo.unfit(tree_leaves(inputs)):
            continue
        for op in filter(None, (entry.method_variant, entry.inplace_variant)):
            found = []
            for device in ("cpu", "spyre"):
                moved = tree_map(_moved(device), inputs)
                try:
                    results = op(moved[0], *moved[1], **moved[2])
                except RuntimeError as error:
                    if device == "cpu" or "does not support dtype" in str(error):
                        break
                    raise
                found.append(([r.cpu() for r in tree_leaves(results) if isinstance(r, torch.Tensor)],
                              [t.cpu() for t in moved[0]]))
            if len(found) == 2 and not opinfo.unfit(tree_leaves(found)):
                torch.testing.assert_close(found[1], found[0], equal_nan=True)
                compared += 1
        if compared > 6:
            break
    assert compared > 0


def _trained(entry, device, kwargs):
    torch.manual_seed(0)
    model = torch.nn.Linear(5, 3, bias=False).to(device)
    optimizer = entry.optim_cls(model.parameters(), **kwargs)
    for step in range(3):
        optimizer.zero_grad()
        torch.manual_seed(step)
        model(torch.rand(4, 5).to(device)).square().sum().backward()
        optimizer.step(*([lambda: model(torch.ones(1, 5, device=device)).sum()] if entry.step_requires_closure else []))
    state = [v for s in optimizer.state.values() for v in tree_leaves(s) if isinstance(v, torch.Tensor)]
    return [t.detach().cpu() for t in (*model.parameters(), *state)]


OPTIMIZERS = [(entry, way) for entry in optim_db for way in ("for-loop", "foreach", "fused")
              if (way != "foreach" or "foreach" in entry.supported_impls)
              and (way != "fused" or "fused" in entry.supported_impls and "cpu" in entry.supports_fused_on)]


@pytest.mark.parametrize("entry, way", OPTIMIZERS, ids=lambda v: v if isinstance(v, str) else v.optim_cls.__name__)
def test_optimizers(entry, way):
    if entry.only_supports_sparse_grads:
        pytest.skip("sparse gradients, which the device has not")
    how = {} if way == "for-loop" else {way: True}
    for options in entry.optim_inputs_func(device="cpu"):
        kwargs = {**options.kwargs, **how}
        if any(isinstance(v, torch.Tensor) for v in tree_leaves(kwargs)) or "capturable" in kwargs:
            continue
        on_cpu, on_device = _trained(entry, "cpu", kwargs), _trained(entry, "spyre", kwargs)
        torch.testing.assert_close(on_device, on_cpu, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("entry", module_db, ids=lambda entry: entry.name)
def test_modules(entry, training):
    """Results, and the buffers afterwards."""
    compared = 0
    for sample in entry.module_inputs_func(entry, "cpu", torch.float32, requires_grad=False, training=training):
        made, given = sample.constructor_input, sample.forward_input
        if given is None or opinfo.unfit(tree_leaves((given.args, given.kwargs))):
            continue
        found = []
        for device in ("cpu", "spyre"):
            torch.manual_seed(0)
            module = entry.module_cls(*made.args, **made.kwargs).train(training)
            move = _moved(device)
            torch.manual_seed(1)
            try:
                results = module.to(device)(*tree_map(move, given.args), **tree_map(move, given.kwargs))
            except RuntimeError as error:
                if device == "cpu" or "does not support dtype" in str(error):
                    break
                raise
            found.append([t.detach().cpu() for t in (*tree_leaves(results), *module.buffers())
                          if isinstance(t, torch.Tensor)])
        if len(found) == 2:
            torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-4, equal_nan=True)
            compared += 1
        if compared == 4:
            break


def _observer(move):
    state = [move(torch.ones(1)) for _ in range(3)]
    on, zero_point = move(torch.ones(1, dtype=torch.int32)), move(torch.zeros(1, dtype=torch.int32))
    made = torch.ops.aten._fused_moving_avg_obs_fq_helper(
        move(torch.arange(6.0)), on, on, *state, zero_point, 0.5, 0, 255, 0, False, False)
    return [*made, *state, zero_point]


def _embedding(move):
    weight = move(torch.arange(12.0).view(4, 3))
    return [torch.nn.functional.embedding(move(torch.tensor([1, 3])), weight, max_norm=1.0), weight]


def _noise(move):
    torch.manual_seed(0)
    noise = move(torch.zeros(6))
    return [torch.ops.aten.rrelu_with_noise(move(torch.arange(6.0) - 3), noise, 0.1, 0.3, True), noise]


def _statistics(norm):
    def run(move):
        x, mean, variance = move(torch.arange(12.0).view(4, 3)), move(torch.zeros(3)), move(torch.ones(3))
        return [*norm(x, mean, variance), mean, variance]
    return run


def _into(op, count, *args):
    def run(move):
        out = [move(torch.empty(0)) for _ in range(count)]
        op(*[move(a) if isinstance(a, torch.Tensor) else a for a in args], out=out)
        return out
    return run


aten = torch.ops.aten
ODD = {
    "observer": _observer, "embedding_renorm_": _embedding, "rrelu": _noise,
    "native_batch_norm": _statistics(lambda x, m, v: aten.native_batch_norm(x, None, None, m, v, True, 0.1, 1e-5)),
    "legit": _statistics(lambda x, m, v: aten._native_batch_norm_legit(x, None, None, m, v, True, 0.1, 1e-5)),
    "with_update": _statistics(lambda x, m, v: aten._batch_norm_with_update(x, None, None, m, v, 0.1, 1e-5)[:3]),
    "batch_norm_update_stats": _statistics(lambda x, m, v: aten.batch_norm_update_stats(x, m, v, 0.1)),
    "instance_norm": _statistics(lambda x, m, v: [torch.instance_norm(x[..., None].expand(4, 3, 2), None, None, m, v,
                                                                      True, 0.1, 1e-5, False)]),
    "out lists": _into(torch.unbind_copy, 2, torch.arange(6.0).view(2, 3)),
    "slogdet": _into(torch.linalg.slogdet, 2, 3 * torch.eye(3)),
}


@pytest.mark.parametrize("name", ODD)
def test_arguments_that_are_written(name):
    on_cpu = ODD[name](lambda x: x)
    on_device = ODD[name](lambda x: x.to("spyre"))
    assert all(t.device.type == "spyre" for t in on_device if t.numel())
    torch.testing.assert_close([t.cpu() for t in on_device], on_cpu, check_dtype=False)


def test_statistics_are_not_written_in_evaluation(monkeypatch):
    norm, x = torch.nn.BatchNorm1d(3).to("spyre").eval(), torch.rand(4, 3, device="spyre")
    store, stored = Watching.store, []
    monkeypatch.setattr(Watching, "store", lambda self, tensor: (stored.append(tensor), store(self, tensor)))
    norm(x)
    assert stored == []
    norm.train()(x)
    assert len(stored) == 3  # two statistics, and the batches that were seen


def test_schemas_with_statistics():
    """The operations that take running statistics and do not say that they write them, and have a kernel of the CPU."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    found = set()
    for qualified in torch._C._dispatch_get_all_op_names():
        name, _, overload = qualified.partition(".")
        if has(qualified, "CPU") and not name.endswith("_backward"):
            arguments = torch._C._get_schema(name, overload).arguments
            if any(a.name.startswith("running_") and a.alias_info is None for a in arguments):
                found.add(name.removeprefix("aten::"))
    assert found == set(fallback._UNMARKED)
