"""The benchmark of the mover: its table, its peers and its workloads. How fast anything is, is not tested."""
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# ---- the table ---------------------------------------------------------------------------------------

ROW = {"workload": "a.stick.u8", "type": "u8", "size": "S", "threads": 1, "bytes_src": 8, "bytes_dst": 8,
       "verified": True, "noisy_rounds": 0, "seconds": {name: {"median": 1e-9, "best": 1e-9, "x": 1.0}
                                                        for name in ("tegula", "memcpy", "ntcopy")}}
MEASURED = {"schema": "tegula.bench/1", "machine": {"peers": "none"}, "rows": [ROW]}


def run_report(folder, files, *words):
    for name, text in files.items():
        (folder / name).write_text(text)
    return subprocess.run([sys.executable, ROOT / "bench/bench_report.py",
                           *(word if word.startswith("--") else folder / word for word in words)],
                          text=True, capture_output=True, check=False)


@pytest.mark.parametrize("text, complaint", [
    (None, "No such file"), ("", "no JSON"), ("hello", "no JSON"), ("{}", "not what"), ("[1]", "not what"),
])
@pytest.mark.parametrize("place", [0, 1])
def test_report_refuses_files_in_a_sentence(tmp_path, text, complaint, place):
    files = {"good.json": json.dumps(MEASURED)} | ({} if text is None else {"bad.json": text})
    run = run_report(tmp_path, files, *["good.json", "bad.json"][1 - place:])
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"bench_report: {tmp_path}/bad.json: {complaint}")
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", ["a.* S memcpy", "a.* S 1 memcpy much"])
def test_report_names_the_line_of_a_wrong_target(tmp_path, words):
    files = {"a.json": json.dumps(MEASURED), "targets.txt": f"# targets\n{words}\n"}
    run = run_report(tmp_path, files, "a.json", "--targets", "targets.txt")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"bench_report: {tmp_path}/targets.txt: line 2 is no ")


@pytest.mark.parametrize("words, complaint", [
    ("a.* S 1 speed 1", "speed is none of"), ("a.* SQ 1 memcpy 1", "SQ are not some"),
    ("a.* S 9x memcpy 1", "9x is no"), ("a.* S 1 memcpy nan", "nan is no bar"), ("a.* S 1 memcpy inf", "inf is no bar"),
])
def test_report_refuses_a_target_that_never_fits(tmp_path, words, complaint):
    files = {"a.json": json.dumps(MEASURED), "targets.txt": f"{words}\n"}
    run = run_report(tmp_path, files, "a.json", "--targets", "targets.txt")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"bench_report: {tmp_path}/targets.txt: line 1: {complaint}")


def test_report_says_where_it_cannot_write(tmp_path):
    run = run_report(tmp_path, {"a.json": json.dumps(MEASURED)}, "a.json", "--json", "none/out.json")
    assert run.returncode == 2
    assert run.stderr == f"bench_report: {tmp_path}/none/out.json: No such file or directory\n"


@pytest.mark.parametrize("quick", [False, True])
def test_report_judges_nothing_that_was_quick(tmp_path, quick):
    run = run_report(tmp_path, {"a.json": json.dumps(MEASURED | ({"quick": True} if quick else {}))}, "a.json")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.count("--quick") == int(quick)
    assert bool(re.search(r"\b(met|at limit|at loop|below)\b", run.stdout)) != quick


def test_report_prints_no_number_of_one_call(tmp_path):
    run = run_report(tmp_path, {"a.json": json.dumps(MEASURED | {"quick": True})}, "a.json")
    assert re.search(r"^a\.stick\.u8 +u8 +S +1$", run.stdout, re.M)
    assert "x memcpy" not in run.stdout


LIMITS = {"limit": "work", "x_limit": 0.80, "machine": "bands plain", "x_machine": 0.97, "loop": "src next",
          "x_loop": 0.99}


