"""HLO text, as XLA dumps it and JAX prints it: what it says, where memory is padding, which copies move bytes.

    >>> import tegula.hlo
    >>> module = tegula.hlo.parse("ENTRY e {\\n  ROOT c = f32[1000,3]{1,0:T(8,128)} constant({...})\\n}")
    >>> module.padding()["arrays"][0]["padding_bytes"]
    500000
"""
from tegula._core import Module, parse_hlo as parse

__all__ = ["Module", "parse"]
