"""Every operation without a kernel of its own: its tensors are copied to the CPU, it runs there, results come back.

The answer is PyTorch's own; only the rounding of the device's formats comes on top, since what an operation reads and
writes is stored in them. TEGULA_TRACE=1 tells on stderr what ran that way, and how long it took.
"""
import functools
import os
import sys
import time

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from tegula.torch import memory
from tegula.torch.memory import CPU, is_spyre
from tegula.torch.writing import Writing

_CPU_DEVICE = torch.device("cpu")
_NUMBERS = (int, float, bool)
_as_strided = torch.ops.aten.as_strided.default

# Where tensors of the CPU may stand beside those of a device, by PyTorch's own rules: indices, and lengths.
_MIXED = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put", "lstm", "gru",
          "rnn_tanh", "rnn_relu", "_pack_padded_sequence", "_pack_padded_sequence_backward", "_pad_packed_sequence",
          "_ctc_loss", "_ctc_loss_backward", "ctc_loss", "tensor_split", "histogramdd", "_histogramdd_from_bin_tensors",
          "copy", "copy_", "_foreach_copy_", "_amp_update_scale_", "_amp_foreach_non_finite_check_and_unscale_"}


# Operations with indices: the list that is their second argument.
_INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"}


# Operations that are about NaN, which on the device is the same number as infinity: they take it for NaN.
_READS_NAN = {"isnan", "nan_to_num", "nanmedian", "nansum"}


# Operations that write all of their first argument, and read nothing of it.
_OVERWRITES = {"zero_", "fill_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "geometric_",
               "cauchy_", "log_normal_"}


# Arguments that a kernel writes and the schema does not say so: the running statistics, while training.
_STATISTICS = ("running_mean", "running_var")
_UNMARKED = {"native_batch_norm": _STATISTICS, "batch_norm_update_stats": _STATISTICS}


class _Known:
    """What the schema of an operation says."""

    def __init__(self, op):
        schema = op._schema
        self.view = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        self.written = [(i, a.name) for i, a in enumerate(schema.arguments)
                        if a.alias_info is not None and a.alias_info.is_write]
        name = op.overloadpacket.__name__
        self.unmarked = [(i, a.name) for i, a in enumerate(schema.arguments) if a.name in _UNMARKED.get(name, ())]
        self.training = [(i, a.name) for i, a in enumerate(schema.arguments) if self.unmarked and a.name == "training"]
        self.overwritten = [(i, n) for i, n in self.written
                            if schema.arguments[i].is_out or (i == 0 and name in _OVERWRITES)]
        self.mixed = name in _MIXED
        self.indexed = name in _INDEXED
        self.read = memory.value if name in _READS_NAN else memory.operand
        # Where PyTorch hands a number over as one, and does not take it back in place of a tensor.
        takes_numbers = torch._C._should_allow_numbers_as_tensors(name)
        self.tensors = [] if takes_numbers else [i for i, a in enumerate(schema.arguments) if str(a.type) == "Tensor"]


_known = {}


def _describe(value):
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.size())}"
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        return f"[{', '.join(map(_describe, value))}]"
    return str(value)


def _trace(op, args, kwargs, results, seconds):
    shown = [_describe(a) for a in args] + [f"{k}={_describe(v)}" for k, v in kwargs.items()]
    print(f"tegula: {op.name()}({', '.join(shown)}) -> {_describe(results)} on the CPU, {seconds * 1e3:.3f} ms",
          file=sys.stderr)


def _check_devices(op, leaves):
    """PyTorch's rule for every device: a tensor of the CPU may stand beside others only if it is a number."""
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and leaf.device.type == "cpu" and leaf.dim() > 0:
            raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                               f"spyre:0 and cpu! (when running {op.name()})")


def _check_indices(tensor, indices, values=None):
    """PyTorch's rules for indices, and its words: those of a tensor of the CPU are there, too."""
    if not is_spyre(tensor) and any(map(is_spyre, indices)):
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    if values is not None and values.dim() > 0 and is_spyre(values) != is_spyre(tensor):
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                           f"{tensor.device} and {values.device}!")


def _extent(tensor):
    """The first element of the storage that a tensor has, and the one behind the last."""
    last = sum((n - 1) * step for n, step in zip(tensor.size(), tensor.stride()))
    return tensor.storage_offset(), tensor.storage_offset() + last + 1


def _in_reach(tensor, others):
    begin, end = _extent(tensor)
    return any(a < end and begin < b for a, b in map(_extent, others))


def _sharing(written, leaves):
    """Groups of tensors, one of them written, whose elements may be the same: what an operation makes of that is for
    PyTorch to say, and most refuse it."""
    tensors = list({id(leaf): leaf for leaf in leaves if is_spyre(leaf)}.values())
    if len(tensors) < 2:
        return
    by_storage = {}
    for tensor in tensors:
        if tensor.numel() > 0 and not tensor.is_neg():
            by_storage.setdefault((memory.key(tensor), tensor.dtype), []).append(tensor)
    for group in by_storage.values():
        changed = [t for t in group if any(t is w for w in written)]
        if len(group) > 1 and any(_in_reach(w, [t for t in group if t is not w]) for w in changed):
            yield group