@pytest.mark.parametrize("extra, x, target", [
    ({}, 0.5, ">=0.90 below"),
    ({}, 0.9, ">=0.90 met"),
    (LIMITS, 0.5, ">=0.90 at limit (bands plain)"),
    (LIMITS | {"x_machine": 0.9}, 0.5, ">=0.90 at loop (src next)"),
    (LIMITS | {"x_machine": 0.9, "x_loop": 0.9}, 0.5, ">=0.90 below"),
])
def test_report_names_what_a_target_was_judged_by(tmp_path, extra, x, target):
    seconds = ROW["seconds"] | {"memcpy": ROW["seconds"]["memcpy"] | {"x": x}}
    files = {"a.json": json.dumps(MEASURED | {"rows": [ROW | extra | {"seconds": seconds}]}),
             "targets.txt": "a.* S * memcpy 0.90\n"}
    run = run_report(tmp_path, files, "a.json", "--targets", "targets.txt")
    assert f"  {target}\n" in run.stdout
    columns = r"0\.80 work +0\.9\d src next" if extra else r"- - +- -"
    assert re.search(rf" {columns} +>=0\.90", run.stdout)


@pytest.mark.parametrize("x, machine, loop, verdict", [
    (0.85, 0.90, 0.90, "below"),
    (0.85, 0.90, 0.99, "at loop (src next)"),
    (0.85, 0.97, 0.99, "at limit (bands plain)"),
    (0.95, 0.90, 0.90, "met"),
])
def test_report_compares_a_misaligned_dst_with_an_aligned_one(tmp_path, x, machine, loop, verdict):
    seconds = ROW["seconds"] | {"aligned": {"median": 1e-9, "best": 1e-9, "x": x}}
    limits = LIMITS | {"x_machine": machine, "x_loop": loop}
    row = ROW | limits | {"workload": "m.a.stick.f16", "seconds": seconds}
    run = run_report(tmp_path, {"a.json": json.dumps(MEASURED | {"rows": [row]})}, "a.json")
    assert f"  {x:.2f} aligned >=0.90 {verdict}\n" in run.stdout


@pytest.mark.parametrize("ours, copies, text", [
    (2e-9, 2e-9, "2.00, memcpy 2.00, target >=1.75 met"),
    (2.5e-9, 2.4e-9, "1.60, memcpy 1.67, target >=1.75 at limit (memcpy)"),
    (2.5e-9, 2.2e-9, "1.60, memcpy 1.82, target >=1.75 below"),
])
def test_report_takes_scaling_of_the_workloads_of_its_line(tmp_path, ours, copies, text):
    def row(name, threads, *seconds):
        times = {n: {"median": s, "best": s, "x": 1.0} for n, s in zip(("tegula", "memcpy"), seconds, strict=True)}
        return ROW | {"workload": name, "threads": threads, "seconds": times}
    rows = [row("a.one", 1, 4e-9, 4e-9), row("a.one", 2, ours, copies),
            row("h.other", 1, 4e-9, 4e-9), row("h.other", 2, 4e-9, 1e-9)]
    files = {"a.json": json.dumps(MEASURED | {"rows": rows}), "targets.txt": "a.* S 2 scaling 1.75\n"}
    run = run_report(tmp_path, files, "a.json", "--targets", "targets.txt")
    assert f"two threads over one at S: {text}\n" in run.stdout


def test_report_says_which_instruction_sets_were_allowed(tmp_path):
    for mask in ({}, {"cpu_mask": 1}):
        files = {"a.json": json.dumps(MEASURED | mask)}
        run = run_report(tmp_path, files, "a.json", "--json", "out.json")
        assert run.stdout.count("measured with --cpu 1: ") == len(mask)
        assert json.loads((tmp_path / "out.json").read_text()).get("cpu_mask") == mask.get("cpu_mask")


# ---- the peers ---------------------------------------------------------------------------------------


def side_of(peers, dtype, shape, modes, bytes_):
    case = {"shape": shape, "dst": {"text": "", "bytes": bytes_, "dtype": dtype, "format": "", "modes": modes}}
    return peers.Side("dst", case)


