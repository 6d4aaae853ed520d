"""`tegula dma` against the definition (oracle.py), torch-spyre's published programs, and compiled C.

The programs are read from the command's JSON and executed here, in plain Python, one pair of places at a time.
"""
import ctypes
import itertools
import json
import math
import pathlib
import subprocess

import pytest

import console
import oracle as o
import oracle_cases as cases
import tegula_c as t

SPEC = pathlib.Path(__file__).parent.parent / "spec"
LAYOUTS = json.loads((SPEC / "spyre_layouts.json").read_text())
DCI = json.loads((SPEC / "spyre_dci.json").read_text())
MOST_PAIRS = 200_000


def tegula(*arguments):
    done = subprocess.run([console.TEGULA, "dma", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def descriptors(text, *options):
    return json.loads(tegula(text, "--json", *options))["descriptors"]


def pairs_of(program):
    """Every (device, host) pair, in the order in which the loops make them."""
    for d in program:
        steps = list(zip(d["ranges"], d["device_strides"], d["host_strides"]))
        for index in itertools.product(*(range(n) for n, _, _ in steps)):
            yield (d["device_offset"] + sum(i * s[1] for i, s in zip(index, steps)),
                   d["host_offset"] + sum(i * s[2] for i, s in zip(index, steps)))


def spyre_texts(case):
    """The layout's text, and --host where the tensor that moves has other strides than the layout was made for."""
    dtype = {"float16": "f16", "float32": "f32"}[case.get("dtype", "float16")]
    text = cases.spyre_text(dtype, case["size"], case["stride"], device_size=case["device_size"],
                            stride_map=case["stride_map"])
    host = case.get("host_strides_actual", case["stride"])
    offset = case.get("host_storage_offset", case.get("offset", 0))
    if host == case["stride"] and offset == 0:
        return text, ()
    listed = cases.listed(host)
    return text, ("--host", f"{dtype}{cases.listed(case['size'])} strides={listed} offset={offset}")


def named(case):
    return f"{case['size']}-{case['device_size']}-{case['stride_map']}"


# ---- torch-spyre's round trips -----------------------------------------------------------------------


@pytest.mark.parametrize("case", LAYOUTS["roundtrip"], ids=named)
def test_every_element_of_a_round_trip_once(case):
    text, host = spyre_texts(case)
    program = descriptors(text, *host)
    assert len(program) <= 4
    if sum(math.prod(d["ranges"]) for d in program) > MOST_PAIRS:
        assert sum(math.prod(d["ranges"]) for d in program) == case["pairs"]
        pytest.skip("too many pairs to walk in Python; test_dma.c compares such programs with the mover")
    strides, offset = case.get("host_strides_actual", case["stride"]), case.get("host_storage_offset", 0)
    judge = o.spyre(case["size"], case["stride"], case["device_size"], case["stride_map"], 16)
    wanted = {place: offset + o.dot(coord, strides) for coord in judge.coords() for place in judge.place(coord)}
    found = list(pairs_of(program))
    assert len(found) == len(wanted) and dict(found) == wanted
    if case["pairs"] is not None:
        assert len(found) == case["pairs"]
        assert sum((d + 1) * (h + 1) for d, h in found) % 2**64 == case["pair_checksum"]
    back = list(pairs_of(descriptors(text, "--direction", "d2h", *host)))
    assert sorted(h for _, h in back) == sorted(set(wanted.values())), "every host element is written once"
    assert all(wanted[d] == h for d, h in back)


def test_issue_3401_where_the_stick_count_stands_elsewhere():
    case = LAYOUTS["roundtrip_known_bad_upstream"][0]
    program = descriptors(spyre_texts(case)[0])
    assert len(program) == 1 and math.prod(program[0]["ranges"]) == math.prod(case["size"])
    assert "SIGFPE" in case["expect_upstream"]


# ---- DCI ------------------------------------------------------------------------------------------------


def dci(case, direction="h2d"):
    """Back from the device a tensor goes to where its layout says, not to the slice that it came from."""
    text, host = spyre_texts({"stride": o.row_major(case["size"]), **case})
    return json.loads(tegula(text, "--dci", "--direction", direction, *(host if direction == "h2d" else ())))


def test_literal_dci():
    case = DCI["literal"][0]
    found = dci({"size": case["host_size"], **case})
    assert list(found) == DCI["fields"], "all fields, in the order of the dump"
    assert case["dcsi_"][0]["stride_src_"].pop(1) == 384 and found["dcsi_"][0]["stride_src_"].pop(1) == 1, \
        "of one step: irrelevant, and 1 since June 2026"
    for field in ("isHostToSen_", "dataformat_src_", "dataformat_dst_", "dcsi_", "input_shape_", "output_shape_"):
        assert found[field] == case[field], field


@pytest.mark.parametrize("case", DCI["derived"] + DCI["remainder_examples"], ids=named)
def test_dci_of_both_directions(case):
    assert dci(case)["dcsi_"] == case["h2d"]
    back = dci(case, "d2h")
    if "d2h" in case:
        assert back["dcsi_"] == case["d2h"]
    formats = (1, 1) if case.get("dtype") == "float32" else (0, 15)
    assert (back["dataformat_src_"], back["dataformat_dst_"], back["isHostToSen_"]) == (*formats, 0)
    assert back["input_shape_"] == case["device_size"][::-1] and back["output_shape_"] == case["size"][::-1]


@pytest.mark.parametrize("shape", [[], [70], [3, 5, 7], [2, 130], [4, 1, 100], [5, 1], [2, 3, 4, 5, 6, 70]])
def test_dci_and_fused_programs_carry_the_same(shape):
    text = f"f16{cases.listed(shape)} spyre"
    entries = json.loads(tegula(text, "--dci"))["dcsi_"]
    as_program = [{"ranges": e["size_"], "device_strides": e["stride_dst_"], "host_strides": e["stride_src_"],
                   "device_offset": e["offset_dst_"], "host_offset": e["offset_src_"]} for e in entries]
    found = list(pairs_of(as_program))
    assert sorted(found) == sorted(pairs_of(descriptors(text))) and len(set(found)) == math.prod(shape)
    assert all(len(e["size_"]) == len(t.parse(text).spyre.device_size[:t.parse(text).spyre.rank]) for e in entries)


@pytest.mark.parametrize("text", ["f32[3,128] spyre arrangement=DL16_TO_FP32",
                                  "f16[3,128] spyre arrangement=FP32_TO_DL16"])
def test_element_arrangements(text):
    """Back from an arrangement in one descriptor for whole sticks, as the published rewriting of loops does."""
    layout = t.parse(text).layout
    program = descriptors(text, "--direction", "d2h")
    assert len(program) == 1
    found = list(pairs_of(program))
    assert {h: d for d, h in found} == {h: t.offset(layout, divmod(h, 128)) for h in range(384)} and len(found) == 384


@pytest.mark.parametrize("dtype, number", [("u8", 13), ("f8e5m2fnuz", 4), ("bf16", 17), ("pred", 16), ("s64", 11),
                                           ("f32", 1), ("f8e4m3fn", 3)])
def test_formats_of_the_host(dtype, number):
    """Types that the host has no format of its own for are named as on the device (spec 1.7)."""
    assert json.loads(tegula(f"{dtype}[600] spyre", "--dci"))["dataformat_src_"] == number


def test_a_dci_object_is_whole_or_absent():
    shape, four, two = "8," * 15 + "8", "4," * 15 + "4", "2," * 15 + "2"
    order = ",".join(str(d) for d in range(15, -1, -1))
    done = subprocess.run([console.TEGULA, "dma", f"s8[{shape}] spyre", "--dci", "--host",
                           f"s8[{shape}]{{{order}:T({four})({two})}}"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == "" and "48" in done.stderr


# ---- C ---------------------------------------------------------------------------------------------------

EMITTED = ["s16[0,5]", "s4[0]{0:E(4)}", "s16[5,100,150] spyre", "s16[40,60] strides=[1,40] spyre",
           "f32[30,200]{1,0:T(8,128)}",
           "bf16[20,100]{0,1:T(8,128)(2,1)}", "s4[7,9]{1,0:T(2,4)E(4)}", "u8[12,50]{1,0:T(48)}", "f64[3,4]", "u8[]"]
TYPES = {8: ctypes.c_uint8, 16: ctypes.c_uint16, 32: ctypes.c_uint32, 64: ctypes.c_uint64}


def get(memory, i, bits):
    return memory[i] if bits >= 8 else memory[i * bits // 8] >> i * bits % 8 & (1 << bits) - 1


@pytest.mark.parametrize("text", EMITTED)
def test_emitted_c_moves_the_tensor(text, tmp_path):
    layout = t.parse(text).layout
    bits, host_bits = layout.elem_bits, max(8, layout.elem_bits)
    program = descriptors(text)
    span = max((h for _, h in pairs_of(program)), default=0) + 1
    device = (TYPES[max(8, bits)] * (layout.span * bits // max(8, bits) + 1))()
    host, back = (TYPES[host_bits] * span)(), (TYPES[host_bits] * span)()
    for i in range(span):
        host[i] = (i * 7 + 3) % (1 << bits)
    for direction, name in (("h2d", "host_to_device"), ("d2h", "device_to_host")):
        source, library = tmp_path / f"{name}.c", tmp_path / f"{name}.so"
        source.write_text(tegula(text, "--emit", "c", "--direction", direction))
        subprocess.run(["gcc", "-std=c99", "-pedantic", "-Wall", "-DCONVERT(x)=(x)", "-Wextra", "-Werror", "-O1",
                        "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
        getattr(ctypes.CDLL(str(library)), name)(device, host if direction == "h2d" else back)
    for d, h in pairs_of(program):
        assert get(device, d, bits) == host[h] == back[h]


def test_emitted_c_asks_for_a_conversion(tmp_path):
    source = tmp_path / "h.c"
    source.write_text(tegula("f16[3,70] spyre", "--emit", "c"))
    compile_it = ["gcc", "-std=c99", "-Wall", "-Werror", "-c", str(source), "-o", str(tmp_path / "h.o")]
    done = subprocess.run(compile_it, capture_output=True, text=True)
    assert done.returncode != 0 and "CONVERT(x)" in done.stderr
    subprocess.run([*compile_it, "-DCONVERT(x)=((uint16_t)(x ^ 1))"], check=True)


# ---- random layouts of every notation ---------------------------------------------------------------------


def random_spyre(random):
    shape = [random.choice([1, 2, 3, 5, 8, 33, 70]) for _ in range(random.randint(0, 4))]
    order = random.sample(range(len(shape)), len(shape))
    if order and random.random() < 0.2:
        order.append(-1)
    dtype = random.choice(["f16", "f32", "s8"])
    suffix = f" dim_order={cases.listed(order)}" if order else ""
    return f"{dtype}{cases.listed(shape)} spyre{suffix}"


def random_xla(random):
    shape = [random.randint(1, 20) for _ in range(random.randint(1, 3))]
    order = random.sample(range(len(shape)), len(shape))
    tiles = [[random.choice([1, 2, 3, 4, 7, 8]) for _ in range(random.randint(1, len(shape)))]]
    if random.random() < 0.5:
        tiles.append([random.choice([1, 2, 3])] + [1] * random.randint(0, 1))
    return cases.xla_text("bf16", shape, order, tiles)


@pytest.mark.parametrize("make", [random_spyre, random_xla], ids=["spyre", "xla"])
def test_random_layouts(make):
    random = cases.generator(f"dma {make.__name__}")
    for _ in range(60):
        text = make(random)
        parsed = t.parse(text)
        shape = list(parsed.layout.shape[:parsed.layout.ndim])
        if math.prod(shape) > 20_000:
            continue
        found = list(pairs_of(descriptors(text)))
        wanted = {(t.offset(parsed.layout, c), o.dot(c, o.row_major(shape)))
                  for c in itertools.product(*(range(n) for n in shape))}
        assert len(found) == len(wanted) and set(found) == wanted, text
