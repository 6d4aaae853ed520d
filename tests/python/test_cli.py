"""The command as a user meets it: exact answers (tests/cli/*.txt), JSON, terminals, files, signals, failing output."""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time

import ml_dtypes
import numpy as np
import pytest

import console

TEGULA = str(console.TEGULA)
CLI = console.ROOT / "cli"
COMMANDS = ["show", "explain", "index", "coord", "equal", "convert", "relayout", "dma", "view", "hlo", "plan", "draw"]
SESSIONS = sorted((console.ROOT / "tests" / "cli").glob("*.txt"))


def tegula(*arguments, **options):
    usual = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 60}
    return subprocess.run([TEGULA, *map(str, arguments)], **(usual | options))


def answer(*arguments, status=0):
    done = tegula(*arguments, "--json")
    assert done.returncode == status, done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 1, "JSON is one line"
    return json.loads(lines[0])


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_session(path):
    found = console.problems(path.name, console.read_session(path.read_text().splitlines()), check_status=True)
    assert not found, "\n\n" + "\n\n".join(found)


# ---- the contract ----------------------------------------------------------------------------------

SHOW = {
    "schema": "tegula.layout/1", "text": "f16[5,100,150] spyre", "notation": "spyre", "dtype": "f16",
    "element_bits": 16, "shape": [5, 100, 150], "strides": [15000, 150, 1], "offset": 0, "elements": 75000,
    "physical_elements": 96000, "bytes": 192000, "padding_elements": 21000, "unique": True, "exhaustive": False,
    "memory_space": 0, "spyre": {
        "device_size": [100, 3, 5, 64], "stride_map": [150, 64, 15000, 1], "dim_map": [1, 2, 0, 2],
        "device_dtype": "SEN169_FP16", "elements_per_stick": 64, "element_arrangement": "STANDARD",
        "str": "SpyreTensorLayout(device_size=[100, 3, 5, 64], stride_map =[150, 64, 15000, 1], "
               "device_dtype=DataFormats.SEN169_FP16)",
    },
}
XLA = {"minor_to_major": [2, 1, 0], "tiles": [[8, 128], [2, 1]], "tail_padding": 1, "element_size_in_bits": 0,
       "physical_shape": [32, 4, 32, 4, 128, 2, 1]}


def test_show_is_the_contract_field_for_field():
    given = answer("show", "f16[5,100,150] spyre")
    assert given == SHOW | {"text": given["text"]}  # which text is canonical is told in docs/notation.md
    assert list(given) == list(SHOW)


def test_show_xla_is_the_contract():
    given = answer("show", "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}")
    assert given["xla"] == XLA
    assert given["memory_space"] == 1
    assert given["strides"] is None
    assert answer("show", "f32[<=5,3]{0,1}")["xla"]["dynamic"] == [True, False]


def test_other_answers_are_the_contract():
    tiled = "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}"
    assert answer("index", tiled, "3,13,1000") == {"offset": 433873, "byte_offset": 867746, "bit": 0}
    assert answer("coord", tiled, 433873) == {"coord": [3, 13, 1000]}
    assert answer("coord", "f16[5,100,150] spyre", 95999, status=1) == {"coord": None}
    assert answer("equal", "f16[64,64]", "f16[64,64]{1,0}") == {"equal": True}


def test_witness_shows_the_difference():
    pair = "f16[64,64]", "f16[64,64]{0,1}"
    given = answer("equal", *pair, status=1)
    assert list(given) == ["equal", "witness", "reason", "a", "b"]
    coord = ",".join(map(str, given["witness"]))
    assert [answer("index", layout, coord)["offset"] for layout in pair] == [given["a"], given["b"]]
    assert given["a"] != given["b"] and given["reason"] == "map" and given["equal"] is False


@pytest.mark.parametrize("text", ["f16[5,100,150] spyre", "f16[5,100,150]", "bf16[3,5]{0,1:T(2,2)}", "s4[7]{0:E(4)}"])
def test_canonical_text_is_a_fixed_point(text):
    once = answer("show", text)
    assert answer("show", once["text"]) == once


def test_convert_shows_the_result():
    given = answer("convert", "f16[64,64]{0,1}", "--to", "strided")
    assert given["layout"] == answer("show", given["text"])


