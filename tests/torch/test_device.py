"""torch.spyre: what programs for any accelerator ask of torch.cuda and its like."""
import time

import pytest
import torch

from tegula import _core
from tegula.torch import memory

spyre = torch.spyre


def device_bytes(x):
    return len(_core._spyre_device_bytes(memory.key(x)))


def test_memory_is_counted():
    """Bytes of live device storages, padding included, by the lengths of what they hold."""
    spyre.reset_peak_memory_stats(), spyre.reset_accumulated_memory_stats()
    before = spyre.memory_stats()
    kept = [torch.empty(size, dtype=dtype, device="spyre") for size, dtype in (
        ((1000, 64), torch.float32), ((3, 5), torch.float16), ((7, 130), torch.int64), ((0, 3), torch.int8))]
    views = [x.t() for x in kept]
    expected = sum(map(device_bytes, kept))
    assert expected == 1000 * 64 * 4 + 3 * 128 + 7 * 5 * 128 and device_bytes(kept[-1]) == 0
    most = spyre.memory_allocated()
    assert most - before["allocated_bytes.all.current"] == expected and spyre.max_memory_allocated() == most
    assert most <= spyre.memory_reserved() <= spyre.max_memory_reserved()
    kept.clear()
    assert spyre.memory_allocated() == most  # the views keep it
    views.clear()
    after = spyre.memory_stats()
    assert after["allocated_bytes.all.current"] == before["allocated_bytes.all.current"]
    assert after["allocated_bytes.all.peak"] == most
    assert after["allocated_bytes.all.allocated"] == after["allocated_bytes.all.freed"] == expected
    assert after["allocation.all.allocated"] == after["allocation.all.freed"] == 4
    assert after["allocation.all.current"] == before["allocation.all.current"]
    spyre.reset_peak_memory_stats()
    assert spyre.max_memory_allocated() == spyre.memory_allocated()


def test_what_is_kept_is_reserved():
    """Large pieces are kept for later tensors until empty_cache()."""
    spyre.empty_cache()
    before, in_use = spyre.memory_reserved(), spyre.memory_allocated()
    x = torch.empty(1 << 20, dtype=torch.int32, device="spyre")
    assert spyre.memory_reserved() == before + (4 << 20)
    del x
    assert spyre.memory_reserved() == before + (4 << 20) and spyre.memory_allocated() == in_use
    spyre.empty_cache()
    assert spyre.memory_reserved() == before and spyre.max_memory_reserved() >= before + (4 << 20)


def test_the_machine():
    free, total = spyre.mem_get_info()
    with open("/proc/meminfo", encoding="ascii") as lines:
        said = dict(line.split(":") for line in lines)
    assert total == spyre.get_device_properties().total_memory == int(said["MemTotal"].split()[0]) * 1024
    assert 0 < free < total
    properties = spyre.get_device_properties("spyre:0")
    assert properties.name == spyre.get_device_name() and "simulated" in properties.name and properties.simulated


def test_types_that_it_can_take():
    for dtype in {v for v in vars(torch).values() if isinstance(v, torch.dtype)}:
        try:
            torch.empty(2, dtype=dtype, device="spyre")
            makes = True
        except RuntimeError as error:
            makes = False
            assert "does not support dtype" in str(error) or "quantised" in str(error)
        assert (dtype in spyre.get_device_capability()["supported_dtypes"]) == makes, dtype


@pytest.mark.parametrize("ask", [
    spyre.memory_allocated, spyre.mem_get_info, spyre.get_device_properties, spyre.set_device, spyre.synchronize,
    spyre.current_stream, spyre.device, spyre.get_rng_state, spyre.memory_stats, spyre.get_device_name, spyre.Stream])
def test_there_is_one_device(ask):
    for name in (0, None, "spyre", "spyre:0", torch.device("spyre")):
        ask(name)
    for name in (1, "spyre:1"):
        with pytest.raises(RuntimeError, match="one Spyre device, with index 0; 1 was"):
            ask(name)
    for name in ("cpu", torch.device("cuda", 0)):
        with pytest.raises(ValueError, match="of the kind spyre is needed, not c"):
            ask(name)


def test_streams_and_events():
    one, other = spyre.current_stream(), spyre.Stream(priority=-1)
    assert isinstance(one, torch.Stream) and one == other == spyre.default_stream()
    assert one == torch.accelerator.current_stream()
    start, end = spyre.Event(enable_timing=True), spyre.Event(enable_timing=True)
    assert isinstance(start, torch.Event) and start.query() and start.device.type == "spyre"
    with pytest.raises(ValueError, match="must be recorded before"):
        start.elapsed_time(end)
    with spyre.stream(other), torch.spyre.device(0), spyre.device_of(torch.ones(1)):
        start.record()
        x = torch.ones(3, device="spyre")
        time.sleep(0.02)
        assert one.record_event(end) is end
    x.record_stream(other), end.wait(), end.synchronize(), one.wait_event(end), one.wait_stream(other)
    torch.Stream("spyre").wait_event(end), spyre.set_stream(other), one.synchronize(), spyre.synchronize()
    assert one.query() and end.query() and 20 <= start.elapsed_time(end) < 20000
    assert start.elapsed_time(end) == -end.elapsed_time(start)
    assert isinstance(one.record_event(), spyre.Event)
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(spyre.Event())
    with pytest.raises(NotImplementedError, match="another process"):
        spyre.Event(interprocess=True)
    for call in (spyre.set_stream, spyre.stream, start.record, start.wait):
        with pytest.raises(ValueError, match="stream of the device spyre is needed, not one of cpu"):
            call(torch.Stream("cpu"))
    assert not spyre.is_current_stream_capturing() and spyre.stream(None) is not None


def test_random_numbers_are_those_of_the_cpu():
    """torch.spyre.manual_seed() did nothing."""
    def numbers():
        return torch.rand(3, device="spyre").cpu()

    for again in (spyre.manual_seed, spyre.manual_seed_all, torch.manual_seed):
        again(7)
        first = numbers()
        assert spyre.initial_seed() == 7 and not torch.equal(first, numbers())
        again(7)
        assert torch.equal(first, numbers())
    state, all_states = spyre.get_rng_state(), spyre.get_rng_state_all()
    first = numbers()
    for restore in (lambda: spyre.set_rng_state(state), lambda: spyre.set_rng_state_all(all_states)):
        restore()
        assert torch.equal(first, numbers())
    with torch.random.fork_rng(device_type="spyre"):
        before = spyre.get_rng_state()
        numbers(), spyre.seed()
    assert torch.equal(spyre.get_rng_state(), before)


def test_what_is_asked_of_any_accelerator():
    module = torch.get_device_module("spyre")
    assert module is spyre and module.is_available() and module.is_initialized() and module.is_bf16_supported()
    assert module.device_count() == 1 and module.current_device() == 0 and module.set_device(0) is None
    assert torch.float16 in module.get_amp_supported_dtype()