@pytest.fixture(name="peers")
def load_peers(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("bench_peers")


@pytest.mark.parametrize("dtype, tile, pitch, can", [
    ("f32", 64, 0, True), ("f32", 48, 0, False), ("f32", 0, 192, True), ("f32", 0, 193, False),
])
def test_peers_leave_out_moves_that_they_cannot_say(peers, monkeypatch, dtype, tile, pitch, can):
    """Tiles of `tile` to tiles of 64, or dense rows of 192 to rows `pitch` elements apart."""
    monkeypatch.setattr(peers, "torch", None)
    monkeypatch.setattr(peers, "numpy_mover", lambda *_: None)

    def tiled(width):
        modes = [[1, width, 192 // width, 4 * width], [0, 1, 4, width], [1, 1, width, 1]]
        return side_of(peers, dtype, [4, 192], modes, 3072)

    def strided(step):
        return side_of(peers, dtype, [4, 192], [[0, 1, 4, step], [1, 1, 192, 1]], (3 * step + 192) * 4)
    src, dst = (tiled(tile), tiled(64)) if tile else (strided(192), strided(pitch))
    assert list(peers.movers(src, dst, [4, 192, 1], (None, None), 1)) == (["numpy"] if can else [])


def test_peers_have_no_packed_elements(peers):
    assert side_of(peers, "s4", [8], [[0, 1, 8, 1]], 4).dtype is None


# ---- the workloads -----------------------------------------------------------------------------------

BENCH = pathlib.Path(os.environ.get("TEGULA", ROOT / "build/tegula")).parent / "bench/bench_relayout"


@pytest.fixture(name="cases", scope="module")
def list_cases():
    if not BENCH.is_file():
        pytest.skip("bench_relayout is built when asked for")
    return json.loads(subprocess.run([BENCH, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout)["cases"]


def test_workloads_have_every_size_and_its_bytes(cases):
    wanted = {"L": 256 << 20, "N": 64 << 20, "M": 8 << 20, "S": 512 << 10, "H": 256 << 10}
    names = {case["workload"] for case in cases}
    assert {(case["workload"], case["size"]) for case in cases} == {(n, s) for n in names for s in "LNMSHT"}
    for case in cases:
        if case["size"] in wanted and case["workload"][0] in "hm":
            larger = max(case["src"]["bytes"], case["dst"]["bytes"])
            assert larger == pytest.approx(wanted[case["size"]], rel=0.08), case


def test_misaligned_workloads_are_others_but_for_where_dst_begins(cases):
    by_name = {(case["workload"], case["size"]): case for case in cases}
    misaligned = [case for case in cases if case["workload"].startswith("m.")]
    assert len(misaligned) == 10 * 6
    for case in misaligned:
        base = by_name[case["workload"][2:], case["size"]]
        assert case | {"workload": base["workload"], "dst_offset": 0} == base
        assert case["dst_offset"] == 16


def test_quick_verifies_and_prints_no_numbers(cases, tmp_path):
    words = ["--quick", "--lines", "--size", "T", "--threads", "1", "--filter", "m.", "--json", tmp_path / "a.json"]
    run = subprocess.run([BENCH, *words], stdout=subprocess.PIPE, text=True, check=True)
    rows = run.stdout[run.stdout.index("\nworkload"):].splitlines()[2:]
    assert len(rows) == 10 and all(re.fullmatch(r"m\.\S+ +\w+( > \w+)? +T +1 verified", row) for row in rows)
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["quick"] is True
    assert all("aligned" in row["seconds"] and row["dst_offset"] == 16 for row in written["rows"])


def test_bench_help_tells_all_options(cases):
    assert cases
    text = subprocess.run([BENCH, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for option in ("--size", "--threads", "--filter", "--rounds", "--cpu", "--lines", "--json", "--quick", "--list",
                   "--moves"):
        assert option in text
    assert "no times and no ratios" in text


# ---- moves that nobody chose -------------------------------------------------------------------------


def run_lines(text, *words):
    return subprocess.run([BENCH, "--moves", "-", "--quick", "--threads", "1", *words], input=text, text=True,
                          capture_output=True, check=False)


def test_moves_of_a_file_take_the_place_of_workloads(cases, tmp_path):
    assert cases
    turned, converted = "f16[64,77] -> f16[64,77]{0,1}", 'f32[64,128]{1,0} /*"\\*/ -> bf16[64,128]{1,0:T(8,128)(2,1)}'
    run = run_lines(f"  # of a test\n \t\n{turned} \r\n{converted}", "--lines", "--json", tmp_path / "a.json")
    assert run.returncode == 0 and run.stderr == ""
    rows = run.stdout[run.stdout.index("\nworkload"):].splitlines()[2:]
    assert rows[0] == turned and rows[2] == converted
    assert re.fullmatch(r"line 3 +f16 +T +1 verified", rows[1]) and re.fullmatch(r"line 4 +f32 > bf16 +T +1 verified",
                                                                                 rows[3])
    written = json.loads((tmp_path / "a.json").read_text())["rows"]
    assert [f"{row['src']} -> {row['dst']}" for row in written] == [turned, converted]
    assert [row["shape"] for row in written] == [[64, 77], [64, 128]]


@pytest.mark.parametrize("line, complaint", [
    ("f16[64,77]", "line 2 has no ' -> ': 'f16[64,77]'"),
    ("f16[64,77] -> f16[64,78]", "line 2: plan: the shapes differ: dst [64,78], src [64,77]"),
    ("f16[64,77] -> q16[64,77]", "line 2: dst: "),
    ("f16[64,77] -> ", "line 2 has no ' -> ': 'f16[64,77] ->'"),
    ("f16[64,\0 7]", "line 2 has a byte 0: 'f16[64,'"),
    ("f16[64,77] -> " + "f16[64,77]" * 40, "line 2: a layout has more than 255 characters"),
    ("f16[99999999999999] -> f16[99999999999999]", "twice 199999999999998 bytes do not fit into half of this machine"),
    ("f" * 2000, "line 2 has more than 1022 characters"),
])
def test_moves_that_are_none_are_told_and_others_measured(cases, line, complaint):
    assert cases
    run = run_lines(f"f16[8,9] -> f16[8,9]\n{line}\nf16[9,8] -> f16[9,8]\n")
    assert run.returncode == 2 and complaint in run.stderr and run.stderr.count("\n") == 1
    assert re.search(r"^line 1 .* verified$", run.stdout, re.M) and re.search(r"^line 3 .* verified$", run.stdout, re.M)


@pytest.mark.parametrize("text, words, complaint", [
    ("", (), "bench_relayout: -: there is no move in it"),
    ("# none\n", (), "bench_relayout: -: there is no move in it"),
    ("f16[8,9] -> f16[8,9]", ("--threads", "2"), "so small a move is timed on one thread only"),
    ("", ("--moves", "/nowhere/moves"), "bench_relayout: /nowhere/moves: No such file or directory"),
])
def test_moves_without_a_row_are_no_success(cases, tmp_path, text, words, complaint):
    assert cases
    kept = tmp_path / "a.json"
    kept.write_text("kept")
    run = run_lines(text, "--json", kept, *words)
    assert run.returncode == 2 and complaint in run.stderr
    if "--moves" in words:
        assert kept.read_text() == "kept"


def test_no_workload_leaves_files_as_they_are(cases, tmp_path):
    assert cases
    kept = tmp_path / "a.json"
    kept.write_text("kept")
    run = subprocess.run([BENCH, "--quick", "--threads", "1", "--filter", "nobody", "--json", kept], text=True,
                         capture_output=True, check=False)
    assert run.returncode == 2 and run.stderr.startswith("bench_relayout: no workload of such a name")
    assert kept.read_text() == "kept"


def test_moves_and_workloads_are_not_mixed(cases):
    assert cases
    run = run_lines("", "--filter", "a.stick")
    assert run.returncode == 2 and "--moves reads others" in run.stderr


TEGULA = pathlib.Path(os.environ.get("TEGULA", ROOT / "build/tegula"))


def run_survey(*words):
    return subprocess.run([sys.executable, ROOT / "bench/survey.py", *words],
                          text=True, capture_output=True, check=False)


@pytest.mark.parametrize("words", [
    ["--real"], ["--real", "--bytes", "8000000"],
    ["--seed", "7", "--count", "150", "--types", "u8,f16,bf16,f32,f64,s4,u2"],
    ["--permuted", "--seed", "7", "--count", "150", "--bytes", "9000"],
    ["--vectors", "--seed", "7", "--count", "150", "--bytes", "9000"],
])
def test_survey_lists_moves_between_layouts_of_one_shape(words):
    moves = run_survey("--list", *words).stdout.splitlines()
    assert len(moves) > 100 and moves == run_survey("--list", *words).stdout.splitlines()
    for move in moves:
        run = subprocess.run([TEGULA, "equal", *move.split(" -> ")], capture_output=True, text=True, check=False)
        assert run.returncode in (0, 1), (move, run.stderr)


@pytest.mark.parametrize("words, complaint", [
    (["--types", "f8"], "no such type: 'f8'"), (["--count", "0"], "at least 1"),
    ([], "no library is named"),
    (["--real", "--seed", "1"], "--real has no --permuted, --vectors, --seed"), (["--bytes", "9" * 400], "2^48"),
    (["--permuted", "--vectors"], "two surveys"),
])
def test_survey_refuses_in_a_sentence(words, complaint):
    run = run_survey(*words)
    assert run.returncode == 2 and run.stdout == "" and complaint in run.stderr.splitlines()[-1]
