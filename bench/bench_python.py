#!/usr/bin/env python3
"""What a call from Python costs: `python bench/bench_python.py [--python FOLDER] [--json FILE]`.

The best of several repetitions, in microseconds, beside what was promised. The package is that of build/python, or
of --python; NumPy is needed. Exit status 1 if a promise is broken.
"""
import argparse
import json
import platform
import sys
import timeit
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPEAT, SECONDS = 200, 0.001  # so short that some are not interrupted, on a busy machine too


def best(call):
    """Microseconds of one call."""
    timer = timeit.Timer(call)
    number = max(1, int(SECONDS / max(timer.timeit(10) / 10, 1e-9)))
    return min(timer.repeat(REPEAT, number)) / number * 1e6


def cases():
    """(what, most microseconds or None, call)"""
    import numpy
    import tegula
    from tegula import Layout, Plan, relayout
    spyre, text = Layout("f16[5,100,150] spyre"), "f16[5,100,150] spyre"
    source = numpy.random.default_rng(1).random((32, 32), numpy.float32)
    turned, target = Layout("f32[32,32]{0,1}"), numpy.zeros((32, 32), numpy.float32).T
    device, buffer = Layout("f32[32,32] spyre"), tegula.Buffer("f32[32,32]")
    plan, out = Plan("f32[32,32]", turned), tegula.Buffer(turned)
    coords = numpy.zeros((1000, 3), numpy.int64)
    yield "Layout.offset(4, 99, 149)", 1, lambda: spyre.offset(4, 99, 149)
    yield "Layout.offset((4, 99, 149))", 1, lambda: spyre.offset((4, 99, 149))
    yield "Layout.coord(95957)", None, lambda: spyre.coord(95957)
    yield "Layout.offsets, 1000 coordinates", None, lambda: spyre.offsets(coords)
    yield f"Layout('{text}')", None, lambda: Layout(text)
    yield "Layout.transpose(0, 1) of the same", None, lambda: spyre.transpose(0, 1)
    yield "Layout.equal, Spyre and XLA", None, lambda: spyre.equal("f16[5,100,150]{0,2,1:T(64,1)}")
    yield "relayout 4 KiB, NumPy to Buffer, transposed", 5, lambda: relayout(source, turned)
    yield "relayout 4 KiB, NumPy to NumPy, transposed", 5, lambda: relayout(source, turned, out=target)
    yield "relayout 4 KiB, NumPy to Spyre", 5, lambda: relayout(source, device)
    yield "relayout 4 KiB, Buffer to Buffer", 5, lambda: relayout(buffer, turned, out=out)
    yield "Plan.run 4 KiB, NumPy to Buffer", 5, lambda: plan.run(out, source)
    yield from graph_cases(tegula.Graph())


def graph_cases(graph):
    shape, terms = (128, 256), ((0, 256), (1, 1))
    a, b = graph.add_input(shape, "f16"), graph.add_input(shape, "f16")
    operands = [(a, terms), (b, terms)]
    yield "Graph.add, 2 operands with their terms", 5, lambda: graph.add("pointwise", shape, "f16", loops=shape,
                                                                         operands=operands, result=terms, name="n")
    yield "Graph.pointwise, 2 operands", 5, lambda: graph.pointwise((a, b), name="n", tag=shape)
    yield "Graph.matmul, one of them transposed", 5, lambda: graph.matmul(a, (b, ".mT"), name="n")


def main():
    parser = argparse.ArgumentParser(description="What a call from Python costs.")
    parser.add_argument("--python", default=str(ROOT / "build" / "python"), metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    sys.path.insert(0, options.python)
    rows = []
    for what, most, call in cases():
        took = best(call)
        rows.append({"call": what, "microseconds": round(took, 3), "at_most": most})
        verdict = "" if most is None else f"   (at most {most})" if took <= most else f"   TOO SLOW: at most {most}"
        print(f"{took:9.3f} us  {what}{verdict}", flush=True)
    if options.json:
        result = {"schema": "tegula.bench.python/1", "python": platform.python_version(), "processor": processor(),
                  "rows": rows}
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(any(row["at_most"] is not None and row["microseconds"] > row["at_most"] for row in rows))


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    main()
