"""Layout.draw and tegula.draw: the command's pictures, character for character, and images for notebooks."""
import base64
import html.parser
import random
import re
import subprocess
import sys

import pytest

import console
import oracle as o
import oracle_cases as cases
import tegula
from lost_blocks import loses_blocks
from tegula import Layout

SPYRE = "f16[5,100,150] spyre"


def command(text, *options):
    words = [console.TEGULA, "draw", text, *options]
    return subprocess.run(words, check=True, capture_output=True, text=True, encoding="utf-8").stdout


PICTURES = [
    (SPYRE, {}, []), ("f32[4,6]", {}, []), ("bf16[20,300]{1,0:T(8,128)(2,1)}", {}, []),
    ("f32[2,3,5]{2,1,0:T(*,4)}", {}, []),
    ("f16[0,5] spyre", {}, []), ("f16[]", {}, []), ("f32[3,4] strides=[-4,1] offset=8", {}, []),
    (SPYRE, {"view": "logical,device"}, ["--view", "logical,device"]),
    (SPYRE, {"view": ["inside"]}, ["--view", "inside"]), (SPYRE, {"view": "all"}, []),
    (SPYRE, {"highlight": (1, 2, 3)}, ["--highlight", "1,2,3"]),
    (SPYRE, {"slice": (4, None, None)}, ["--slice", "4,:,:"]),
    (SPYRE, {"slice": (slice(None), 7, slice(None))}, ["--slice", ":,7,:"]),
    (SPYRE, {"label": "byte"}, ["--label", "byte"]), (SPYRE, {"label": "offset"}, ["--label", "offset"]),
    (SPYRE, {"order": True}, ["--order"]),
    (SPYRE, {"diff": SPYRE + " dim_order=[1,0,2]"}, ["--diff", SPYRE + " dim_order=[1,0,2]"]),
    ("f16[8,512] spyre", {"cores": 32}, ["--cores", "32"]), (SPYRE, {"ascii": True}, ["--ascii"]),
    (SPYRE, {"theme": "dark"}, ["--theme", "dark"]), (SPYRE, {"theme": "light"}, ["--theme", "light"]),
]


@pytest.mark.parametrize("text, options, words", PICTURES)
def test_pictures_are_those_of_the_command(text, options, words):
    for_text = words if "theme" not in options else []  # the command refuses what has no effect
    for_svg = words if "ascii" not in options else []
    picture = tegula.draw(text, **options)
    assert str(picture) + "\n" == command(text, *for_text, "--width", "100")
    assert picture.svg() == command(text, *for_svg, "-o", "-")
    narrow = Layout(text).draw(width=60, **options)
    assert str(narrow) + "\n" == command(text, *for_text, "--width", "60")
    assert narrow.svg() == command(text, *for_svg, "-o", "-", "--width", "60")
    assert narrow.text() == str(narrow) and picture.layout == Layout(text)
    assert picture.svg().count(picture.about.replace("->", "-&gt;")) == 1


def test_colour_is_the_same_text():
    coloured = Layout(SPYRE).draw().text(colour=True)
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == str(Layout(SPYRE).draw()) != coloured
    assert Layout(SPYRE).draw(ascii=True).text().isascii()


@pytest.mark.parametrize("shape, strides, order", [([5, 100, 150], None, None), ([40, 70], [1, 40], None),
                                                   ([3, 7, 200], None, [1, 0, 2]), ([7, 40], [40, 1], [0, 1, -1])])
def test_the_followed_element_is_where_the_oracle_has_it(shape, strides, order):
    case = cases.spyre("f16", shape, strides, order)
    rng = random.Random(11)
    for _ in range(20):
        coord = tuple(rng.randrange(n) for n in shape)
        about = Layout(case.text).draw(highlight=coord).about
        host, device = (int(n) for n in re.search(r"host offset (\d+) .* device offset (\d+) ", about).groups())
        assert case.layout.place(coord) == [device] and host == o.dot(coord, strides or o.row_major(shape))


def test_layouts_that_no_notation_says():
    tiled = Layout("f16[5,100,150]").split(2, 64).reorder(1, 2, 0, 3)
    assert "Layout.from_modes" in str(tiled.draw()) and tiled.draw().svg().startswith("<svg ")


# ---- notebooks --------------------------------------------------------------------------------------


