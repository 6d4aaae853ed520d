"""torch.spyre.Stream and Event. Every operation ends before it returns: there is one stream, in which nothing is ever
under way, and an event has happened when it is recorded. What they tell is true of that, the time included."""
import time

import torch

from tegula.torch.device_index import index


class Stream(torch.Stream):
    """One stream like any other: all are the same."""

    def __new__(cls, device=None, priority=0):
        index(device)
        return super().__new__(cls, "spyre", priority=priority)

    def record_event(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        event.wait(self)

    def __repr__(self):
        return f"<torch.spyre.Stream device={self.device}>"


class Event(torch.Event):
    """A moment. With enable_timing, elapsed_time() tells how many milliseconds lie between two of them."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise NotImplementedError("events of the device spyre cannot go to another process")
        made = super().__new__(cls, "spyre", enable_timing=enable_timing, blocking=blocking)
        made._timed, made._moment = enable_timing, None
        return made

    def record(self, stream=None):
        _check(stream)
        self._moment = time.perf_counter()

    def query(self):
        return True

    def wait(self, stream=None):
        _check(stream)

    def synchronize(self):
        """Nothing is under way."""

    def elapsed_time(self, end_event):
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._moment is None or end_event._moment is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._moment - self._moment) * 1e3

    def __repr__(self):
        return f"<torch.spyre.Event {'recorded' if self._moment is not None else 'not recorded'}>"


def _check(stream):
    if stream is not None and stream.device.type != "spyre":
        raise ValueError(f"a stream of the device spyre is needed, not one of {stream.device}")


class StreamContext:
    """`with torch.spyre.stream(s)`: there is one stream, so nothing changes."""

    def __init__(self, stream):
        _check(stream)
        self.stream = stream

    def __enter__(self):
        return self.stream

    def __exit__(self, *error):
        return False


def stream(stream):
    """A context in which operations are of this stream; None changes nothing."""
    return StreamContext(stream)


def current_stream(device=None):
    return Stream(device)


def default_stream(device=None):
    return Stream(device)


def set_stream(stream):
    _check(stream)


NAMES = (Stream, Event, StreamContext, stream, current_stream, default_stream, set_stream)
