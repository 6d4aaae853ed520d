"""XLA shape text against the published vectors and against XLA's own parser in jaxlib.

The rule, for every text:
  (a) what XLA refuses, or dies of, we refuse;
  (b) what we accept, XLA accepts and prints the same;
  (c) what XLA accepts and we refuse is in the list of docs/notation-xla.md: `strict_reason` is that
      list, written a second time and without our reader.
"""
import json
import os
import random
import re

import pytest

import jaxlib_process
import xla_ctypes as xla

SEED = int(os.environ.get("TEGULA_SEED", "20240531"))
VECTORS = json.loads((xla.ROOT / "tests/spec/xla_text.json").read_text())

# In a process of its own, because some texts make XLA abort.
SERVER = r"""
import json, sys
from jaxlib import xla_client as xc
def layout(text):
    l = xc.PjRtLayout.__new__(xc.PjRtLayout)
    l.__setstate__((text.encode(),))
    return str(l)
ask = {"shape": lambda text: repr(xc.Shape(text)), "layout": layout}
for line in sys.stdin:
    kind, text = json.loads(line)
    try:
        answer = [True, ask[kind](text)]
    except Exception as e:
        answer = [False, str(e)]
    print(json.dumps(answer), flush=True)
"""


class Oracle(jaxlib_process.Jaxlib):
    def __init__(self):
        super().__init__(SERVER)

    def __call__(self, text, kind="shape"):
        """(accepted, canonical text or message); accepted is None where XLA aborted."""
        answer = self.ask([kind, text])
        return (None, "abort") if answer is None else tuple(answer)


@pytest.fixture(scope="module")
def oracle():
    pytest.importorskip("jaxlib")
    oracle = Oracle()
    accepted, _ = oracle("f32[2]")
    assert accepted, "jaxlib's parser does not answer"
    yield oracle
    oracle.stop()


def ours(text):
    """(canonical text, None) or (None, the refusal)."""
    try:
        return xla.format_shape(xla.parse(text)), None
    except xla.Refused as refusal:
        return None, refusal


# ---- the strictness list, from the text alone ------------------------------------------------

INT = r"-?\d+"
TYPE = "(?:" + "|".join(
    "pred s1 s2 s4 s8 s16 s32 s64 u1 u2 u4 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128 f4e2m1fn f6e2m3fn f6e3m2fn f8e3m4 "
    "f8e4m3 f8e4m3b11fnuz f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu".split()) + ")"
UTYPE = r"u(?:1|2|4|8|16|32|64)"
TILE_DIM = rf"(?:{INT}|[*])"
LEVEL = r"[DCSH]\+?~?"


def listed(item):
    return rf"(?:{item}(?:,{item})*)?"


PROPERTIES = (
    rf"(?:D\({listed(LEVEL)}\))?"
    rf"(?:T(?:\({listed(TILE_DIM)}\))+)?"
    rf"(?:L\({INT}\))?(?:#\({UTYPE}\))?(?:\*\({UTYPE}\))?(?:E\({INT}\))?(?:S\({INT}\))?"
    rf"(?:SC(?:\({INT}:{listed(INT)}\))+)?(?:M\({INT}\))?"
)
LAYOUT = rf"\{{{listed(INT)}(?::{PROPERTIES})?\}}"
DIM = rf"(?:<={INT}|{INT}|\?)"
ARRAY = re.compile(rf"{TYPE}\[{listed(DIM)}\](?:{LAYOUT})?")


def bare(text):
    """Without comments, and without the blanks that do not keep two words apart."""
    text = re.sub(r"/\*.*?\*/|//[^\r\n]*", " ", text, flags=re.S)
    return re.sub(r"(?<=\w)\s+(?=[\w-])", "\0", text.strip()).replace(" ", "").translate(
        str.maketrans("", "", "\t\r\n"))


def follows_grammar(text):
    """Every layout in a text that XLA accepts is what docs/notation-xla.md calls a layout."""
    rest = ARRAY.sub("", bare(text))
    return re.fullmatch(r"[(),b]*", re.sub(r"token\[\]|opaque\[\]", "", rest)) is not None


