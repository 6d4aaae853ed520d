"""`tegula draw --transfer`: what is drawn is what the program of `tegula dma` does, step by step, and what the oracle
says of each element.
"""
import itertools
import json
import math
import re
import subprocess
import xml.etree.ElementTree

import pytest

import console
import oracle as o
import oracle_cases as cases
import test_draw as draw
from test_draw import CHARACTER, SVG, TEGULA, boxes_of, columns, svg, tegula, text_boxes

TEXTS = [case.text for case in draw.CASES] + [
    "f16[1024,256] spyre", "f16[60] spyre device_size=[1,512,64] stride_map=[64,0,1]", "f32[192]{0:T(64)}",
    "f16[128,70] strides=[1,128] spyre", "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}", "f16[900000000,900000000] spyre",
    "f32[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2]{15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0:T(2,2,2,2)(2,1)}",
]


def dma(text, direction="h2d"):
    done = subprocess.run([console.TEGULA, "dma", text, "--json", "--direction", direction], capture_output=True,
                          check=True, timeout=60)
    return json.loads(done.stdout)["descriptors"]


def story(text, *wishes):
    return json.loads(tegula(text, "--transfer", "--json", *wishes))


def steps_of(descriptor):
    """Every element that a descriptor carries: (loop indices, host, device), in order."""
    for index in itertools.product(*map(range, descriptor["ranges"])):
        yield (index, descriptor["host_offset"] + sum(map(math.prod, zip(index, descriptor["host_strides"]))),
               descriptor["device_offset"] + sum(map(math.prod, zip(index, descriptor["device_strides"]))))


def walks_by_places(descriptor):
    return bool(descriptor["ranges"]) and descriptor["host_strides"][-1] == descriptor["device_strides"][-1] == 1


def runs_of(program):
    """The whole program as runs, by the definition: (descriptor, loops, host, device, length)."""
    for number, descriptor in enumerate(program):
        outer = len(descriptor["ranges"]) - walks_by_places(descriptor)
        for index, group in itertools.groupby(steps_of(descriptor), lambda step: step[0][:outer]):
            group = list(group)
            yield number, list(index), group[0][1], group[0][2], len(group)


def check_strip(strip, span, base, side, runs, shown):
    """From the first place to the last; places of runs, places that nothing touches, and the rest."""
    touched = set()
    for _, _, host, device, length in runs:
        start = host if side == "host" else device
        touched.update(range(start, start + length))
    next_place, named = base, []
    for part in strip:
        places = set(range(part["from"], part["to"] + 1))
        assert part["from"] <= next_place, "nothing is skipped"
        next_place = max(next_place, part["to"] + 1)
        if part["kind"] == "untouched":
            assert not places & touched
        for number in part["runs"]:
            run = shown[number]
            assert run[side] == [part["from"], part["to"]]
        assert bool(part["runs"]) == (part["kind"] == "run")
        named += part["runs"]
    assert next_place == base + span and sorted(named) == sorted(shown)
    everything = len(runs) == len(shown)
    assert not (everything and any(part["kind"] == "hidden" for part in strip))


def check_story(case, direction="h2d"):
    program = dma(case.text, direction)
    answer = story(case.text, "--direction", direction)
    runs = list(runs_of(program))
    assert (answer["descriptors"], answer["run_count"]) == (len(program), len(runs))
    assert answer["elements"] == sum(run[4] for run in runs)
    shown = {run["run"]: run for run in answer["runs"]}
    assert list(shown) == sorted(shown) and len(shown) == len(answer["runs"])
    held = case.layout.inverse()
    for number, run in shown.items():
        descriptor, loops, host, device, length = runs[number]
        assert (run["descriptor"], run["loops"]) == (descriptor, loops)
        assert run["host"] == [host, host + length - 1] and run["device"] == [device, device + length - 1]
        if case.layout.numel == len(held):
            assert (run["first"], run["last"]) == (list(held[device]), list(held[device + length - 1]))
    if not runs:
        assert answer["host"] == answer["device"] == []
        return
    assert {0, len(runs) - 1} <= set(shown)
    follow = tuple(n - 1 for n in case.layout.shape)
    place = case.layout.table()[follow]
    followed = [run for run in answer["runs"] if run.get("followed")]
    if followed:
        (run,) = followed
        at = place - run["device"][0]
        assert 0 <= at <= run["device"][1] - run["device"][0]
        assert f"host offset {run['host'][0] + at}" in answer["notes"][0]
        assert f"device offset {place}" in answer["notes"][0]
    else:
        assert "goes nowhere" in answer["notes"][0] and case.layout.numel > len(held)
    check_strip(answer["device"], case.layout.span, case.layout.base, "device", runs, shown)
    strides = re.search(r"strides=\[([-\d,]*)\] spyre", case.text)
    strides = [int(n) for n in strides.group(1).split(",")] if strides else o.row_major(case.layout.shape)
    host = o.strided(case.layout.shape, strides, 0, case.layout.bits)
    check_strip(answer["host"], host.span, host.base, "host", runs, shown)


