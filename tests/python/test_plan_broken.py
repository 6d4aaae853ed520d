"""Texts that are broken, or have no plan: whatever the exit status says, a line on standard error says it in words."""
import collections
import random

import pytest

import plan_hlo

CORPUS = sorted(path for folder in ("fuzz/corpus/plan", "fuzz/corpus/hlo", "examples")
                for path in (plan_hlo.ROOT / folder).iterdir() if path.suffix != ".py" and path.is_file())
TEXTS = [path.read_bytes() for path in CORPUS if path.stat().st_size < 4096]
PIECES = [b"{", b"}", b"(", b")", b"-1", b"9999999999", b"f16[", b"ROOT", b"[2,3]", b",", b"dimensions={0}", b"\0",
          b"\xff", b"tuple", b"while", b"f16[0]", b"()"]
OPTIONS = [[], ["--json"], ["--run"], ["--device-formats"], ["--memory"]]
NO_PLAN = """times {
  p = f16[] parameter(0)
  q = f16[] parameter(1)
  ROOT r = f16[] multiply(p, q)
}
ENTRY main {
  a = f16[64,64] parameter(0)
  one = f16[] constant(1)
  ROOT r = f16[64] reduce(a, one), dimensions={1}, to_apply=times
}
"""


def broken(text, rng):
    """A few places of it are not as they were."""
    text = bytearray(text)
    for _ in range(rng.randint(1, 3)):
        if not text:
            break
        at, way = rng.randrange(len(text)), rng.randrange(4)
        if way == 0:
            del text[at:at + rng.randint(1, 20)]
        elif way == 1:
            text[at:at] = rng.choice(PIECES)
        elif way == 2:
            text[at] = rng.choice(b"0123456789{}[](),=%")
        else:
            other = rng.randrange(len(text))
            text[at:at] = text[other:other + rng.randint(1, 40)]
    return bytes(text)


def judge(text, options):
    done = plan_hlo.run(text, *options)
    assert 0 <= done.returncode <= 4, (done.returncode, text)
    says = done.stderr.startswith("tegula: ") and len(done.stderr.splitlines()[0]) > len("tegula: ")
    assert says == (done.returncode != 0), (done.returncode, options, done.stderr, text)
    return done.returncode


@pytest.mark.parametrize("seed", range(4))
def test_every_refusal_is_in_words(seed):
    rng, count = random.Random(seed), collections.Counter()
    for _ in range(80):
        text = broken(rng.choice(TEXTS), rng)
        count[judge(text.decode("latin-1"), rng.choice(OPTIONS))] += 1
    assert count[2] > 20, count


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_no_plan_is_in_words(options):
    assert judge(NO_PLAN, options) == 3
    done = plan_hlo.run(NO_PLAN, *options)
    assert done.stderr == "tegula: standard input: no plan: 1 operation cannot agree\n" and done.stdout


@pytest.mark.parametrize("line", [
    "reduce(a, z), dimensions={1}, to_apply=nobody", "call(a), to_apply=%nobody", "fusion(a), kind=kLoop, calls=nobody",
    "map(a), dimensions={0,1}, to_apply=nobody", "sort(a), dimensions={0}, to_apply=nobody",
    "while(a), condition=nobody, body=nobody", "custom-call(a), called_computations={nobody}"])
def test_a_computation_that_is_not_there_is_named(line):
    text = f"ENTRY e {{\n  a = f16[64,64] parameter(0)\n  z = f16[] constant(0)\n  ROOT r = f16[64] {line}\n}}\n"
    done = plan_hlo.run(text)
    assert done.returncode == 2 and "does not name a computation of the module" in done.stderr
    assert "nobody" in done.stderr
