"""PyTorch's own operator samples (torch.testing._internal) on the device against the CPU.

The reference runs on the CPU with what the device holds: the same inputs after their rounding to the device's formats.
What it gives is then compared, with room for the rounding of results in between (DLFloat16 has 9 fraction bits).
"""
import functools
import json
import sys
import time
import warnings

import quick  # noqa: F401
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core
from torch.utils._pytree import tree_leaves, tree_map

# PyTorch looks for the unittest.TestCase that takes the samples, twice a sample, by reading the source of every frame:
# under pytest 30 ms each, for a test that is none.
common_utils.extract_test_fn = core.extract_test_fn = lambda: None

TOLERANCE = {torch.float16: (2e-2, 2e-2), torch.bfloat16: (6e-2, 6e-2), torch.float32: (2e-5, 1e-5)}

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.bool)

# Why an operation has no comparison here. Each is a fact of the device, or of the operation.
LEFT_OUT = {
    "no numbers to compare": {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty",
                              "new_empty_strided", "resize_", "resize_as_"},
    "the sample is a view, which a copy on the device is not": {"as_strided"},
    "for CUDA alone": {"jiterator_2inputs_2outputs", "jiterator_4inputs_with_extra_args", "jiterator_binary",
                       "jiterator_binary_return_by_ref", "jiterator_unary"},
    "takes a tensor of the CPU": {"tensor_split"},
    "a step in between is beyond DLFloat16, in bfloat16": {"nn.functional.soft_margin_loss"},
    "signs and bases of factors are free": {"linalg.eig", "linalg.eigh", "linalg.svd", "svd", "linalg.eigvals",
                                            "svd_lowrank", "pca_lowrank", "linalg.qr", "qr", "geqrf", "ormqr"},
}


def number_of(entry):
    return entry.name if not entry.variant_test_name else f"{entry.name}.{entry.variant_test_name}"


def entries():
    return {number_of(entry): entry for entry in op_db}


def is_left_out(entry):
    return any(entry.name in names for names in LEFT_OUT.values())


def to_device(value):
    return value.detach().to("spyre") if isinstance(value, torch.Tensor) else \
        "spyre" if isinstance(value, str) and value == "cpu" else \
        torch.device("spyre") if isinstance(value, torch.device) else value


def to_cpu(value):
    return value.detach().cpu() if isinstance(value, torch.Tensor) else value


class Unfit(Exception):
    """The sample cannot be on the device, and the reason."""


def unfit(values):
    """Why these tensors cannot be on the device: their type, or numbers that its format does not have."""
    for value in values:
        if not isinstance(value, torch.Tensor):
            continue
        if value.dtype in (torch.float64, torch.complex64, torch.complex128, torch.complex32, torch.uint16,
                           torch.uint32, torch.uint64):
            return f"{value.dtype} has no device format"
        if value.layout != torch.strided or value.is_quantized:
            return f"layout {value.layout}"
        if value.numel() == 0:
            continue
        if value.dtype == torch.int64 and bool((value.abs() > 2**31 - 1).any()):
            return "beyond 32 bits"
        if value.dtype in (torch.float16, torch.bfloat16) and not bool((value.abs() < 8e9).all()):
            return "infinity or NaN, which DLFloat16 has one code for"
    return None


def compare_sample(entry, sample, dtype):
    inputs = (sample.input, sample.args, sample.kwargs)
    reason = unfit(tree_leaves(inputs))
    if reason:
        raise Unfit(reason)
    on_device = tree_map(to_device, inputs)
    on_cpu = tree_map(to_cpu, on_device)
    for value, before in zip(tree_leaves(on_cpu), tree_leaves(inputs)):
        if isinstance(value, torch.device) or value == "spyre":
            raise Unfit("takes a device")
    torch.manual_seed(1)
    expected = entry.op(on_cpu[0], *on_cpu[1], **on_cpu[2])
    reason = unfit(tree_leaves(expected))
    if reason:
        raise Unfit("result: " + reason)
    torch.manual_seed(1)
    try:
        actual = entry.op(on_device[0], *on_device[1], **on_device[2])
    except (RuntimeError, OverflowError) as error:
        # A step in between needs what the device does not have; it says so.
        if "does not support dtype" in str(error) or "does not fit IEEE_INT32" in str(error):
            raise Unfit("in between: " + str(error).split(" value")[0]) from None
        raise
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    for a, e in zip(tree_leaves(actual), tree_leaves(expected), strict=True):
        if not isinstance(e, torch.Tensor):
            assert type(a) is type(e) and a == e, f"{a} is not {e}"
            continue
        assert a.device.type == "spyre", f"a result is on {a.device}"
        assert a.dtype == e.dtype and a.size() == e.size(), f"{a.dtype}{list(a.size())}, not {e.dtype}{list(e.size())}"
        loose = TOLERANCE.get(e.dtype, (0, 0))
        if dtype in (torch.float16, torch.bfloat16):
            loose = tuple(map(max, loose, (rtol, atol)))
        torch.testing.assert_close(a.cpu(), e, rtol=loose[0], atol=loose[1], equal_nan=True)