class Images(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_a_notebook_shows_the_picture():
    for shown in (Layout(SPYRE), Layout(SPYRE).draw()):
        (tag, image), = Images(shown._repr_html_()).found
        kind, data = image["src"].split(",", 1)
        assert (tag, kind) == ("img", "data:image/svg+xml;base64")
        assert base64.b64decode(data).decode() == Layout(SPYRE).draw().svg()
        assert "prefers-color-scheme:dark" in base64.b64decode(data).decode()
        assert image["alt"] == Layout(SPYRE).draw().about and "max-width:100%" in image["style"]
    dark = Images(Layout(SPYRE).draw(theme="dark")._repr_html_()).found[0][1]["src"]
    assert base64.b64decode(dark.split(",")[1]).decode() == Layout(SPYRE).draw(theme="dark").svg()


def test_a_notebook_that_takes_svg():
    """IPython asks for both, and what shows the cell chooses: one file, the same that the image has."""
    for shown in (Layout(SPYRE), Layout(SPYRE).draw()):
        assert shown._repr_svg_() == Layout(SPYRE).draw().svg()
    assert Layout(SPYRE).draw(theme="dark")._repr_svg_() == Layout(SPYRE).draw(theme="dark").svg()
    assert Layout("f16[8]").split(0, 4)._repr_svg_().startswith("<svg ")


def test_a_notebook_shows_every_layout():
    for text in ("f32[]", "f32[0,3]", "f32[4] strides=[600000000000000000]", "f16[512] spyre dim_order=[0,-1]"):
        assert len(Images(Layout(text)._repr_html_()).found) == 1
    assert Images(Layout("f16[8]").split(0, 4)._repr_html_()).found[0][1]["alt"].startswith("Layout.from_modes(")


# ---- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, error, words", [
    ({"view": "side"}, tegula.ArgumentError, "'inside', several of them, or 'all', not 'side'"),
    ({"view": 3}, TypeError, ""), ({"view": [3]}, tegula.ArgumentError, "not 3"),
    ({"view": "inside"}, tegula.ArgumentError, "no tile"), ({"view": "host"}, tegula.ArgumentError, ""),
    ({"highlight": (1, 2, 3)}, tegula.ArgumentError, "highlight: 3 numbers for 2 dimensions"),
    ({"highlight": (4, 0)}, tegula.ArgumentError, "4"), ({"highlight": "1,2"}, TypeError, "highlight"),
    ({"slice": (1,)}, tegula.ArgumentError, "slice: 1 number for 2 dimensions"),
    ({"slice": "1,:"}, TypeError, "None for a dimension"), ({"slice": (-1, None)}, tegula.ArgumentError, "no place -1"),
    ({"slice": (9, None)}, tegula.ArgumentError, "9"), ({"slice": (slice(1, 2), None)}, TypeError, ""),
    ({"slice": [None] * 99}, tegula.ArgumentError, "slice"),
    ({"label": "x"}, tegula.ArgumentError, "'coord', 'offset' or 'byte', not 'x'"),
    ({"label": "byte", "order": True}, tegula.ArgumentError, "one of the two"),
    ({"diff": "f32[2]"}, tegula.ArgumentError, ""), ({"diff": 3}, TypeError, "diff"),
    ({"cores": 4}, tegula.ArgumentError, "tensors of Spyre"), ({"cores": "4"}, TypeError, ""),
    ({"theme": "pink"}, tegula.ArgumentError, "'auto', 'light' or 'dark'"),
    ({"width": 39}, tegula.ArgumentError, "39"), ({"width": 1 << 40}, tegula.ArgumentError, "40 to 400"),
    ({"width": 0}, tegula.ArgumentError, "40 to 400"), ({"colour": True}, TypeError, ""),
])
def test_bad_input_is_an_exception(options, error, words):
    for call in (lambda: Layout("f32[4,6]").draw(**options), lambda: tegula.draw("f32[4,6]", **options)):
        with pytest.raises(error) as caught:
            call()
        assert words in str(caught.value)


def test_cores_have_a_limit():
    for cores in (0, -1, 65537):
        with pytest.raises(tegula.ArgumentError, match=f"1 to 65536, not {cores}"):
            Layout(SPYRE).draw(cores=cores)
    with pytest.raises(TypeError):
        tegula.Picture()
    with pytest.raises(TypeError):
        tegula.draw(3)


def test_no_reference_is_lost():
    small = "f16[2,4,70] spyre"  # what is lost does not depend on the size, time does
    layout, other = Layout(small), Layout(small + " dim_order=[1,0,2]")

    def everything():
        picture = layout.draw(diff=other, slice=(1, None, slice(None)), highlight=(1, 2, 3), view=["device", "logical"])
        str(picture), repr(picture), picture.text(colour=True), picture.about, picture.layout, picture._repr_html_()
        picture._repr_svg_(), layout._repr_svg_()
        tegula.draw(small, cores=4, theme="dark", width=60, ascii=True).svg(), layout._repr_html_()
        for bad in ({"view": "x"}, {"slice": (-1, 2, 3)}, {"diff": "f32["}, {"cores": 0}, {"highlight": (9, 9, 9)}):
            try:
                layout.draw(**bad)
            except tegula.Error:
                pass

    watched = [layout, other, tegula.Picture]
    everything()
    before = [sys.getrefcount(item) for item in watched]
    assert not loses_blocks(everything, 100, 300, 150)
    assert [sys.getrefcount(item) for item in watched] == before
