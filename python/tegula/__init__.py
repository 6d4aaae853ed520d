"""Tegula: the memory layouts of tiled accelerators. Describe, query, transform, move.

    >>> from tegula import Layout
    >>> Layout("f16[5,100,150] spyre")
    Layout('f16[5,100,150] spyre device_size=[100,3,5,64] stride_map=[150,64,15000,1]')

docs/python.md tells the rest.
"""
from tegula._core import (
    ArgumentError,
    Buffer,
    Descriptor,
    Difference,
    Error,
    Layout,
    LimitError,
    Losses,
    Mismatch,
    Mode,
    NotRepresentable,
    OverflowError,
    ParseError,
    Picture,
    Plan,
    Program,
    SpyreTensorLayout,
    Unsupported,
    __version__,
    dci,
    dma,
    draw,
    relayout,
)

__all__ = ["ArgumentError", "Buffer", "Descriptor", "Difference", "Error", "Layout", "LimitError", "Losses", "Mismatch",
           "Mode", "NotRepresentable", "OverflowError", "ParseError", "Picture", "Plan", "Program", "SpyreTensorLayout",
           "Unsupported", "__version__", "dci", "dma", "draw", "relayout"]
