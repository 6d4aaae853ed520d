"""The enumerations of Spyre's device layouts; their names and numbers are the library's, and torch-spyre's."""
import enum

from tegula import _core

_FORMATS, _ARRANGEMENTS = _core._spyre_names()


class _Number(enum.Enum):
    """A member is no int, but has one: int(member), and [0] * member."""

    def __int__(self):
        return self.value

    __index__ = __int__


class _Format(_Number):
    def elems_per_stick(self):
        """Elements in 128 bytes."""
        bits = _FORMATS[self.name][1]
        if bits == 0:
            raise ValueError(f"device format {self.name} has no stick geometry")
        return 1024 // bits


DataFormats = _Format("DataFormats", {name: value for name, (value, _) in _FORMATS.items()}, module=__name__)
ElementArrangement = _Number("ElementArrangement", _ARRANGEMENTS, module=__name__)