def test_index_and_coord_are_inverse():
    layout = "bf16[3,5,7]{1,2,0:T(2,4)(2,1)}"
    seen = {}
    for offset in range(answer("show", layout)["physical_elements"]):
        done = tegula("coord", layout, offset)
        if done.returncode == 0:
            seen[offset] = done.stdout.decode().strip()
    assert len(seen) == 3 * 5 * 7
    for offset, coord in list(seen.items())[::7]:
        assert int(tegula("index", layout, coord).stdout) == offset


# ---- help, completion, manual -------------------------------------------------------------------------

def options_of(command):
    return set(re.findall(r"--[a-z]+", tegula("help", command).stdout.decode())) | {"--json", "--help"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example_that_works(command):
    text = tegula(command, "--help").stdout.decode()
    assert text == tegula("help", command).stdout.decode()
    lines = [line[2:] for line in text.split("example:\n")[1].splitlines()]
    found = console.problems(f"{command} --help", console.read_session(lines), check_status=False)
    silent = ("show", "explain", "relayout", "hlo", "plan", "draw")  # their examples show no output
    assert not found or command in silent, found
    assert lines[0].startswith(f"$ tegula {command} ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_know_every_command_and_option(shell):
    text = (CLI / "completions" / shell).read_text()
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", text)
        for option in options_of(command):
            name = option.removeprefix("--")
            assert re.search(rf"(--|-l ){name}\b", text), (command, option)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_read_by_their_shell(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    subprocess.run([shell, "-n", CLI / "completions" / shell], check=True)


def complete(*words):
    """What bash offers for the last of some words."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tegula; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, "bash", CLI / "completions" / "bash", *words], stdout=subprocess.PIPE,
                          check=True)
    return done.stdout.decode().split()


def test_bash_completes():
    assert complete("tegula", "con") == ["convert"]
    assert complete("tegula", "help", "re") == ["relayout"]
    assert complete("tegula", "equal", "A", "--st") == ["--storage"]
    assert complete("tegula", "convert", "A", "--to", "s") == ["strided", "spyre"]
    assert complete("tegula", "relayout", "--v") == ["--verify"]


def test_manual_names_every_command_and_option():
    text = (CLI / "tegula.1").read_text().replace("\\-", "-")
    for command in COMMANDS:
        assert f".Cm {command}" in text
        for option in options_of(command):
            assert f"Fl -{option.removeprefix('--')}" in text, option


def test_manual_is_well_formed():
    if shutil.which("mandoc") is None:
        pytest.skip("no mandoc here")
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", CLI / "tegula.1"], stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stdout.decode()


# ---- terminals ------------------------------------------------------------------------------------------

def on_terminal(*arguments, columns=80, **environment):
    """All that the command writes to a terminal of that width."""
    main, side = pty.openpty()
    termios.tcsetwinsize(side, (24, columns))
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"} | environment
    process = subprocess.Popen([TEGULA, *arguments], stdin=side, stdout=side, stderr=side, env=env)
    os.close(side)
    text = b""
    while select.select([main], [], [], 120)[0]:
        try:
            piece = os.read(main, 1 << 16)
        except OSError:  # Linux says EIO when the other side is closed
            piece = b""
        if not piece:
            break
        text += piece
    os.close(main)
    process.wait(120)
    return text.decode().replace("\r\n", "\n")


def test_colour_only_on_a_terminal():
    assert "\033[" in on_terminal("show", "f16[4]")
    assert "\033[" in on_terminal("show", "f16[")
    assert b"\033[" not in tegula("show", "f16[4]").stdout
    assert b"\033[" not in tegula("show", "f16[").stderr


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_refused(environment):
    assert "\033[" not in on_terminal("show", "f16[4]", **environment)
    assert "\033[" not in on_terminal("show", "f16[", **environment)


def test_empty_no_color_refuses_nothing():
    assert "\033[" in on_terminal("show", "f16[4]", NO_COLOR="")


@pytest.mark.parametrize("columns", [20, 40, 80, 132])
@pytest.mark.parametrize("blanks", [0, 1, 30, 60, 75, 76, 77, 78, 79, 80, 200])
def test_caret_stands_under_the_place_in_any_width(columns, blanks):
    text = "f16[4]" + " " * blanks + "?" + " " * (200 - blanks) + "end"
    message, line, caret = on_terminal("show", text, columns=columns, NO_COLOR="1").splitlines()
    assert len(line) <= columns and len(caret) <= columns
    assert line[caret.index("^")] == "?"


def test_raw_bytes_do_not_go_to_a_terminal(tmp_path):
    (tmp_path / "in").write_bytes(bytes(4))
    said = on_terminal("relayout", "--from", "f32[1]", "--to", "f32[1]", str(tmp_path / "in"), "-", NO_COLOR="1")
    assert said.startswith("tegula: standard output: it is a terminal")


# ---- output that fails --------------------------------------------------------------------------------

def test_full_disk_is_an_error():
    with open("/dev/full", "wb") as full:
        for arguments in (["show", "f16[4]"], ["--help"], ["index", "f16[4]", "1", "--json"]):
            done = tegula(*arguments, stdout=full)
            assert done.returncode == 4
            assert done.stderr == b"tegula: standard output: No space left on device\n"


def test_closed_pipe_is_an_error():
    reader, writer = os.pipe()
    os.close(reader)
    done = tegula("show", "f16[4]", stdout=writer)
    os.close(writer)
    assert done.returncode == 4
    assert done.stderr == b"tegula: standard output: Broken pipe\n"


# ---- relayout ------------------------------------------------------------------------------------------

def offsets(layout, shape):
    """Where each element lives, from `tegula index`: slow, and no code of relayout."""
    return {coord: int(tegula("index", layout, ",".join(map(str, coord))).stdout) for coord in np.ndindex(*shape)}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("layout", ["s16[3,5,7] spyre", "s16[3,5,7]{0,2,1:T(2,4)(2,1)}",
                                    "s16[3,5,7] strides=[1,3,15]"])
def test_relayout_puts_each_element_in_its_place(tmp_path, layout, order):
    array = np.asarray(np.random.default_rng(1).integers(-30000, 30000, (3, 5, 7), "i2"), order=order)
    np.save(tmp_path / "in.npy", array)
    given = answer("relayout", "--to", layout, tmp_path / "in.npy", tmp_path / "out", "--verify", "--pad", "-7")
    stored = np.fromfile(tmp_path / "out", "<i2")
    assert given["bytes_read"] == array.nbytes and given["bytes_written"] == stored.nbytes and given["verified"] is True
    expected = np.full(stored.size, -7, "i2")
    for coord, offset in offsets(layout, array.shape).items():
        expected[offset] = array[coord]
    assert (stored == expected).all()
    done = tegula("relayout", "--from", layout, "--to", "s16[3,5,7]", tmp_path / "out", tmp_path / "back.npy")
    assert done.returncode == 0, done.stderr
    assert (np.load(tmp_path / "back.npy") == array).all()


def test_not_verified_is_null(tmp_path):
    np.save(tmp_path / "in.npy", np.zeros(3, "f4"))
    assert answer("relayout", "--to", "f32[3]", tmp_path / "in.npy", tmp_path / "out")["verified"] is None


NUMPY_TYPES = {"pred": "?", "s8": "i1", "u8": "u1", "s16": "i2", "u16": "u2", "s32": "i4", "u32": "u4", "s64": "i8",
               "u64": "u8", "f16": "f2", "bf16": ml_dtypes.bfloat16, "f32": "f4", "f64": "f8", "c64": "c8",
               "c128": "c16", "f8e5m2": ml_dtypes.float8_e5m2}
NAMELESS_TYPES = {"s4": ml_dtypes.int4, "u4": ml_dtypes.uint4, "f8e4m3fn": ml_dtypes.float8_e4m3fn}


@pytest.mark.parametrize("name", [*NUMPY_TYPES, *NAMELESS_TYPES])
def test_numpy_files_of_every_type(tmp_path, name):
    array = np.arange(6).reshape(2, 3).astype((NUMPY_TYPES | NAMELESS_TYPES)[name])
    np.save(tmp_path / "in.npy", array.view(np.uint8) if name in NAMELESS_TYPES else array)
    done = tegula("relayout", "--from", f"{name}[2,3]", "--to", f"{name}[2,3]{{0,1}}", tmp_path / "in.npy",
                  tmp_path / "out", "--verify")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").read_bytes() == array.T.tobytes()


FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e5m2", "float8_e4m3", "float8_e3m4", "float8_e4m3fn",
          "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz"]
PADS = ["0", "1", "-1.5", "0.1", "1e-3", "0.0625", "2.5e-5", "3.3", "-7", "15", "nan", "inf", "-inf", "-0", "1e-30",
        "65504", "1e9"]


@pytest.mark.parametrize("name", FLOATS)
def test_pad_is_rounded_as_ml_dtypes_rounds(tmp_path, name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    with np.errstate(all="ignore"):
        for value in PADS:
            exact = np.float64(value)
            wanted = exact.astype(dtype)
            done = tegula("relayout", "--from", f"{name}[1]", "--to", f"{name}[1]{{0:T(2)}}", "--pad", value, "-", "-",
                          stdin=open_bytes(tmp_path, dtype.itemsize))
            back = wanted.astype(np.float64)
            if (np.isnan(back) and not np.isnan(exact)) or (np.isinf(back) and not np.isinf(exact)):
                assert done.returncode == 2, (value, wanted)
                assert b"does not fit" in done.stderr
            elif np.isfinite(exact) and abs(exact) > float(ml_dtypes.finfo(dtype).max):
                assert done.returncode in (0, 2)  # rounds to the largest number, or is refused
            else:
                assert done.returncode == 0, (value, done.stderr)
                assert done.stdout[dtype.itemsize:] == wanted.tobytes(), value


def open_bytes(folder, count):
    (folder / "zeros").write_bytes(bytes(count))
    return open(folder / "zeros", "rb")


@pytest.mark.parametrize("name,value,stored", [
    ("s8", "-128", b"\x80"), ("u8", "255", b"\xff"), ("s64", "-9223372036854775808", b"\0" * 7 + b"\x80"),
    ("u64", "18446744073709551615", b"\xff" * 8), ("pred", "true", b"\1"), ("s4", "-8", b"\xf8"), ("u4", "15", b"\x0f"),
    ("c64", "1", b"\0\0\x80\x3f\0\0\0\0"), ("f8e8m0fnu", "2", b"\x80"), ("f4e2m1fn", "-6", b"\x0f")])
def test_pad_of_other_types(tmp_path, name, value, stored):
    done = tegula("relayout", "--from", f"{name}[1]", "--to", f"{name}[1]{{0:T(2)}}", "--pad", value, "-", "-",
                  stdin=open_bytes(tmp_path, len(stored)))
    assert done.returncode == 0, done.stderr
    assert done.stdout[len(stored):] == stored


@pytest.mark.parametrize("name,value", [
    ("s8", "128"), ("s8", "-129"), ("s8", "1.5"), ("s8", ""), ("u8", "-1"), ("u8", "256"), ("s4", "8"), ("pred", "2"),
    ("s64", "9223372036854775808"), ("u64", "18446744073709551616"), ("f8e8m0fnu", "0"), ("f8e8m0fnu", "3"),
    ("f8e8m0fnu", "-1"), ("f4e2m1fn", "nan"), ("f4e2m1fn", "9"), ("f8e4m3fn", "inf"), ("f64", "1e999"), ("f16", "1 2")])
def test_pad_that_does_not_fit(tmp_path, name, value):
    done = tegula("relayout", "--from", f"{name}[1]", "--to", f"{name}[1]", "--pad", value, "-", "-",
                  stdin=open_bytes(tmp_path, 8))
    assert done.returncode == 2
    assert done.stderr.startswith(b"tegula: --pad: ")
    assert done.stdout == b""


@pytest.mark.parametrize("name,value,told", [
    ("s16", "70000", "70000 does not fit: the numbers of s16 are -32768 to 32767"),
    ("s64", "1" * 30, f"{'1' * 30} does not fit: the numbers of s64 are -{2**63} to {2**63 - 1}"),
    ("f16", "7e4", "7e4 does not fit: the numbers of f16 are -65504 to 65504"),
    ("f8e4m3fn", "inf", "inf does not fit: the numbers of f8e4m3fn are -448 to 448"),
    ("pred", "2", "2 does not fit: the numbers of pred are 0 and 1"),
    ("pred", "yes", "'yes' is no whole number; those of pred are 0 and 1"),
    ("u8", "1.5", "'1.5' is no whole number; those of u8 are 0 to 255"),
    ("f16", "x", "'x' is no number; those of f16 are -65504 to 65504")])
def test_pad_that_does_not_fit_is_told_the_range(tmp_path, name, value, told):
    done = tegula("relayout", "--from", f"{name}[1]", "--to", f"{name}[1]", "--pad", value, "-", "-",
                  stdin=open_bytes(tmp_path, 8))
    assert (done.returncode, done.stderr.decode()) == (2, f"tegula: --pad: {told}\n")


@pytest.mark.parametrize("name,value,told", [
    ("f16", "70000", "the numbers of f16 are -65504 to 65504"),
    ("u8", "300", "the numbers of u8 are 0 to 255"),
    ("pred", "2", "the numbers of pred are 0 and 1"),
    ("f16", "inf", "f16 is stored as SEN169_FP16 here, whose numbers are -8573157376 to 8573157376"),
    ("f16", "-inf", "f16 is stored as SEN169_FP16 here, whose numbers are -8573157376 to 8573157376"),
    ("f16", "1e999", "the numbers of f16 are -65504 to 65504"),
    ("bf16", "1e999", "bf16 is stored as SEN169_FP16 here, whose numbers are -8573157376 to 8573157376"),
    ("s64", "-99999999999999999999", "s64 is stored as IEEE_INT32 here, whose numbers are -2147483648 to 2147483647"),
    ("bf16", "9e9", "bf16 is stored as SEN169_FP16 here, whose numbers are -8573157376 to 8573157376"),
    ("s64", "9876543210", "s64 is stored as IEEE_INT32 here, whose numbers are -2147483648 to 2147483647")])
def test_pad_must_be_a_number_of_the_element_type_first(tmp_path, name, value, told):
    """The same rule as in the package (test_package_pad.py)."""
    done = tegula("relayout", "--from", f"{name}[1]", "--to", f"{name}[1] spyre", "--pad", value, "-", "-",
                  stdin=open_bytes(tmp_path, 8))
    assert (done.returncode, done.stderr.decode()) == (2, f"tegula: --pad: {value} does not fit: {told}\n")


@pytest.mark.parametrize("name", FLOATS + [
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "complex64", "int2", "int4", "int8", "int16", "int32", "int64",
    "uint2", "uint8", "uint32", "uint64"])
def test_ranges_are_those_of_ml_dtypes(tmp_path, name):
    """What is told is the lowest and the highest number."""
    like = np.dtype(getattr(ml_dtypes, name, name)).type
    whole = "int" in name
    info = ml_dtypes.iinfo(like) if whole else ml_dtypes.finfo(np.float32 if name == "complex64" else like)
    done = tegula("relayout", "--from", f"{name}[1]", "--to", f"{name}[1]", "--pad", "9" * 20 if whole else "1e999",
                  "-", "-", stdin=open_bytes(tmp_path, 8))
    ends = re.search("does not fit: the numbers of [a-z0-9]+ are (.*) to (.*)", done.stderr.decode()).groups()
    ends = map(int if whole else float, ends)
    assert [like(end) for end in ends] == [like(info.min), like(info.max)]


@pytest.mark.parametrize("stored,value,code", [
    ("SEN169_FP16", "8573157376", 0x7FFE), ("SEN169_FP16", "-8.575e9", 0xFFFE), ("SEN169_FP16", "8.58e9", None),
    ("SEN169_FP16", "nan", 0x7FFF), ("SEN169_FP16", "inf", None), ("SEN169_FP16", "-inf", None),
    ("IEEE_FP16", "-inf", 0xFC00), ("IEEE_FP16", "65504", 0x7BFF), ("IEEE_FP16", "65520", None),
    ("BFLOAT16", "inf", 0x7F80), ("BFLOAT16", "3.4e38", None)])
def test_pad_must_be_in_the_stored_format(tmp_path, stored, value, code):
    done = tegula("relayout", "--from", "f32[1]", "--to", f"f32[1] spyre device_dtype={stored}", "--pad", value,
                  "-", "-", stdin=open_bytes(tmp_path, 4))
    if code is None:
        assert done.returncode == 2 and done.stdout == b""
        told = f"tegula: --pad: {value} does not fit: f32 is stored as {stored} here, whose numbers are "
        assert done.stderr.decode().startswith(told)
    else:
        assert done.returncode == 0, done.stderr
        assert (np.frombuffer(done.stdout, "<u2")[1:] == code).all()


def test_losses_are_those_of_every_float16(tmp_path):
    codes = np.arange(1 << 16).astype("<u2")
    dlf = codes & 0x7FFF
    np.save(tmp_path / "in.npy", codes.view("<f2"))
    shape = "f16[65536]"
    given = answer("relayout", "--to", f"{shape} spyre", tmp_path / "in.npy", tmp_path / "device")
    assert (given["overflowed"], given["vanished"]) == (0, 0)  # DLFloat16 has more exponents
    codes.tofile(tmp_path / "device")
    given = answer("relayout", "--from", f"{shape} spyre", "--to", shape, tmp_path / "device", tmp_path / "out")
    value = np.where(dlf == 0, 0, (512.0 + dlf % 512) * 2.0 ** ((dlf >> 9).astype(int) - 40))
    with np.errstate(over="ignore"):
        host = value.astype("f2")
    overflowed, vanished = np.isinf(host) & (dlf != 0x7FFF), (host == 0) & (dlf != 0)
    assert overflowed.any() and vanished.any()
    assert (given["overflowed"], given["vanished"]) == (overflowed.sum(), vanished.sum())


def test_losses_are_not_counted_where_nothing_is_converted(tmp_path):
    np.save(tmp_path / "in.npy", np.array([np.inf, 1e-40, 0], "f4"))
    done = tegula("relayout", "--to", "f32[3]{0:T(2)}", tmp_path / "in.npy", tmp_path / "out")
    assert done.returncode == 0 and done.stderr == b""


def test_spyre_padding_is_in_the_device_format(tmp_path):
    np.save(tmp_path / "in.npy", np.ones(1, "f2"))
    done = tegula("relayout", "--to", "f16[1] spyre", "--pad", "1", tmp_path / "in.npy", "-")
    assert done.returncode == 0, done.stderr
    stick = np.frombuffer(done.stdout, "<u2")
    assert stick.size == 64 and (stick == 31 << 9).all()  # 1.0 in DLFloat16: exponent 31, fraction 0


def test_int_out_of_range_of_the_device_format(tmp_path):
    np.save(tmp_path / "in.npy", np.array([1, 2**40], "i8"))
    done = tegula("relayout", "--to", "s64[2] spyre", tmp_path / "in.npy", tmp_path / "out")
    assert done.returncode == 1
    assert not (tmp_path / "out").exists()
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("source,target", [("in", "out"), ("-", "out"), ("in", "-")])
def test_a_limit_of_the_shell_is_an_error(tmp_path, source, target):
    (tmp_path / "in").write_bytes(bytes(4000))
    script = 'ulimit -f 1; "$0" relayout --from "f32[1000]" --to "f32[1000]" "$1" "$2"'
    with open(tmp_path / "in", "rb") as stdin:
        done = subprocess.run(["bash", "-c", script, TEGULA, source, target], cwd=tmp_path, stdin=stdin,
                              capture_output=True, env=os.environ | {"TMPDIR": str(tmp_path)})
    assert done.returncode == 4
    assert b"File too large" in done.stderr and done.stdout == b""
    assert os.listdir(tmp_path) == ["in"]


def test_no_more_threads_than_processors(tmp_path):
    with open(tmp_path / "in", "wb") as file:
        file.truncate(4 << 20)  # enough for a pool
    process = subprocess.Popen([TEGULA, "relayout", "--from", "s8[4194304]", "--to", "s8[4194304]", "--threads", "1024",
                                tmp_path / "in", tmp_path / "out"], stdout=subprocess.DEVNULL)
    most = 1
    while process.poll() is None:
        status = pathlib.Path(f"/proc/{process.pid}/status")
        most = max([most, *map(int, re.findall(r"Threads:\s*(\d+)", status.read_text()))])
    assert process.returncode == 0
    assert most <= os.cpu_count()


def test_old_output_survives_a_failure(tmp_path):
    (tmp_path / "out").write_bytes(b"old")
    assert tegula("relayout", "--from", "f32[2]", "--to", "f32[2]", tmp_path / "none", tmp_path / "out").returncode == 4
    assert (tmp_path / "out").read_bytes() == b"old"


def test_memory_stays_bounded(tmp_path):
    """Each file alone is more than the process may hold."""
    mib = 128
    with open(tmp_path / "in", "wb") as file:
        file.truncate(mib << 20)
    rows = (mib << 20) // 4096
    script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-c", script, TEGULA, "relayout", "--from", f"s16[{rows},2048]", "--to",
                           f"s16[{rows},2048] spyre", tmp_path / "in", tmp_path / "out"], stdout=subprocess.PIPE,
                          check=True, timeout=120)
    assert int(done.stdout.split()[-1]) < 112 * 1024  # KiB
    assert (tmp_path / "out").stat().st_size == mib << 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_leaves_nothing(tmp_path, number):
    env = os.environ | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen([TEGULA, "relayout", "--from", "f32[9]", "--to", "f32[9]", "-", tmp_path / "out"],
                               stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    process.stdin.write(b"1")
    process.stdin.flush()
    wait_until(lambda: any(file.stat().st_size for file in tmp_path.iterdir()))
    process.send_signal(number)
    assert process.wait(120) == 128 + number
    assert process.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source,target,told", [
    ("in", "out", r"output: cannot create out with its 65536 bytes: File too large"),
    ("-", "out", r"\./tegula-\w+: File too large; TMPDIR tells where temporary files go"),
    ("in", "-", r"temporary file: cannot create \./tegula-\w+ with its 65536 bytes: File too large; TMPDIR tells .*")])
def test_no_room_for_a_file(tmp_path, source, target, told):
    """Files of at most 8 KiB are what a full disk is like."""
    (tmp_path / "in").write_bytes(bytes(65536))
    limited = ["bash", "-c", """ulimit -f 8; trap '' XFSZ; "$@" < in | cat; exit ${PIPESTATUS[0]}""", "limited"]
    done = subprocess.run([*limited, TEGULA, "relayout", "--from", "u8[65536]", "--to", "u8[65536]", source, target],
                          cwd=tmp_path, env=os.environ | {"TMPDIR": "."}, capture_output=True)
    assert done.returncode == 4
    assert re.fullmatch(f"tegula: {told}\n", done.stderr.decode())
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_conversion_that_fails_names_the_option(tmp_path):
    (tmp_path / "in").write_bytes(np.array([1, 300], "<i2").tobytes())
    for to, told in [("s8[2]", "value 300 at element 1 of the input does not fit s8 in 8 bits"),
                     ("s32[2] spyre device_dtype=SEN169_FP16", "no conversion of s16 from native in 16 bits to s32 "
                                                               "SEN169_FP16 in 16 bits")]:
        done = tegula("relayout", "--from", "s16[2]", "--to", to, "--convert", tmp_path / "in", "out")
        assert done.stderr.decode() == f"tegula: --convert: {told}\n"


@pytest.fixture(scope="session")
def stopping(tmp_path_factory):
    """An environment in which the child process that checks stops before it begins."""
    library = tmp_path_factory.mktemp("preload") / "stopped_child.so"
    source = console.ROOT / "tests/cli/stopped_child.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return os.environ | {"LD_PRELOAD": str(library)}


def begin_check(folder, environment):
    """A relayout --verify whose child process has stopped; both."""
    (folder / "in").write_bytes(bytes(65536))
    process = subprocess.Popen([TEGULA, "relayout", "--from", "s8[65536]", "--to", "s8[65536]", "--verify",
                                folder / "in", folder / "out"], stderr=subprocess.PIPE, env=environment)
    wait_until(lambda: any(state(child) == "T" for child in children(process.pid)))
    child, = children(process.pid)
    return process, child


def test_signal_ends_a_long_check(tmp_path, stopping):
    process, child = begin_check(tmp_path, stopping)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 130
    assert [file.name for file in tmp_path.iterdir()] == ["in"] and not pathlib.Path(f"/proc/{child}").exists()


def test_an_input_that_becomes_shorter(tmp_path, stopping):
    process, child = begin_check(tmp_path, stopping)
    os.truncate(tmp_path / "in", 4096)
    os.kill(child, signal.SIGCONT)
    assert process.wait(120) == 4
    assert process.stderr.read() == b"tegula: the input: another program has made it shorter meanwhile\n"
    assert [file.name for file in tmp_path.iterdir()] == ["in"]


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_until(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
