"""Operations that find places or write at places: the pieces that a compiled graph has for them do what PyTorch's do on
the CPU, ties, NaN and places that are negative included."""
import pytest
import torch
from torch.nn import functional as F

from tegula.torch import compile_backend, explain
from tegula.torch.compile_places import MOST_ROUNDS, TABLE

aten = torch.ops.aten
NAN, INF = float("nan"), float("inf")
TENSORS = {
    "numbers": lambda: torch.randn(3, 5, 4),
    "ties": lambda: torch.randint(0, 3, (3, 5, 4)).float(),
    "integers": lambda: torch.randint(0, 3, (3, 5, 4)),
    "no numbers": lambda: torch.tensor([[1.0, NAN, 2, NAN], [-INF] * 4, [INF, 0, INF, -INF]]),
    "a row": lambda: torch.randn(7),
}


def agree(op, *given):
    """Whether there are pieces for it; they then give what the operation gives."""
    made = TABLE[op](*given)
    if made is NotImplemented:
        return False
    wanted = op(*given)
    for a, b in zip(*([value] if isinstance(value, torch.Tensor) else value for value in (made, wanted)), strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b, equal_nan=True)
    return True


@pytest.mark.parametrize("name", TENSORS)
def test_the_largest_and_the_smallest(name):
    x = TENSORS[name]()
    for dim in range(-x.dim(), x.dim()):
        for keep in (False, True):
            assert all(agree(op, x, dim, keep) for op in (aten.max.dim, aten.min.dim, aten.argmax.default,
                                                          aten.argmin.default))
    assert agree(aten.argmax.default, x) and agree(aten.argmin.default, x, None, True)


@pytest.mark.parametrize("name", ["numbers", "ties", "no numbers", "a row"])
def test_topk(name):
    """Of equal numbers PyTorch may choose another place, and no place comes twice."""
    x = TENSORS[name]()
    for dim in range(x.dim()):
        for k in range(1, min(MOST_ROUNDS, x.size(dim)) + 1):
            values, places = TABLE[aten.topk.default](x, k, dim)
            torch.testing.assert_close(values, x.topk(k, dim)[0], equal_nan=True, rtol=0, atol=0)
            torch.testing.assert_close(x.gather(dim, places), values, equal_nan=True, rtol=0, atol=0)
            assert (places.sort(dim)[0].diff(dim=dim) != 0).all()
    assert TABLE[aten.topk.default](torch.rand(20), MOST_ROUNDS + 1) is NotImplemented
    assert TABLE[aten.topk.default](x, 1, 0, False) is NotImplemented  # NaN is the largest, and amin's smallest


def test_scatter():
    x = TENSORS["numbers"]()
    for dim in range(3):
        for count in (1, 2, 3):
            size = [count if d == dim else n for d, n in enumerate(x.size())]
            places, numbers = torch.rand(x.size()).argsort(dim).narrow(dim, 0, count), torch.randn(x.size())
            assert agree(aten.scatter.value, x, dim, places, 2.5) and agree(aten.scatter.src, x, dim, places, numbers)
            assert agree(aten.scatter_add.default, x, dim - 3, torch.randint(0, x.size(dim), size), numbers)
    fewer = torch.zeros(2, 1, 4, dtype=torch.int64)
    assert not agree(aten.scatter.value, x, 1, fewer, 1.0)  # two of three rows


