"""`tegula hlo --report`: every array and every move of random modules against the definition (oracle.py)."""
import itertools
import json
import math
import os
import random
import resource
import subprocess

import pytest

import console
import oracle

SEED = int(os.environ.get("TEGULA_SEED", "20240531"))
BITS = {"f32": 32, "bf16": 16, "s8": 8}
TILES = {"f32": ["", "T(8,128)", "T(2,4)", "T(1,128)", "T(2,2)(2,1)"],
         "bf16": ["", "T(8,128)(2,1)", "T(4,2)(2,1)", "T(2,4)"],
         "s8": ["", "T(8,128)(4,1)", "T(4,4)", "T(2,2)(4,1)"]}


class Array:
    def __init__(self, dtype, dims, order, tiles, space=0):
        self.dtype, self.dims, self.order, self.tiles, self.space = dtype, list(dims), list(order), tiles, space

    @property
    def text(self):
        properties = self.tiles + (f"S({self.space})" if self.space else "")
        colon = ":" if properties else ""
        return (f"{self.dtype}[{','.join(map(str, self.dims))}]{{{','.join(map(str, self.order))}"
                f"{colon}{properties}}}")

    def layout(self):
        tiles = [[int(n) for n in t.strip("T(").split(",")] for t in self.tiles.split(")") if t]
        return oracle.xla(self.dims, self.order, tiles, BITS[self.dtype])

    @property
    def logical(self):
        return -(-math.prod(self.dims) * BITS[self.dtype] // 8)

    @property
    def physical(self):
        return -(-self.layout().span * BITS[self.dtype] // 8)

    def slots(self, coords):
        place = self.layout().place
        return [place(c)[0] for c in coords], self.layout().span


def random_array(rng, dtype=None, dims=None, space=0):
    dtype = dtype or rng.choice(list(BITS))
    if dims is None:
        dims = [rng.choice([1, 2, 3, 4, 5, 8, 9]) for _ in range(rng.randint(1, 3))]
    order = list(range(len(dims)))
    rng.shuffle(order)
    tiles = rng.choice([t for t in TILES[dtype] if t.count(",") == 0 or len(dims) >= 2])
    return Array(dtype, dims, order, tiles, space)


def report(text, *options):
    done = subprocess.run([console.TEGULA, "hlo", "-", "--json", *options], input=text.encode(), capture_output=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def factors(rng, n):
    """Some sizes whose product is n."""
    sizes = []
    while n > 1 and len(sizes) < 3:
        size = rng.choice([d for d in range(2, n + 1) if n % d == 0])
        sizes.append(size)
        n //= size
    rng.shuffle(sizes)
    return sizes + [n] if n > 1 or not sizes else sizes


def random_moves(rng, count):
    """(line, source, result, opcode, coordinates of the result's element for each one of the source)"""
    for i in range(count):
        source = random_array(rng)
        space = rng.choice([0, 0, 1])
        opcode = rng.choice(["copy", "transpose", "reshape", "bitcast"])
        coords = list(itertools.product(*map(range, source.dims)))
        extra = ""
        if opcode == "transpose":
            perm = list(range(len(source.dims)))
            rng.shuffle(perm)
            result = random_array(rng, source.dtype, [source.dims[p] for p in perm], space)
            images = [tuple(c[p] for p in perm) for c in coords]
            extra = f", dimensions={{{','.join(map(str, perm))}}}"
        elif opcode == "copy":
            result = random_array(rng, source.dtype, source.dims, space)
            if rng.random() < 0.3:
                result = Array(source.dtype, source.dims, source.order, source.tiles, space)
            images = coords
        else:
            result = random_array(rng, source.dtype, factors(rng, math.prod(source.dims)), space)
            images = list(itertools.product(*map(range, result.dims)))
        line = f"  %m{i} = {result.text} {opcode}(%s{i}){extra}"
        yield f"  %s{i} = {source.text} parameter({i})\n{line}\n", source, result, opcode, coords, images


def test_moves_are_judged_by_their_maps():
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    cases = list(random_moves(rng, 400))
    text = "HloModule moves\n\nENTRY %e {\n" + "".join(c[0] for c in cases) + "}\n"
    found = {m["instruction"]: m for m in report(text, "--report", "copies")["moves"]}
    assert len(found) == len(cases)
    kinds = set()
    for i, (line, source, result, opcode, coords, images) in enumerate(cases):
        move = found[f"m{i}"]
        slots, span = source.slots(coords)
        moved_slots, moved_span = result.slots(images)
        same = (slots, span) == (moved_slots, moved_span)
        if opcode == "bitcast":
            assert move["kind"] == "nothing", line
            if same:
                assert not move["false_bitcast"], line
            if span * BITS[source.dtype] != moved_span * BITS[result.dtype]:
                assert move["false_bitcast"], line
            continue
        expected = "relayout" if not same else "space" if source.space != result.space else \
            "copy" if opcode == "copy" else "nothing"
        assert move["kind"] == expected, (line, move)
        kinds.add((opcode, expected))
        moves = expected != "nothing"
        assert move["read_bytes"] == (source.physical if moves else 0), line
        assert move["written_bytes"] == (result.physical if moves else 0), line
    assert {k for _, k in kinds} == {"relayout", "copy", "space", "nothing"}


def test_padding_of_every_array():
    rng = random.Random(SEED + 1)
    print(f"seed {SEED + 1}")
    arrays = [random_array(rng, space=rng.choice([0, 0, 1, 5])) for _ in range(300)]
    text = "HloModule arrays\n\nENTRY %e {\n" + "".join(
        f"  %x{i} = {a.text} {rng.choice(['parameter(0)', 'iota(), iota_dimension=0', 'add(%x0, %x0)'])}\n"
        for i, a in enumerate(arrays)) + "}\n"
    found = report(text, "--report", "padding")
    assert found["unmeasured"] == 0
    rows = found["arrays"]
    assert sorted(r["instruction"] for r in rows) == sorted(f"x{i}" for i in range(len(arrays)))
    lost = [r["physical_bytes"] - r["logical_bytes"] for r in rows]
    assert lost == sorted(lost, reverse=True)
    for row in rows:
        array = arrays[int(row["instruction"][1:])]
        assert (row["logical_bytes"], row["physical_bytes"]) == (array.logical, array.physical), row
        assert row["shape"] == array.text
        parts = row["widening_bytes"] + row["tail_bytes"] + sum(p["bytes"] for p in row["parts"])
        assert parts == row["padding_bytes"], row
        for choice in ("cheapest_order", "cheapest_tiling"):
            assert row[choice]["physical_bytes"] == row["physical_bytes"] - row[choice]["saved_bytes"]
        orders = [Array(array.dtype, array.dims, o, array.tiles).physical
                  for o in itertools.permutations(range(len(array.dims)))]
        assert row["cheapest_order"]["physical_bytes"] == min(orders), row
    for space in found["memory_spaces"]:
        of = [a for a in arrays if a.space == space["memory_space"]]
        assert space["arrays"] == len(of)
        assert space["logical_bytes"] == sum(a.logical for a in of)
        assert space["physical_bytes"] == sum(a.physical for a in of)


SCOPES = """HloModule scopes

%inner (p: f32[3]) -> f32[3] {
  %p = f32[3]{0:T(4)} parameter(0)
  ROOT %in = f32[3]{0:T(4)} negate(%p)
}
%fused (p: f32[3]) -> f32[3] {
  %p = f32[3]{0:T(4)} parameter(0)
  ROOT %f = f32[3]{0:T(4)} map(%p), to_apply=%inner
}
%wrapped (p: f32[3]) -> f32[3] {
  %p = f32[3]{0:T(4)} parameter(0)
  ROOT %far = f32[3]{0:T(4)S(5)} copy(%p)
}
%body (t: (f32[3], s32[])) -> (f32[3], s32[]) {
  %t = (f32[3]{0:T(4)}, s32[]) parameter(0)
  %g = f32[3]{0:T(4)} get-tuple-element(%t), index=0
  %work = f32[3]{0:T(4)} fusion(%g), kind=kLoop, calls=%fused
  %c = s32[] constant(1)
  ROOT %r = (f32[3]{0:T(4)}, s32[]) tuple(%work, %c)
}
%cond (t: (f32[3], s32[])) -> pred[] {
  %t = (f32[3]{0:T(4)}, s32[]) parameter(0)
  ROOT %stop = pred[] constant(false)
}
ENTRY %e (a: f32[3]) -> f32[3] {
  %a = f32[3]{0:T(4)} parameter(0)
  %zero = s32[] constant(0)
  %init = (f32[3]{0:T(4)}, s32[]) tuple(%a, %zero)
  %loop = (f32[3]{0:T(4)}, s32[]) while(%init), condition=%cond, body=%body
  %start = (f32[3]{0:T(4)S(1)}, f32[3]{0:T(4)}, u32[]) copy-start(%a)
  %done = f32[3]{0:T(4)S(1)} copy-done(%start)
  %begun = ((f32[3]{0:T(4)}), f32[3]{0:T(4)S(5)}, s32[]) async-start(%a), calls=%wrapped
  %ended = f32[3]{0:T(4)S(5)} async-done(%begun)
  %sorted = (f32[3]{0:T(4)}, s32[3]{0:T(8)}) sort(%a, %a), to_apply=%inner
  ROOT %out = f32[3]{0:T(4)} get-tuple-element(%loop), index=0
}
"""


def test_results_without_storage_do_not_count():
    rows = report(SCOPES, "--report", "padding")["arrays"]
    counted = {(r["computation"], r["instruction"], *r["path"]) for r in rows}
    assert counted == {("body", "work"), ("body", "c"), ("cond", "stop"), ("e", "a"), ("e", "zero"), ("e", "done"),
                       ("wrapped", "far"),
                       ("e", "sorted", 0), ("e", "sorted", 1)}
    inside = report(SCOPES, "--report", "padding", "--computation", "fused")["arrays"]
    assert [r["instruction"] for r in inside] == ["f"]
    only = report(SCOPES, "--report", "padding", "--opcode", "sort")["arrays"]
    assert {(r["instruction"], *r["path"]) for r in only} == {("sorted", 0), ("sorted", 1)}


def test_copy_done_reads_what_its_start_read():
    (move,) = report(SCOPES, "--report", "copies", "--computation", "e")["moves"]
    assert (move["instruction"], move["operand"], move["kind"]) == ("done", "a", "space")
    assert (move["read_bytes"], move["written_bytes"]) == (16, 16)


@pytest.mark.parametrize("line, why", [
    ("%r = f32[4]{0} copy(%nobody)", "a shape is missing"),
    ("%r = f32[4]{0} copy()", "the operand is missing"),
    ("%r = f32[4]{0} copy(%u)", "the sizes differ"),
    ("%r = f32[?]{0} copy(%u)", "a size is unbounded"),
    ("%r = f32[4611686018427387904]{0} copy(%big)", "a size is beyond 64 bits"),
    ("%r = f32[4]{0} copy(%t)", "a side is no array"),
    ("%r = f32[4]{0} copy(%t#3)", "a path leads nowhere"),
    ("%r = s32[4]{0} copy(%a)", "the element types differ"),
    ("%r = f32[5]{0} copy(%a)", "the sizes differ"),
    ("%r = f32[5]{0} reshape(%a)", "the numbers of elements differ"),
    ("%r = f32[4]{0} transpose(%a), dimensions={7}", "its dimensions are no permutation"),
    ("%r = f32[2,3]{1,0} transpose(%m), dimensions={0,0}", "its dimensions are no permutation"),
    ("%r = f32[2,3]{1,0} transpose(%m), dimensions={1,0}", "the sizes are not those of the transpose"),
    ("%r = f32[2,3]{1,1} copy(%m)", "a layout does not fit its shape"),
    ("%r = f16[4,2]{1,0} bitcast-convert(%a)", "elements of another width"),
    ("%r = f32[4]{0} copy-done(%a)", "the copy-start is missing"),
])
def test_what_cannot_be_decided_says_why(line, why):
    text = f"HloModule m\nENTRY %e {{\n  %a = f32[4]{{0}} parameter(0)\n  %t = (f32[4]{{0}}) tuple(%a)\n"
    text += "  %u = f32[?]{0} parameter(1)\n  %m = f32[2,3]{1,0} parameter(2)\n"
    text += f"  %big = f32[4611686018427387904]{{0}} parameter(3)\n  {line}\n}}\n"
    (move,) = report(text, "--report", "copies")["moves"]
    assert (move["kind"], move["why"]) == ("unknown", why)
    assert (move["read_bytes"], move["written_bytes"]) == (0, 0)


def test_arrays_without_a_size_are_told():
    big = "f32[4611686018427387904,4]{1,0}"
    found = report(f"HloModule m\nENTRY %e {{\n  %a = f32[?,2]{{1,0}} parameter(0)\n  %b = {big} parameter(1)\n}}\n",
                   "--report", "padding")
    assert (found["unmeasured"], found["arrays"]) == (2, [])


def test_false_bitcasts_come_first():
    lines = "".join(f"  %c{i} = f32[64,64]{{0,1}} copy(%a)\n" for i in range(30))
    text = ("HloModule m\nENTRY %e {\n  %a = f32[64,64]{1,0:T(8,128)} parameter(0)\n" + lines +
            "  %f = f32[32,128]{1,0:T(8,128)} bitcast(%a)\n}\n")
    first = report(text, "--report", "copies")["moves"][0]
    assert (first["instruction"], first["kind"], first["false_bitcast"]) == ("f", "nothing", True)
    done = subprocess.run([console.TEGULA, "hlo", "-", "--report", "copies"], input=text.encode(), capture_output=True)
    assert "no bitcast:  1 instruction\n" in done.stdout.decode()


def test_sums_of_copies_do_not_wrap():
    lines = "".join(f"  %c{i} = s8[4611686018427387904]{{0}} copy(%a)\n" for i in range(6))
    text = "HloModule m\nENTRY %e {\n  %a = s8[4611686018427387904]{0} parameter(0)\n" + lines + "}\n"
    done = subprocess.run([console.TEGULA, "hlo", "-", "--report", "copies"], input=text.encode(), capture_output=True)
    assert "6 instructions, over 8.00 EiB read, over 8.00 EiB written" in done.stdout.decode()
    refused = subprocess.run([console.TEGULA, "hlo", "-", "--report", "padding"], input=text.encode(),
                             capture_output=True)
    assert refused.returncode == 2 and b"the arrays of memory space 0 have more than" in refused.stderr


def test_elements_of_a_large_tuple_are_found_quickly():
    """A quarter of a second; 26 s when each copy read the tuple again."""
    n = 4000
    array = "f32[8]{0:T(128)}"
    text = (f"HloModule m\nENTRY %e {{\n  %t = ({', '.join([array] * n)}) parameter(0)\n" +
            "".join(f"  %c{i} = {array} copy(%t#{i})\n" for i in range(n)) + "}\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert len(report(text, "--report", "copies")["moves"]) == n
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 8
    assert len(report(text, "--report", "padding")["arrays"]) == 2 * n


def test_a_path_names_the_element_that_is_read():
    text = ("HloModule m\nENTRY %e {\n  %g = (f32[2]{0}, f32[64,64]{1,0}) parameter(0)\n"
            "  %c = f32[64,64]{1,0} copy(%g#1)\n}\n")
    (move,) = report(text, "--report", "copies")["moves"]
    assert move["from"] == "f32[64,64]{1,0}"
