"""`tegula explain`: its text is its JSON, and its JSON is what the other commands and the oracle say.

What the words are is fixed by tests/cli/explain.txt and docs/explain.md; here the numbers in them are judged.
"""
import json
import math
import re
import subprocess

import pytest

import console
import oracle as o
import oracle_cases as cases
import tegula_c as t
from test_cli import on_terminal

TEGULA = str(console.TEGULA)
TEXTS = [
    "f32[1000,3]{1,0:T(8,128)}", "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}", "bf16[24,130]{1,0:T(8,128)(2,1,1,1)}",
    "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", "s4[5,<=7]{0,1:T(2,8)E(4)SC(0:2,4)(1:3)M(64)}", "pred[]{:T(256)E(32)}",
    "f32[2,3,5]{2,1,0:T(*,4)L(64)}", "f32[0,3]{1,0:T(8,128)}", "bf16[7]", "c64[3,1]{0,1:T(2,2)(2,2)(2,2)}",
    "f32[3,5]{1,0:T(2,2)(*,3)}", "u8[9,9]{1,0:E(6)}", "f16[5,100,150] spyre", "f32[7,40] spyre dim_order=[0,1,-1]",
    "f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", "f16[5] spyre device_size=[3,1,64] stride_map=[0,-1,1]",
    "f16[3,5] strides=[0,1] spyre", "f32[64,128] spyre arrangement=DL16_TO_FP32", "s8[0,4] spyre", "f16[5,100,150]",
    "f32[2,3] strides=[4,1] offset=5", "f32[4,3] strides=[-3,0]", "f32[6,3] strides=[2,1]", "s4[7]", "f32[]",
    "s8[2,3] strides=[1000000000000000000,1]",
    "f32[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2]{15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0:T(2,2,2,2)(2,1)}",
]