def test_index_put():
    x = TENSORS["numbers"]()
    for dim, n in enumerate(x.size()):
        for places in (torch.randperm(n)[:3], torch.tensor(-1), torch.tensor([[0], [-1]]), torch.tensor([1])):
            size = [*x.size()[:dim], *places.size(), *x.size()[dim + 1:]]
            for numbers in (torch.randn(size), torch.tensor(2.0)):
                for added in (False, True):
                    assert agree(aten.index_put.default, x, [None] * dim + [places], numbers, added)
        assert agree(aten.index_put.default, x, [None] * dim + [torch.randint(-n, n, (2, 4))], torch.tensor(1.0), True)
    many = torch.randint(-5, 3, (5, 7))
    assert agree(aten.index_put.default, torch.randn(5, 6), [many.abs() - 5], torch.randn(5, 7, 6), True)
    assert agree(aten.index_put.default, torch.randn(5), [many.flatten().abs() - 5], torch.randn(35), True)
    numbers = torch.randn(5, 7, 6)
    for place, strange in (((0, 0, 0), NAN), ((1, 2, 1), INF), ((2, 3, 2), -INF), ((3, 3, 3), INF), ((4, 3, 3), -INF)):
        numbers[place] = strange
    assert agree(aten.index_put.default, torch.randn(5, 6), [many.abs() - 5], numbers, True)
    for given in ((x, [torch.zeros(9, dtype=torch.int64)], torch.tensor(1.0), False), (x, [x > 0], torch.tensor(1.0)),
                  (x, [many[0], many[0]], torch.tensor(1.0))):
        assert TABLE[aten.index_put.default](*given, *[False] * (4 - len(given))) is NotImplemented


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("simulate", [True, False])
def test_index_put_of_infinity_in_16_bits(dtype, simulate):
    """Whoever runs the products: the rows that have it get it, and no other number is touched."""
    torch._dynamo.reset()
    places, numbers = torch.arange(20) % 6, torch.ones(20, 4, dtype=dtype)
    numbers[1, 0], numbers[2, 1], numbers[3, 2] = INF, -INF, NAN
    run = torch.compile(lambda x, places, numbers: x.index_put((places,), numbers, True), backend="spyre",
                        options={"simulate": simulate})
    given = torch.ones(6, 4, dtype=dtype), places, numbers
    wanted, made = aten.index_put.default(given[0], [places], numbers, True), run(*[v.to("spyre") for v in given]).cpu()
    held = wanted.isfinite()
    assert (~held).sum() == 3 and torch.equal(made[held], wanted[held])
    assert (~made.isfinite() | (made.abs() > 8e9))[~held].all()


def test_pieces_side_by_side():
    x = TENSORS["numbers"]()
    for dim, n in enumerate(x.size()):
        for part in ((None, None, 1), (1, 3, 1), (-2, None, 1), (0, 100, 1), (2, 2, 1), (3, 1, 1)):
            count = len(range(*slice(*part).indices(n)))
            assert agree(aten.slice_scatter.default, x, torch.randn([count if d == dim else m for d, m in
                                                                     enumerate(x.size())]), dim, *part)
        for index in (-1, 0, 2):
            assert agree(aten.select_scatter.default, x, torch.randn(x.select(dim, 0).size()), dim, index)
    assert agree(aten.slice_scatter.default, x, torch.randn(3, 5, 2), 2, 1, None, 2)
    assert not agree(aten.slice_scatter.default, x, torch.randn(3, 3, 4), 1, 0, None, 2)  # 5 is no multiple of 2
    for pad in ([1, 2], [0, 0], [-1, 1], [1, 0, 2, 3], [-1, -1, 0, 0, 1, 1], [0, 0, 0, -2], []):
        assert agree(aten.constant_pad_nd.default, x, pad, 1.5)
    for times in ([1, 1, 1], [2, 3, 1], [2, 1, 2, 3]):
        assert agree(aten.repeat.default, x, times)
    assert agree(aten.repeat.default, torch.tensor(3.0), [2, 2])


def test_writing_over():
    """Whatever part of a tensor is written over, what becomes of it begins where its memory does."""
    x = TENSORS["numbers"]()
    for part in (x, x[1], x[:, 1:3], x.permute(2, 0, 1)[1:], x[..., ::2], x[1, 2, 3]):
        for numbers in (torch.randn(part.size()), torch.randint(0, 3, part.size()), torch.tensor(2.0)):
            assert agree(aten.copy.default, part, numbers)
            assert TABLE[aten.copy.default](part, numbers).storage_offset() == 0


