"""Read, print, read again: equal values, a fixed point, one canonical text for a value."""
import re

import pytest

import oracle as o
import oracle_cases as cases
import tegula_c as t

TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|-?[0-9]+|<=|.")
TORCH_NAMES = {"f16": ("float16", "half"), "f32": ("float32", "float"), "s8": ("int8",), "s32": ("int32", "int"),
               "pred": ("bool",), "bf16": ("bfloat16",), "s64": ("int64", "long"), "u8": ("uint8",),
               "f8e4m3fn": ("float8_e4m3fn",), "f8e5m2fnuz": ("float8_e5m2fnuz",), "f64": ("float64", "double")}


def with_blanks(rng, text):
    """The same tokens with random blanks; a word keeps its distance from what is before it if it had any."""
    out = ""
    for token in TOKEN.findall(text):
        if token == " ":
            out += rng.choice((" ", "  ", "\t"))
            continue
        out += token + (rng.choice((" ", "\t", "  ")) if rng.random() < 0.3 else "")
    return rng.choice(("", " ")) + out


def value(desc):
    """What a description says, without where it stood in the text and without unused parts."""
    notation = t.NOTATIONS[desc.notation]
    said = {"notation": notation, "layout": t.fields(desc.layout)}
    if notation == "xla":
        said["xla"] = t.fields(desc.xla, skip=("pos",))
    else:
        said["host"] = t.fields(desc.host)
    if notation == "spyre":
        said["spyre"] = t.fields(desc.spyre)
    return said


def check_round_trip(text):
    first = t.parse(text)
    printed = t.format(first)
    second = t.parse(printed)
    if value(first) != value(second):
        raise AssertionError(f"{text} prints as {printed}, which reads as another value")
    assert t.format(second) == printed, f"{printed} prints as {t.format(second)}"
    assert t.equal(first.layout, second.layout, storage=True) == (True, None), text
    return printed