def tegula(*arguments, status=0):
    done = subprocess.run([TEGULA, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout.decode()


def explained(text):
    lines = tegula("explain", text, "--json").splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


def shown(text):
    return json.loads(tegula("show", text, "--json"))


def steps_named(answer, name):
    return [step for step in answer["steps"] if re.fullmatch(name, step["name"])]


# ---- what is said --------------------------------------------------------------------------------------


def words(text):
    return text.split()


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_the_json(text):
    answer = explained(text)
    printed = words(tegula("explain", text))
    expected = words(answer["text"])
    for step in [*answer["steps"], None, answer["total"]]:
        if step is None:
            expected += words(between(answer))
        else:
            expected += words(" ".join([step.get("code", ""), step["name"], *step["says"]]))
    assert printed == expected


def named(coord):
    return "padding" if coord is None else "(" + ",".join(map(str, coord)) + ")"


def between(answer):
    """The tables of places."""
    if not answer["places"]:
        return ""
    bits = any(place["bit"] for place in answer["places"])
    out = ["where elements land on the device" if answer["notation"] == "spyre" else "where elements land",
           "coordinate slot byte" + (" bit" if bits else "")]
    for place in answer["places"]:
        out += [named(place["coord"]), str(place["slot"]), str(place["byte_offset"])]
        out += [str(place["bit"])] if bits else []
        out.append(place["why"])
    slots = answer["first_slots"]
    if slots:
        first, last = slots[0]["slot"], slots[-1]["slot"]
        which = f"slot {first} holds" if first == last else f"slots {first} to {last} hold"
        out.append(f"And the other way round, {which} " + ", ".join(named(slot["coord"]) for slot in slots) + ".")
    return " ".join(out)


@pytest.mark.parametrize("text", TEXTS)
def test_codes_are_the_text_from_left_to_right(text):
    answer = explained(text)
    rest = answer["text"]
    for step in answer["steps"]:
        code = step.get("code", "")
        if code.startswith(("strides=", "offset=")) and code not in rest:
            continue  # canonical text leaves out what is dense, and an offset of 0
        at = rest.find(code.rstrip("}"))  # properties stand inside the braces
        assert at >= 0, (code, rest)
        rest = rest[at + len(code.rstrip("}")):]
    assert set(rest) <= {"}"}, rest


@pytest.mark.parametrize("columns", [80, 100, 120, 200])
def test_lines_keep_to_the_terminal(columns):
    widest = 0
    for text in TEXTS[:-2]:  # the last two have numbers too long for any terminal
        title, *lines = on_terminal("explain", text, columns=columns, NO_COLOR="1").splitlines()
        assert max(map(len, lines)) <= min(columns, 120), text
        widest = max(widest, *map(len, lines))
    assert widest > min(columns, 120) - 10, "the width is used"


def test_colour_is_for_terminals():
    text = "f32[8]{0:T(8)}"
    assert re.sub(r"\033\[[0-9;]*m", "", on_terminal("explain", text)) == tegula("explain", text)
    assert "\033[" in on_terminal("explain", text) and "\033[" not in on_terminal("explain", text, TERM="dumb")


# ---- numbers ---------------------------------------------------------------------------------------------


def check_places(text, answer):
    layout = t.parse(text).layout
    for place in answer["places"]:
        assert place["slot"] == t.offset(layout, place["coord"]), text
        assert 8 * place["byte_offset"] + place["bit"] == place["slot"] * layout.elem_bits and 0 <= place["bit"] < 8
    coords = [tuple(place["coord"]) for place in answer["places"]]
    assert len(set(coords)) == len(coords)
    if t.numel(layout):
        assert coords[0] == (0,) * layout.ndim and coords[-1] == tuple(n - 1 for n in t.shape(layout))
    for slot in answer["first_slots"]:
        held = t.coord(layout, slot["slot"])
        assert (None if slot["coord"] is None else tuple(slot["coord"])) == (None if held == t.PADDING else held)
    assert len(answer["first_slots"]) == (min(8, layout.span) if t.numel(layout) else 0), text


def check_total(text, answer):
    show, total = shown(text), answer["total"]
    assert (answer["text"], answer["notation"]) == (show["text"], show["notation"])
    assert (total["elements"], total["slots"], total["bytes"]) == (show["elements"], show["physical_elements"],
                                                                   show["bytes"])
    assert total["padding_slots"] == show["padding_elements"]
    for choice in total.get("cheaper", []):
        other = text[: text.index("]") + 1] + choice["layout"]
        assert shown(other)["bytes"] == choice["bytes"] == total["bytes"] - choice["saved_bytes"] < total["bytes"]


def check_levels(text, answer):
    levels = steps_named(answer, r"tile level \d+")
    before = steps_named(answer, "minor to major")
    sizes = before[0]["sizes"] if before else []
    for level in levels:
        tile = [o.COMBINE if n == "*" else n for n in level["tile"]]
        want, _ = o.xla_physical(sizes, [0] * len(sizes), [tuple(tile)])
        assert level["sizes"] == want, text
        for part in level["roundings"]:
            assert part["padded"] == part["tiles"] * part["tile"] >= part["size"] > part["padded"] - part["tile"]
        sizes = level["sizes"]
    return sum(part["padding_bytes"] for level in levels for part in level["roundings"])


def check_xla(text, answer):
    show, total = shown(text), answer["total"]
    tail = steps_named(answer, "padding at the end")
    padding = check_levels(text, answer)
    sizes = (steps_named(answer, r"tile level \d+") or steps_named(answer, "minor to major") or [{"sizes": []}])[-1]
    assert sizes["sizes"] == show["xla"]["physical_shape"]
    bits = show["element_bits"]
    unpadded = -(-total["elements"] * bits // 8)
    before_tail = tail[0]["slots_before"] if tail else total["slots"]
    assert unpadded + padding == -(-before_tail * bits // 8), text
    assert math.prod(sizes["sizes"]) == before_tail


def check_counts(text, answer):
    """What a size counts is arithmetic: evaluated, with the sizes, it gives the slot of every place that is told."""
    for step in answer["steps"]:
        if "counts" not in step or "sizes" not in step or not answer["places"]:
            continue
        if step is not [s for s in answer["steps"] if "sizes" in s][-1]:
            continue
        where = dict(line.split("  where  ")[1].split(" = ") for line in step["says"] if line.startswith("  where"))
        for place in answer["places"]:
            names = {f"d{d}": x for d, x in enumerate(place["coord"])}
            for name, formula in where.items():
                names[name] = eval(formula.replace("/", "//"), {}, names)
            slot = 0
            for size, count in zip(step["sizes"], step["counts"]):
                digit = 0 if count == "(padding)" else eval(count.replace("/", "//"), {}, names)
                assert 0 <= digit < size, (text, count)
                slot = slot * size + digit
            assert slot == place["slot"], (text, place)


@pytest.mark.parametrize("text", TEXTS)
def test_numbers(text):
    answer = explained(text)
    check_places(text, answer)
    check_total(text, answer)
    check_counts(text, answer)
    if answer["notation"] == "xla":
        check_xla(text, answer)
    if answer["notation"] == "spyre":
        spyre = shown(text)["spyre"]
        assert steps_named(answer, "sizes on the device")[0]["device_size"] == spyre["device_size"]
        assert steps_named(answer, "steps on the host")[0]["stride_map"] == spyre["stride_map"]
        assert steps_named(answer, "memory in sticks")[0]["elements_per_stick"] == spyre["elements_per_stick"]


def test_numbers_of_random_xla_layouts():
    rng = cases.generator("explain")
    for _ in range(60):
        ndim = rng.randrange(5)
        shape = [rng.choice((1, 2, 3, 7, 8, 9, 130)) for _ in range(ndim)]
        tiles = [cases.random_tile(rng, rng.randrange(1, 4), rng.choice((4, 128))) for _ in range(rng.randrange(4))]
        text = cases.xla_text(rng.choice(("f32", "bf16", "s4", "pred")), shape, rng.sample(range(ndim), ndim), tiles,
                              rng.choice((1, 1, 64)), rng.choice((0, 0, 4, 32)), rng.choice((0, 1)))
        answer = explained(text)
        check_places(text, answer)
        check_total(text, answer)
        check_counts(text, answer)
        if answer["notation"] == "xla":  # a scalar without properties is not
            check_xla(text, answer)


def test_a_tuple_is_its_leaves():
    texts = ["f32[2,3]{1,0:T(2,4)}", "bf16[7]{0}", "s8[3]{0}"]
    answer = explained(f"({texts[0]}, ({texts[1]}, token[]), b({texts[2]}), f32[?])")
    assert [leaf["index"] for leaf in answer["leaves"]] == [[0], [1, 0], [1, 1], [2], [3]]
    assert [leaf["kind"] for leaf in answer["leaves"]] == ["array", "array", "token", "buffer", "array"]
    for leaf, text in zip((answer["leaves"][i] for i in (0, 1, 3)), texts):
        alone = explained(text)
        del alone["schema"]
        assert {key: value for key, value in leaf.items() if key not in ("index", "kind")} == alone
    for i in (2, 4):
        assert set(answer["leaves"][i]) == {"index", "kind", "text", "says"}
