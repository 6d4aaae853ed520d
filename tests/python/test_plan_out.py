"""What `tegula plan --out` writes, and that it is all or nothing."""
import json
import os
import pathlib
import resource
import subprocess

import pytest

import graph_c as g
import hlo_ctypes as hlo
import plan_hlo
import sdsc_c

ATTENTION = (plan_hlo.ROOT / "examples" / "attention.hlo").read_text()
MIXED = """
HloModule mixed
add { p = f16[] parameter(0)
  q = f16[] parameter(1)
  ROOT r = f16[] add(p, q) }
inner {
  v = f16[100,150] parameter(0)
  ROOT n = f16[100,150] negate(v)
}
ENTRY main {
  a = f16[100,150] parameter(0)
  b = f16[150,70] parameter(1), frontend_attributes={spyre_layout="spyre dim_order=[1,0]"}
  c = c64[4] parameter(2)
  half = f16[] constant(0.5)
  h = f16[100,150] broadcast(half), dimensions={}
  n = f16[100,150] call(a), to_apply=inner
  m = f16[100,150] multiply(n, h)
  d = f16[100,70] dot(m, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f16[] constant(0)
  s = f16[100] reduce(d, z), dimensions={1}, to_apply=add
  t = f16[100] tan(s)
  r = f32[4] real(c)
  w = f16[70,100] transpose(d), dimensions={1,0}
  ROOT out = (f16[70,100], f16[100], f32[4], f16[100,150]) tuple(w, t, r, a)
}
"""


def plan(tmp_path, text, *arguments, out="out", **options):
    (tmp_path / "graph.hlo").write_text(text)
    return subprocess.run([plan_hlo.TEGULA, "plan", tmp_path / "graph.hlo", "--out", tmp_path / out, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, **options)


def written(tmp_path, text, *arguments):
    done = plan(tmp_path, text, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "out" / "bundle.json").read_text())


def named_files(bundle):
    files = {bundle["report"], "bundle.json"}
    files |= {row["dci"] for key in ("inputs", "constants", "outputs") for row in bundle[key] if row["dci"]}
    for step in bundle["steps"]:
        files |= set(step.get("kernels", []))
        if step["runs_on"] == "host":
            files |= {row["dci"] for row in [*step["reads"], step] if row["dci"]}
    return files


@pytest.mark.parametrize("text", [ATTENTION, MIXED], ids=["attention", "mixed"])
@pytest.mark.parametrize("cores", [1, 6, 32])
def test_files_are_those_of_the_manifest(tmp_path, text, cores):
    bundle = written(tmp_path, text, "--cores", str(cores))
    assert set(os.listdir(tmp_path / "out")) == named_files(bundle)
    assert bundle["cores"] == cores and sorted(os.listdir(tmp_path)) == ["graph.hlo", "out"]
    report = subprocess.run([plan_hlo.TEGULA, "plan", tmp_path / "graph.hlo", "--cores", str(cores)],
                            stdout=subprocess.PIPE, check=True).stdout
    assert (tmp_path / "out" / "report.txt").read_bytes() == report


@pytest.mark.parametrize("text", [ATTENTION, MIXED], ids=["attention", "mixed"])
def test_kernels_are_those_of_the_library(tmp_path, text):
    bundle, number = written(tmp_path, text, "--cores", "8"), 0
    with hlo.Module(text) as module, g.Graph() as graph:
        graph.add_hlo(module)
        with g.Plan(graph) as whole, sdsc_c.Bundle(whole, cores=8) as kernels:
            for step in bundle["steps"]:
                duty, numbers, why, address, _ = kernels.step(step["writes"])
                assert step["runs_on"] == duty and step.get("why", "") == why
                assert bundle["buffers"][step["writes"]]["address"] == (address if address >= 0 else None)
                for name, k in zip(step.get("kernels", []), numbers, strict=True):
                    assert k == number and name == kernels.name(k) + ".json"
                    assert (tmp_path / "out" / name).read_text() == kernels.sdsc(k) + "\n"
                    number += 1
            assert number == kernels.count()
            assert len(bundle["buffers"]) == len(list(whole.steps())) + (kernels.zeros() >= 0)


def test_transfers_are_those_of_tegula_dma(tmp_path):
    bundle = written(tmp_path, MIXED)
    buffers, seen = {row["id"]: row for row in bundle["buffers"]}, 0
    for path in sorted((tmp_path / "out").glob("dci_*.json")):
        _, number, direction = path.stem.split("_")
        layout = buffers[int(number)]["layout"]
        dma = subprocess.run([plan_hlo.TEGULA, "dma", layout, "--dci", "--direction", direction],
                             stdout=subprocess.PIPE, check=True).stdout
        assert json.loads(path.read_text()) == json.loads(dma)
        seen += 1
    assert seen == 11


def test_what_a_mixed_graph_says(tmp_path):
    bundle = written(tmp_path, MIXED)
    names = {row["id"]: row["name"] for row in bundle["buffers"]}
    assert [row["name"] for row in bundle["inputs"]] == ["a", "b", "c"]
    assert [row["dci"] is None for row in bundle["inputs"]] == [False, False, True]
    assert [row["name"] for row in bundle["constants"]] == ["half", "z"]
    assert [(row["name"], row["shape"], row["strides"]) for row in bundle["outputs"]] == [
        ("d", [70, 100], [1, 70]), ("t", [100], [1]), ("r", [4], [1]), ("a", [100, 150], [150, 1])]
    steps = [(row["name"], row["runs_on"], [names[r if isinstance(r, int) else r["buffer"]] for r in row["reads"]])
             for row in bundle["steps"]]
    assert steps == [("n/n", "device", ["a"]), ("m", "device", ["n/n", "half"]),
                     ("b restickified", "device", ["b"]), ("b filled", "device", ["b restickified"]),
                     ("d", "device", ["m", "b filled"]), ("s", "device", ["d"]),
                     ("t", "host", ["s"]), ("r", "host", ["c"])]
    assert names[len(names) - 1] == "zeros"
    assert [row["name"] for row in bundle["buffers"] if row["memory"] == "host"] == ["c"]
    why = {row["name"]: row["why"] for row in bundle["steps"] if row["runs_on"] == "host"}
    assert why == {"t": "the device has no function for tan", "r": "the type of an operand has no device format"}


