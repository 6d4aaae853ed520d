"""Other processes: the memory of the device is not shared with them."""
import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler

import torch

from tegula import _core
from tegula.torch.memory import is_spyre
from tegula.torch.patching import patch, wrap

_NOT_SHARED = ("a tensor on spyre cannot go to another process, since its memory is not shared; send x.cpu(), and move "
               "it to the device where it arrives")


class NotShared(RuntimeError):
    pass


class _Nowhere:
    def write(self, data):
        pass


def _on_device(value):
    storages = (torch.UntypedStorage, torch.TypedStorage)
    return is_spyre(value) or isinstance(value, storages) and value.device.type == "spyre"


class _Look(pickle.Pickler):
    """Goes through an object as if it was sent, and writes nothing. What multiprocessing sends in ways of its own,
    connections or tensors, is not gone into: they would be opened for the other process."""

    def __init__(self):
        super().__init__(_Nowhere(), 5, buffer_callback=lambda buffer: None)

    def persistent_id(self, value):
        if type(value) not in ForkingPickler._extra_reducers:
            return None
        if _on_device(value):
            raise NotShared(_NOT_SHARED)
        return "sent in a way of its own"


def check(value):
    """NotShared if a tensor of the device is in the value; what else cannot be sent is for others to say."""
    if _core._spyre_stats()[0] == 0:  # no tensor is on the device
        return
    try:
        _Look().dump(value)
    except NotShared:
        raise
    except Exception:
        return


@patch
def sharing():
    """Whoever waits for a tensor that cannot be sent would wait forever: what multiprocessing pickles says so, and
    workers of DataLoader do when they have fetched it."""
    from torch.utils.data._utils import fetch as fetching

    def refusing(before):
        def reduce(value):
            if _on_device(value):
                raise NotShared(_NOT_SHARED)
            return before(value)
        return reduce

    def checked(before):
        def fetch(self, index):
            batch = before(self, index)
            if torch.utils.data.get_worker_info() is not None:
                try:
                    check(batch)
                except NotShared as error:
                    raise RuntimeError(f"{error}. Or let DataLoader have num_workers=0") from None
            return batch
        return fetch

    reductions = torch.multiprocessing.reductions
    wrap(reductions, "reduce_tensor", refusing)
    wrap(reductions, "reduce_storage", refusing)
    for kind in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, reductions.reduce_tensor)
    ForkingPickler.register(torch.UntypedStorage, reductions.reduce_storage)
    wrap(fetching._MapDatasetFetcher, "fetch", checked)
    wrap(fetching._IterableDatasetFetcher, "fetch", checked)


@patch
def queues():
    """A queue between processes pickles in a thread of its own, which only prints errors: put() looks before."""
    usual = multiprocessing.queues.Queue._on_queue_feeder_error

    def make(before):
        def put(self, obj, *args, **kwargs):
            if type(self)._on_queue_feeder_error is usual:  # else somebody waits for the error: concurrent.futures
                check(obj)
            return before(self, obj, *args, **kwargs)
        return put

    for kind in (multiprocessing.queues.Queue, multiprocessing.queues.JoinableQueue):
        wrap(kind, "put", make)