def over_limit(text):
    text = bare(text)
    depth = deepest = 0
    for c in re.sub(r"\{[^}]*\}", "", text):
        depth += (c == "(") - (c == ")")
        deepest = max(deepest, depth)
    if deepest > 512:
        return True
    for array in ARRAY.findall(text):
        dims = array[array.index("[") + 1:array.index("]")]
        layout = array[array.index("]") + 1:]
        tiles = re.search(r"T((?:\([-\d,*]*\))+)", layout)
        splits = re.search(r"SC((?:\([-\d,:]*\))+)", layout)
        order = re.match(r"\{([-\d,]*)", layout)
        count = lambda pattern, s: len(re.findall(pattern, s.group(1) if s else ""))
        if (dims and dims.count(",") >= xla.MAX_NDIM or count(r"\(", tiles) > xla.MAX_TILES
                or count(r"-?\d+|[*]", tiles) > xla.MAX_TILE_DIMS or count(r"\(", splits) > xla.MAX_SPLITS
                or count(r"(?<=[:,])-?\d", splits) > xla.MAX_SPLIT_INDICES
                or any(not -2**31 <= int(n) < 2**31 for n in re.findall(INT, order.group(1) if order else ""))):
            return True
    return False


def strict_reason(text):
    """Why we refuse a text that XLA accepts; None if there is no reason to."""
    if not follows_grammar(text):
        return "a property that XLA could not read and ignored"
    if any(int(n) >= 2**63 for n in re.findall(r"\d+", bare(text))):
        if any(int(n) > 2**63 - 1 for n in re.findall(r"(?<![-\d])\d+", bare(text))):
            return "a number above int64, which XLA reads as a negative one"
    if any(not -128 <= int(n) <= 127 for n in re.findall(rf"S\(({INT})\)", bare(text))):
        return "a memory space outside of int8, which XLA truncates"
    if over_limit(text):
        return "a limit of this library"
    return None


# Our own words, for rules that XLA has no message for or checks elsewhere.
OUR_RULES = [
    "memory space does not fit int8", "tail_padding_alignment_in_elements field is <= 0",
    "a tile dimension must be positive",
    "a limit of this library", "that fits int64", "token[] and opaque[]", "Buffer shape must have array shape.",
    "Layout has physical shape", "Invalid dimension size", "; shape: ", "layout has ", "split config",
    "layout element_size_in_bits", "Dimensions overflow.", "may overflow int64_t.",
]


# Rules that XLA checks when it has read on; we point at the layout and at the type.
LATE = ("Dimensions size is", "expecting an unsigned integer type")


SIGNS = {"kLsquare": "'['", "kRsquare": "']'", "kLbrace": "'{'", "kRbrace": "'}'", "kLparen": "'('", "kRparen": "')'",
         "kColon": "':'", "kComma": "','", "kAsterisk": "'*'", "kOctothorp": "'#'"}


def in_plain_words(said):
    """A message of XLA as we write it: signs for their names, and the token that was seen for its kind."""
    said = re.sub(r"saw k\w+", "saw", said)
    return re.sub(r"\bk[A-Z]\w+", lambda name: SIGNS.get(name[0], name[0]), said)


def check_place(text, message, refusal):
    """We say what XLA says, at the same place, except by our own rules.

    XLA's first message counts, but not those about a `*`, which it writes even where it then accepts it.
    It has none where it failed at the very end, or silently; an ignored failure may have come before."""
    if any(rule in refusal.message for rule in OUR_RULES) or not text.isascii() or "\n" in text:
        return
    for column, said in re.findall(r"was parsing 1:(\d+): error: (.*)", message):
        column = int(column)
        if said == "expects integer" and column != refusal.pos and text[column:column + 1] == "*":
            continue
        assert in_plain_words(said) in refusal.message, (text, message, str(refusal))
        assert refusal.pos == column or said.startswith(LATE), (text, message, str(refusal))
        return
    assert "Extra content after shape" in refusal.message or not follows_grammar(text), (text, message, str(refusal))


def compare(oracle, text):
    """The rule of this file for one text; what happened, for counting."""
    accepted, said = oracle(text)
    canonical, refusal = ours(text)
    if canonical is not None:
        assert accepted, f"we accept {text!r}, XLA says {said}"
        assert canonical == said, text
        assert ours(canonical) == (canonical, None)
        reason = strict_reason(text)
        assert reason is None, f"{text!r} is accepted in spite of: {reason}"
        return "both accept"
    if accepted:
        assert strict_reason(text), f"XLA accepts {text!r} as {said}, we say {refusal}"
        return "we are strict"
    if accepted is False:
        check_place(text, said, refusal)
    return "both refuse" if accepted is False else "XLA aborts"