class _Call:
    """One operation: copies of its tensors, and which tensor of the device each is a copy of."""

    def __init__(self, read):
        self.read = read
        self.copies = {}  # id of a tensor of the device: (it, its copy)
        self.owners = {}  # id of a copy: the tensor of the device

    def keep(self, leaf, copy):
        self.copies[id(leaf)] = (leaf, copy)
        self.owners[id(copy)] = leaf

    def overwrite(self, tensor, leaves):
        """A tensor that is only written is not read: its memory may hold anything."""
        if is_spyre(tensor) and id(tensor) not in self.copies and sum(leaf is tensor for leaf in leaves) == 1:
            copy = memory.undefined(tensor)
            if copy is not None:
                self.keep(tensor, copy)

    def share(self, group):
        """Copies that share memory as the tensors do."""
        extents = [_extent(tensor) for tensor in group]
        begin, end = min(a for a, _ in extents), max(b for _, b in extents)
        line = self.read(_as_strided._op_dk(CPU, group[0], (end - begin,), (1,), begin))
        for tensor in group:
            self.keep(tensor, line.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset() - begin))

    def lower(self, leaf):
        if is_spyre(leaf):
            if id(leaf) not in self.copies:
                self.keep(leaf, self.read(leaf))
            return self.copies[id(leaf)][1]
        if isinstance(leaf, torch.device) and leaf.type == "spyre":
            return _CPU_DEVICE
        return leaf

    def store(self, tensor):
        """A written argument gets what its copy has become."""
        if not is_spyre(tensor):
            return
        copy = self.copies[id(tensor)][1]
        if copy.size() != tensor.size():
            tensor.resize_(copy.size())
        memory.copy(*memory.once(copy, tensor))

    def lift(self, leaf):
        if not isinstance(leaf, torch.Tensor) or leaf.device.type != "cpu":
            return leaf
        owner = self.owners.get(id(leaf))
        return memory.to_spyre(leaf) if owner is None else owner


def _given(arguments, args, kwargs):
    """The tensors that were given for these arguments of the schema."""
    for position, name in arguments:
        given = kwargs.get(name) if name in kwargs else args[position] if position < len(args) else None
        yield from given if isinstance(given, (list, tuple)) else [given]


def _knowledge(op):
    known = _known.get(op)
    if known is None:
        known = _known[op] = _Known(op)
    return known


def results_on_cpu(op, args, kwargs):
    """What an operation that writes none of its arguments gives on copies of them, as tensors of the CPU."""
    call = _Call(_knowledge(op).read)
    leaves, spec = tree_flatten((args, kwargs))
    cpu_args, cpu_kwargs = tree_unflatten([call.lower(leaf) for leaf in leaves], spec)
    return op(*cpu_args, **cpu_kwargs)


def _written(known, args, kwargs):
    """The arguments that the operation writes, in this call."""
    written = list(_given(known.written, args, kwargs))
    if known.unmarked and all(_given(known.training, args, kwargs)):
        written += _given(known.unmarked, args, kwargs)
    return [tensor for tensor in written if tensor is not None]


def run_on_cpu(op, *args, **kwargs):
    known = _knowledge(op)
    if known.view:
        return op._op_dk(CPU, *args, **kwargs)
    start = time.perf_counter() if TRACE else 0.0
    written = _written(known, args, kwargs)
    if written:
        with Writing(written):
            lifted = _run(op, known, written, args, kwargs)
    else:
        lifted = _run(op, known, written, args, kwargs)
    if TRACE:
        _trace(op, args, kwargs, lifted, time.perf_counter() - start)
    return lifted


def _run(op, known, written, args, kwargs):
    call = _Call(known.read)
    leaves, spec = tree_flatten((args, kwargs))
    if known.indexed:
        _check_indices(*args[:3])
    elif not known.mixed and any(map(is_spyre, leaves)):
        _check_devices(op, leaves)
    for group in _sharing(written, leaves) if written else ():
        call.share(group)
    for tensor in _given(known.overwritten, args, kwargs):
        call.overwrite(tensor, leaves)
    cpu_args, cpu_kwargs = tree_unflatten([call.lower(leaf) for leaf in leaves], spec)
    if any(type(cpu_args[i]) in _NUMBERS for i in known.tensors if i < len(cpu_args)):
        cpu_args = [torch.tensor(a) if i in known.tensors and type(a) in _NUMBERS else a
                    for i, a in enumerate(cpu_args)]
    results, spec = tree_flatten(op(*cpu_args, **cpu_kwargs))
    # What has no place on the device is found before anything is written.
    lifted = tree_unflatten([call.lift(leaf) for leaf in results], spec)
    for tensor in written:
        call.store(tensor)
    return lifted


TRACE = os.environ.get("TEGULA_TRACE", "0") not in ("", "0")


# Tensors that PyTorch would look for in a backend of their own, and say on a page that there is none.
_KINDS = {"SparsePrivateUse1": "sparse ones", "SparseCsrPrivateUse1": "sparse ones",
          "QuantizedPrivateUse1": "quantised ones", "NestedTensorPrivateUse1": "nested ones"}


def _refuse(kind, op, *args, **kwargs):
    raise RuntimeError(f"Spyre backend only supports strided tensors, not {kind} (when running {op.name()})")


def register():
    library = torch.library.Library("_", "IMPL")
    library.fallback(run_on_cpu, "PrivateUse1")
    for key, kind in _KINDS.items():
        library.fallback(functools.partial(_refuse, kind), key)
    # Without this a tensor of the device inside torch.autocast finds no kernel for the operations it leaves alone.
    library.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    return library
