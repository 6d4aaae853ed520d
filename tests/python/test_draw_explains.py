"""`tegula draw` explains what it draws: what moves, what is left out, where cells have holes, and every sign."""
import re
import subprocess
import xml.etree.ElementTree

import pytest

from test_draw import SVG, TEGULA, coords_between, picture, placed, svg, tegula, text_boxes


def test_diff_names_the_first_element_that_moves():
    """Not `0 > 0` where the first element of a cell stays and others do not."""
    panel = picture("f32[16,256]{1,0:T(8,128)}", "--diff", "f32[16,256]")["panels"][0]
    assert len(panel["rows"]) == len(panel["columns"]) == 2
    for cell in (cell for row in panel["cells"] for cell in row):
        for i, j in coords_between(cell["low"], cell["high"]):
            before, after = (i // 8 * 2 + j // 128) * 1024 + i % 8 * 128 + j % 128, i * 256 + j
            if before != after:
                break
        assert cell["label"] == f"{before} > {after}" and cell["moved"]


def test_diff_of_element_types_compares_bytes():
    answer = picture("f32[2,3]", "--diff", "bf16[2,3]")
    cells = answer["panels"][0]["cells"]
    assert [[cell["label"] for cell in row] for row in cells] == [["= 0", "4 > 2", "8 > 4"],
                                                                  ["12 > 6", "16 > 8", "20 > 10"]]
    assert "Byte before > byte after" in answer["panels"][0]["caption"]
    assert any("4 bytes before and 2 bytes after" in note for note in answer["notes"])
    nibbles = picture("s4[3]{0:E(4)}", "--diff", "s8[3]")["panels"][0]["cells"]
    assert [cell["label"] for cell in nibbles[0]] == ["= 0", "0.4 > 1", "1 > 2"]
    same = picture("f16[4]", "--diff", "bf16[4]")
    assert any("element type changes" in note for note in same["notes"])
    assert not any("element type" in note for note in picture("f16[4]", "--diff", "f16[4]")["notes"])


def test_what_is_outside_of_the_slice_is_said():
    inside = tegula("f32[4,5,6]", "--slice", "2,:,:", "--highlight", "2,3,4", "--view", "logical")
    assert "outside" not in inside and "* holds the followed element" in inside
    outside = tegula("f32[4,5,6]", "--slice", "1,:,:", "--highlight", "2,3,4", "--view", "logical")
    assert "outside of the plane" in outside and "* holds the followed element" not in outside
    assert "*" not in outside
    both = tegula("f32[4,5,6]", "--slice", "1,:,:", "--highlight", "2,3,4")
    assert "outside of the plane" in both and "* holds the followed element" in both
    drawn = svg("f32[4,5,6]", "--slice", "1,:,:", "--highlight", "2,3,4", "--view", "logical")
    assert "outside of the plane" in drawn and 'class="f"' not in drawn


def test_labels_tell_all_dimensions():
    """Also those of a tensor of rank 16, where the first may be the only one that differs."""
    for shape in ([2] + [1] * 15, [2] * 16, [1000, 1, 1000, 1000, 1000, 1, 1000, 1, 1, 1, 1, 1, 1, 1, 2, 2]):
        panel = picture(f"f32[{','.join(map(str, shape))}]")["panels"][-1]
        for row in panel["cells"]:
            for cell in filter(None, row):
                assert cell["label"] == "(" + ",".join(map(str, cell["low"])) + ")"


# Every place is an element, or padding that a plane draws beside the tensor, or padding that the note counts.
@pytest.mark.parametrize("text, shape, unseen", [
    ("bf16[1,130]{1,0:T(8,128)(2,1)}", (1, 130), 2 * (8 - 2) * 128),  # two tiles; pairs of rows
    ("f32[2,3,5]{2,1,0:T(4,4,4)}", (2, 3, 5), 2 * 4 * 8),             # two planes of 4 x 8 do not exist
    ("f32[3]{0:T(8,128)}", (3,), 7 * 128),                            # seven rows of the tile
    ("s8[3,7]{1,0:T(2,4)(2)(3)}", (3, 7), None),                      # pairs in places for three
    ("f16[3,7]{1,0:T(2,4)}", (3, 7), 0),
    ("f16[2,3,5] spyre", (2, 3, 5), 0),
])
def test_padding_that_no_plane_draws_is_counted(text, shape, unseen):
    planes = [["--slice", f"{x},:,:"] for x in range(shape[0])] if len(shape) == 3 else [[]]
    drawn = 0
    for plane in planes:
        answer = picture(text, "--view", "logical", *plane)
        assert not any(track["hidden"] for track in answer["panels"][0]["rows"] + answer["panels"][0]["columns"])
        drawn += sum(cell["padding"] for row in answer["panels"][0]["cells"] for cell in filter(None, row))
        assert "of these" not in str(answer["notes"]) or not plane  # other planes may draw them
    note = next(note for note in picture(text)["notes"] if " places" in note)
    padding = int(re.search(r"(\d+) are padding", note).group(1))
    said = re.search(r"(\d+) of these belong", note)
    assert drawn + (int(said.group(1)) if said else 0) == padding
    assert unseen is None or padding - drawn == unseen
    assert "of these" not in tegula(text, "--view", "device")


# A tile of 8 x 44 elements lies in 8 pieces: 2048..2091, 2176..2219 and so on.
def test_holes_are_said():
    cells = picture("f32[20,300]{1,0:T(8,128)}")["panels"][0]["cells"]
    assert cells[0][1]["label"] == "1024..2047" and cells[0][2]["label"] == "2048~2987"
    assert "a~b from a to b, with others between" in tegula("f32[20,300]{1,0:T(8,128)}")
    assert "a~b" not in tegula("f32[16,256]{1,0:T(8,128)}")


# ---- signs -----------------------------------------------------------------------------------------------


def meanings(drawn):
    """The words of the legend: sentences of the class of notes, in the last lines."""
    root = xml.etree.ElementTree.fromstring(drawn)
    return [node.text for node in root.iter(SVG + "text") if node.get("class") == "s"]


@pytest.mark.parametrize("text, wish, has, has_not", [
    ("f16[5,100,150] spyre", [], ["holds the followed element", "padding", "elements, then padding, to scale",
                                  "stick n of device memory, counted from 0", "not drawn"],
     ["padding among the elements, its share to scale", "tile begins", "nothing in it moves"]),
    ("bf16[20,300]{1,0:T(8,128)(2,1)}", [], ["padding among the elements, its share to scale",
                                             "from a to b, with others between"], ["tile begins"]),
    ("f32[5,7]{1,0:T(2,4)}", ["--order"],
     ["tile begins", "what the device reads first of these", "what the device reads next",
      "later: it reads others between"], ["not drawn"]),
    ("f16[5,100,150] spyre", ["--order"], ["later: it reads others between"], ["what the device reads next"]),
    ("f16[3,100] spyre", ["--diff", "f16[3,100]"],
     ["nothing in it moves", "stick n of the memory before, counted from 0"], ["what the device reads next"]),
    ("f32[4,6]", [], ["holds the followed element"], ["padding", "not drawn", "nothing in it moves", "tile begins"]),
])
def test_legend_has_what_is_drawn_and_nothing_else(text, wish, has, has_not):
    said = meanings(svg(text, *wish))
    assert not set(has) - set(said) and not set(has_not) & set(said)


def test_legend_of_text():
    assert "░n and then n places of padding" in tegula("f16[5,100,150] spyre")
    assert "░n n places of padding in the cell" in tegula("f32[20,300]{1,0:T(8,128)}")
    assert "░n" not in tegula("f32[4,6]") and "/n" in tegula("f16[5,100,150] spyre", "--ascii")
    assert "┃ tile begins" in tegula("f32[5,7]{1,0:T(2,4)}")
    for style in ([], ["--ascii"]):
        assert "#n" not in tegula("f16[5,100,150] spyre", *style), "text has no #n in its cells"


@pytest.mark.parametrize("text, again", [("f16[5,100,150] spyre", False), ("f32[24,256]{1,0:T(8,128)}", False),
                                         ("f32[32,256]{1,0:T(8,128)}", True), ("f32[6,5]", False), ("f32[7,5]", True)])
def test_letters_are_explained(text, again):
    note = next(note for note in picture(text)["notes"] if note.startswith("Letter and colour say which"))
    assert ("after F comes A again" in note) == again


def points_of(path):
    """Points of a path of straight lines, two pixels apart."""
    x = y = 0
    for step, values in re.findall(r"([MLHVhv])([-\d ]+)", path):
        numbers = list(map(int, values.split()))
        to = {"H": (numbers[0], y), "h": (x + numbers[0], y), "V": (x, numbers[0]), "v": (x, y + numbers[0])}.get(
            step, tuple(numbers))
        n = int(max(abs(to[0] - x), abs(to[1] - y)) / 2) + 1
        for k in range(n + 1 if step != "M" else 0):
            yield x + (to[0] - x) * k / n, y + (to[1] - y) * k / n
        x, y = to


@pytest.mark.parametrize("text", ["f16[1024,256] spyre", "f32[5,7]{1,0:T(2,4)}", "f32[5,7]{0,1:T(4,2)}",
                                  "f16[5,100,150] spyre", "f32[9,9]{1,0:T(3,2)}", "f32[4,6] strides=[1,4]", "f32[12]"])
def test_arrows_meet_no_words(text):
    root = xml.etree.ElementTree.fromstring(svg(text, "--order"))
    words = [box for box in text_boxes(root) if box[0] and box[0] not in "⋮⋯"]
    arrows = [(x, y, node.get("d")) for node, x, y in placed(root) if node.get("marker-end")]
    assert arrows
    for x, y, path in arrows:
        for at, down in points_of(path):
            met = [word for word in words if word[1] < x + at < word[3] and word[2] < y + down < word[4]]
            assert not met, (path, met)


# ---- found by an independent checker ---------------------------------------------------------------------


def test_rows_that_are_nowhere_are_not_drawn():
    """Pairs of rows in tiles of three: 17 rows are padded to 18; an 18th row would be in the next tile."""
    panel = picture("f32[17,20]{1,0:T(3,5)(2,1)}")["panels"][0]
    assert (panel["rows"][-1]["first"], panel["rows"][-1]["last"]) == (17, 17)
    assert [cell["padding"] for cell in panel["cells"][-1]] == [5] * 4


def test_a_part_of_a_large_tile_is_no_tile():
    answer = picture("s8[1,20,130]{2,1,0:T(8,8,128)}", "--order")
    assert any("of piece #" in note for note in answer["notes"])
    assert not any(re.search(r"of tile #|which tile", note) for note in answer["notes"])


def test_numbers_are_of_cells_within_one_unit():
    """A tile of the other layout is 8 x 128, a stick of this one 1 x 32: a cell is a stick, not eight."""
    answer = picture("f32[16,256] spyre", "--diff", "f32[16,256]{1,0:T(8,128)}")
    logical, _, after = answer["panels"]
    cells = [cell for row in logical["cells"] for cell in row if cell]
    assert {cell["elements"] for cell in cells} == {32}
    assert all(cell["unit"] == cell["low"][1] // 32 * 16 + cell["low"][0] for cell in cells)
    assert all(cell["unit"] is None for row in after["cells"] for cell in row if cell)
    assert "several sticks" in after["caption"]


def test_a_broken_line_has_no_blank_at_its_end():
    for width in range(40, 90):
        drawn = tegula("f16[3,128] spyre", "--diff", "f16[3,128]", "--width", width)
        assert not re.search(r"[ \t]$", drawn, re.M), width


def test_a_single_column_is_not_hidden_where_lines_are_cut_anyway():
    drawn = tegula("f32[24,300]{1,0:T(8,128)}", "--width", 60, "--view", "logical,device")
    assert "1 more" not in drawn and "B 1024..2047" in drawn and "B (0..7,128..255)" in drawn


def device_cells(answer):
    for panel in answer["panels"]:
        if panel["view"] == "device":
            yield from (cell for row in panel["cells"] for cell in row if cell)


def test_a_stick_of_copies_has_its_own_number():
    answer = picture("u8[16] spyre device_size=[4,4,2,32] stride_map=[4,1,0,-1]", "--view", "device")
    cells = list(device_cells(answer))
    assert all(cell["unit"] == cell["from"] // 32 for cell in cells) and cells[1]["unit"] == 1


def test_both_layouts_of_a_comparison_have_their_own_words():
    answer = picture("f16[64,150] spyre", "--diff", "f32[64,150]{1,0:T(8,128)}")
    assert "a stick 64 places" in answer["panels"][1]["caption"]
    assert "a tile 1024 places, a line 2 tiles" in answer["panels"][2]["caption"]
    assert any(note.startswith("Before: 9600 elements in 12288 places: 2688") for note in answer["notes"])
    assert any(note.startswith("After: 9600 elements in 16384 places: 6784") for note in answer["notes"])


def test_letters_follow_one_dimension_in_all_panels():
    answer = picture("f32[9,7,5]{2,1,0:T(8,16)}", "--slice", ":,2,2")
    assert any("which element along d0" in note for note in answer["notes"])
    for cell in (cell for panel in answer["panels"] for row in panel["cells"] for cell in row):
        if cell and cell["elements"] == 1:
            assert cell["colour"] == cell["low"][0] % 6


def test_padding_before_the_first_element_has_its_place():
    answer = picture("s4[1,3] strides=[0,-6]", "--view", "device")
    places = [(cell["from"], cell["to"]) for cell in device_cells(answer) if cell["kind"] != "none"]
    assert (-1, -1) in places and (None, None) not in places


def test_all_views_are_all():
    views = [panel["view"] for panel in picture("f16[3,100] spyre", "--view", "all,logical")["panels"]]
    assert views == ["logical", "host", "device", "inside"]


def test_the_followed_run_has_arrowheads():
    drawn = svg("f16[5,100,150] spyre", "--transfer")
    assert drawn.count('marker-end="url(#tegula-followed)"') == 2 and drawn.count('id="tegula-followed"') == 1


@pytest.mark.parametrize("wish", [[], ["-o", "-"], ["--transfer"]], ids=str)
def test_a_full_disk_is_named(wish):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([TEGULA, "draw", "f16[5,100,150] spyre", *wish], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode != 0 and b"No space left on device" in done.stderr


def test_shares_of_padding_are_no_round_lies():
    notes = picture("s8[1]{0:T(4096)}")["notes"]
    assert any("4095 are padding, more than 99.9 %" in note for note in notes)
    assert any("padding, less than 0.1 %" in note for note in picture("f16[100,63999] spyre")["notes"])


def test_letters_count_nothing_that_one_cell_holds():
    """One tile along all that tiles cut: every cell has the same letter, and no note says that rows have their own."""
    for text in ("bf16[7,100]{1,0:T(8,128)}", "f32[300]{0:T(1024)}"):
        answer = picture(text)
        assert not any("Letter" in note for note in answer["notes"])
        assert {cell["colour"] for panel in answer["panels"] for row in panel["cells"] for cell in filter(None, row)
                if cell["kind"] == "data"} == {0}
    answer = picture("f16[5,100,150] spyre dim_order=[2,1,0]", "--highlight", "4,99,149")
    followed = {cell["colour"] for panel in answer["panels"] for row in panel["cells"] for cell in filter(None, row)
                if cell.get("followed")}
    assert followed == {149 % 6}


def test_places_that_elements_share_are_told_also_where_there_are_many():
    said = "Places may hold several elements"
    assert said in tegula("f32[100,100] strides=[7,13]", "--view", "device")
    assert "Some places hold several elements" in tegula("f32[2,2] strides=[1,1]")
    assert said not in tegula("f32[100,100] strides=[128,1]") and said not in tegula("f32[100,100]{1,0:T(8,128)}")


def test_cores_without_work_are_told():
    assert "1 of 4 cores works" in tegula("f16[7,448] spyre", "--cores", "4")
    assert "6 of 7 cores work, with the same share each: d" in tegula("f16[3,100] spyre", "--cores", "7")
    assert "4 cores: d" in tegula("f16[4,64] spyre", "--cores", "4")
