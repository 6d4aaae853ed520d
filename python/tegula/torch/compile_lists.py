"""Operations on lists of tensors, which optimizers use, as operations on one tensor after the other: that is all that
they are, and single ones have rules.

    _foreach_addcmul(xs, ys, zs, 0.1)    [addcmul(x, y, z, value=0.1) for x, y, z in zip(xs, ys, zs)]
"""
import torch

_aten = torch.ops.aten

_NAMED_LAST = {"addcmul": "value", "addcdiv": "value"}  # an argument that single ones take by name alone
_OTHERS = {  # those of another name, or with other arguments
    "maximum": lambda x, y: (_aten.maximum if isinstance(y, torch.Tensor) else _aten.clamp_min)(x, y),
    "minimum": lambda x, y: (_aten.minimum if isinstance(y, torch.Tensor) else _aten.clamp_max)(x, y),
    "norm": lambda x, ord=2, dtype=None: _aten.linalg_vector_norm(x, ord, dtype=dtype),
    "zero": torch.zeros_like,
}


def _one(name):
    op = _OTHERS.get(name) or getattr(_aten, name)
    if name not in _NAMED_LAST:
        return op
    return lambda *values: op(*values[:3], **{_NAMED_LAST[name]: value for value in values[3:]})


def _one_by_one(one):
    def whole(*args, **kwargs):
        lists = [arg for arg in args if isinstance(arg, (list, tuple))]
        return [one(*[arg[i] if isinstance(arg, (list, tuple)) else arg for arg in args], **kwargs)
                for i in range(len(lists[0]))]
    return whole


def _is_known(overload):
    """What changes nothing, and needs no number that a tensor holds."""
    schema, name = overload._schema, overload.overloadpacket.__name__.removeprefix("_foreach_")
    known = name in _OTHERS or hasattr(_aten, name)
    return known and not schema.is_mutable and (name not in _NAMED_LAST or overload._overloadname != "Tensor")


def table():
    names = {schema.name.removeprefix("aten::") for schema in torch._C._jit_get_all_schemas()
             if schema.name.startswith("aten::_foreach_")}
    packets = [getattr(_aten, name) for name in sorted(names)]
    overloads = [getattr(packet, name) for packet in packets for name in packet.overloads()]
    return {overload: _one_by_one(_one(overload.overloadpacket.__name__.removeprefix("_foreach_")))
            for overload in overloads if _is_known(overload)}