def can_be_written(case):
    """Two elements in one place are refused, but for expanded tensors."""
    done = subprocess.run([console.TEGULA, "dma", case.text], capture_output=True, timeout=60)
    return done.returncode == 0


@pytest.mark.parametrize("direction", ["h2d", "d2h"])
@pytest.mark.parametrize("case", draw.CASES, ids=repr)
def test_numbers(case, direction):
    if direction == "h2d" and not can_be_written(case):
        assert "two elements in one place" in tegula(case.text, "--transfer", status=2)
        return
    check_story(case, direction)


def test_numbers_of_random_layouts():
    verdicts = cases.Verdicts()
    checked = 0
    for case in draw.random_cases():
        if not can_be_written(case):
            continue
        checked += 1
        with verdicts.on(case.text):
            check_story(case)
    assert verdicts.finish() == checked >= 40


def test_the_followed_run_is_shown_wherever_it_is():
    answer = story("f16[5,100,150] spyre", "--highlight", "3,57,140")
    (run,) = [run for run in answer["runs"] if run.get("followed")]
    assert (run["descriptor"], run["loops"]) == (1, [57, 3])
    assert run["host"][0] <= 3 * 15000 + 57 * 150 + 140 <= run["host"][1]


def test_the_loops_are_those_of_dma():
    for text in ("f16[5,100,150] spyre", "f16[1024,256] spyre"):
        done = subprocess.run([console.TEGULA, "dma", text], capture_output=True, check=True, timeout=60)
        loops = [line for line in done.stdout.decode().splitlines() if re.match(r" *(for|device\[)", line)]
        drawn = tegula(text, "--transfer", "--width", 120).splitlines()
        assert [line[2:] for line in drawn if re.match(r"   *(for|device\[)", line)] == loops
        words = "".join(node.text or "" for node in
                        xml.etree.ElementTree.fromstring(svg(text, "--transfer")).iter(SVG + "text"))
        assert all(loop.split("  #")[0].strip() in words for loop in loops)


def test_both_memories_and_the_list_name_the_same_runs():
    drawn = tegula("f16[5,100,150] spyre", "--transfer", "--width", 120)
    answer = story("f16[5,100,150] spyre")
    for letter, run in zip("ABCDEFGHIJKLMN", answer["runs"]):
        assert len(re.findall(rf"{letter} #{run['run']}\b", drawn)) >= 3
    for number in (0, 4, 5, 10, 999, 1000, 1004, 1005, 1499):
        assert number in {run["run"] for run in answer["runs"]}, "where a loop takes its first step"


# ---- text and SVG ------------------------------------------------------------------------------------------

DRAWN = [text for text in TEXTS if "[0,1]" not in text and "[1,1]" not in text]


@pytest.mark.parametrize("text", DRAWN)
@pytest.mark.parametrize("width", [40, 80, 132])
def test_text_is_aligned(text, width):
    for style in ([], ["--ascii"]):
        done = subprocess.run([console.TEGULA, "draw", text, "--transfer", "--width", str(width), *style],
                              capture_output=True, text=True, timeout=60)
        if done.returncode == 2:
            assert width < 80 or "00000000" in text or "[2,2" in text
            assert re.search(rf"needs \d+ characters, and {width} were asked for", done.stderr)
            continue
        drawn = done.stdout
        assert not style or drawn.isascii()
        assert not re.search(r"[ \t]$", drawn, re.M), "no blanks at line ends"
        memory = [block for block in drawn.split("\n\n") if re.match("(Host|Device) memory", block)]
        for block in memory:
            lines = block.splitlines()[1:]
            assert {columns(line) for line in lines} <= {columns(lines[0]), columns(lines[-1])}
        assert max(map(columns, drawn.splitlines())) <= width


