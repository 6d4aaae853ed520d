"""What infinity stands for in 16 bits, where the device has one code for it and for NaN: masks of attention."""
import pytest
import torch
from torch.nn import functional as F

from tegula.torch import explain

FLOATS = [torch.float16, torch.bfloat16, torch.float32]


def compiled(function, *given):
    torch._dynamo.reset()
    run = torch.compile(function, backend="spyre", fullgraph=True)
    return run(*[value.to("spyre") for value in given]).cpu()


@pytest.mark.parametrize("of_truths", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_row_of_attention_that_is_masked_wholly(dtype, of_truths):
    """PyTorch gives zeros, as it does without compiling."""
    q, k, v = (torch.randn(1, 2, 4, 8).to(dtype) for _ in range(3))
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    mask[1] = False
    mask = mask if of_truths else torch.zeros(4, 4, dtype=dtype).masked_fill(~mask, float("-inf"))
    made = compiled(F.scaled_dot_product_attention, q, k, v, mask)
    wanted = F.scaled_dot_product_attention(q, k, v, mask)
    assert (wanted[:, :, 1] == 0).all() and (made[:, :, 1] == 0).all()
    torch.testing.assert_close(made, wanted, atol=2**-6, rtol=2**-6)


@pytest.mark.parametrize("dtype", FLOATS)
def test_infinity_becomes_infinity_again(dtype):
    x = torch.tensor([float("inf"), 3.0, float("-inf"), -2.0, 0.0])
    y = torch.tensor([1.0, float("inf"), 1.0, 0.0, float("-inf")])
    assert torch.equal(compiled(lambda x: x.float(), x.to(dtype)), x)
    assert torch.equal(compiled(lambda x, y: x.to(dtype) + y, x, y), x + y)  # the two types together
    assert torch.equal(compiled(lambda x, y: torch.maximum(x.to(dtype), y), x, y), torch.maximum(x, y))
    assert torch.equal(compiled(lambda x: x.float() == float("-inf"), x.to(dtype)), x == float("-inf"))


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_softmax_of_a_row_that_is_masked_wholly(dtype):
    """In 16 bits an average, where the CPU has NaN: that is told."""
    x = torch.full((2, 5), float("-inf"))
    x[1] = 1.0

    def run(x):
        return x.softmax(-1)

    made = compiled(run, x.to(dtype))
    assert torch.allclose(made[1].float(), torch.full((5,), 0.2), atol=2**-9)
    told = explain(run, x.to(dtype).to("spyre"))
    if dtype == torch.float32:
        assert made[0].isnan().all() and told.notes == []
        return
    assert torch.allclose(made[0].float(), torch.full((5,), 0.2), atol=2**-9)
    note, = told.notes
    assert note["opcode"] == "aten._softmax.default" and note["source"]["text"] == "return x.softmax(-1)"
    assert "a row of -inf alone is an average, and NaN on the CPU" in note["why"]
    assert f"note {note['name']} = aten._softmax.default: {note['why']}" in str(told) and note["why"] in told.html()
    assert told.to_dict()["graphs"][0]["notes"] == [note]
