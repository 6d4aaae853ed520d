"""Planned graphs on the simulated device, judged by jax on the CPU; and each operation by NumPy."""
import ctypes
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import sim_c as sim
import tegula_c as t

HERE = pathlib.Path(__file__).parent


def test_structs_match_the_header(tmp_path):
    lines, want = ["#include <stdio.h>", "#include <tegula/sim.h>", "int main(void) {"], []
    for name, struct in sim.STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        want.append(f"{name} {ctypes.sizeof(struct)}")
        for field, _ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
            want.append(f"{name}.{field} {getattr(struct, field).offset}")
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text("\n".join(lines + ["return 0; }"]))
    subprocess.run(["gcc", "-std=c11", f"-I{t.ROOT / 'include'}", source, "-o", program], check=True)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines() == want


NAMES = ["mlp", "mlp ragged", "matmul transposed", "batched matmul", "matrix times vector", "vector times matrix",
         "dot", "softmax", "softmax ragged", "softmax of columns", "layernorm", "layernorm ragged",
         "rms norm", "attention", "attention ragged", "attention without mask", "narrow heads", "block", "rotary",
         "conv block", "dilated conv", "transposed conv", "depthwise conv", "narrow conv", "average pool", "mixture",
         "training", "language model", "cache", "pieces", "ragged pieces", "reshapes", "column sums",
         "sum of everything", "where", "integers", "argument"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, HERE / "sim_models.py", folder], check=True, timeout=600)
    assert sorted({p.stem.rsplit(".", 1)[0] for p in folder.glob("*.hlo")}) == sorted(NAMES)
    return folder


def take(folder, name, dtype):
    data = np.load(folder / f"{name}.npz")
    inputs = [data[f"in{i}"] for i in range(sum(k.startswith("in") for k in data.files))]
    expected = [data[f"out{i}"] for i in range(sum(k.startswith("out") for k in data.files))]
    return (folder / f"{name}.{dtype}.hlo").read_text(), inputs, expected


def run(text, inputs, **how):
    with sim.Simulation(text, **how) as s:
        outputs = s.run(*inputs)
        differences = [s.difference(i) for i in range(len(outputs))]
    return outputs, differences


def judge(outputs, expected, share):
    """The largest error is below a share of the largest number."""
    assert len(outputs) == len(expected)
    for out, wanted in zip(outputs, expected):
        assert out.shape == wanted.shape
        if wanted.dtype.kind in "iub":
            assert (out == wanted).all()
            continue
        out, scale = out.astype(np.float64), max(np.abs(wanted).max(), 1e-3)
        assert np.isfinite(out).all()
        assert np.abs(out - wanted).max() <= share * scale


@pytest.mark.parametrize("name", NAMES)
def test_model_in_float16(models, name):
    text, inputs, expected = take(models, name, "float16")
    outputs, differences = run(text, inputs)
    judge(outputs, expected, 2**-6)
    for d in differences:
        assert d.lost == 0 and d.largest <= 2**-6 * max(d.scale, 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_model_in_float32(models, name):
    text, inputs, expected = take(models, name, "float32")
    outputs, differences = run(text, inputs)
    judge(outputs, expected, 2**-14)
    for d in differences:
        assert d.lost == 0 and d.largest <= 2**-14 * max(d.scale, 1e-3)