def compare_gradients(entry, sample):
    """Gradients of the sum of all results, for all inputs: float32 alone."""
    inputs = (sample.input, sample.args, sample.kwargs)
    if unfit(tree_leaves(inputs)):
        raise Unfit("inputs")
    gradients = []
    for device in ("cpu", "spyre"):
        moved = tree_map(lambda v: v.detach().to(device).requires_grad_(v.requires_grad)
                         if isinstance(v, torch.Tensor) else v, inputs)
        torch.manual_seed(1)
        try:
            results = [r for r in tree_leaves(entry.op(moved[0], *moved[1], **moved[2]))
                       if isinstance(r, torch.Tensor) and r.requires_grad]
            if not results or unfit(results):
                raise Unfit("results")
            sum(r.sum() for r in results).backward()
        except (RuntimeError, OverflowError) as error:
            if device == "spyre" and "does not support dtype" in str(error):
                raise Unfit("in between") from None
            raise
        gradients.append([v.grad for v in tree_leaves(moved) if isinstance(v, torch.Tensor) and v.requires_grad])
    for e, a in zip(*gradients, strict=True):
        assert (a is None) == (e is None)
        if a is not None:
            assert a.device.type == "spyre"
            torch.testing.assert_close(a.cpu(), e, rtol=1e-3, atol=1e-4, equal_nan=True)


def run_gradients(entry, limit):
    compared, reasons = 0, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, sample in enumerate(entry.sample_inputs("cpu", torch.float32, requires_grad=True)):
            if number >= limit:
                break
            try:
                compare_gradients(entry, sample)
                compared += 1
            except Unfit as reason:
                reasons[str(reason)] = reasons.get(str(reason), 0) + 1
            except Exception as error:
                return compared, reasons, f"sample {number}: {type(error).__name__}: {str(error)[:600]}"
    return compared, reasons, None


def run_entry(entry, dtype, limit):
    """(compared, reasons of those that were not, message of the first failure)"""
    compared, reasons = 0, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, sample in enumerate(entry.sample_inputs("cpu", dtype, requires_grad=False)):
            if number >= limit:
                break
            try:
                compare_sample(entry, sample, dtype)
                compared += 1
            except Unfit as reason:
                reasons[str(reason)] = reasons.get(str(reason), 0) + 1
            except Exception as error:
                return compared, reasons, f"sample {number}: {type(error).__name__}: {str(error)[:600]}"
    return compared, reasons, None


def main(limit, shard, shards):
    """The long campaign: every operator, all types and gradients, `limit` samples each."""
    import tegula.torch  # noqa: F401
    torch.set_num_threads(1)
    passed = failed = 0
    for i, (name, entry) in enumerate(sorted(entries().items())):
        if i % shards != shard or is_left_out(entry):
            continue
        runs = [(dtype, functools.partial(run_entry, entry, dtype)) for dtype in DTYPES if dtype in entry.dtypes]
        if entry.supports_autograd and torch.float32 in entry.dtypes:
            runs.append(("gradients", functools.partial(run_gradients, entry)))
        for dtype, run in runs:
            start = time.monotonic()
            compared, reasons, failure = run(limit)
            passed += failure is None
            failed += failure is not None
            print(json.dumps({"op": name, "dtype": str(dtype), "compared": compared, "reasons": reasons,
                              "failure": failure, "seconds": round(time.monotonic() - start, 2)}), flush=True)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
