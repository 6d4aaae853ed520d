"""Other processes: the memory of the device is not shared with them."""
import torch

from tegula.torch.memory import is_spyre
from tegula.torch.patching import patch, wrap

_NOT_SHARED = ("a tensor on spyre cannot go to another process, since its memory is not shared; send x.cpu(), and move "
               "it to the device where it arrives")


def _holds_spyre(batch):
    leaves = torch.utils._pytree.tree_leaves(batch)
    inside = [list(getattr(leaf, "__dict__", {}).values()) for leaf in leaves if not isinstance(leaf, torch.Tensor)]
    return any(map(is_spyre, leaves)) or any(map(is_spyre, torch.utils._pytree.tree_leaves(inside)))


@patch
def sharing():
    """A queue between processes refuses a tensor in a thread of its own: whoever waits for it, as DataLoader does for
    its workers, would wait forever. So workers refuse what they have fetched."""
    from multiprocessing.reduction import ForkingPickler
    from torch.utils.data._utils import fetch as fetching

    def refusing(before):
        def reduce(tensor):
            if is_spyre(tensor):
                raise RuntimeError(_NOT_SHARED)
            return before(tensor)
        return reduce

    def checked(before):
        def fetch(self, index):
            batch = before(self, index)
            if torch.utils.data.get_worker_info() is not None and _holds_spyre(batch):
                raise RuntimeError(f"{_NOT_SHARED}. Or let DataLoader have num_workers=0")
            return batch
        return fetch

    reductions = torch.multiprocessing.reductions
    wrap(reductions, "reduce_tensor", refusing)
    for kind in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, reductions.reduce_tensor)
    wrap(fetching._MapDatasetFetcher, "fetch", checked)
    wrap(fetching._IterableDatasetFetcher, "fetch", checked)
