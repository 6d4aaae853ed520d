"""FixedTiledLayout: Inductor's layout of a tensor, with the one that the device has for it.

Inductor's own part says how the host counts elements (size, stride, offset); device_layout says where they lie, padding
included. What Inductor asks about memory is answered for the device:

    (5, 150) of float16     on the host 1500 bytes, on the device 3 * 5 sticks of 128 bytes: 1920
"""
import math

from tegula.torch.inductor_hooks import ir, sympy

BYTES_IN_STICK = 128


class FixedTiledLayout(ir.FixedLayout):
    def __init__(self, device, dtype, size, stride, device_layout, offset=sympy.Integer(0)):
        super().__init__(device, dtype, size, stride, offset)
        self.device_layout = device_layout

    @classmethod
    def of(cls, layout, device_layout):
        """The same for the host."""
        return cls(layout.device, layout.dtype, layout.size, layout.stride, device_layout, layout.offset)

    @property
    def device_bytes(self):
        return math.prod(self.device_layout.device_size[:-1]) * BYTES_IN_STICK

    def storage_size(self):
        """In elements of the host's type: the planner of memory multiplies by their size."""
        return sympy.Integer(self.device_bytes // self.dtype.itemsize)

    def allocation(self):
        """The expression that makes such a tensor, in generated code."""
        return (f"spyre_empty_with_layout({tuple(map(int, self.size))}, {tuple(map(int, self.stride))}, {self.dtype}, "
                f"{self.device_layout!r})")

    def __repr__(self):
        return f"{super().__repr__()[:-1]}, device_layout={self.device_layout!r})"

    __str__ = __repr__

    def __eq__(self, other):
        return type(other) is FixedTiledLayout and repr(self) == repr(other)

    __hash__ = None
