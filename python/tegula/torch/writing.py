"""Threads that write to one storage take turns.

An operation that runs on copies reads what it writes, and stores all of it: another one must not write in between, or
its numbers are lost, also where both write other elements. So who writes holds the locks of the storages meanwhile, in
one order for all. What a thread does inside, it does for the same storages, or for new ones that nobody else knows:
it takes no more locks, and cannot wait for another thread that waits for it.
"""
import os
import threading

_LOCKS = []  # storages share them by their addresses
_mine = threading.local()  # .writing: this thread is inside


def _renew():
    """The child of a fork has not the threads that hold locks."""
    _LOCKS[:] = [threading.Lock() for _ in range(256)]
    _mine.writing = False


_renew()
os.register_at_fork(after_in_child=_renew)


class Writing:
    """A context in which no other thread writes to the storages of these tensors; other devices have none."""

    def __init__(self, tensors):
        self.locks = []
        if not getattr(_mine, "writing", False):
            numbers = {t.untyped_storage().data_ptr() >> 8 & 255 for t in tensors if t.device.type == "spyre"}
            self.locks = [_LOCKS[n] for n in (sorted(numbers) if len(numbers) > 1 else numbers)]

    def __enter__(self):
        if not self.locks:
            return
        _mine.writing = True
        taken = 0
        try:
            for lock in self.locks:
                lock.acquire()
                taken += 1
        except BaseException:
            del self.locks[taken:]
            self.__exit__()
            raise

    def __exit__(self, *error):
        if self.locks:
            _mine.writing = False
            for lock in self.locks:
                lock.release()
