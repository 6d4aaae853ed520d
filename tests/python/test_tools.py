"""The project's own tools, judged on small trees that break each rule once.

A tool that never refuses anything looks like a tree without faults, so each rule has a tree here that
breaks it and a tree that keeps it.
"""
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def run_tool(name, *words):
    return subprocess.run([sys.executable, str(ROOT / "tools" / name), *map(str, words)],
                          text=True, capture_output=True, check=False)


def git(root, *words, message=None):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, "-C", str(root), *words]
    subprocess.run(command, input=message, text=True, capture_output=True, check=True)


# ---- layers ------------------------------------------------------------------------------------

GOOD_TREE = {
    "include/tegula/tegula.h": "#include <stdint.h>\n",
    "include/tegula/io.h": "#include <tegula/tegula.h>\n",
    "include/tegula/xla_proto.h": "#include <tegula/tegula.h>\n",
    "src/base/error.h": "#include <tegula/tegula.h>\n",
    "src/base/error.c": '#include "base/error.h"\n#include <stdarg.h>\n#include <string.h>\n',
    "src/layout/layout.h": '#include "base/error.h"\n',
    "src/notation/notation.h": '#include "layout/layout.h"\n',
    "src/notation/xla.c": '#include "notation/xla_lex.h"\n#include "notation/notation.h"\n',
    "src/notation/xla_lex.h": "",
    "src/notation/spyre.h": "",
    "src/kernels/kernels.h": '#include "base/error.h"\n',
    "src/relayout/plan.h": "",
    "src/relayout/plan.c": '#include "plan.h"\n#include "kernels/kernels.h"\n#include "layout/layout.h"\n'
                           "#include <pthreadpool.h>\n#include <stdlib.h>\n",
    "src/io/file.c": "#include <tegula/io.h>\n#include <unistd.h>\n#include <stdlib.h>\n",
    "src/hlo/proto.c": "#include <tegula/xla_proto.h>\n#include <xla_data.pb-c.h>\n#include <stdlib.h>\n"
                       '#include "notation/notation.h"\n',
    "cli/cli.h": "#include <tegula/io.h>\n#include <jansson.h>\n",
    "cli/main.c": '#include "cli.h"\n#include <stdio.h>\n',
    "fuzz/fuzz_text.c": "#include <tegula/tegula.h>\n",
}

BROKEN_INCLUDES = [  # file, its includes, words of the complaint
    ("src/base/a.c", '#include "layout/layout.h"', "base may not include layout"),
    ("src/layout/a.c", '#include "notation/notation.h"', "layout may not include notation"),
    ("src/layout/a.c", '#include "kernels/kernels.h"', "layout may not include kernels"),
    ("src/layout/a.c", '#include "../relayout/plan.h"', "layout may not include relayout"),
    ("src/layout/a.c", "#include <relayout/plan.h>", "layout may not include relayout"),
    ("src/layout/a.c", '  #  include  "relayout/plan.h" /* why */', "layout may not include relayout"),
    ("src/notation/cute.c", '#include "notation/xla_lex.h"', "notations do not include each other"),
    ("src/notation/cute.c", '#include "spyre.h"', "notations do not include each other"),
    ("src/kernels/a.c", '#include "layout/layout.h"', "kernels may not include layout"),
    ("src/relayout/a.c", '#include "notation/notation.h"', "relayout may not include notation"),
    ("src/io/a.c", '#include "relayout/plan.h"', "io may not include relayout"),
    ("src/layout/a.c", "#include <tegula/io.h>", "a header for others"),
    ("src/notation/a.c", "#include <tegula/xla_proto.h>", "a header for others"),
    ("src/notation/a.c", "#include <xla_data.pb-c.h>", "notation may not include <xla_data.pb-c.h>"),
    ("src/notation/a.c", "#include <protobuf-c/protobuf-c.h>", "notation may not include <protobuf-c/protobuf-c.h>"),
    ("src/layout/a.c", '#include "../../cli/cli.h"', "outside src/ and include/"),
    ("src/layout/a.c", '#include "layout/nothing.h"', "is no file of this tree"),
    ("src/layout/a.c", "#include <stdlib.h>", "layout may not include <stdlib.h>"),
    ("src/layout/a.c", "#include <stdarg.h>", "layout may not include <stdarg.h>"),
    ("src/io/a.c", "#include <stdio.h>", "io may not include <stdio.h>"),
    ("src/relayout/a.c", "#include <unistd.h>", "relayout may not include <unistd.h>"),
    ("src/io/a.c", "#include <pthreadpool.h>", "io may not include <pthreadpool.h>"),
    ("src/base/a.c", "#include HEADER", "an include through a macro"),
    ("src/extra/a.c", "", "src/extra is no room"),
    ("src/a.c", "", "src/a.c is no room"),
    ("include/tegula/more.h", "#include <stdio.h>", "a public header may not include stdio.h"),
    ("include/tegula/more.h", '#include "base/error.h"', "a public header may not include base/error.h"),
    ("cli/a.c", '#include "base/error.h"', "cli sees public headers and its own folder only"),
    ("cli/a.c", '#include "../src/base/error.h"', "cli sees public headers and its own folder only"),
    ("bench/a.c", "#include <base/error.h>", "bench sees public headers only"),
    ("fuzz/a.c", '#include "../cli/cli.h"', "fuzz sees public headers and its own folder only"),
    ("examples/a.c", '#include "layout/layout.h"', "examples sees public headers and its own folder only"),
]