# ---- vectors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", VECTORS["shape_text"], ids=lambda c: c["text"])
def test_vector_reads_and_prints(case):
    if strict_reason(case["text"]):
        with pytest.raises(xla.Refused):
            xla.parse(case["text"])
        return
    nodes = xla.parse(case["text"])
    assert xla.format_shape(nodes) == case["canonical"]
    assert xla.format_shape(nodes, with_layout=False) == case["no_layout"]
    assert xla.format_shape(xla.parse(case["canonical"])) == case["canonical"]


def test_the_corpus_prints_as_it_reads():
    for text in VECTORS["shape_text_corpus"]:
        nodes = xla.parse(text)
        assert xla.format_shape(nodes) == text
        xla.validate(nodes)


@pytest.mark.parametrize("case", VECTORS["shape_text_invalid"], ids=lambda c: c["text"])
def test_vector_is_refused(case):
    with pytest.raises(xla.Refused) as refusal:
        xla.parse(case["text"])
    if case["error"] != "Syntax error:" and "(upstream" not in case["error"]:
        assert in_plain_words(case["error"]) in refusal.value.message
        assert not re.search(r"\bk[A-Zw]", refusal.value.message)


@pytest.mark.parametrize("case", VECTORS["shape_text_upstream_lenient"], ids=lambda c: c["text"])
def test_vector_that_upstream_accepts_by_accident_is_refused(case):
    with pytest.raises(xla.Refused):
        xla.parse(case["text"])
    assert strict_reason(case["text"])


@pytest.mark.parametrize("case", VECTORS["layout_text"], ids=lambda c: c["text"])
def test_vector_of_a_layout(case):
    if "P(" in case["text"]:
        with pytest.raises(xla.Refused) as refusal:
            xla.parse_layout(case["text"])
        assert refusal.value.status == "UNSUPPORTED"
        return
    assert xla.format_layout(xla.parse_layout(case["text"])) == case["canonical"]


def nodes_of(case):
    """The shape of a layout_validate vector: a text, or parts that no text has."""
    if "shape" in case:
        return xla.parse(case["shape"])
    node = (xla.Shape * 1)()
    node[0].dtype = xla.lib.tg_dtype_from_name(case["element_type"].encode(), len(case["element_type"]))
    node[0].ndim, node[0].has_layout = len(case["dims"]), True
    node[0].dims[:len(case["dims"])] = case["dims"]
    text, _, tiles = case["layout"].partition(" tiles ")
    node[0].layout = xla.parse_layout(text)
    for level in json.loads(tiles or "[]"):
        layout = node[0].layout
        used = sum(layout.tile_ndim[:layout.ntiles])
        layout.tile_dims[used:used + len(level)] = level
        layout.tile_ndim[layout.ntiles] = len(level)
        layout.ntiles += 1
    return node


@pytest.mark.parametrize("case", VECTORS["layout_validate"],
                         ids=lambda c: c.get("shape") or f"{c['dims']}{c['layout']}")
def test_vector_of_the_rules(case):
    nodes = nodes_of(case)
    if case["valid"]:
        xla.validate(nodes)
        return
    with pytest.raises(xla.Refused) as refusal:
        xla.validate(nodes)
    assert case["error"] in refusal.value.message


# ---- XLA itself -----------------------------------------------------------------------------------


def test_jaxlib_agrees_on_every_vector(oracle):
    for key in ("shape_text", "shape_text_invalid", "shape_text_upstream_lenient"):
        for case in VECTORS[key]:
            compare(oracle, case["text"])


