"""Objects of Python that nobody gives back."""
import gc
import sys


def lost_blocks(work, warm, rounds):
    """How many blocks of Python's memory `rounds` calls of work keep, once `warm` calls have filled Python's own
    caches: the least of three times, since other threads of the process may allocate meanwhile."""
    found = []
    for _ in range(warm):
        work()
    for _ in range(3):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(rounds):
            work()
        gc.collect()
        found.append(sys.getallocatedblocks() - before)
    return min(found)
