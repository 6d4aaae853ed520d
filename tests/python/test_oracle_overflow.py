"""Rows at 2^31 and 2^63: an error, or exactly what arithmetic without limits says; never something else."""
import pytest

import oracle as o
import oracle_cases as cases
import tegula_c as t

EDGES = [2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**32 + 1, 2**33, 2**61, 2**62 - 1, 2**62, 2**62 + 1, 2**63 - 65,
         2**63 - 2, 2**63 - 1]
LIMIT = 2**63 - 1


def texts():
    for n in EDGES:
        yield cases.strided("f16", [n])
        yield cases.strided("s8", [n])
        yield cases.strided("f16", [2, n])
        yield cases.strided("f16", [n, 3])
        yield cases.strided("f16", [2, 2], [n, 1])
        yield cases.strided("f16", [2, 2], [n, n])
        yield cases.strided("f16", [2, 2], [-n, 1], n)
        yield cases.strided("f16", [3], [1], n)
        yield cases.strided("f16", [3, 1], [1, n])
        yield cases.strided("f16", [0, n])
        yield cases.strided("f16", [n, n, 0])
        yield cases.xla("f32", [n], [0])
        yield cases.xla("f32", [n], [0], [[8]])
        yield cases.xla("f32", [n], [0], [[8, 128]])
        yield cases.xla("f32", [n, 2], [0, 1], [[2, 128]])
        yield cases.xla("f32", [n, 2], [1, 0], [[o.COMBINE, 128]])
        yield cases.xla("f32", [2], [0], [[n]])
        yield cases.xla("f32", [2], [0], [[n, 2]])
        yield cases.xla("f32", [2], [0], [[2, n], [2, 2]])
        yield cases.xla("f32", [3], [0], tail=n)
        yield cases.xla("f32", [n], [0], tail=7)
        yield cases.xla("f32", [0, n], [1, 0], [[8, 128]])
        yield cases.xla("s4", [n], [0], element_bits=4)
        yield cases.spyre("f16", [n])
        yield cases.spyre("f16", [n, 2])
        yield cases.spyre("f16", [2, n])
        yield cases.spyre("f16", [2, n], None, [0, 1, -1])
        yield cases.spyre("f16", [2, 3, n], None, [2, 1, 0])
        yield cases.spyre("f16", [2, 70], [n, 1])
        yield cases.spyre("f16", [70], [n])
        yield cases.spyre("f16", [2], device_size=[n, 64], stride_map=[64, 1])
        yield cases.spyre("f16", [2, 5], device_size=[1, 2, 64], stride_map=[n, 5, 1])
    for a, b in ((2**31, 2**31), (2**31, 2**32), (3037000499, 3037000500), (3037000500, 3037000500), (2**32, 2**32)):
        yield cases.strided("f16", [a, b])
        yield cases.strided("s8", [a, b], [1, a])
        yield cases.xla("s8", [a, b], [0, 1], [[8, 128]])
        yield cases.spyre("s8", [a, b])
        yield cases.spyre("f16", [a, b, 1], None, [0, 1, -1])


def probes(shape):
    if 0 in shape:
        return []
    last = tuple(n - 1 for n in shape)
    return {tuple(0 for _ in shape), last, tuple(n // 2 for n in shape), *(
        tuple(n - 1 if k == d else 0 for k, n in enumerate(shape)) for d in range(len(shape)))}


def check_exact_or_refused(case):
    """True if the library took the text."""
    try:
        layout = t.parse(case.text).layout
    except t.TegulaError as why:
        assert why.status in (t.ERR_OVERFLOW, t.ERR_LIMIT, t.ERR_PARSE, t.ERR_ARGUMENT, t.ERR_UNREPRESENTABLE)
        return False
    judge = case.layout
    cases.expect(case.text, "elements", judge.numel, t.numel(layout))
    cases.expect(case.text, "span", judge.span, layout.span)
    for coord in probes(judge.shape):
        offset = judge.place(coord)[0]
        cases.expect(case.text, f"offset of {coord}", offset, t.offset(layout, coord))
        found = t.coord(layout, offset)
        home = judge.place(found)
        assert offset in home, f"{case.text}: slot {offset} holds {found}, which is at {home}"
    size = -(-judge.span * judge.bits // 8)
    try:
        cases.expect(case.text, "bytes", size, t.nbytes(layout))
    except t.TegulaError as why:
        assert why.status == t.ERR_OVERFLOW
        assert size > LIMIT // 8, f"{case.text}: {size} bytes fit, but: {why}"
    return True


def test_exact_or_refused():
    wrong, taken, total = [], 0, 0
    for case in texts():
        total += 1
        try:
            taken += check_exact_or_refused(case)
        except (AssertionError, o.Unreachable) as why:
            wrong.append(f"{type(why).__name__} {why} {case}")
    print(f"{taken} of {total} are taken")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:10])
    assert taken > total // 4


@pytest.mark.parametrize("text", ["s8[2147483648]", "s8[4294967297,3]", "s8[1152921504606846975]",
                                  "f16[576460752303423487]", "f32[2147483648,2]{1,0:T(8,128)}", "f16[2147483648] spyre",
                                  "f16[3,2147483649] spyre", "s8[1073741823,1073741825]"])
def test_what_fits_is_taken(text):
    """Up to 2^63 bits of storage; between that and 2^63 bytes an error is fine too."""
    t.parse(text)


@pytest.mark.parametrize("text", ["s8[9223372036854775808]", "s8[4294967296,2147483648]", "s8[3037000500,3037000500]",
                                  "s8[2,2] strides=[9223372036854775807,1]", "f32[9223372036854775807]{0:T(8)}",
                                  "f32[2]{0:T(9223372036854775807,2)}", "f16[9223372036854775807] spyre",
                                  "f16[9223372036854775807] spyre dim_order=[0,-1]"])
def test_what_does_not_fit_is_an_error(text):
    with pytest.raises(t.TegulaError) as why:
        t.parse(text)
    assert why.value.status in (t.ERR_OVERFLOW, t.ERR_PARSE, t.ERR_LIMIT)


def test_bytes_that_do_not_fit():
    with pytest.raises(t.TegulaError) as why:
        t.nbytes(t.parse("f64[2305843009213693952]").layout)
    assert why.value.status == t.ERR_OVERFLOW