HAND_PICKED = """
f32[18446744073709551615]|f32[<=9223372036854775808]|f32[2]{0:E(18446744073709551615)}|f32[99999999999999999999]
f32[2]{0:T(-9223372036854775808)}|f32[2]{0:T(9223372036854775808)}|f32[2]{4294967296}|f32[2]{-1}|f32[2]{0:M(-4)}
f32[2]{0:D()}|f32[2]{0:D(H+~)}|f32[2]{0:D(H~+)}|f32[2]{0:D}|f32[2]{0:D(DT(2)}|f32[2]{0:#(f32)}|f32[2]{0:#(u32}
f32[2]{0:*(token)}|f32[2]{0:L}|f32[2]{0:L(2}|f32[2]{0:L(0)}|f32[2]{0:L(-1)}|f32[2]{0:S(256)}|f32[2]{0:S(-128)}
f32[2]{0:S(127)}|f32[2]{0:S(128)}|f32[2]{0:S(-129)}|f32[2]{0:SC(0}|f32[2]{0:SC(0:)}|f32[2]{0:SC(0:1)(0:2)}
f32[2]{0:P}|f32[2]{0:P(f32[2])}|f32[2]{0:P(}|f32[2]{0,1:P(f32[2])}|f32[2]{0:T(2S(1)}|f32[2]{0:T(2*)}|f32[2]{0:T(**)}
f32[2]{0:T(2)(}|f32[2]{0:T(0)}|f32[2]{0:T(-2)}|f32[2]{0:T(*,*)}|token[3]|token[<=3]|token[]{:}|token[]{0}|opaque[]{:}
(token[3])|b(token[])|b(b(f32[2]))|b((f32[2]))|b(())|b|b:(f32[2])|b[2]|b(f32[2]{5})|(b(f32[2]{5}))|(b(f32[2]{0}))
b(f32[2]){0}|(f32[2]{5})|(f32[2,2]{0,0})|(f32[8]{0:T()})|(f32[8]{0:T(0)})|(f32[8]{0:T(*)})|(f32[8,8]{1,0:T(2,*)})
(f32[8]{0:E(-4)})|(f32[8]{0:#(u32)})|(f32[8]{0:SC(0:8)})|(f32[8]{0:SC(0:7)})|(f32[8]{0:SC(0:)})|(f32[8]{0:SC(-1:1)})
(f32[8]{0:SC(0:2,2)})|(f32[?]{0:SC(0:9)})|(f32[?]{0:SC(0:0)})|(f32[<=8]{0:SC(0:9)})|(f32[]{:SC(0:1)})|(f32[]{:T(256)})
(s8[9223372036854775807])|(f32[9223372036854775807])|(s8[4611686018427387904,2])|(s8[4611686018427387904,2,0])
(s8[0,4611686018427387904,2])|(c128[576460752303423487])|(c128[576460752303423488])|(f32[?,2305843009213693951])
(f32[?,2305843009213693952])|(f32[2305843009213693952]{0:E(8)})|(f32[4611686018427387904,0])|(s4[9223372036854775807])
f32[9223372036854775807,9223372036854775807]|f32[007]|f32[-0]|f32[<= 5]|f32[< =5]|f32[?2]|f32[10?]|f32[2x]|f32[2.]
f32[2]/**/|f32[2]/***/|f32[2]/*/*/|f32[2]/*/|f32[2]//|f32[2]/|f32[2]{/*a*/0}|f32[2]{}|f32[2]{:|f32[2]{0 : }|f32[2]{0:,}
(f32[2],)|(,)|()()|(){0}|(f32[2] f32[3])|((f32[2])|f32 [ 2 ] { 0 : T ( 2 ) ( 3 ) SC ( 0 : 1 ) }|?1_11->11|bb_ii->bb
true|nan|nan(|nan(0x1)|-inf|-nan|"a"|'a|%a|%|...|..|->|<=|1x2|1_2|-1_2|1e5|FileNames|unknown|tuple[]|buffer|F32[2]
""".replace("\n", "|").split("|")


def test_jaxlib_agrees_on_edges(oracle):
    unprintable = ["f32[2]\0", "f32[2]// \0", "f32[2]/* \0 */", "f32[2]//\n{0}", "f32[2]//\r{0}", "f32[2]\v",
                   "f32[\u00e9]"]
    happened = {compare(oracle, text) for text in HAND_PICKED + unprintable}
    assert happened == {"both accept", "both refuse", "we are strict", "XLA aborts"}


def documented():
    """The rows of docs/notation-xla.md that say what XLA and we make of a text."""
    page = (xla.ROOT / "docs/notation-xla.md").read_text()
    return re.findall(r"^\| `(.+?)` \| (?:`(.+?)`|aborts) \| ([A-Z]+) \|", page, flags=re.M)


@pytest.mark.parametrize("text, upstream, status", documented())
def test_documented_strictness(oracle, text, upstream, status):
    assert oracle(text) == ((True, upstream) if upstream else (None, "abort"))
    with pytest.raises(xla.Refused) as refusal:
        xla.parse(text)
    assert refusal.value.status == status


