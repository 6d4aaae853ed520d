#!/usr/bin/env python3
"""How fast graphs are planned: heads of attention one after the other, 100 to 100000 operations.

    bench_plan.py [--tegula build/tegula] [--rounds N] [--json FILE]

Each size is a text of its own, planned by the command from start to end: reading, candidates, proof, report. The best
of the rounds counts, and the memory of the process at its largest. What the baselines of torch-spyre cost is told
where they are fast enough to wait for.
"""
import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZES = (100, 1000, 10000, 100000)
OPERATIONS = 12  # of a head, as examples/attention.hlo has them, and its projection back to 256 columns


def text_of(heads):
    """The head of the example as a computation, called again and again."""
    source = (ROOT / "examples" / "attention.hlo").read_text().replace("HloModule attention\n", "HloModule heads\n")
    start = source.index("ENTRY %main")
    head = source[start:].replace("ENTRY %main", "%head").replace("-> f16[128,64]", "-> f16[128,256]")
    head = head.replace("wv: f16[256,64])", "wv: f16[256,64], wo: f16[64,256])")
    head = head.replace("  ROOT %out", "  %wo = f16[64,256] parameter(4)\n  %out")
    head = head.replace("\n}", "\n  ROOT %back = f16[128,256] dot(%out, %wo), lhs_contracting_dims={1}, "
                               "rhs_contracting_dims={0}\n}")
    lines = [f"  %w{i} = f16[{'64,256' if i == 4 else '128,256' if i == 0 else '256,64'}] parameter({i})"
             for i in range(5)]
    lines += [f"  %h{i} = f16[128,256] call(%{f'h{i - 1}' if i else 'w0'}, %w1, %w2, %w3, %w4), to_apply=%head"
              for i in range(heads)]
    return source[:start] + head + "\nENTRY %heads {\n" + "\n".join(lines) + "\n}\n"


def run(tegula, path, *options):
    """Seconds, bytes at most, and the answer."""
    read, write = os.pipe()
    begin = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        os.execv(tegula, [tegula, "plan", path, "--limit", "0", *options])
    os.close(write)
    with os.fdopen(read) as stream:
        answer = stream.read()
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"bench: {tegula} plan {path} failed")
    return time.perf_counter() - begin, usage.ru_maxrss * 1024, answer.splitlines()[1]


def main():
    parser = argparse.ArgumentParser(description="How fast graphs are planned.")
    parser.add_argument("--tegula", default=str(ROOT / "build" / "tegula"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    print(f"{'operations':>10} {'seconds':>8} {'us each':>8} {'MB':>6}  exact; greedy; beam")
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            path = os.path.join(folder, f"{size}.hlo")
            heads = max(1, size // OPERATIONS)
            Path(path).write_text(text_of(heads))
            best = min(run(options.tegula, path) for _ in range(options.rounds))
            answers = [best[2]] + [run(options.tegula, path, "--method", m)[2] for m in ("greedy", "beam")
                                   if size <= 10000]
            said = "; ".join(answer.removeprefix("plan: ").split(";")[0] for answer in answers)
            print(f"{heads * OPERATIONS:>10} {best[0]:>8.3f} {best[0] / heads / OPERATIONS * 1e6:>8.2f} "
                  f"{best[1] / 1e6:>6.1f}  {said}", flush=True)
            rows.append({"operations": heads * OPERATIONS, "seconds": best[0], "bytes": best[1], "plans": answers})
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
