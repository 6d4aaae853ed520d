"""Nested tensors, which the device has not: nn.TransformerEncoder makes one of a batch with padding, on its own."""
import copy

import torch

from tegula.torch.memory import is_spyre
from tegula.torch.patching import patch, wrap


class NoNested(RuntimeError):
    """What the operation says that would make a nested tensor of the device."""


def nested_from_mask(tensor, mask, mask_check=True):
    raise NoNested("Spyre backend only supports strided tensors, not nested ones")


def _without_nesting(before, encoder, src, valid):
    """What the nested tensor would have given: the first rows of each sequence, as many as the mask has, know
    nothing of those behind; these are 0 before the last norm."""
    count = valid.sum(1, keepdim=True)
    padding = torch.arange(src.size(1), device=src.device).unsqueeze(0) >= count
    plain = copy.copy(encoder)
    plain.__dict__["_modules"] = {**encoder._modules, "norm": None}
    plain.use_nested_tensor = False
    output = before(plain, src, src_key_padding_mask=padding).masked_fill(padding.unsqueeze(-1), 0.0)
    return output if encoder.norm is None else encoder.norm(output)


@patch
def transformer_encoder():
    """Its fast path gives 0 where a sequence has ended, by a nested tensor."""
    def make(before):
        def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
            try:
                return before(self, src, mask, src_key_padding_mask, is_causal)
            except NoNested:
                if not is_spyre(src):
                    raise
                return _without_nesting(before, self, src, src_key_padding_mask.logical_not())
        return forward

    wrap(torch.nn.TransformerEncoder, "forward", make)
