"""The catalogue of small models and blocks that torch.compile has to run on the device: each as anybody writes it.

    @model(77, 100)                 the sizes that it is made with: none is a number of whole sticks
    def name(n): ...                gives a module, and the tensors that it is called with

A float among the tensors takes part in training, with the parameters, unless trains=False. `host` names the operations
that no rule knows, in the forward graph; `host_back` those of the backward graph.
"""
import dataclasses
from typing import Callable

import torch
from torch import nn

CATALOGUE = {}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    make: Callable
    sizes: tuple
    trains: bool = True
    half: bool = True         # whether it is run in 16 bits too
    host: frozenset = frozenset()
    host_back: frozenset = frozenset()
    digits: int = 16          # of float32: binary digits that hold, relative to the largest number
    digits_half: int = 6      # of the formats of 16 bits


def model(*sizes, **more):
    def take(make):
        assert make.__name__ not in CATALOGUE
        for name in ("host", "host_back"):
            more[name] = frozenset(more.get(name, ()))
        CATALOGUE[make.__name__] = Case(make.__name__, make, sizes, **more)
        return make
    return take


def rand(*size):
    """Numbers about 0, as activations are."""
    return torch.randn(size)


def below(count, *size):
    return torch.randint(0, count, size)


class Run(nn.Module):
    """A function of its parts and of what it is called with."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, nn.Parameter) or isinstance(part, nn.Module):
                setattr(self, name, part)
            elif isinstance(part, torch.Tensor):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)

    def forward(self, *given):
        return self.function(self, *given)


PRODUCTS = {"aten.mm.default", "aten.bmm.default"}


def outside(report):
    """The operations that a graph (a GraphReport) runs on the CPU because no rule plans them, or they are the host's.
    One more kind is known, which depends on sizes: products of a reshaped operand whose padding the simulated device
    cannot fill as the product walks it."""
    for node in report.beside():
        assert node["opcode"] in PRODUCTS and "walks it otherwise" in node["why"], node
    return {node["opcode"] for node in [*report.boundaries, *report.on_host]}
