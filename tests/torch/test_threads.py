"""Threads that use one tensor: what each writes is there afterwards, as on the CPU."""
import io
import os
import pickle
import threading

import pytest
import torch

from tegula.torch import writing


def together(work, count):
    """work(0) ... work(count - 1), at the same time."""
    errors, start = [], threading.Barrier(count)

    def run(i):
        try:
            start.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "threads wait for each other"
    if errors:
        raise errors[0]


def test_elements_by_index():
    """index_put_ runs on a copy of the whole tensor."""
    for _ in range(3):
        y = torch.zeros(64, device="spyre")

        def write(i, y=y):
            for k in range(i, 64, 8):
                y[torch.tensor([k], device="spyre")] = k + 1.0

        together(write, 8)
        assert y.cpu().tolist() == [k + 1.0 for k in range(64)]


def test_views_that_are_no_boxes():
    for _ in range(40):
        y = torch.zeros(13, 71, device="spyre")

        def write(i, y=y):
            for _ in range(5):
                y.view(-1)[i::7].copy_(torch.full((len(range(i, 923, 7)),), i + 1.0))

        together(write, 7)
        assert torch.equal(y.cpu().view(-1), torch.arange(923.0).remainder(7) + 1)


def test_operations_and_copies():
    """One thread adds to some rows, through copies of them; others copy into the rest."""
    y, one = torch.zeros(16, 100, device="spyre"), torch.ones(100, device="spyre")

    def work(i):
        for _ in range(10):
            if i % 2 == 0:
                y[torch.tensor([i, i + 8], device="spyre")] += 1
            else:
                y[i].copy_(y[i] + one)
                y[i + 8] = y[i + 8] + 1

    together(work, 8)
    assert torch.equal(y.cpu(), torch.full((16, 100), 10.0))


def test_lists_in_any_order():
    """Operations that write several tensors take them in one order, so none waits for another."""
    tensors = [torch.zeros(200, device="spyre") for _ in range(6)]

    def work(i):
        for _ in range(10):
            mine = tensors[i:] + tensors[:i]
            torch._foreach_add_(mine if i % 2 else mine[::-1], 1.0)

    together(work, 6)
    assert all(torch.equal(t.cpu(), torch.full((200,), 60.0)) for t in tensors)


def test_gradients_of_shared_parameters():
    p = torch.zeros(50, device="spyre", requires_grad=True)
    together(lambda i: [(p * 2).sum().backward() for _ in range(20)], 4)
    assert torch.equal(p.grad.cpu(), torch.full((50,), 160.0))


def test_a_fork_while_others_write():
    """The child has not the threads that were inside."""
    y, stop = torch.zeros(2000, device="spyre"), threading.Event()

    def write():
        while not stop.is_set():
            y.add_(1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0 if all(lock.acquire(blocking=False) for lock in writing._LOCKS) else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("write", [lambda t: pickle.dumps(t), lambda t: torch.save(t, io.BytesIO())],
                         ids=["pickle", "torch.save"])
def test_saving_one_tensor(write):
    """The layout was state of the tensor for a moment: a KeyError of the second thread."""
    t = torch.rand(40, 30).half().to("spyre")
    together(lambda i: [write(t) for _ in range(50)], 4)
    assert not t.__dict__
