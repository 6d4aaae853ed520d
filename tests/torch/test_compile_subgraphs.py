"""Branches and rounds that depend on data."""
import pytest
import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as each
from torch._higher_order_ops.while_loop import while_loop

import tegula.torch


def doubled(x):
    return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0, device=x.device), x))


SUBGRAPHS = {
    "cond": lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)),
    "while_loop": doubled, "map_impl": lambda x: each(lambda row: row + 1, x),
    "associative_scan": lambda x: associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")}


@pytest.mark.parametrize("name", SUBGRAPHS)
@pytest.mark.parametrize("sign", [1, -1])
def test_subgraphs(name, sign):
    """They run: on the CPU, which the report says, or as the operations that they are made of."""
    torch._dynamo.reset()
    x = torch.rand(4, 70) * sign
    told = tegula.torch.explain(lambda x: SUBGRAPHS[name](x * 3), x.to("spyre"))
    wanted = SUBGRAPHS[name](x * 3)
    for a, b in zip(*map(torch.utils._pytree.tree_leaves, (told.result, wanted)), strict=True):
        torch.testing.assert_close(a.cpu(), b)
    known = {(name, "its branches and rounds are programs of their own")}
    assert {(row["opcode"], row["why"]) for row in told.fallbacks} == (known if name != "associative_scan" else set())
