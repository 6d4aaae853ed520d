"""The catalogue of models through torch.compile on the device: what they give, and the gradients of all that they learn
and are called with, are those of the CPU in float64 up to the rounding of the device's formats; each is one graph; and
what ran outside of the plan is what the catalogue says, so that it cannot grow unseen."""
import copy
import math

import pytest
import torch

import models_attention  # noqa: F401
import models_language  # noqa: F401
import models_losses  # noqa: F401
import models_vision  # noqa: F401
from conftest import LONG
from models import CATALOGUE, outside
from tegula.torch import compile_backend, compile_report

# The time of a run goes into making its graphs, whatever the sizes. `make check` has one of each kind in 16 bits, no
# gradients of what another model is made of, or with another mask; with TEGULA_TORCH_LONG=1 all of them run.
IN_16_BITS = {
    "convolution_block", "batch_norm_in_training", "group_norm", "resnet_block", "grouped_convolution", "pixel_shuffle",
    "unet_by_interpolation", "sets", "position_encoding", "cross_entropy", "binary_losses", "triplets", "attention",
    "attention_of_one_head", "attention_with_a_mask_of_infinities", "attention_with_the_smallest_number",
    "grouped_query_attention", "alibi_attention", "multihead_attention_module", "rotary_attention",
    "key_value_cache_step", "window_attention", "mlp", "mlp_of_activations", "rms_norm", "llama_block", "gpt",
    "embedding_and_head", "mixture_of_experts", "lstm_cell", "state_space", "graph_convolution", "greedy_choice"}
GRADIENTS_OF_ANOTHER = {
    "llama", "resnet_block", "multihead_attention_module", "attention_of_one_head", "attention_with_padded_keys",
    "attention_with_a_mask_of_truths", "attention_with_the_smallest_number", "sliding_window_attention",
    "multi_query_attention", "interleaved_rotary"}


def runs():
    """(name, size, type, whether it is trained): every size in float32, and one in 16 bits."""
    for name, case in CATALOGUE.items():
        for n in case.sizes:
            first = n == case.sizes[0] and name not in GRADIENTS_OF_ANOTHER
            yield name, n, torch.float32, case.trains and (LONG or first)
        if case.half and (LONG or name in IN_16_BITS):
            for n in case.sizes if LONG else case.sizes[-1:]:
                yield name, n, torch.float16, case.trains and LONG


def on_device(value, dtype):
    """What the device keeps of a value: infinity and NaN have one code in 16 bits, and stay what they are here."""
    kept = value.to(dtype).to("spyre").cpu().to(value.dtype)
    return torch.where(value.isfinite(), kept, value)


def rounded(values, dtype):
    with torch.no_grad():
        for value in values:
            if value.is_floating_point():
                value.copy_(on_device(value, dtype))


class Result:
    """A module after one call, and one backward pass with these tangents (made if there are none)."""

    def __init__(self, module, run, given, trains, tangents=None):
        with torch.set_grad_enabled(trains):
            made = torch.utils._pytree.tree_leaves(run(*given))
        self.outputs = [value.detach() for value in made]
        self.buffers, self.gradients, self.tangents = dict(module.named_buffers()), {}, tangents
        if trains:
            learns = [value for value in made if value.requires_grad]
            if tangents is None:
                self.tangents = [torch.randn_like(v) if v.dim() else torch.ones_like(v) for v in learns]
            torch.autograd.backward(learns, [t.to(v.device, v.dtype) for t, v in zip(self.tangents, learns)])
            named = [*module.named_parameters(), *((f"given {i}", value) for i, value in enumerate(given))]
            self.gradients = {name: value.grad for name, value in named if value.is_floating_point()}


def largest(value):
    """Of the numbers that are some."""
    found = value.double().abs()
    return found[found.isfinite()].amax().item() if found.isfinite().any() else 0.0


def spread(value):
    return value.double().square().mean().sqrt().item() if value.numel() else 0.0


