"""Operations of Inductor that read something else than they did when they were made: copies in other layouts.

A call has a list of inputs, and one of them is replaced. What a loop nest reads is in its body, a function that calls
ops.load; it is run behind a handler that knows which of the calls are to go elsewhere, and where.
"""
import copy

from tegula.torch.inductor_hooks import V, WrapperHandler, ir


class _Elsewhere(WrapperHandler):
    """Loads by their number: some of another buffer, at another place."""

    def __init__(self, inner, table, arguments):
        super().__init__(inner)
        self.table, self.arguments, self.number = table, arguments, -1

    def load(self, name, index):
        self.number += 1
        if self.number in self.table:
            name, place = self.table[self.number]
            index = place(index, self.arguments)
        return self._inner.load(name, index)


def _forget(value):
    """A copy without what Inductor has calculated of it."""
    made = copy.copy(value)
    for key in [key for key in made.__dict__ if key.endswith("_cache")]:
        del made.__dict__[key]
    return made


def redirect(operation, places, made, view, place):
    """An operand of an operation becomes a view of `made`. What a nest loaded at index, it finds there at
    place(index, arguments); the arguments are its loops."""
    if isinstance(operation, ir.ComputedBuffer):
        _redirect_loads(operation, {number: (made.get_name(), place) for number in places})
    else:
        operation.inputs[places[0]] = view_of(made, view)


def _redirect_loads(buffer, table):
    before = buffer.data.inner_fn

    def inner_fn(*arguments):
        with V.set_ops_handler(_Elsewhere(V.get_ops_handler(), table, arguments)):
            return before(*arguments)

    data = _forget(buffer.data)
    object.__setattr__(data, "inner_fn", inner_fn)
    buffer.data = data
    for key in [key for key in buffer.__dict__ if key.endswith("_cache")]:
        del buffer.__dict__[key]


def view_of(buffer, view):
    """These elements of a buffer, as an operand."""
    layout = buffer.layout
    if (tuple(map(int, layout.size)), tuple(map(int, layout.stride)), 0) == (view.size, view.stride, view.offset):
        return buffer
    seen = ir.FixedLayout(layout.device, layout.dtype, list(view.size), list(view.stride), view.offset)
    return ir.ReinterpretView(data=ir.StorageBox(buffer), layout=seen)


def move_before(operations, made, reader):
    """An operation that has just been added goes before its reader."""
    del operations[place_of(operations, made)]
    operations.insert(place_of(operations, reader), made)


def place_of(operations, operation):
    return next(place for place, other in enumerate(operations) if other is operation)
