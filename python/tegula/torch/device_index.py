"""Which device is meant: there is one."""
import torch


def index(device):
    """0, or an error: an index, a torch.device or its text; None is the current one."""
    if device is None:
        return 0
    if isinstance(device, int):
        number = device
    else:
        device = torch.device(device)
        if device.type != "spyre":
            raise ValueError(f"a device of the kind spyre is needed, not {device}")
        number = device.index or 0
    if number not in (0, -1):
        raise RuntimeError(f"there is one Spyre device, with index 0; {number} was asked for")
    return 0