@pytest.mark.parametrize("n, room", [(33, None), (64, None), (100, None), (20, 32), (70, 96), (90, 96)])
@pytest.mark.parametrize("to", ["f16", "f32"])
def test_conversions_of_sticks_that_are_not_full(tmp_path, n, room, to):
    """The device converts whole sticks of 64 halves, which are two of singles; a tensor may have one less."""
    other = "f32" if to == "f16" else "f16"
    bundle = written(tmp_path, f"ENTRY main {{\n a = {other}[5,{n}] parameter(0)\n"
                               f" ROOT r = {to}[5,{n}] convert(a)\n}}\n")
    step, = bundle["steps"]
    assert step["runs_on"] == ("host" if room else "device")
    assert room is None or step["why"] == (
        f"the device converts whole sticks of 64 elements: loop 1 runs to {room + 32}, and "
        f"{'operand 0' if to == 'f16' else 'the result'} has room for {room}, in sticks of 32")


# ---- all or nothing ---------------------------------------------------------------------------------------------

def limited(nbytes):
    """No file may be larger: the disk is full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes))


def wide(dtype, n):
    """Nothing but inputs."""
    rows = "".join(f" a{i} = {dtype}[4] parameter({i})\n" for i in range(n))
    return f"ENTRY main {{\n{rows} ROOT r = ({f'{dtype}[4], ' * (n - 1)}{dtype}[4]) " \
           f"tuple({', '.join(f'a{i}' for i in range(n))})\n}}\n"


@pytest.mark.parametrize("text, limit, name", [
    (MIXED, 1, "0_neg.json"), (MIXED, 4000, "0_neg.json"), (MIXED, 4100, "1_mul.json"),
    (wide("f16", 40), 100, "dci_0_h2d.json"), (wide("c64", 1), 20, "report.txt"),
    (wide("f16", 40), 4096, "bundle.json")])
def test_a_full_disk_leaves_nothing(tmp_path, text, limit, name):
    done = plan(tmp_path, text, "--cores", "1", preexec_fn=limited(limit))
    assert (done.returncode, done.stdout) == (4, b"")
    assert done.stderr.decode() == f"tegula: {name}: File too large\n"
    assert os.listdir(tmp_path) == ["graph.hlo"]


@pytest.mark.parametrize("limit", [600, 6000])
def test_a_full_disk_keeps_the_earlier_bundle(tmp_path, limit):
    written(tmp_path, ATTENTION)
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert plan(tmp_path, MIXED, "--force", preexec_fn=limited(limit)).returncode == 4
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert sorted(os.listdir(tmp_path)) == ["graph.hlo", "out"]


def test_force_replaces_all_of_an_earlier_bundle(tmp_path):
    written(tmp_path, ATTENTION)
    bundle = written(tmp_path, MIXED, "--force")
    assert set(os.listdir(tmp_path / "out")) == named_files(bundle)
    assert sorted(os.listdir(tmp_path)) == ["graph.hlo", "out"]


def test_a_link_stays_and_its_directory_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    written(tmp_path, ATTENTION)
    assert (tmp_path / "out").is_symlink() and (tmp_path / "real" / "bundle.json").is_file()


@pytest.mark.parametrize("entry", ["notes.txt", "3_add.json.bak", "dci_x", "sub"])
def test_what_is_no_bundle_is_never_replaced(tmp_path, entry):
    written(tmp_path, ATTENTION)
    path = tmp_path / "out" / entry
    path.mkdir() if entry == "sub" else path.write_text("mine")
    before = sorted(os.listdir(tmp_path / "out"))
    done = plan(tmp_path, ATTENTION, "--force")
    assert done.returncode == 4 and entry.encode() in done.stderr
    assert sorted(os.listdir(tmp_path / "out")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_may_not_be_written(tmp_path):
    (tmp_path / "closed").mkdir(0o555)
    done = plan(tmp_path, ATTENTION, out="closed/out")
    assert done.returncode == 4 and b"Permission denied" in done.stderr


def test_a_directory_that_is_none(tmp_path):
    """No directory can be made in /proc, whoever asks."""
    (tmp_path / "graph.hlo").write_text(ATTENTION)
    done = subprocess.run([plan_hlo.TEGULA, "plan", tmp_path / "graph.hlo", "--out", "/proc/self/bundle"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 4 and done.stdout == b"" and done.stderr.count(b"\n") == 1


def test_standard_output_that_is_full(tmp_path):
    """The bundle is whole; that the report could not be printed is told."""
    (tmp_path / "graph.hlo").write_text(ATTENTION)
    with open("/dev/full", "w") as full:
        done = subprocess.run([plan_hlo.TEGULA, "plan", tmp_path / "graph.hlo", "--out", tmp_path / "out"],
                              stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 4 and b"standard output" in done.stderr
    assert pathlib.Path(tmp_path / "out" / "bundle.json").is_file()
