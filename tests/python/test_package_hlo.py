"""tegula.hlo is the command's JSON, field for field, and refuses as the reader does."""
import gc
import json
import subprocess

import pytest

import console
import tegula
from lost_blocks import loses_blocks
import tegula.hlo

STEP = console.ROOT / "examples" / "step.hlo"
TUPLES = """HloModule tuples, is_scheduled=true

%inner (p: f32[8,3]) -> f32[3,8] {
  %p = f32[8,3]{1,0:T(8,128)} parameter(0)
  ROOT %t = f32[3,8]{1,0:T(8,128)} transpose(%p), dimensions={1,0}
}

ENTRY %main (a: f32[8,3], b: (f32[4], bf16[2,2])) -> (f32[3,8], f32[4]) {
  %a = f32[8,3]{1,0:T(8,128)} parameter(0)
  %b = (f32[4]{0}, (bf16[2,2]{1,0:T(8,128)(2,1)})) parameter(1)
  %c = f32[8,3]{0,1:T(8,128)} copy(%a)
  %d = f32[4]{0} copy(%b#0), metadata={op_name="a/b \\"c\\""}
  %e = f32[3,8]{1,0:T(8,128)} fusion(%c), kind=kLoop, calls=%inner
  %s = f32[<=7,3]{1,0} custom-call(), custom_call_target="x"
  ROOT %r = (f32[3,8]{1,0:T(8,128)}, f32[4]{0}) tuple(%e, %d)
}
"""


def command(path, *words):
    answer = subprocess.run([console.TEGULA, "hlo", path, "--json", *words], check=True, capture_output=True).stdout
    return json.loads(answer)


def same_report(ours, theirs):
    """The command prints a factor with fewer digits."""
    for row in (*ours["arrays"], *theirs["arrays"]):
        row["expansion"] = float(f"{row['expansion']:.6g}")
    return ours == theirs


@pytest.fixture(params=["step", "tuples", "loose"])
def dump(request, tmp_path):
    if request.param == "step":
        return STEP
    text = {"tuples": TUPLES, "loose": "c = f32[1000,3]{1,0:T(8,128)} constant({...})\n"}[request.param]
    (tmp_path / "dump.hlo").write_text(text)
    return tmp_path / "dump.hlo"


def test_answers_are_those_of_the_command(dump):
    module = tegula.hlo.parse(dump.read_text())
    assert module.to_dict() == command(dump)
    assert same_report(module.padding(), command(dump, "--report", "padding"))
    assert module.copies() == command(dump, "--report", "copies")
    assert same_report(module.padding(limit=1), command(dump, "--report", "padding", "--limit", "1"))
    assert module.copies(opcode="copy") == command(dump, "--report", "copies", "--opcode", "copy")
    assert module.to_dict(opcode="copy") == command(dump, "--opcode", "copy")
    assert module.computations == module.to_dict()["computations"] and module.name == module.to_dict()["module"]
    again = tegula.hlo.parse(str(module).encode())
    assert again.to_dict() == module.to_dict() and str(again) == str(module)


def test_one_computation():
    module = tegula.hlo.parse(TUPLES)
    for name in ("inner", "%inner"):
        assert [c["name"] for c in module.to_dict(computation=name)["computations"]] == ["inner"]
    assert module.attributes == {"is_scheduled": "true"} and "tuples" in repr(module)


def test_the_text_stays_while_the_module_does():
    module = tegula.hlo.parse(TUPLES + " ")
    gc.collect()
    assert module.to_dict() == tegula.hlo.parse(TUPLES).to_dict()


@pytest.mark.parametrize("call, error, words", [
    (lambda m: tegula.hlo.parse("HloModule m\nENTRY e {\n  ROOT c = f32[3]{0 add(a)\n}"), tegula.ParseError,
     "line 3, column"),
    (lambda m: tegula.hlo.parse(b"ENTRY e {\xff"), tegula.ParseError, ""),
    (lambda m: tegula.hlo.parse(3), TypeError, "str or bytes"),
    (lambda m: tegula.hlo.parse("(" * 100000), tegula.Error, ""),
    (lambda m: m.to_dict(computation="nobody"), tegula.ArgumentError, "no computation 'nobody'"),
    (lambda m: m.padding(limit=-1), tegula.ArgumentError, "-1"),
    (lambda m: m.copies(opcode=3), TypeError, ""),
    (lambda m: type(m)(), TypeError, ""),
])
def test_bad_input_is_an_exception(call, error, words):
    with pytest.raises(error) as caught:
        call(tegula.hlo.parse(TUPLES))
    assert words in str(caught.value)


def test_no_reference_is_lost():
    def everything():
        module = tegula.hlo.parse(TUPLES)
        module.to_dict(), module.padding(), module.copies(), str(module), repr(module), module.attributes
        for bad in ("ENTRY {", "f32[", ""):
            try:
                tegula.hlo.parse(bad)
            except tegula.Error:
                pass
    assert not loses_blocks(everything, 100, 200, 100)