def digits(error, scale):
    return math.inf if error == 0 else -math.log2(error / scale) if error == error else -math.inf


def same(made, wanted, name):
    """What is no number has to be the same; the rest is for the caller."""
    assert made.size() == wanted.size(), name
    made = made.cpu()
    if not wanted.is_floating_point():
        assert torch.equal(made, wanted), name
        return torch.zeros(()), torch.zeros(())
    held = wanted.isfinite()
    if made.dtype != torch.float16:
        assert torch.equal(made.isfinite(), held), name
    return made.double()[held], wanted.double()[held]


def judge_values(made, wanted, least, name):
    """By the largest error, against the largest number."""
    a, b = same(made, wanted, name)
    found = digits(largest(a - b) if a.isfinite().all() else math.nan, max(1.0, largest(b)))
    assert found >= least, f"{name}: {found:.1f} binary digits of {least}"


def judge_gradients(made, wanted, least):
    """By the root mean square, of each and of all: a gradient may be 0 where its terms are not."""
    assert made.keys() == wanted.keys()
    assert all((made[name] is None) == (value is None) for name, value in wanted.items())
    pairs = {name: same(made[name], value, name) for name, value in wanted.items() if value is not None}
    whole = max((spread(b) for _, b in pairs.values()), default=0.0)
    for name, (a, b) in pairs.items():
        found = digits(spread(a - b), max(spread(b), whole / 8, 2.0 ** -20))
        assert found >= least, f"gradient of {name}: {found:.1f} binary digits of {least}"


def run_on_device(module, given, trains, tangents):
    torch._dynamo.reset()
    graphs = []
    with compile_backend.watching(lambda compiled, program, new, again: graphs.append((compiled.kind, program))):
        result = Result(module, torch.compile(module, backend="spyre", fullgraph=True), given, trains, tangents)
    assert [kind for kind, _ in graphs] == (["forward", "backward"] if trains else ["inference"])
    assert all(program.plan.verify() is None for _, program in graphs)
    return result, {kind: outside(compile_report.GraphReport(kind, program)) for kind, program in graphs}


def name_of(run):
    name, n, dtype, trains = run
    return f"{name}-{n}-{str(dtype)[6:]}{'-training' if trains else ''}"


@pytest.mark.parametrize("run", list(runs()), ids=name_of)
def test_model(run):
    name, n, dtype, trains = run
    case = CATALOGUE[name]
    module, given = case.make(n)
    rounded([*module.parameters(), *module.buffers(), *given], dtype)

    def placed(value, *to):
        value = value.detach().clone().to(*to) if value.is_floating_point() else value.clone().to(to[0])
        return value.requires_grad_(trains and value.is_floating_point())

    exact = copy.deepcopy(module).double()
    wanted = Result(exact, exact, [placed(value, "cpu", torch.float64) for value in given], trains)
    module.to(dtype).to("spyre")
    made, fell = run_on_device(module, [placed(value, "spyre", dtype) for value in given], trains, wanted.tangents)

    half = dtype == torch.float16
    least = case.digits_half if half else case.digits
    for i, (a, b) in enumerate(zip(made.outputs, wanted.outputs, strict=True)):
        assert a.device.type == "spyre"
        judge_values(a, b, least, f"result {i}")
    for key, b in wanted.buffers.items():
        judge_values(made.buffers[key], b, least, key)
    judge_gradients(made.gradients, wanted.gradients, least - 2 if half else least)
    assert fell == ({"forward": set(case.host), "backward": set(case.host_back)} if trains
                    else {"inference": set(case.host)})
    assert not half or all(a.dtype == torch.float16 for a in made.outputs if a.is_floating_point())


def test_the_catalogue_is_large():
    assert len(CATALOGUE) >= 60 and IN_16_BITS | GRADIENTS_OF_ANOTHER <= set(CATALOGUE)
    assert {n for case in CATALOGUE.values() for n in case.sizes} >= {3, 77, 100, 130}