def test_rows_are_written_where_they_are():
    """A cache that is an input, and padding that PyTorch makes by writing to slices; nothing is left to the CPU."""
    def run(cache, row, x):
        cache[1] = row
        cache[2, 3:40] = x[0, 0, 0]
        cache.t()[:, 3] = cache[0]
        return cache.sum(0), F.pad(x, (1, 2, 1, 1), mode="circular")

    torch._dynamo.reset()
    graphs, given = [], (torch.randn(4, 77), torch.randn(77), torch.randn(2, 3, 5, 37))
    there = [x.to("spyre") for x in given]
    with compile_backend.watching(lambda compiled, program, new, again: graphs.append(program)):
        made = torch.compile(run, backend="spyre", fullgraph=True)(*there)
    assert not graphs[0].fallbacks
    wanted = run(*given)
    for a, b in zip((*made, *there), (*wanted, *given), strict=True):
        torch.testing.assert_close(a.cpu(), b)


@pytest.mark.parametrize("name", TENSORS)
def test_in_order(name):
    """Infinity among the numbers spoils no sum before it."""
    x = TENSORS[name]()
    for dim in range(-x.dim(), x.dim()):
        assert agree(aten.cumsum.default, x, dim) and agree(aten.flip.default, x, [dim])
        assert agree(aten.cumsum.default, x > 0, dim)
    made = TABLE[aten.cumsum.default](x, 0, dtype=torch.float16)
    torch.testing.assert_close(made, x.cumsum(0, dtype=torch.float16), equal_nan=True)
    assert agree(aten.flip.default, x, list(range(x.dim()))) and agree(aten.flip.default, x, [])
    assert not agree(aten.cumsum.default, torch.rand(4, 1025), 1)  # 4 * 1025 * 1025 choices
    assert not agree(aten.cumsum.default, torch.tensor(1.0), 0)


REASONS = {
    "places are calculated one after the other, 8 of a row at most, and the largest alone": [
        lambda x: x.topk(9), lambda x: x.topk(1, largest=False)],
    "places are calculated one after the other, 8 of a row at most": [
        lambda x: x.scatter(-1, (x > 0).long(), x), lambda x: x.scatter_add(-1, (x > 0).long(), x)],
    "rows of one dimension are written, 8 at most or all of them added up": [
        lambda x: torch.index_put(x, ((x[:2, 0] > 0).long(), (x[:2, 1] > 0).long()), x[:2, 0] * 2)],
    "the device has nothing that sorts": [
        lambda x: x.sort(), lambda x: x.argsort(), lambda x: x.median(-1), lambda x: x.kthvalue(2)],
    "it would take more than 4194304 choices": [lambda x: x.reshape(1, -1).expand(400, -1).cumsum(1)],
    "random numbers are the CPU's": [
        lambda x: torch.rand_like(x) + x, lambda x: torch.dropout(x, 0.5, True),
        lambda x: torch.bernoulli(x.abs().tanh())],
}


@pytest.mark.parametrize("why, function", [(why, function) for why, rows in REASONS.items() for function in rows])
def test_why_they_are_left_to_the_cpu(why, function):
    torch._dynamo.reset()
    assert {row["why"] for row in explain(function, torch.randn(6, 70).to("spyre")).fallbacks} == {why}


def test_they_are_compiled():
    """Nothing of them is left to the CPU."""
    torch._dynamo.reset()

    def run(x, places):
        values, chosen = x.topk(2)
        gates = torch.full_like(x, -1).scatter(-1, chosen, values)
        order = (gates > 0).long().cumsum(-1).flip(0)
        return gates.argmax(1), torch.zeros(70, 5, device=x.device).index_add(0, places, x[:, :5]), order

    graphs = []
    x, places = torch.randn(6, 70), torch.randint(0, 70, (6,))
    with compile_backend.watching(lambda compiled, program, new, again: graphs.append(program)):
        made = torch.compile(run, backend="spyre", fullgraph=True)(x.to("spyre"), places.to("spyre"))
    assert graphs[0].plan.boundaries == () and not any(step.kind == "host" for step in graphs[0].steps)
    for a, b in zip(made, run(x, places), strict=True):
        torch.testing.assert_close(a.cpu(), b)
