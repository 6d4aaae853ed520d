"""Graphs too wide to be solved exactly: the search says how far it may be off, and is never worse than baselines."""
import random

import pytest

import plan_hlo


def grid(side):
    """Each element of a square of additions reads the one above, often turned, and the one before."""
    draw = random.Random(1)
    yield "x = f16[128,128] parameter(0)"
    for i in range(side):
        for j in range(side):
            above, before = f"g{i - 1}_{j}" if i else "x", f"g{i}_{j - 1}" if j else "x"
            if draw.random() < 0.5:
                yield f"t{i}_{j} = f16[128,128] transpose({above}), dimensions={{1,0}}"
                above = f"t{i}_{j}"
            yield f"g{i}_{j} = f16[128,128] add({above}, {before})"


def clique(count):
    """Additions of any two of those before, one of them often turned."""
    draw, names = random.Random(2), ["x"]
    yield "x = f16[128,128] parameter(0)"
    for i in range(count):
        a, b = draw.choice(names), draw.choice(names)
        if draw.random() < 0.5:
            yield f"t{i} = f16[128,128] transpose({a}), dimensions={{1,0}}"
            a = f"t{i}"
        names.append(f"a{i}")
        yield f"a{i} = f16[128,128] add({a}, {b})"


def wide(count):
    """The same in three dimensions, permuted in any way."""
    draw, names = random.Random(3), ["x"]
    yield "x = f16[128,128,128] parameter(0)"
    for i in range(count):
        a, b, order = draw.choice(names[-60:]), draw.choice(names[-60:]), [0, 1, 2]
        draw.shuffle(order)
        yield f"t{i} = f16[128,128,128] transpose({a}), dimensions={{{','.join(map(str, order))}}}"
        yield f"a{i} = f16[128,128,128] add(t{i}, {b})"
        names.append(f"a{i}")


def module(lines):
    return "ENTRY main {\n" + "\n".join(lines) + "\n}\n"


@pytest.mark.parametrize("branches", [1, 20])
@pytest.mark.parametrize("lines", [lambda: grid(18), lambda: clique(90), lambda: wide(70)],
                         ids=["grid", "clique", "wide"])
def test_never_worse_than_baselines(lines, branches):
    text = module(lines())
    answer = plan_hlo.plan(text, "--max-branches", str(branches))
    assert answer["feasible"] and not answer["optimal"], "the graph is too narrow to show anything"
    assert answer["lower_bound_bytes"] < answer["restickify_bytes"]
    for method in ("greedy", "beam"):
        assert answer["restickify_bytes"] <= plan_hlo.plan(text, "--method", method)["restickify_bytes"], method


def test_the_gap_is_said():
    text = module(wide(70))
    said = plan_hlo.run(text, "--max-branches", "1").stdout
    assert " are needed, so at most " in said and "proven: no plan" not in said


def test_branches_are_one_or_more():
    ran = plan_hlo.run("ENTRY main {\n  ROOT x = f16[128] parameter(0)\n}\n", "--max-branches", "0")
    assert ran.returncode == 2 and "the number of branches is 1 or more" in ran.stderr
