"""The programs of the seed documents run as they are printed, and print what they say."""
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SEEDS = sorted((ROOT / "examples/seeds").glob("*.py"))


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A folder with what an installer writes beside the package: its entry points."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folder = tmp_path_factory.mktemp("site")
    info = folder / "tegula-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tegula\nVersion: 0\n")
    groups = (f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in names.items())
              for group, names in project["entry-points"].items())
    (info / "entry_points.txt").write_text("\n".join(groups) + "\n")
    return folder


def run(installed, *words, switch=None, **environment):
    from conftest import PACKAGE
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TEGULA_", "PYTHONPATH"))}
    clean |= {"PYTHONPATH": os.pathsep.join([PACKAGE, str(installed)]), **environment}
    if switch is not None:
        clean["TEGULA_SPYRE"] = switch
    return subprocess.run([sys.executable, *map(str, words)], env=clean, capture_output=True, text=True, timeout=120)


# All programs in one process after one `import torch`, which is what takes the time.
RUN_ALL = """
import contextlib, io, json, runpy, sys
import torch
assert "tegula.torch" in sys.modules
said = []
for program in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(program)
    said.append(out.getvalue())
print(json.dumps(said))
"""


@pytest.fixture(scope="session")
def printed(installed):
    done = run(installed, "-c", RUN_ALL, *SEEDS, switch="1")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return dict(zip(SEEDS, json.loads(done.stdout)))


@pytest.mark.parametrize("program", SEEDS, ids=lambda path: path.stem)
def test_program_prints_what_the_document_says(program, printed):
    assert printed[program] == program.with_suffix(".txt").read_text()


def test_a_program_by_itself(installed):
    program = SEEDS[0]
    done = run(installed, program, switch="1")
    assert (done.stdout, done.stderr) == (program.with_suffix(".txt").read_text(), "")


def test_the_programs_are_those_of_the_documents():
    """Word for word, where the documents are at hand; 004 is told apart in the README of the examples."""
    documents = ROOT.parent / "shared/seeds"
    texts = {path.name[:3]: path.read_text() for path in documents.glob("*.txt")} if documents.is_dir() else {}
    if not texts:
        pytest.skip("the seed documents are not here")
    for program in SEEDS:
        if program.stem != "004_default_layout":
            for line in program.read_text().splitlines():
                assert line in texts[program.name[:3]]


def test_switched_off_by_default(installed):
    done = run(installed, "-c", "import torch, sys; "
               "print('tegula' in sys.modules, torch._C._get_privateuse1_backend_name())")
    assert (done.stdout, done.stderr) == ("False privateuseone\n", "")


def test_switch_command(monkeypatch, tmp_path, capsys):
    import tegula_autoload
    from tegula.torch import __main__ as command
    main = command.main

    def answer(*words):
        main(words)
        return capsys.readouterr().out

    monkeypatch.setattr(tegula_autoload, "MARKER", str(tmp_path / "on"))
    monkeypatch.delenv("TEGULA_SPYRE", raising=False)
    assert answer("status") == "off, by the default\n"
    # Run from the build folder: there is no entry point, so `import torch` looks at nothing.
    assert answer("enable").startswith("off, since Tegula is not installed here") and answer("disable")
    monkeypatch.setattr(command, "_looked_at", lambda: True)
    assert answer("enable") == answer("status") == f"on, by {tmp_path / 'on'}\n"
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    assert answer("status").startswith("off, by TORCH_DEVICE_BACKEND_AUTOLOAD=0")
    monkeypatch.delenv("TORCH_DEVICE_BACKEND_AUTOLOAD")
    monkeypatch.setenv("TEGULA_SPYRE", "0")
    assert answer("status") == "off, by TEGULA_SPYRE=0\n"
    monkeypatch.delenv("TEGULA_SPYRE")
    assert answer("disable") == answer("disable") == "off, by the default\n"
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    with pytest.raises(SystemExit, match="not a virtual environment"):
        main(["enable"])
    assert answer("enable", "--system").startswith("on")
    monkeypatch.setattr(tegula_autoload, "MARKER", str(tmp_path / "none/on"))
    with pytest.raises(SystemExit, match="No such file"):
        main(["enable", "--system"])


def test_switch_of_an_environment(installed, tmp_path):
    """What the command wrote is what `import torch` of that environment alone looks at."""
    import venv
    import torch
    from conftest import PACKAGE
    venv.create(tmp_path / "env", with_pip=False)
    (tmp_path / "env/tegula-spyre-on").write_text("")
    site = Path(torch.__file__).parent.parent
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TEGULA_")}
    environment["PYTHONPATH"] = os.pathsep.join([PACKAGE, str(installed), str(site)])
    done = subprocess.run([tmp_path / "env/bin/python", "-c", "import torch; print(torch.spyre.is_available())"],
                          env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "True\n", done.stderr


def test_a_broken_switch_does_not_break_torch(installed):
    """A version of PyTorch outside the tested range: a warning that names both, and PyTorch goes on."""
    code = "import torch; torch.__version__ = '9.1.0'; import tegula_autoload; tegula_autoload.autoload(); print('on')"
    done = run(installed, "-c", "import os; os.environ['TEGULA_SPYRE'] = '0'\n" + code.replace(
        "tegula_autoload.autoload()", "tegula_autoload.enabled = lambda: True; tegula_autoload.autoload()"))
    assert done.stdout == "on\n"
    assert "tested with PyTorch 2.13" in done.stderr and "9.1.0" in done.stderr


def test_a_real_torch_spyre_wins(installed, tmp_path):
    """A package torch_spyre hides our file of that name, and nothing is registered beside it."""
    (tmp_path / "torch_spyre").mkdir()
    (tmp_path / "torch_spyre/__init__.py").write_text("REAL = True\n")
    from conftest import PACKAGE
    code = ("import torch, tegula.torch, torch_spyre; print(torch_spyre.REAL, tegula.torch.registered, "
            "torch._C._get_privateuse1_backend_name())")
    done = run(installed, "-c", code, PYTHONPATH=os.pathsep.join(map(str, [tmp_path, PACKAGE])))
    assert done.stdout == "True False privateuseone\n", done.stderr


def test_import_by_the_name_of_the_real_one(installed):
    done = run(installed, "-c", "from torch_spyre._C import SpyreTensorLayout, DataFormats, ElementArrangement, "
               "get_device_dtype, get_elem_in_stick\nimport torch\nprint(get_device_dtype(torch.bfloat16), "
               "get_elem_in_stick(torch.float32), torch.spyre.SpyreTensorLayout is SpyreTensorLayout)")
    assert done.stdout == "DataFormats.SEN169_FP16 32 True\n", done.stderr
