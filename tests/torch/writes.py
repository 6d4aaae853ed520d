"""What the CPU's kernels write into their arguments, against what the fallback takes for written.

A schema says which arguments an operation writes. Where it does not say so and the kernel writes all the same, what
was written stays in a copy, and the tensor of the device never gets it. So each copy that an operation is given is
compared with what it was before, byte by byte.
"""
import torch

from tegula.torch import fallback


def bytes_of(tensor):
    return None if tensor.layout != torch.strided else tensor.detach().clone().contiguous().view(-1).view(torch.uint8)


class Watching(fallback._Call):
    """A call that remembers what its copies were. The last ones are in `seen` until they are looked at."""

    seen = []

    def __init__(self, read):
        super().__init__(read)
        self.before = []  # (copy, its bytes)
        self.stored = set()
        Watching.seen.append(self)

    def lower(self, leaf):
        known = id(leaf) in self.copies
        copy = super().lower(leaf)
        if isinstance(leaf, torch.Tensor) and leaf.device.type == "spyre" and not known:
            self.before.append((copy, bytes_of(copy)))
        return copy

    def store(self, tensor):
        if isinstance(tensor, torch.Tensor) and tensor.device.type == "spyre":
            self.stored.add(id(self.copies[id(tensor)][1]))
        super().store(tensor)

    def lost(self):
        """Copies that were written and not stored."""
        return [copy for copy, before in self.before if id(copy) not in self.stored and before is not None
                and not torch.equal(bytes_of(copy), before)]


class Watch:
    """Within it no operation may write what the fallback does not store."""

    def __enter__(self):
        self.run, self.knowledge = fallback._Call, fallback._knowledge
        self.op, Watching.seen = None, []

        def knowledge(op):
            self.look()
            self.op = op
            return self.knowledge(op)

        fallback._Call, fallback._knowledge = Watching, knowledge
        return self

    def look(self):
        calls, Watching.seen = Watching.seen, []
        for call in calls:
            lost = [list(copy.size()) for copy in call.lost()]
            assert not lost, f"{self.op} writes arguments of sizes {lost}, and its schema does not say so"

    def __exit__(self, kind, *error):
        fallback._Call, fallback._knowledge = self.run, self.knowledge
        if kind is None:
            self.look()
