"""Objects of Python that nobody gives back."""
import gc
import sys


def loses_blocks(work, warm, rounds, limit):
    """Whether `rounds` calls of work keep `limit` blocks of Python's memory, once `warm` calls have filled Python's own
    caches: each of three times, since other threads of the process may allocate meanwhile."""
    for _ in range(warm):
        work()
    for _ in range(3):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(rounds):
            work()
        gc.collect()
        if sys.getallocatedblocks() - before < limit:
            return False
    return True