def test_the_documented_caret():
    page = (xla.ROOT / "docs/notation-xla.md").read_text()
    text, caret, message = re.search(r"\n    (.*)\n    ( *)\^ (.*)\n$", page).groups()
    with pytest.raises(xla.Refused) as refusal:
        xla.parse(text)
    assert (refusal.value.pos, refusal.value.message) == (len(caret), message)


@pytest.mark.parametrize("inside", [False, True])
def test_limits(oracle, inside):
    """At each limit as XLA, one above it an error that names the limit."""
    ones = lambda n: ",".join(["1"] * n)
    order = lambda n: ",".join(map(str, range(n)))
    rows = [
        (lambda n: f"f32[{ones(n)}]", 16), (lambda n: f"f32[{ones(n)}]{{{order(n)}}}", 16),
        (lambda n: "f32[2]{0:T" + "(2)" * n + "}", 8), (lambda n: f"f32[2]{{0:T({ones(n)})}}", 32),
        (lambda n: f"f32[9]{{0:T({ones(16)})({ones(n - 16)})}}", 32),
        (lambda n: f"f32[{','.join(['9'] * 9)}]{{{order(9)}:SC" + "".join(f"({i}:1)" for i in range(n)) + "}", 8),
        (lambda n: f"f32[99]{{0:SC(0:{','.join(str(i + 1) for i in range(n))})}}", 32),
    ]
    for make, limit in rows:
        wrap = (lambda t: f"({t})") if inside else (lambda t: t)
        assert compare(oracle, wrap(make(limit))) == "both accept"
        assert compare(oracle, wrap(make(limit + 1))) == "we are strict"
        with pytest.raises(xla.Refused) as refusal:
            xla.parse(wrap(make(limit + 1)))
        assert refusal.value.status == "LIMIT" and str(limit) in refusal.value.message and refusal.value.pos > 0


def test_nesting_limit(oracle):
    assert compare(oracle, "(" * 512 + ")" * 512) == "both accept"
    assert compare(oracle, "(" * 511 + "b(f32[2])" + ")" * 511) == "both accept"
    for text in ("(" * 513 + ")" * 513, "(" * 512 + "b(f32[2])" + ")" * 512):
        assert compare(oracle, text) == "we are strict"
        with pytest.raises(xla.Refused) as refusal:
            xla.parse(text)
        assert refusal.value.status == "LIMIT" and refusal.value.pos == 512


def test_random_shapes(oracle):
    rng = generator("shapes")
    happened = [compare(oracle, blanked(rng, random_shape(rng))) for _ in range(1500)]
    assert happened.count("both accept") > 1000, "the generator makes too few good shapes"


def test_random_mutations(oracle):
    rng = generator("mutations")
    seeds = [c["text"] for c in VECTORS["shape_text"]] + HAND_PICKED
    happened = {}
    for _ in range(3000):
        base = rng.choice(seeds) if rng.random() < 0.5 else random_shape(rng)
        what = compare(oracle, mutated(rng, base))
        happened[what] = happened.get(what, 0) + 1
    print(happened)
    assert happened["both accept"] > 100 and happened["both refuse"] > 1000 and happened["we are strict"] > 10


def test_layouts_alone(oracle):
    """ParseLayout; jaxlib drops the memory space there and keeps P(...), which we do not have."""
    rng = generator("layouts")
    for _ in range(600):
        text = random_layout(rng, rng.randrange(4), strange=0.04)
        if rng.random() < 0.5:
            text = mutated(rng, text)
        accepted, said = oracle(text, "layout")
        try:
            canonical = xla.format_layout(xla.parse_layout(text))
        except xla.Refused as refusal:
            assert not accepted or not re.fullmatch(LAYOUT, bare(text)) or refusal.status != "PARSE" \
                or "memory space" in refusal.message, (text, said, str(refusal))
            continue
        assert accepted, (text, said)
        assert re.sub(r":?S\(-?\d+\)(?=[}])|(?<=[:)])S\(-?\d+\)", "", canonical) == said, text


# ---- generators ---------------------------------------------------------------------------------------


def generator(name):
    print(f"TEGULA_SEED={SEED}")
    return random.Random(f"{SEED} xla text {name}")


def maybe(rng, chance, make):
    return make() if rng.random() < chance else ""


def some_int(rng, strange):
    if rng.random() < strange:
        return str(rng.choice([0, -1, -2, 1, 2, 127, 128, -128, 300, 2**31, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64,
                               -(2**63), -(2**63) - 1]))
    return str(rng.choice([1, 2, 3, 8, 128, 1024]))