def test_includes_accept_the_layers(tmp_path):
    stamp = tmp_path / "stamp"
    run = run_tool("check_includes.py", "--root", make_tree(tmp_path / "tree", GOOD_TREE), "--stamp", stamp)
    assert (run.returncode, run.stderr) == (0, "")
    assert stamp.exists()


@pytest.mark.parametrize("name, text, complaint", BROKEN_INCLUDES)
def test_includes_refuse(tmp_path, name, text, complaint):
    root = make_tree(tmp_path / "tree", GOOD_TREE | {name: "\n" + text + "\n"})
    run = run_tool("check_includes.py", "--root", root, "--stamp", tmp_path / "stamp")
    assert run.returncode == 1
    assert complaint in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert run.stderr.startswith(f"{name}:{2 if text else 1}: ")
    assert not (tmp_path / "stamp").exists()


# ---- style -------------------------------------------------------------------------------------

OPEN = "TO" + "DO"  # in two pieces: this file is checked as well

STYLED_TREE = {
    "src/meson.build": "files(\n    'base/a.c',\n)\n",
    "src/base/a.c": "int a;\n",
    "Makefile": "all:\n\ttrue\n",
}

BROKEN_STYLE = [
    ("src/base/a.c", "int a;", "1: no newline at the end"),
    ("src/base/a.c", "int a; \n", "1: blank or carriage return"),
    ("src/base/a.c", "int a;\r\n", "1: blank or carriage return"),
    ("src/base/a.c", "int\ta;\n", "1: tab"),
    ("src/base/a.c", "\n/* " + "x" * 120 + " */\n", "2: 126 columns"),
    ("src/base/a.c", f"/* {OPEN} later */\n", "1: open work without an issue number"),
    ("src/base/b.c", "int b;\n", "1: not listed in src/meson.build"),
    ("examples/a.c", "int a;\n", "has the same file name"),
]


def test_style_accepts(tmp_path):
    more = {"docs/a.md": "x" * 200 + "\n", "src/base/c.h": f"/* {OPEN}(#12): grow */\n", "fuzz/corpus/x/1.txt": "a \t"}
    run = run_tool("check_style.py", "--root", make_tree(tmp_path, STYLED_TREE | more))
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("name, text, complaint", BROKEN_STYLE)
def test_style_refuses(tmp_path, name, text, complaint):
    run = run_tool("check_style.py", "--root", make_tree(tmp_path, STYLED_TREE | {name: text}))
    assert run.returncode == 1
    assert complaint in run.stderr


def test_style_refuses_other_encodings(tmp_path):
    make_tree(tmp_path, STYLED_TREE)
    (tmp_path / "README.md").write_bytes(b"caf\xe9\n")
    run = run_tool("check_style.py", "--root", tmp_path)
    assert run.returncode == 1
    assert "README.md:1: not UTF-8" in run.stderr


# ---- sizes -------------------------------------------------------------------------------------

SCANNED = r"""#include <stdio.h>
#define OPEN {
static const char *const names[] = {"{", "a(b) {", NULL};
typedef struct { int a; } pair;
enum { N = 3 };
/* int commented(void) { */
static int one(int a) { return a; }

static void
three(void (*call)(int), const char *text)
{
    if (text[0] == '{') { call('"'); }
}
"""