@pytest.mark.parametrize("text", DRAWN)
@pytest.mark.parametrize("wish", [[], ["--direction", "d2h"]], ids=" ".join)
def test_svg(text, wish):
    drawn = svg(text, "--transfer", *wish)
    assert len(drawn.encode()) < 100_000 and drawn == svg(text, "--transfer", *wish)
    assert not re.search(r"(href|src|@import|url\((?!#))", drawn), "nothing outside the file"
    root = xml.etree.ElementTree.fromstring(drawn)
    for group, (_, _, width, _) in boxes_of(root):
        frame = next(child for child in group if child.get("class") == "e")
        for node in group.findall(SVG + "text"):
            inside = int(node.get("x")) - int(frame.get("x"))
            assert inside + CHARACTER * len(node.text or "") <= width, node.text
    found = sorted((box for box in text_boxes(root) if box[0]), key=lambda box: box[2])
    across, down = int(root.get("width")), int(root.get("height"))
    for i, a in enumerate(found):
        assert 0 <= a[1] and 0 <= a[2] and a[3] <= across + 1 and a[4] <= down, a
        for b in found[i + 1:]:
            if b[2] >= a[4]:
                break
            assert b[1] >= a[3] or b[3] <= a[1], (a, b)


def test_arrows_join_the_same_letters():
    """Each arrow ends at a cell that names the run of the cell it begins at, or one of them."""
    root = xml.etree.ElementTree.fromstring(svg("f16[5,100,150] spyre", "--transfer"))
    cells = [(group.find(SVG + "text").text, box) for group, box in boxes_of(root)]
    offset = next(node for node in root if node.get("transform")).get("transform")
    dx, dy = map(int, re.findall(r"\d+", offset))

    def at(x, y):
        found = [name for name, (left, top, width, height) in cells
                 if left - 5 <= x + dx <= left + width + 5 and top < y + dy < top + height]
        assert len(found) == 1
        return found[0]

    arrows = [path.get("d") for path in root.iter(SVG + "path") if re.match(r"M\d+ \d+C", path.get("d"))]
    assert len(arrows) == 2 * len(story("f16[5,100,150] spyre")["runs"])
    for d in arrows:
        numbers = list(map(int, re.findall(r"\d+", d)))
        assert at(*numbers[:2]) == at(*numbers[-2:])


@pytest.mark.parametrize("arguments, why", [
    (["f16[4]", "--transfer", "--order"], "--order: does not go with --transfer"),
    (["f16[4]", "--transfer", "--view", "host"], "--view: does not go with --transfer"),
    (["f16[4]", "--direction", "d2h"], "is for --transfer"),
    (["f16[4]", "--transfer", "--direction", "h2h"], "there is no 'h2h'"),
    (["f16[64] spyre device_dtype=SENINT8", "--transfer"], "cannot convert"),
])
def test_wishes_that_cannot_be(arguments, why):
    assert why in tegula(*arguments, status=2)


def test_long_stretches_that_nothing_touches():
    """Not `not drawn`: between two rows of the host 19940 places are nobody's."""
    parts = story("f16[40,60] strides=[20000,1] spyre")["host"]
    gaps = [part["to"] - part["from"] + 1 for part in parts if part["kind"] == "untouched"]
    assert gaps and set(gaps) == {19940}
    assert [part["kind"] for part in parts].count("hidden") == 1, "26 runs are not drawn, and nothing else"


def test_percentages_are_the_same_everywhere():
    text = "f32[2,3,5]{2,1,0:T(*,4)}"
    show = subprocess.run([TEGULA, "show", text], capture_output=True, text=True, check=True).stdout
    assert "6.3 %" in show and "6.3 %" in tegula(text)