def random_layout(rng, ndim, strange=0.02):
    number = lambda: some_int(rng, strange)
    order = list(range(ndim))
    rng.shuffle(order)
    if rng.random() < strange:
        order = [rng.randrange(-1, 5) for _ in range(rng.randrange(5))]
    star = lambda: "*" if rng.random() < 0.15 else number()
    many = lambda make, most: [make() for _ in range(rng.randint(1, most))]
    props = "".join([
        maybe(rng, strange, lambda: "D(" + ",".join(many(lambda: rng.choice(["D", "C+", "S~", "H+~"]), 3)) + ")"),
        maybe(rng, 0.5, lambda: "T" + "".join(many(lambda: "(" + ",".join(many(star, 3)) + ")", 3))),
        maybe(rng, 0.15, lambda: f"L({number()})"),
        maybe(rng, strange, lambda: f"#({rng.choice(['u8', 'u32', 'u64', 's32'])})"),
        maybe(rng, strange, lambda: f"*({rng.choice(['u1', 'u16', 'u32', 'f32'])})"),
        maybe(rng, 0.2, lambda: f"E({number()})"), maybe(rng, 0.3, lambda: f"S({rng.randrange(9)})"),
        maybe(rng, strange, lambda: f"S({number()})"),
        maybe(rng, 0.15, lambda: "SC" + "".join(
            many(lambda: f"({rng.randrange(max(ndim, 1))}:{','.join(many(number, 3))})", 2))),
        maybe(rng, 0.1, lambda: f"M({number()})"),
    ])
    return "{" + ",".join(map(str, order)) + (":" + props if props or rng.random() < 0.1 else "") + "}"


def random_array(rng):
    dtype = rng.choice("pred s1 s2 s4 s8 s16 s32 s64 u1 u2 u4 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128 f4e2m1fn f8e3m4 "
                       "f8e4m3 f8e4m3b11fnuz f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu f6e2m3fn f6e3m2fn".split())
    dims = [rng.choice(["", "", "", "<="]) + some_int(rng, 0.02) if rng.random() < 0.95 else "?"
            for _ in range(rng.randrange(5))]
    layout = maybe(rng, 0.8, lambda: random_layout(rng, len(dims)))
    return f"{dtype}[{','.join(dims)}]" + ("" if layout == "{}" else layout)


def random_shape(rng, depth=0):
    kind = rng.random()
    if depth < 3 and kind < 0.12:
        return "(" + ",".join(random_shape(rng, depth + 1) for _ in range(rng.randrange(8))) + ")"
    if kind < 0.17:
        return f"b({random_array(rng)})"
    if kind < 0.20:
        return rng.choice(["token[]", "opaque[]"])
    return random_array(rng)


PIECES = ["(", ")", "[", "]", "{", "}", ",", ":", "*", "?", "#", "+", "~", "<=", "<", "=", "-", ">", ".", "/", "_", "x",
          "0", "1", "7", "2x3", "1_2", "1.5", "9223372036854775808", "T", "L", "E", "S", "SC", "M", "P", "D", "b",
          "u32", "f32", "token", "nan", "true", "/*c*/", "//c\n", "/*", " ", "\n", "\0", "\u00e9", "%", '"', "(2)",
          "{0}", "f32[2]", "T(2,128)", "(2,*)", "E(4)", "S(1)", "SC(0:1)", "M(8)", "P(f32[2])", ",f32[2]", "token[]",
          "{:}"]


def mutated(rng, text):
    """Some tokens of the text lost, doubled, replaced or added."""
    tokens = re.findall(r"<=|-?\d+|\w+|.", text, flags=re.S) or [""]
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        at = rng.randrange(len(tokens))
        what = rng.randrange(4)
        if what == 0:
            tokens[at] = ""
        elif what == 1:
            tokens[at] = rng.choice(PIECES)
        elif what == 2:
            tokens[at] += rng.choice(PIECES)
        else:
            tokens[at] += "".join(tokens[at:at + rng.randrange(1, 6)])
    return "".join(tokens)


def blanked(rng, text):
    """The same tokens, with blanks or comments between some of them."""
    if rng.random() < 0.7:
        return text
    blank = lambda: rng.choice([" ", "\t", "\n", " \r\n", "/* c */", "/**/", "// c\n"])
    return "".join(t + maybe(rng, 0.2, blank) for t in re.findall(r"<=|-?\d+|\w+|.", text))
