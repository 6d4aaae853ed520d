"""tg_desc_convert: where it answers, the map is the same; what must have an answer has one. CuTe by its definition."""
import pytest

import oracle as o
import oracle_cases as cases
import tegula_c as t
import test_oracle_algebra as algebra

NOTATIONS = ("strided", "xla", "spyre")


def check_conversion(case, desc, notation):
    try:
        out = t.convert(desc, notation)
    except t.TegulaError as why:
        assert why.status in (t.ERR_UNREPRESENTABLE, t.ERR_LIMIT, t.ERR_UNSUPPORTED), f"{case} to {notation}: {why}"
        return False
    text = f"{case} as {t.format(out)}"
    cases.expect(text, "notation", notation, t.NOTATIONS[out.notation])
    t.validate(out.layout)
    cases.expect(text, "shape", case.layout.shape, t.shape(out.layout))
    cases.expect(text, "offsets", case.layout.table(), t.table(out.layout))
    assert t.equal(desc.layout, out.layout) == (True, None), text
    again = t.parse(t.format(out))
    cases.expect(text, "offsets when read back", case.layout.table(), t.table(again.layout))
    return True


def test_random_conversions():
    rng = cases.generator("convert")
    done, verdicts = dict.fromkeys(NOTATIONS, 0), cases.Verdicts()
    for case in algebra.material(rng, 900):
        desc = t.parse(case.text)
        for notation in NOTATIONS:
            with verdicts.on(f"{case.text} to {notation}"):
                answered = check_conversion(case, desc, notation)
                assert answered or notation != t.NOTATIONS[desc.notation], f"{case} is in {notation} already"
                done[notation] += answered
    print(done)
    verdicts.finish()
    assert all(n > 100 for n in done.values()), done


def test_untiled_xla_is_strided_and_back():
    rng = cases.generator("untiled")
    for _ in range(200):
        shape = [rng.choice((1, 2, 3, 5)) for _ in range(rng.randrange(5))]
        case = cases.xla("f32", shape, rng.sample(range(len(shape)), len(shape)))
        assert check_conversion(case, t.parse(case.text), "strided"), case
        strided = t.convert(t.parse(case.text), "strided")
        assert check_conversion(case, strided, "xla"), case


EXPECTED = [
    ("f16[5,100,150] spyre", "xla", "f16[5,100,150]{0,2,1:T(64,1)}"),
    ("f16[5,100,150]{0,2,1:T(64,1)}", "spyre", "f16[5,100,150] spyre"),
    ("f16[512,256] spyre", "xla", "f16[512,256]{0,1:T(64,1)}"),
    ("f16[40,60]", "xla", "f16[40,60]{1,0}"),
    ("f16[40,60] strides=[1,40]", "xla", "f16[40,60]{0,1}"),
    ("f32[6,4]{1,0:T(*,4)}", "strided", "f32[6,4]"),
    ("f32[7]{0:T(8,128)}", "strided", "f32[7]"),
    ("f32[16,128]{1,0:T(8,128)}", "strided", "f32[16,128]"),
    ("f16[4,64] spyre", "strided", "f16[4,64]"),
    ("f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", "strided", "f16[40,60]"),
    ("f16[4,64]", "spyre", "f16[4,64] spyre"),
]


@pytest.mark.parametrize("text, notation, same_as", EXPECTED)
def test_must_have_an_answer(text, notation, same_as):
    out = t.convert(t.parse(text), notation)
    assert t.NOTATIONS[out.notation] == notation
    assert t.equal(out.layout, t.parse(same_as).layout) == (True, None), t.format(out)


HOPELESS = [("f16[5,100,150] spyre", "strided"), ("f32[8,256]{1,0:T(8,128)}", "strided"), ("f16[5] strides=[0]", "xla"),
            ("f16[5] strides=[-1] offset=4", "xla"), ("f16[5] offset=3", "xla"),
            ("f16[7] spyre dim_order=[0,-1]", "cute"),
            ("f16[5] strides=[-1] offset=4", "spyre"), ("f16[4,64]", "cute"),
            ("f16[60] spyre device_size=[2,64] stride_map=[0,1]", "strided")]


@pytest.mark.parametrize("text, notation", HOPELESS)
def test_no_answer_comes_with_a_reason(text, notation):
    with pytest.raises(t.TegulaError) as why:
        t.convert(t.parse(text), notation)
    assert why.value.status != t.ERR_PARSE and len(why.value.message) > 10


def read_cute(text):
    """(shape, stride) of CuTe text as nested tuples."""
    shape, _, stride = text.partition(":")
    read = lambda part: eval(part.replace(")", ",)").replace("(,)", "()"), {})
    return read(shape), read(stride)


def leaves(nested):
    return [leaf for item in nested for leaf in leaves(item)] if isinstance(nested, tuple) else [nested]


def test_cute_text_is_the_map():
    """CuTe counts coordinates with the first mode fastest; which dimension a mode is, the nesting says."""
    rng = cases.generator("cute")
    printed = 0
    for case in algebra.material(rng, 300):
        layout = t.parse(case.text).layout
        try:
            text = t.cute(layout)
        except t.TegulaError as why:
            assert why.status == t.ERR_UNREPRESENTABLE, f"{case}: {why}"
            continue
        printed += 1
        shape, stride = read_cute(text)
        assert len(leaves(shape)) == len(leaves(stride)), f"{case}: {text}"
        assert o.math.prod(leaves(shape)) == case.layout.numel, f"{case}: {text}"
        offsets = []
        for k in range(case.layout.numel):
            offset, rest = 0, k
            for n, s in zip(leaves(shape), leaves(stride)):
                offset, rest = offset + rest % n * s, rest // n
            offsets.append(offset)
        start = case.layout.place((0,) * len(case.layout.shape))[0] if case.layout.numel else 0
        assert sorted(offsets) == sorted(v - start for v in case.layout.table().values()), f"{case}: {text}"
    assert printed > 50


def test_cute_example_of_the_contract():
    assert t.cute(t.parse("f32[4,8] strides=[1,4]").layout) == "(4,8):(1,4)"