def test_sizes_find_functions(tmp_path):
    long_function = "int long_one(void) {\n" + "    ;\n" * 100 + "}\n"
    run = run_tool("sizes", "--root", make_tree(tmp_path, {"src/base/a.c": SCANNED + long_function}))
    assert run.returncode == 0
    table = next(line for line in run.stdout.splitlines() if line.startswith("src/base"))
    assert table.split() == ["src/base", "1", "115", "115", "115", "3", "5/102/102/102"]
    assert "src/base/a.c:14: long_one has 102 lines" in run.stdout


@pytest.mark.parametrize("lines, status", [(1000, 0), (1001, 1)])
def test_sizes_stop(tmp_path, lines, status):
    run = run_tool("sizes", "--root", make_tree(tmp_path, {"cli/a.c": "\n" * lines}))
    assert run.returncode == status
    assert ("hard stop" in run.stderr) == bool(status)


# ---- commits -----------------------------------------------------------------------------------

GOOD_MESSAGES = [
    "layout: decide equality without enumerating",
    "src/layout, cli: print offsets\n\nWhy it was wrong.\n",
    "ci: run make check",
    "build: list the sources",
    'Revert "layout: decide."',
    "layout: " + "x" * 64,
]
BAD_MESSAGES = [
    ("decide equality", "not `area: summary`"),
    ("Layout: decide equality", "not `area: summary`"),
    ("layout: decide equality.", "full stop"),
    ("layout: " + "x" * 65, "73 characters"),
    ("layout: decide\nequality", "second line is not blank"),
    ("kitchen: cook", "`kitchen` is no folder"),
    ("layout, kitchen: cook", "`kitchen` is no folder"),
    ("layout: added equality", "`added` is not imperative"),
    ("layout: Fixes equality", "`Fixes` is not imperative"),
]


@pytest.fixture
def history(tmp_path):
    root = make_tree(tmp_path, {"src/layout/a.c": "", "cli/a.c": "", ".ci/run": ""})
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "layout: begin")
    return root


