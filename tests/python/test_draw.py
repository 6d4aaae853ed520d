"""`tegula draw`: every number of a picture is what the oracle says, the text is aligned, and the SVG shows on a screen
what it says in its file. What pictures look like as text is fixed by tests/cli/draw.txt.
"""
import itertools
import json
import math
import re
import resource
import subprocess
import unicodedata
import xml.etree.ElementTree

import pytest

import console
import oracle as o
import oracle_cases as cases
import png
from test_cli import on_terminal

TEGULA = str(console.TEGULA)
SVG = "{http://www.w3.org/2000/svg}"
COLOURS = ["#78b0ff", "#f3dd83", "#e696a9", "#a3ffbe", "#c0d8fe", "#a6b278"]
CHARACTER = 7.25  # at most so many pixels of the monospaced fonts that are named


def tegula(*arguments, status=0):
    done = subprocess.run([TEGULA, "draw", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60)
    assert done.returncode == status, done.stderr.decode()
    return (done.stdout if status == 0 else done.stderr).decode()


def picture(*arguments):
    lines = tegula(*arguments, "--json").splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


def svg(*arguments):
    return tegula(*arguments, "-o", "-")


# ---- numbers ---------------------------------------------------------------------------------------------

CASES = [
    cases.spyre("f16", [5, 100, 150]), cases.spyre("f16", [3, 7, 200], order=[1, 0, 2]), cases.spyre("s8", [300]),
    cases.spyre("f16", [40, 70], strides=[1, 40]), cases.spyre("f32", [70, 40], order=[1, 0]),
    cases.spyre("f16", [7, 40], order=[0, 1, -1]), cases.spyre("f16", [2, 3, 4, 5, 70]), cases.spyre("f16", []),
    cases.spyre("f16", [5], device_size=[3, 1, 64], stride_map=[0, -1, 1]), cases.spyre("f16", [0, 5]),
    cases.spyre("f32", [64, 128], arrangement="DL16_TO_FP32"), cases.spyre("f16", [1, 3, 1, 90], keep=True),
    cases.xla("f32", [20, 300], [1, 0], [(8, 128)]), cases.xla("bf16", [3, 18, 140], [2, 1, 0], [(8, 128), (2, 1)]),
    cases.xla("f32", [5, 7], [1, 0], [(2, 4)]), cases.xla("f32", [2, 3, 5], [2, 1, 0], [("*", 4)], 64),
    cases.xla("s4", [5, 7], [0, 1], [(2, 8)], 1, 4), cases.xla("pred", [], [], [(256,)], 1, 32),
    cases.xla("f32", [1, 130], [1, 0], [(8, 128)]), cases.xla("f32", [6, 5], [0, 1]),
    cases.xla("u8", [9], [0], [], 1, 6),
    cases.strided("f32", [4, 6]), cases.strided("f32", [4, 6], [8, 1], 3), cases.strided("s4", [7]),
    cases.strided("f32", [3, 4], [-4, 1]), cases.strided("f32", [4, 3], [0, 1]), cases.strided("f32", [5, 3], [1, 1]),
    cases.strided("f32", []), cases.strided("f32", [0, 3]), cases.strided("f32", [40, 50]),
]


def random_cases():
    rng = cases.generator("draw")
    found = []
    while len(found) < 60:
        shape = [rng.choice((1, 2, 3, 5, 9, 17, 40, 66, 130)) for _ in range(rng.randrange(1, 5))]
        if math.prod(shape) > 20000:
            continue
        strides = cases.random_strides(rng, shape)
        kind = rng.randrange(4)
        if kind == 0:
            tiles = [cases.random_tile(rng, rng.randrange(1, 4), rng.choice((4, 40))) for _ in range(rng.randrange(3))]
            order = rng.sample(range(len(shape)), len(shape))
            found.append(cases.xla(rng.choice(("f32", "bf16", "pred")), shape, order, tiles, rng.choice((1, 1, 64))))
        elif kind == 1:
            found.append(cases.spyre("f16", shape, strides, rng.sample(range(len(shape)), len(shape))))
        elif kind == 2:
            device_size, stride_map = cases.random_explicit_spyre(rng, "f16", shape, strides)
            try:
                found.append(cases.spyre("f16", shape, strides, device_size=device_size, stride_map=stride_map))
            except o.Unreachable:
                continue
        else:
            found.append(cases.strided("f32", shape, strides, rng.choice((None, 5))))
    return found


class Judge:
    """The oracle's two dictionaries of a layout."""

    def __init__(self, layout):
        self.layout, self.place, self.held = layout, layout.table(), layout.inverse()

    def elements(self, first, last):
        return [self.held[place] for place in range(first, last + 1) if place in self.held]


def coords_between(low, high):
    return list(itertools.product(*(range(a, b + 1) for a, b in zip(low, high))))


def check_box(cell, judge):
    if cell["kind"] == "padding":
        if cell["from"] is not None:
            places = [place for place in range(cell["from"], cell["to"] + 1) if place not in judge.held]
            assert places[0] == cell["from"] and places[-1] == cell["to"]
            assert len(places) >= cell["padding"]
            assert not cell["label"] or ("~" in cell["label"]) == (cell["to"] - cell["from"] >= cell["padding"])
            assert 0 <= cell["from"] and cell["to"] < judge.layout.span
        return
    offsets = [judge.place[c] for c in coords_between(cell["low"], cell["high"])]
    assert (min(offsets), max(offsets), len(offsets)) == (cell["from"], cell["to"], cell["elements"])


def check_run(cell, judge):
    if cell["kind"] == "none":
        return
    elements = judge.elements(cell["from"], cell["to"])
    assert cell["elements"] == len(elements)
    assert cell["padding"] == cell["to"] - cell["from"] + 1 - len(elements)
    assert (cell["kind"] == "data") == bool(elements)
    if elements:
        assert cell["low"] == [min(x) for x in zip(*elements)] and cell["high"] == [max(x) for x in zip(*elements)]


def check_label(cell, view):
    """A label of the usual kind says the numbers of its cell."""
    box = view in ("host", "device") or cell["label"].startswith("(")
    if not cell["label"] or (box and "~" in cell["label"]):
        return
    numbers = [int(n) for n in re.findall(r"-?\d+", cell["label"].replace("..", " "))]
    if box and cell["kind"] == "data":
        assert numbers == [n for a, b in zip(cell["low"], cell["high"]) for n in ([a] if a == b else [a, b])]
    else:
        if cell["kind"] == "data":
            assert ("~" in cell["label"]) == (cell["to"] - cell["from"] >= cell["elements"])
        assert numbers == ([cell["from"]] if cell["from"] == cell["to"] else [cell["from"], cell["to"]])


def check_tracks(tracks, first, at_least):
    """Nothing is left out without being counted."""
    assert tracks[0]["first"] == first
    for a, b in zip(tracks, tracks[1:]):
        assert b["first"] == a["last"] + 1
    assert tracks[-1]["last"] >= at_least
    assert all(t["hidden"] >= 0 for t in tracks)


def check_panel(panel, judge, host, follow):
    view = panel["view"]
    judge = host if view == "host" else judge
    is_box = panel["column_heading"] or view == "logical"
    marked = []
    for row, column in itertools.product(range(len(panel["rows"])), range(len(panel["columns"]))):
        cell = panel["cells"][row][column]
        if cell is None:
            assert panel["rows"][row]["hidden"] or panel["columns"][column]["hidden"]
            continue
        (check_box if is_box else check_run)(cell, judge)
        check_label(cell, view)
        if not is_box and cell["kind"] != "none":
            assert cell["from"] == panel["rows"][row]["first"] + panel["columns"][column]["first"]
        if cell.get("followed"):
            marked.append(cell)
            assert any(cell["from"] <= place <= cell["to"] for place in judge.layout.place(follow))
    shape = judge.layout.shape
    for tracks, heading in ((panel["rows"], panel["row_heading"]), (panel["columns"], panel["column_heading"])):
        if tracks and heading.startswith("d") and view == "logical":
            check_tracks(tracks, 0, shape[int(heading[1:])] - 1)
    if panel["rows"] and not is_box and view != "inside":
        check_tracks(panel["rows"], judge.layout.base, judge.layout.base + judge.layout.span - 1)
        assert panel["rows"][-1]["last"] == judge.layout.base + judge.layout.span - 1
    return len(marked)


def check_picture(case):
    answer = picture(case.text)
    judge = Judge(case.layout)
    shape = case.layout.shape
    strides = re.search(r"strides=\[([-\d,]*)\] spyre", case.text)
    strides = [int(n) for n in strides.group(1).split(",")] if strides else o.row_major(shape)
    host = Judge(o.strided(shape, strides, 0, case.layout.bits))
    follow = tuple(n - 1 for n in shape)
    views = [panel["view"] for panel in answer["panels"]]
    assert {"logical", "device"} <= set(views)
    marked = [check_panel(panel, judge, host, follow) for panel in answer["panels"]]
    if case.layout.numel:
        for view, n in zip(views, marked):
            assert n >= 1 or (view == "logical" and views.count("logical") == 2)
        note = next(text for text in answer["notes"] if text.startswith("Element"))
        assert f"offset {judge.place[follow]} " in note
    padding = [text for text in answer["notes"] if " are padding" in text]
    if padding:
        assert f": {case.layout.span - len(judge.held)} are padding" in padding[0]


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_numbers(case):
    check_picture(case)


def test_numbers_of_random_layouts():
    verdicts = cases.Verdicts()
    for case in random_cases():
        with verdicts.on(case.text):
            check_picture(case)
    assert verdicts.finish() == 60


def test_the_layout_of_the_issue():
    """Who reads the picture only can say where element (4,99,149) is, and what is padding."""
    text = tegula("f16[5,100,150] spyre")
    plane = text[text.index("plane d0 = 4"):text.index("Host memory")].splitlines()
    heading = next(line for line in plane if "128..149" in line)
    row = next(line for line in plane if line.split("│")[0].strip() == "99")
    at, beside = heading.index("128..149"), heading.index("150..191")
    assert row[at:beside - 1].strip() == "*C 95936..95957"  # 22 elements, one after the other
    assert row[beside:].startswith("░░ 95958..95999")
    assert "Element (4,99,149) is at host offset 74999 (byte 149998)" in text
    assert "21000 are padding, 21.9 %" in text


def test_a_whole_picture_holds_every_element():
    for text in ("f32[4,6]", "f32[5,7]{1,0:T(2,4)}", "f16[3,100] spyre", "f32[4,6] strides=[8,1]"):
        answer = picture(text, "--width", 200)
        device = next(panel for panel in answer["panels"] if panel["view"] == "device")
        assert not any(track["hidden"] for track in device["rows"] + device["columns"])
        cells = [cell for row in device["cells"] for cell in row if cell]
        shape = [int(n) for n in re.match(r"\w+\[([\d,]*)\]", text).group(1).split(",")]
        assert sum(cell["elements"] for cell in cells) == math.prod(shape)


# ---- wishes ----------------------------------------------------------------------------------------------


def labels(answer, view):
    panel = next(panel for panel in answer["panels"] if panel["view"] == view)
    return [[cell and cell["label"] for cell in row] for row in panel["cells"]]


def test_labels():
    text = "f16[3,100] spyre"
    assert labels(picture(text), "logical")[1] == ["64..127", "256..291", "292..319"]
    assert labels(picture(text, "--label", "byte"), "logical")[1] == ["128..255", "512..583", "584..639"]
    assert labels(picture(text, "--label", "coord"), "logical")[1][:2] == ["(1,0..63)", "(1,64..99)"]
    assert labels(picture(text, "--label", "offset"), "device")[1] == ["192..255", "256..319", "320..383"]
    assert labels(picture(text, "--order"), "host")[1] == ["#1", "#4"]
    bits = picture("s4[3]{0:E(4)}", "--label", "byte")
    assert labels(bits, "device") == [["0", "0.4", "1"]]


def test_slices_show_any_two_dimensions():
    answer = picture("f32[4,5,6]", "--slice", ":,3,:", "--view", "logical")
    panel, = answer["panels"]
    assert (panel["row_heading"], panel["column_heading"]) == ("d0", "d2")
    assert panel["cells"][2][1]["low"] == panel["cells"][2][1]["high"] == [2, 3, 1]
    assert panel["cells"][3][5]["followed"], "the last element of the plane"
    assert picture("f32[4,5,6]", "--slice", "1,3,:")["panels"][0]["row_heading"] == ""


def test_highlight_is_shown_wherever_it_is():
    answer = picture("f16[4096,4096] spyre", "--highlight", "2000,77")
    for panel in answer["panels"]:
        assert sum(cell.get("followed", False) for row in panel["cells"] for cell in row if cell) == 1, panel["view"]


def test_diff_says_what_moves():
    answer = picture("f16[3,100] spyre", "--diff", "f16[3,100]")
    panel = answer["panels"][0]
    assert [panel["view"] for panel in answer["panels"]] == ["logical", "device", "device"]
    moved = [[cell.get("moved", False) for cell in row[:2]] for row in panel["cells"]]
    assert moved == [[False, True], [True, True], [True, True]]
    assert panel["cells"][2][1]["label"] == "320 > 264"
    same = picture("f32[4,4]", "--diff", "f32[4,4]{1,0}")["panels"][0]
    assert not any(cell.get("moved") for row in same["cells"] for cell in row)


def divided(shape, cores, stick):
    """Splits by the published rule: dimensions by decreasing size, each the largest divisor that is left."""
    sizes = list(shape[:-1]) + [-(-shape[-1] // stick)]
    splits = [1] * len(shape)
    for d in sorted(range(len(shape)), key=lambda d: -sizes[d]):
        splits[d] = max(n for n in range(1, cores + 1) if sizes[d] % n == 0)
        cores //= splits[d]
    return sizes, splits


# The first three are examples of torch-spyre's work division; the others its rule.
@pytest.mark.parametrize("shape, cores, expected", [
    ([128, 256], 32, [32, 1]), ([100], 32, None), ([33, 64], 32, [11, 1]), ([8, 512], 32, [8, 4]),
    ([37, 64], 32, [1, 1]), ([5, 100, 150], 32, [1, 25, 1]), ([2, 3, 4, 70], 7, [1, 1, 4, 1]), ([4, 8, 640], 12, None),
])
def test_cores(shape, cores, expected):
    sizes, splits = divided(shape, cores, 64)
    assert expected in (None, splits)
    answer = picture(f"f16[{','.join(map(str, shape))}] spyre", "--cores", cores)
    seen = set()
    for panel in answer["panels"]:
        for cell in (cell for row in panel["cells"] for cell in row if cell and cell["elements"]):
            for coord in (cell["low"], cell["high"]):
                pieces = coord[:-1] + [coord[-1] // 64]
                core, factor = 0, 1
                for piece, size, split in zip(pieces, sizes, splits):
                    core += piece // (size // split) * factor
                    factor *= split
                assert cell["core"] == core, (panel["view"], coord)
            assert cell["colour"] == core % 6
            assert panel["view"] == "inside" or cell["label"] == f"core {core}"
            seen.add(core)
    total = math.prod(splits)
    assert {0, total - 1} <= seen <= set(range(total))
    begin = f"{total} core{'s' if total > 1 else ''}" if total == cores else f"{total} of {cores} cores work"
    assert any(note.startswith(begin) for note in answer["notes"])


@pytest.mark.parametrize("arguments, why", [
    (["f16[4]", "--view", "sideways"], "there is no 'sideways'"),
    (["f16[4]", "--view", "devise"], "did you mean device?"),
    (["f16[4]", "--view", "host"], "no host tensor"),
    (["f16[4]", "--view", "inside"], "no tile of more than 16 elements"),
    (["f16[4]", "--highlight", "4"], "coordinate 4 of dimension 0 is not in [0, 4)\n  4\n  ^"),
    (["f16[4]", "--highlight", "1,2"], "2 numbers, but the layout has 1 dimension\n  1,2\n    ^"),
    (["f16[4,5,6]", "--slice", ":,:,:"], "one dimension or two, not 3"),
    (["f16[4,5,6]", "--slice", "1,:"], "2 parts for 3 dimensions"),
    (["f16[4,5,6]", "--slice", "1,2,3"], "one dimension or two, not 0"),
    (["f16[4,5,6]", "--slice", "9,:,:"], "--slice: 9 of dimension 0 is not in [0, 4)"),
    (["f16[4,5,6]", "--slice", "-2,:,:"], "--slice: -2 of dimension 0 is not in [0, 4)"),
    (["f16[4,5,6]", "--slice", "-1,0,:"], "--slice: -1 of dimension 0 is not in [0, 4)"),
    (["f16[4,5,6]", "--slice", "4:,:,1"], "--slice: '4:' is neither a coordinate nor `:`"),
    (["f16[4,5,6]", "--slice", ":, x ,1"], "--slice: 'x' is neither a coordinate nor `:`\n  :, x ,1\n     ^"),
    (["f16[4,5,6]", "--slice", ":,:, 6"], "--slice: 6 of dimension 2 is not in [0, 6)\n  :,:, 6\n       ^"),
    (["f16[4,5,6]", "--slice", "99999999999999999999,:,:"], "99999999999999999999 of dimension 0 is not in [0, 4)"),
    (["f16[4,5,6]", "--slice", ":,,1"], "--slice: '' is neither a coordinate nor `:`\n  :,,1\n    ^"),
    (["f16[4,5,6]", "--slice", ":,:,:"], "--slice: a slice shows one dimension or two, not 3\n  :,:,:\n  ^"),
    (["f16[4,5,6]", "--view", "logical device"], "--view: there is no 'logical device'"),
    (["f16[4]", "--view", "host"], "--view: this layout"),
    (["f16[4]", "--view", "logical,inside"], "--view: this layout"),
    (["f16[3,100] spyre", "--order", "--cores", "2"], "--order: does not go with --cores"),
    (["f16[3,100] spyre", "--order", "--diff", "f16[3,100]"], "--order: does not go with --diff"),
    (["f16[3,100] spyre", "--cores", "2", "--diff", "f16[3,100]"], "--cores: does not go with --diff"),
    (["f16[3,100] spyre", "--label", "coord", "--diff", "f16[3,100]"], "--label: coord does not go with --diff"),
    (["f16[3,100] spyre", "--view", "inside", "--diff", "f16[3,100]"], "views logical and device only"),
    (["f16[3,100] spyre", "--view", "host,device", "--diff", "f16[3,100]"], "views logical and device only"),
    (["f16[4]", "--diff", "f16[4,1]"], "--diff: 2 dimensions and the first layout has 1"),
    (["f16[4]", "--ascii", "-o", "a.svg"], "--ascii: is for text"),
    (["f16[4]", "--ascii", "-o", "-"], "--ascii: is for text"),
    (["f16[4]", "--theme", "dark"], "--theme: is for SVG"),
    (["f16[4]", "--theme", "dark", "-o", "a.txt"], "--theme: is for SVG"),
    (["f16[4]", "--theme", "dark", "--transfer"], "--theme: is for SVG"),
    (["f16[900000000,900000000] spyre", "--width", "40"], "needs 61 characters, and 40 were asked for"),
    (["f16[4]", "--diff", "f16[5]"], "size 5 in dimension 0"),
    (["f16[4]", "--label", "name"], "there is no 'name'"),
    (["f16[4]", "--order", "--label", "byte"], "one of the two"),
    (["f16[4]", "--width", "20"], "40 to 400 characters"),
    (["f16[4]", "-o", "picture.png"], "ends in .svg"),
    (["f16[4]", "-x"], "there is no option -x"),
    (["f16[4]", "--cores", "2"], "is for tensors of Spyre"),
    (["f16[4] spyre", "--cores", "0"], "expected a whole number from 1 to 65536"),
    (["f32[256] spyre device_size=[1,4,2,32] stride_map=[-1,1,128,4]", "--cores", "8"],
     "--cores: 8 parts of dimension 0"),
    (["f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", "--cores", "8"], "would share sticks"),
])
def test_wishes_that_cannot_be(arguments, why):
    assert why in tegula(*arguments, status=2)


# ---- text --------------------------------------------------------------------------------------------------

TEXTS = [case.text for case in CASES] + [
    "f16[4096,4096] spyre", "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}", "f32[4096,4096]{1,0:T(8,128)}",
    "f32[1000000,1000000,1000000]", "s8[2,3] strides=[1000000000000000000,1]", "f16[128,16,1064,64] spyre",
    "f32[2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2]{15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0:T(2,2,2,2)(2,1)}",
    "f8e4m3fn[1,1,1,1,1,1,1,1,1,1,1,1,2,2,3,500] spyre", "f32[64,64]{0,1:T(64,8)(8,1)}",
    "f16[900000000,900000000] spyre",
]

# A column is wider than 40 characters, or than 60.
WIDE = [text for text in TEXTS if re.search(r"000000,|00000000|\[1,1,1,1,1|\[2,2,2,2,2", text)]


def columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [40, 60, 80, 132])
def test_text_is_aligned(text, width):
    for style in ([], ["--ascii"]):
        done = subprocess.run([TEGULA, "draw", text, "--width", str(width), *style], capture_output=True, timeout=60)
        if done.returncode == 2:
            assert width < 80 and text in WIDE
            assert re.search(rb"needs \d+ characters, and \d0 were asked for", done.stderr)
            continue
        drawn = done.stdout.decode()
        assert not style or drawn.isascii()
        assert not re.search(r"[ \t]$", drawn, re.M), "no blanks at line ends"
        for block in drawn.split("\n\n"):
            edges = {columns(line) for line in block.splitlines() if line and line[-1] in "│┐┤┘|+"}
            assert len(edges) <= 1, block
        assert max(map(columns, drawn.splitlines())) <= width


def test_text_without_a_terminal_is_plain():
    assert "\033" not in tegula("f16[5,100,150] spyre")
    coloured = on_terminal("draw", "f16[5,100,150] spyre", columns=100)
    assert "\033[30;48;5;111m" in coloured
    assert re.sub(r"\033\[[0-9;]*m", "", coloured) == tegula("f16[5,100,150] spyre", "--width", 100)
    assert "\033" not in on_terminal("draw", "f16[4]", NO_COLOR="1")


def test_text_to_a_file(tmp_path):
    tegula("f16[4,6]", "-o", tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == tegula("f16[4,6]", "--width", 100)


# ---- SVG: the file -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
def test_svg_is_small_whole_and_the_same_again(text):
    drawn = svg(text)
    assert len(drawn.encode()) < 300_000
    assert drawn == svg(text)
    root = xml.etree.ElementTree.fromstring(drawn)
    assert root.tag == SVG + "svg" and root.get("role") == "img"
    ids = root.get("aria-labelledby").split()
    words = {child.get("id"): child.text for child in root if child.get("id") in ids}
    assert len(words) == 2 and all(words.values())
    assert not re.search(r"(href|src|@import|url\((?!#))", drawn), "nothing outside the file"
    assert not list(root.iter(SVG + "script"))


def placed(node, x=0, y=0):
    """(element, x, y of its group) for all elements."""
    move = re.fullmatch(r"translate\((-?\d+) (-?\d+)\)", node.get("transform", "") or "")
    if move:
        x, y = x + int(move.group(1)), y + int(move.group(2))
    yield node, x, y
    for child in node:
        yield from placed(child, x, y)


def boxes_of(root):
    """(group, (x, y, width, height)) of every cell."""
    for node, x, y in placed(root):
        frames = [child for child in node if child.tag == SVG + "rect" and child.get("class") == "e"]
        if node.tag == SVG + "g" and frames and node.find(SVG + "title") is not None:
            frame = frames[0]
            yield node, (x + int(frame.get("x")), y + int(frame.get("y")), int(frame.get("width")),
                         int(frame.get("height")))


def text_boxes(root):
    """(text, left, top, right, bottom) of every text, as wide as it can get."""
    for node, x, y in placed(root):
        if node.tag == SVG + "text":
            classes = node.get("class").split()
            width = 9.2 if "T" in classes else 9 if "h" in classes else 6.5 if "s" in classes else CHARACTER
            left, base = x + int(node.get("x")), y + int(node.get("y"))
            yield node.text or "", left, base - 10, left + width * len(node.text or ""), base + 3


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("wish", [[], ["--label", "byte"], ["--order"]], ids=" ".join)
def test_no_text_leaves_its_cell_or_meets_another(text, wish):
    root = xml.etree.ElementTree.fromstring(svg(text, *wish))
    for group, (x, y, width, height) in boxes_of(root):
        for node in group.findall(SVG + "text"):
            left = int(node.get("x"))
            frame = next(child for child in group if child.get("class") == "e")
            right = int(frame.get("x")) + int(frame.get("width"))
            assert left + CHARACTER * len(node.text or "") <= right, node.text
    found = [box for box in text_boxes(root) if box[0]]
    width, height = int(root.get("width")), int(root.get("height"))
    for box in found:
        assert 0 <= box[1] and 0 <= box[2] and box[3] <= width + 1 and box[4] <= height, box
    found.sort(key=lambda box: box[2])
    for i, a in enumerate(found):
        for b in found[i + 1:]:
            if b[2] >= a[4]:
                break
            assert b[1] >= a[3] or b[3] <= a[1], (a, b)


# ---- SVG: the pixels -----------------------------------------------------------------------------------------


def rendered(drawn, tmp_path):
    (tmp_path / "a.svg").write_text(drawn)
    subprocess.run(["rsvg-convert", tmp_path / "a.svg", "-o", tmp_path / "a.png"], check=True)
    return png.pixels((tmp_path / "a.png").read_bytes())


def hexed(pixel):
    return "#" + "".join(f"{value:02x}" for value in pixel[:3])


PIXELS = ["f16[5,100,150] spyre", "f32[20,300]{1,0:T(8,128)}", "f32[5,7]{1,0:T(2,4)}",
          "f16[512] spyre dim_order=[0,-1]"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("text", PIXELS)
def test_pixels(text, theme, tmp_path):
    """Cells have their colour and padding has hatching where the numbers say so; the element has its frame."""
    drawn = svg(text, "--theme", theme)
    image = rendered(drawn, tmp_path)
    root = xml.etree.ElementTree.fromstring(drawn)
    assert image.shape[:2] == (int(root.get("height")), int(root.get("width")))
    assert hexed(image[2, 2]) == {"light": "#ffffff", "dark": "#15181e"}[theme]
    ground, line = {"light": ("#f6f7f9", "#c2c8d1"), "dark": ("#b4bac4", "#8a93a0")}[theme]
    answer = picture(text)
    cells = [cell for panel in answer["panels"] for row in panel["cells"] for cell in row
             if cell and cell["kind"] in ("data", "padding")]
    groups = list(boxes_of(root))
    assert len(cells) == len(groups)
    for cell, (_, (x, y, width, height)) in zip(cells, groups):
        if cell["elements"]:
            assert hexed(image[y + 4, x + 3]) == COLOURS[cell["colour"]]
        patch = image[y + 3:y + height - 3, x + width - 5:x + width - 3].reshape(-1, image.shape[2])
        seen = {hexed(pixel) for pixel in patch}
        if cell["kind"] == "padding":
            assert ground in seen and len(seen) > 2, "hatched"
        elif not cell["padding"]:
            assert seen == {COLOURS[cell["colour"]]}
    frames = [(node, x, y) for node, x, y in placed(root) if node.get("class") == "f"]
    for node, x, y in frames[:-1]:
        left, top = x + int(node.get("x")), y + int(node.get("y"))
        red = image[top + int(node.get("height")) // 2, left]
        assert int(red[0]) > 140 and int(red[0]) > 2 * int(red[1])


def test_automatic_theme_is_light_until_asked(tmp_path):
    drawn = svg("f32[4,6]")
    assert "@media (prefers-color-scheme:dark)" in drawn
    assert (rendered(drawn, tmp_path) == rendered(svg("f32[4,6]", "--theme", "light"), tmp_path)).all()


# Machado, Oliveira, Fernandes 2009: protanopia, deuteranopia, tritanopia at full severity.
BLINDNESS = {
    "none": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour):
    values = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def lab(rgb):
    x = (0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.95047
    y = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
    z = (0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.08883
    f = [v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_colours_stay_apart(kind):
    drawn = svg("f32[4,6]")
    assert [re.search(rf"\.c{i}{{fill:(#\w+)}}", drawn).group(1) for i in range(6)] == COLOURS
    seen = []
    for colour in COLOURS + ["#ffffff"]:
        rgb = linear(colour)
        seen.append(lab([min(1, max(0, sum(m * v for m, v in zip(row, rgb)))) for row in BLINDNESS[kind]]))
    assert min(math.dist(a, b) for a, b in itertools.combinations(seen, 2)) > 21


def test_text_on_colours_can_be_read():
    for colour in COLOURS:
        light = lab(linear(colour))[0]
        luminance = ((light + 16) / 116) ** 3
        assert (luminance + 0.05) / 0.055 > 7


def test_large_tensors_are_quick():
    """It takes 10 ms; 4294967296 elements, were each of them looked at, would take seconds."""
    for text in ("f16[65536,65536] spyre", "f32[65536,65536]{1,0:T(8,128)}", "f32[65536,65536]"):
        best = math.inf
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            svg(text)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert best < 0.5, text