def random_xla(rng):
    dtype = rng.choice(("f16", "bf16", "f32", "s8", "s4", "pred", "u1", "c64", "f8e4m3fn", "f6e3m2fn", "s64", "u16"))
    shape = [rng.choice((0, 1, 2, 3, 7, 8, 100)) for _ in range(rng.randrange(5))]
    text = dtype + "[" + ",".join(("<=" if rng.random() < 0.1 else "") + str(n) for n in shape) + "]"
    if rng.random() < 0.15:
        return text + ("{:T(128)}" if not shape else "{" + ",".join(map(str, reversed(range(len(shape))))) + "}")
    properties = ""
    tiles = [cases.random_tile(rng, rng.randrange(1, 5), 130) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    if tiles:
        properties += "T" + "".join("(" + ",".join(map(str, tile)) + ")" for tile in tiles)
    properties += rng.choice(("", "", f"L({rng.randrange(1, 200)})"))
    properties += rng.choice(("", "", f"E({rng.choice((1, 2, 4, 8, 16, 32))})"))
    properties += rng.choice(("", "", f"S({rng.randrange(0, 9)})"))
    if shape and rng.random() < 0.1 and max(shape) > 2:
        physical = rng.sample(range(len(shape)), len(shape))
        return text + "{" + ",".join(map(str, physical)) + (":" + properties if properties else "") + "}"
    properties += rng.choice(("", "", "", f"M({rng.randrange(1, 60)})"))
    order = ",".join(map(str, rng.sample(range(len(shape)), len(shape))))
    if not order and not properties:
        return text
    return text + "{" + order + (":" + properties if properties else "") + "}"


def random_strided(rng):
    shape = [rng.choice((0, 1, 2, 3, 7, 100)) for _ in range(rng.randrange(5))]
    dtype = rng.choice(list(TORCH_NAMES))
    if rng.random() < 0.5:
        dtype = rng.choice(TORCH_NAMES[dtype])
    text = dtype + cases.listed(shape)
    if rng.random() < 0.7:
        text += f" strides={cases.listed([rng.randrange(-20, 200) for _ in shape])}"
        text += f" offset={rng.randrange(0, 50000)}" if rng.random() < 0.7 else ""
    return text


def random_spyre(rng):
    shape = [rng.choice((1, 2, 3, 5, 64, 70)) for _ in range(rng.randrange(0, 5))]
    dtype = rng.choice(list(o.DEVICE_FORMAT))
    strides = None if rng.random() < 0.5 else cases.random_strides(rng, shape)
    if rng.random() < 0.4:
        device_size, stride_map = cases.random_explicit_spyre(rng, dtype, shape, strides or o.row_major(shape))
        return cases.spyre_text(dtype, shape, strides, device_size=device_size, stride_map=stride_map)
    order = rng.sample(range(len(shape)), len(shape)) + ([-1] if rng.random() < 0.3 else [])
    arrangement = "FP32_TO_DL16" if dtype in ("f16", "bf16") and order[-1:] != [-1] and rng.random() < 0.2 else None
    if arrangement and (not order or shape[order[-1]] == 1):
        arrangement = None
    return cases.spyre_text(dtype, shape, strides, order if rng.random() < 0.6 or arrangement else None,
                            rng.random() < 0.3, arrangement=arrangement)


@pytest.mark.parametrize("make", [random_xla, random_strided, random_spyre], ids=lambda f: f.__name__)
def test_random_texts(make):
    rng = cases.generator(make.__name__)
    refused, verdicts = [], cases.Verdicts()
    for _ in range(1200):
        text = make(rng)
        try:
            t.parse(text)
        except t.TegulaError as why:
            assert why.status != t.ERR_PARSE or why.pos <= len(text)
            refused.append(f"{text}: {why}")
            continue
        with verdicts.on(text):
            canonical = check_round_trip(text)
            spaced = with_blanks(rng, text)
            assert t.format(t.parse(spaced)) == canonical, f"blanks change {spaced!r}"
    verdicts.finish()
    assert len(refused) <= 60, f"{len(refused)} of 1200 texts are refused:\n" + "\n".join(refused[:10])


SAME_VALUE = [
    ["f16[4,64]", "float16[4,64]", "half[4,64]", "f16[4,64] strides=[64,1]", "f16[4,64] strides=[64,1] offset=0",
     " f16 [ 4 , 64 ] "],
    ["f16[5,100,150] strides=[1,5,500]", "f16[5,100,150] strides=[1,5,500] offset=0"],
    ["f16[5,100,150] spyre", "f16[5,100,150] strides=[15000,150,1] spyre", "f16[5,100,150] spyre dim_order=[0,1,2]",
     "f16[5,100,150] spyre device_size=[100,3,5,64] stride_map=[150,64,15000,1]",
     "f16[5,100,150] spyre device_size=[100,3,5,64] dim_map=[1,2,0,2]", "half[5,100,150]  spyre",
     "f16[5,100,150] spyre arrangement=STANDARD", "f16[5,100,150] spyre device_dtype=SEN169_FP16",
     "f16[5,100,150] spyre unit_dims=keep"],
    ["f16[5,100,150] spyre dim_order=[1,0,2]", "f16[5,100,150] spyre device_size=[5,3,100,64] dim_map=[0,2,1,2]"],
    ["f16[512,256] spyre dim_order=[0,1,-1]", "f16[512,256] spyre device_size=[256,1,512,64] stride_map=[1,-1,256,-1]"],
    ["bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}", "bf16 [32, 32 ,4096] { 2,1,0 : T ( 8,128 ) (2,1) S(1) }"],
    ["f32[8]{0:L(1)}", "f32[8]{0}", "f32[8]{0:E(0)}", "f32[8]{0:S(0)}", "f32[8]{0:}"],
]


@pytest.mark.parametrize("texts", SAME_VALUE, ids=lambda texts: texts[0])
def test_one_canonical_text(texts):
    printed = {text: check_round_trip(text) for text in texts}
    assert len(set(printed.values())) == 1, printed


DIFFERENT_VALUE = ["f16[4,64]", "f16[4,64]{1,0}", "f16[4,64] spyre", "bf16[4,64] spyre", "bf16[4,64]",
                   "f16[4,64] strides=[1,4]", "f16[4,64] offset=3", "f16[4,64] strides=[1,4] spyre",
                   "f16[4,64] spyre dim_order=[1,0]", "f16[4,64] spyre dim_order=[0,1,-1]",
                   "f16[4,64] spyre arrangement=FP32_TO_DL16", "f16[4,64]{1,0:S(1)}", "f16[4,64]{1,0:T(1,1)}"]


def test_different_values_print_differently():
    printed = [t.format(t.parse(text)) for text in DIFFERENT_VALUE]
    assert len(set(printed)) == len(printed), printed


UNREADABLE = ["", "f16", "f16[", "f16[2", "f16[2,]", "f16[,2]", "f16[-1]", "f99[2]", "f16[2] strides=[1,2]",
              "f16[2] strides=[1", "f16[2] strides=1", "f16[2] offset=", "f16[2] spyre spyre", "f16[2] bogus=[1]",
              "f16[2] spyre dim_order=[1]", "f16[2,3] spyre dim_order=[0,0]", "f16[2,3] spyre dim_order=[0]",
              "f16[2,3] spyre dim_order=[-1,0]", "f16[2,3] spyre dim_order=[0,1,2]", "f16[2] spyre unit_dims=maybe",
              "f16[2] spyre device_size=[1,64]", "f16[2] spyre stride_map=[64,1]",
              "f16[2] spyre device_size=[1,64] stride_map=[1]", "f16[2] spyre device_size=[-1,64] stride_map=[64,1]",
              "f16[2] spyre device_size=[1,64] dim_map=[0,1]", "f16[2] spyre device_size=[1,64] dim_map=[-2,0]",
              "f16[2] spyre device_dtype=NONE", "f16[2] spyre arrangement=NONE", "f64[2] spyre", "c64[2] spyre",
              "f16[2]{0:T(}", "f16[2]{0:T()}", "f16[2]{0:T(0)}", "f16[2]{0:T(-2)}", "f16[2]{1}", "f16[2]{0,0}",
              "f16[2,2]{0,0}", "f16[2]{0:L(0)}", "f16[2]{0:E(-4)}", "f16[2]{0:T(2,*)}", "f16[2]{0} x", "f16[2] x",
              "(f16[2], f16[3])", "token[]", "f16[?]{0}", "f16[2]{0} spyre", "f16[99999999999999999999]"]


@pytest.mark.parametrize("text", UNREADABLE)
def test_unreadable(text):
    with pytest.raises(t.TegulaError) as why:
        t.parse(text)
    assert why.value.pos <= len(text)
    assert why.value.message == why.value.message.strip() and "\n" not in why.value.message


def test_length_is_explicit():
    data = b"f16[4,64]garbage"
    desc = t.Desc()
    assert t.lib.tg_desc_parse(t.C.byref(desc), data, 9, None) == t.OK
    assert t.format(desc) == t.format(t.parse("f16[4,64]"))


def test_snprintf_rule():
    desc = t.parse("f16[5,100,150] spyre dim_order=[1,0,2]")
    whole = t.format(desc)
    for cap in range(len(whole) + 2):
        buffer = t.C.create_string_buffer(b"\x7f" * (len(whole) + 8), len(whole) + 8)
        assert t.lib.tg_desc_format(buffer, cap, t.C.byref(desc)) == len(whole)
        written = whole[: max(0, cap - 1)].encode()
        assert buffer.raw[:cap] == (written + b"\0" if cap else b"")
        assert buffer.raw[cap:] == b"\x7f" * (len(whole) + 8 - cap)
