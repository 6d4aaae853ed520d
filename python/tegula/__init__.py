"""Tegula: the memory layouts of tiled accelerators. Describe, query, transform, move.

    >>> from tegula import Layout
    >>> Layout("f16[5,100,150] spyre")
    Layout('f16[5,100,150] spyre device_size=[100,3,5,64] stride_map=[150,64,15000,1]')

docs/python.md tells the rest.
"""
from tegula._core import (
    Access,
    ArgumentError,
    Buffer,
    Bundle,
    Conflict,
    Descriptor,
    Deviation,
    Difference,
    Division,
    Error,
    Graph,
    GraphNode,
    GraphPlan,
    Layout,
    LimitError,
    Loop,
    Losses,
    Memory,
    Mismatch,
    Mode,
    NotRepresentable,
    Obstacle,
    OverflowError,
    Padding,
    ParseError,
    Picture,
    Plan,
    PlanInfeasible,
    Program,
    Reader,
    Residence,
    Restickify,
    Simulator,
    SpyreTensorLayout,
    Term,
    Transfer,
    Unsupported,
    __version__,
    dci,
    dma,
    draw,
    plan,
    relayout,
)

__all__ = ["Access", "ArgumentError", "Buffer", "Bundle", "Conflict", "Descriptor", "Deviation", "Difference",
           "Division", "Error", "Graph", "GraphNode", "GraphPlan", "Layout", "LimitError", "Loop", "Losses", "Memory",
           "Mismatch", "Mode", "NotRepresentable", "Obstacle", "OverflowError", "Padding", "ParseError", "Picture",
           "Plan", "PlanInfeasible", "Program", "Reader", "Residence", "Restickify", "Simulator", "SpyreTensorLayout",
           "Term", "Transfer", "Unsupported", "__version__", "dci", "dma", "draw", "plan", "relayout"]