@pytest.mark.parametrize("message", GOOD_MESSAGES)
def test_commits_accept(history, message):
    git(history, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-", message=message)
    run = run_tool("check_commits.py", "--root", history)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("message, complaint", BAD_MESSAGES)
def test_commits_refuse(history, message, complaint):
    git(history, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-", message=message)
    run = run_tool("check_commits.py", "--root", history)
    assert run.returncode == 1
    assert complaint in run.stderr


def test_commits_without_history(tmp_path):
    assert run_tool("check_commits.py", "--root", tmp_path).returncode == 0


# ---- symbols -----------------------------------------------------------------------------------

HEADER = """
#if !defined(TG_API)
#  define TG_API __attribute__((visibility( \\
       "default")))
#endif
/* TG_API int tg_commented(void); */
TG_API int tg_one(int a,
                  int b);
TG_API const char *tg_two(void); /* (more) */
"""


@pytest.fixture
def library(tmp_path):
    make_tree(tmp_path, {"include/tegula/tegula.h": HEADER, "src/tegula.symbols": "tg_one\ntg_two\n",
                         "lib.c": "int tg_one(void) { return 1; } int tg_two(void) { return 2; }\n"})
    built = tmp_path / "lib.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(built), str(tmp_path / "lib.c")], check=True)
    return built


def test_symbols_agree(library):
    run = run_tool("symbols", "--root", library.parent, library)
    assert (run.returncode, run.stderr) == (0, "")


def test_symbols_differ_from_the_list(library):
    (library.parent / "src/tegula.symbols").write_text("tg_one\ntg_three\n")
    run = run_tool("symbols", "--root", library.parent, library)
    assert run.returncode == 1
    assert "tg_two: in the library, not in src/tegula.symbols" in run.stderr
    assert "tg_three: in src/tegula.symbols, not in the library" in run.stderr
    run = run_tool("symbols", "--root", library.parent, "--update", library)
    assert run.returncode == 0
    assert (library.parent / "src/tegula.symbols").read_text() == "tg_one\ntg_two\n"


def test_symbols_differ_from_the_headers(library):
    make_tree(library.parent, {"include/tegula/tegula.h": "TG_API int tg_one(void);\nTG_API int tg_four(void);\n"})
    run = run_tool("symbols", "--root", library.parent, library)
    assert run.returncode == 1
    assert "tg_two: in the library, not in the public headers" in run.stderr
    assert "tg_four: in the public headers, not in the library" in run.stderr


# ---- set-up ------------------------------------------------------------------------------------

def test_setup_refuses_other_words():
    run = run_tool("setup", "everything")
    assert run.returncode != 0
    assert "usage" in run.stderr


def test_requirements_are_exact():
    for name in ("requirements-build.txt", "requirements-check.txt"):
        lines = (ROOT / "tools" / name).read_text().splitlines()
        wanted = [line for line in lines if line and not line.startswith("#")]
        assert wanted and all(line.count("==") == 1 and " " not in line for line in wanted)


# ---- choosing steps ------------------------------------------------------------------------------


@pytest.fixture
def check(monkeypatch):
    """tools/check as a module; it has no ending and runs nothing by itself."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    loader = importlib.machinery.SourceFileLoader("check", str(ROOT / "tools/check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    monkeypatch.setitem(sys.modules, "check", module)  # for its dataclasses
    loader.exec_module(module)
    return module


NEEDS = {"style": (), "symbols": ("compile build-gcc",), "compile build-gcc": (), "unit tests, gcc": (),
         "unit tests, threads": (), "wheel": ("compile build-gcc",), "torch, installed": ("wheel",),
         "fuzz fuzz_npy": ()}


@pytest.mark.parametrize("words, names", [
    (None, list(NEEDS)),
    ("unit", ["unit tests, gcc", "unit tests, threads"]),
    ("tests, gcc", ["unit tests, gcc"]),
    ("style", ["style"]),
    ("symbols", ["symbols", "compile build-gcc"]),
    ("installed", ["compile build-gcc", "wheel", "torch, installed"]),
    ("fuzz_npy", ["fuzz fuzz_npy"]),
    ("s", []), ("symbol", []), ("gcc tests", []), ("unit tests, gcc and more", []),
])
def test_steps_are_chosen_by_whole_words(check, words, names):
    steps = [check.Step(name, [], after) for name, after in NEEDS.items()]
    assert [step.name for step in check.chosen(steps, words)] == names


def test_steps_that_are_not_run_delete_no_build(check, monkeypatch, tmp_path):
    monkeypatch.setattr(check, "ROOT", make_tree(tmp_path, {"build-gcc/kept": "",
                                                           "build-clang/check-options": "other"}))
    for build in ("build-gcc", "build-clang"):
        assert check.if_not_set_up(build, ["set", "up"])[:2] == [["rm", "-rf", build], ["set", "up"]]
    assert (tmp_path / "build-gcc/kept").exists() and (tmp_path / "build-clang/check-options").exists()


def test_a_word_that_no_step_has_runs_nothing_and_lists_them():
    done = run_tool("check", "--only", "s")
    assert done.returncode == 2 and done.stdout == ""
    names = done.stderr.partition("no step is called 's'; there are\n")[2]
    assert names.startswith("  style; includes; ") and "unit tests, gcc;" in names and "fuzz fuzz_npy;" in names
    assert len(names.splitlines()) < 15 and max(map(len, names.splitlines())) <= 100


@pytest.mark.parametrize("words, complaint", [
    (["--jobs", "0"], "--jobs 0: at least 1 is needed"),
    (["--jobs", "-3"], "--jobs -3: at least 1 is needed"),
    (["--fuzz-seconds", "-1"], "--fuzz-seconds -1: 0 or more"),
    (["--only", ""], "--only needs a word"),
    (["--only", " "], "--only needs a word"),
    (["--only", ","], "--only needs a word"),
])
def test_check_refuses_words_that_say_nothing(check, monkeypatch, capsys, words, complaint):
    monkeypatch.setattr(sys, "argv", ["check", *words])
    with pytest.raises(SystemExit, match="2"):
        check.read_options()  # which runs nothing, even if it accepts them
    assert complaint in capsys.readouterr().err


def test_check_says_what_words_are():
    assert "one phrase of whole words" in " ".join(run_tool("check", "--help").stdout.split())


# ---- NEON --------------------------------------------------------------------------------------


def test_neon_without_a_cross_compiler_is_no_success():
    done = subprocess.run([sys.executable, str(ROOT / "tools/check_neon.py")], env={"PATH": "/nowhere"}, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert re.search(r"apt-get install .*\bgcc-aarch64-linux-gnu\b.*\bqemu-user\b", done.stderr)
