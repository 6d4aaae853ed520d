"""Convolutions of any windows, and pools, on the simulated device: against the definition, told a second time."""
import numpy as np
import pytest

import conv_oracle
import sim_c as sim

HEAD = "low {\n p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT r = f32[] %s(p, q)\n}\n"


def kinds(simulation):
    return [sim.g.KINDS[node.kind] for node in simulation.graph.nodes()]


@pytest.mark.parametrize("seed", range(60))
def test_any_convolution(seed):
    """Shared out among cores as planned, in an order that the seed draws."""
    case = conv_oracle.random_case(seed)
    with sim.Simulation(case.text, seed=seed, cores=(0, 1, 3)[seed % 3]) as s:
        made, = s.run(case.x, case.k)
        assert s.plan.fault() == ""
    assert np.abs(made - case.wanted).max() <= 2**-16 * max(1, np.abs(case.wanted).max())


def test_random_convolutions_run_on_the_device():
    """Most of them; the others have one channel, or groups that are no whole sticks."""
    found = []
    for seed in range(60):
        with sim.Simulation(conv_oracle.random_case(seed).text) as s:
            found.append(kinds(s)[-1])
    assert set(found) == {"convolution", "boundary"} and found.count("convolution") >= 30


@pytest.mark.parametrize("opcode, start", [("add", 0), ("maximum", -np.inf), ("minimum", np.inf), ("multiply", 1)])
@pytest.mark.parametrize("seed", range(5))
def test_any_pool(opcode, start, seed):
    rng = np.random.default_rng(seed)
    shape = (3, *rng.integers(2, 7, 2), 70)
    windows = [conv_oracle.Window(1), *(conv_oracle.random_window(rng, int(e), False) for e in shape[1:3]),
               conv_oracle.Window(1)]
    x = rng.standard_normal(shape).astype(np.float32)
    functions = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum, "multiply": np.multiply}
    wanted = conv_oracle.pool(x.astype(np.float64), windows, functions[opcode], start)
    dims, result = (",".join(map(str, a.shape)) for a in (x, wanted))
    text = HEAD % opcode + (
        f"ENTRY e {{ x = f32[{dims}] parameter(0)\n  s = f32[] constant({str(start).replace('.0', '')})\n"
        f"  ROOT r = f32[{result}] reduce-window(x, s), window={conv_oracle.text_of(windows)}, to_apply=low }}")
    with sim.Simulation(text, seed=seed) as s:
        made, = s.run(x)
    full = np.isfinite(wanted)
    assert np.abs(made[full] - wanted[full]).max(initial=0) <= 2**-18 * np.abs(wanted[full]).max(initial=1)
