#!/usr/bin/env python3
"""One table from what bench_relayout and bench_peers.py measured, and the same as JSON.

    bench_report.py RELAYOUT.json [PEERS.json] [--targets FILE] [--json FILE]

Every column x NAME says how many times faster Tegula is than NAME: the median over rounds of NAME's time over
Tegula's time in the same round. Columns of NumPy and PyTorch come from their own process, where Tegula took turns
with them; for size T the times of two processes are compared instead, because a call through Python costs more
than the work. x limit is to what the machine allows, if bench_relayout measured it (--lines), and `limit` says what
that is: how the lines were copied that had to be touched, or the work on elements, whichever takes longer. x loop is to
the fastest loop that does both, for transposes and where sticks begin inside of lines of dst, and `loop` is its name. A
target is

    met        reached
    at limit   not reached, but x limit is 0.95 or more: nothing is left to win here on this machine. Where the limit is
               `work`, our own loop of a conversion, it is the limit without this that counts
    at loop    not reached, but x loop is 0.95 or more: nor does a loop that does nothing but this move
    below      not reached

and the limit or the loop that counted is named behind it. Of what bench_relayout --quick measured only the rows are
printed, and whether they were right: the times of one call give no ratios and no verdicts. Exit status 1 if a result
was wrong, 2 if a file cannot be used; a missed target is not an error.
"""

import argparse
import json
import statistics
import subprocess
import sys
from fnmatch import fnmatchcase
from math import isfinite
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = "LNMSHT"
PEERS = ("onednn", "numpy", "torch", "torch new")
RATIOS = ("memcpy", "ntcopy", "onednn", "numpy", "torch")
MEASURES = ("memcpy", "ntcopy", "memset", "aligned")
KNOWN = (*MEASURES, "ns", "plan-ns", "plan+run-ns", "scaling")
UNBOUNDED = ("plan-ns", "plan+run-ns")  # limits and loops are of other things
VERDICTS = ("met", "at limit", "at loop", "below")
AT_LIMIT = 0.95
TITLES = {"onednn": "oneDNN", "numpy": "NumPy"}
LIMIT_TITLES = f"x limit {'limit':12} x loop {'loop':12}"


# ---- files -----------------------------------------------------------------------------------------


def stop(path, text):
    print(f"bench_report: {path}: {text}", file=sys.stderr)
    sys.exit(2)


def read_text(path):
    try:
        return path.read_text()
    except OSError as error:
        stop(path, error.strerror)
    except UnicodeDecodeError:
        stop(path, "no text")


def read_results(path, program, schema, *keys):
    """What program wrote, which has these keys."""
    try:
        data = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        stop(path, f"no JSON: {error}")
    if not isinstance(data, dict) or data.get("schema") != schema or any(k not in data for k in keys):
        stop(path, f"not what {program} --json writes")
    return data


# ---- targets ---------------------------------------------------------------------------------------


def read_targets(path):
    """Lines of (pattern, sizes, threads, measure, bar); bar None: no target although a later line fits."""
    found = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            pattern, sizes, threads, measure, text = words
            bar = None if text == "none" else float(text)
            if measure not in KNOWN:
                stop(path, f"line {number}: {measure} is none of {', '.join(KNOWN)}")
            if set(sizes) - set(SIZES):
                stop(path, f"line {number}: {sizes} are not some of the sizes {SIZES}")
            if threads != "*" and not threads.isdecimal():
                stop(path, f"line {number}: {threads} is no number of threads, nor *")
            if bar is not None and not isfinite(bar):
                stop(path, f"line {number}: {text} is no bar")
            found.append((pattern, sizes, threads, measure, bar))
        except ValueError:
            stop(path, f"line {number} is no pattern, sizes, threads, measure and bar")
    return found


def target_of(targets, row, measures):
    for pattern, sizes, threads, measure, bar in targets:
        if measure in measures and row["size"] in sizes and threads in ("*", str(row["threads"])) \
                and fnmatchcase(row["workload"], pattern):
            return None if bar is None else (measure, bar)
    return None


def judge(value, measure, bar, bounds=()):
    """The verdict, and who set the bound that counted. bounds: (verdict, name, ratio to it) of what is measured."""
    if value is None:
        return "-", None
    if value <= bar if measure.endswith("ns") else value >= bar:
        return "met", None
    return next(((verdict, name) for verdict, name, x in bounds if x >= AT_LIMIT), ("below", None))


def bounds_of(row):
    """Of the run; the limit is that of the machine, not of a loop of ours."""
    return [(verdict, row[name], row["x_" + name]) for verdict, name in (("at limit", "machine"), ("at loop", "loop"))
            if name in row]


def verdict_of(row):
    """The worst of a row's targets; None if it has none."""
    found = [target["verdict"] for target in row["targets"]]
    return next((v for v in reversed(VERDICTS) if v in found), None)


# ---- rows ------------------------------------------------------------------------------------------


def key(row):
    return row["workload"], row["size"], row["threads"]


def merged(row, peers, targets):
    """A row of bench_relayout with the peers' ratios and its targets."""
    seconds = row["seconds"]
    ratios = {name: seconds[name]["x"] for name in (*MEASURES, "onednn") if name in seconds}
    if "ntcopy8" in seconds:  # to the faster one
        ratios["ntcopy"] = min(ratios["ntcopy"], seconds["ntcopy8"]["x"])
    if "x_limit" in row:
        ratios["limit"] = row["x_limit"]
    if "x_loop" in row:
        ratios["loop"] = row["x_loop"]
    peer = peers.get(key(row), {"seconds": {}, "noisy": False})
    for name in PEERS[1:]:
        if name in peer["seconds"]:
            s = peer["seconds"][name]
            ratios[name] = s["median"] / seconds["tegula"]["median"] if row["size"] == "T" else s["x"]
    tegula = seconds["tegula"]
    new = {**row, "gb_per_s": (row["bytes_src"] + row["bytes_dst"]) / tegula["median"] * 1e-9,
           "ns": tegula["median"] * 1e9, "ratios": ratios, "spread": tegula["median"] / tegula["best"],
           "noisy": row["noisy_rounds"] > 0 or peer["noisy"], "targets": []}
    values = {**ratios, "ns": new["ns"]}
    for name in ("plan", "plan+run"):
        if name in seconds:
            values[name + "-ns"] = new[name + " ns"] = seconds[name]["median"] * 1e9
    for measures in ((*MEASURES, "ns"), ("plan-ns",), ("plan+run-ns",)):
        target = target_of(targets, row, measures)
        if target is not None:
            measure, bar = target
            value = values.get(measure)
            verdict, by = judge(value, measure, bar, () if measure in UNBOUNDED else bounds_of(row))
            new["targets"].append({"measure": measure, "bar": bar, "value": value, "verdict": verdict, "by": by})
    new["verdict"] = verdict_of(new)
    for name in PEERS[1:]:
        if name in peer["seconds"]:
            new["seconds"][name] = peer["seconds"][name]
    return new


def scalings(rows, targets):
    """Per size: median speed of two threads over one, ours and memcpy's, for the workloads of its bar, and the bar."""
    by_key = {key(row): row for row in rows}
    found = []
    for size in SIZES:
        pattern, bar = next(((p, b) for p, s, _, m, b in targets if m == "scaling" and size in s), ("*", None))
        pairs = [(by_key[w, size, 1]["seconds"], row["seconds"]) for (w, s, t), row in by_key.items()
                 if s == size and t == 2 and (w, size, 1) in by_key and fnmatchcase(w, pattern)]
        if pairs:
            ours, copies = (statistics.median(one[name]["median"] / two[name]["median"] for one, two in pairs)
                            for name in ("tegula", "memcpy"))
            found.append({"size": size, "scaling": ours, "memcpy": copies, "bar": bar})
    return found


def scaling_text(s):
    text = f"two threads over one at {s['size']}: {s['scaling']:.2f}, memcpy {s['memcpy']:.2f}"
    if s["bar"] is None:
        return text
    verdict, by = judge(s["scaling"], "scaling", s["bar"], [("at limit", "memcpy", s["scaling"] / s["memcpy"])])
    return f"{text}, target >={s['bar']:.2f} {verdict}" + (f" ({by})" if by else "")


# ---- tables ----------------------------------------------------------------------------------------


def cell(value, width, places=2):
    return ("-" if value is None else f"{value:.{places}f}").rjust(width)


def target_text(target):
    """">=1.09 at limit (dst around)", "0.85 aligned >=0.90 below", "<=35 ns met"."""
    measure, bar, value = target["measure"], target["bar"], target["value"]
    verdict = target["verdict"] + (f" ({target['by']})" if target["by"] else "")
    if measure.endswith("ns"):
        return f"<={bar:g} {measure} {verdict}"
    without_column = "" if value is None or measure in RATIOS else f"{value:.2f} "
    return f"{without_column}{'' if measure == 'memcpy' else measure + ' '}>={bar:.2f} {verdict}"


def trailer(row):
    words = [", ".join(map(target_text, row["targets"])), "" if row["verified"] else "WRONG",
             "noisy" if row["noisy"] else ""]
    return "  " + "; ".join(word for word in words if word)


def limit_cells(row):
    return " ".join(f"{cell(row['ratios'].get(n), 2 + len(n))} {row.get(n, '-'):12}" for n in ("limit", "loop"))


def print_rows(rows):
    print(f"{'workload':21} {'type':11} {'size':4} {'thr':>3} {'GB/s':>6} {'x memcpy':>8} {'x ntcopy':>8} "
          f"{'x oneDNN':>8} {'x NumPy':>8} {'x torch':>8} {'torch new':>9} {'spread':>6} {LIMIT_TITLES}  target")
    for row in rows:
        ratios = row["ratios"]
        print(f"{row['workload']:21} {row['type']:11} {row['size']:4} {row['threads']:3} {cell(row['gb_per_s'], 6, 1)} "
              + " ".join(cell(ratios.get(name), 8) for name in RATIOS) + f" {cell(ratios.get('torch new'), 9)} "
              f"{cell(row['spread'], 6)} {limit_cells(row)}{trailer(row)}".rstrip())


def print_tiny(rows):
    names = ("tegula", "plan", "plan+run", "memcpy", "ntcopy", *PEERS)
    print("\nnanoseconds per call at size T (torch and NumPy: call through Python included)")
    print(f"{'workload':21} {'type':11}", " ".join(f"{TITLES.get(n, n):>9}" for n in names),
          f"{LIMIT_TITLES}  target")
    for row in rows:
        times = (row["seconds"].get(name) for name in names)
        print(f"{row['workload']:21} {row['type']:11}", " ".join(cell(s and s["median"] * 1e9, 9, 0) for s in times),
              f"{limit_cells(row)}{trailer(row)}".rstrip())


def print_quick(rows):
    print(f"{'workload':21} {'type':11} {'size':4} {'thr':>3}")
    for row in rows:
        print(f"{row['workload']:21} {row['type']:11} {row['size']:4} {row['threads']:3}{trailer(row)}".rstrip())


def print_measured(rows):
    large, tiny = [r for r in rows if r["size"] != "T"], [r for r in rows if r["size"] == "T"]
    if large:
        print_rows(large)
    if tiny:
        print_tiny(tiny)


def print_summary(rows, threads):
    print()
    for s in threads:
        print(scaling_text(s))
    verified, noisy = sum(row["verified"] for row in rows), sum(row["noisy"] for row in rows)
    print(f"{len(rows)} rows, {verified} verified, {noisy} noisy")
    for size in SIZES:
        found = [row["verdict"] for row in rows if row["size"] == size]
        if any(found):
            counts = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS)
            print(f"rows with a target at {size}: {counts}")


def commit():
    try:
        text = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
    except OSError:
        text = ""
    return text or "unknown"


def options():
    parser = argparse.ArgumentParser(description="One table from the JSON of bench_relayout and bench_peers.py.")
    parser.add_argument("relayout", type=Path)
    parser.add_argument("peers", type=Path, nargs="?")
    parser.add_argument("--targets", type=Path, default=HERE / "targets.txt")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def report(opt, data, extra):
    """Print the tables; whether all results were right."""
    quick = data.get("quick", False)
    mask = {name: data[name] for name in ("cpu_mask",) if name in data}
    targets = [] if quick else read_targets(opt.targets)
    peers = {key(row): row for row in extra["rows"]}
    rows = [merged(row, peers, targets) for row in data["rows"]]
    threads = [] if quick else scalings(rows, targets)
    versions = "".join(f", {name} {version}" for name, version in extra["peers"].items())
    machine = {**data["machine"], "commit": commit(), "peers": data["machine"]["peers"] + versions}
    for name, value in machine.items():
        print(f"{name}: {value}")
    if mask:
        print(f"measured with --cpu {mask['cpu_mask']}: not all instruction sets of the machine may be used")
    print("measured with --quick: one call of each, which gives no ratios, and no target is judged\n" if quick else
          "x NAME: how many times faster than NAME in the same rounds; spread: median time / best time;\n"
          "limit: what the machine allows, the fastest copy of the same lines or the work on elements;\n"
          "loop: what does both and nothing else, for a transpose or for sticks inside of lines of dst;\n"
          "target: of x memcpy, if it names nothing else; (limit or loop) that it was judged by;\n"
          "aligned: the same move with dst at a cache line\n")
    (print_quick if quick else print_measured)(rows)
    print_summary(rows, threads)
    if opt.json is not None:
        try:
            opt.json.write_text(json.dumps({"schema": "tegula.bench/1", "quick": quick, **mask, "machine": machine,
                                            "rows": rows, "two_threads": threads}, indent=1) + "\n")
        except OSError as error:
            stop(opt.json, error.strerror)
    return all(row["verified"] for row in rows)


def main():
    opt = options()
    data = read_results(opt.relayout, "bench_relayout", "tegula.bench/1", "machine", "rows")
    extra = {"peers": {}, "rows": []}
    if opt.peers:
        extra = read_results(opt.peers, "bench_peers.py", "tegula.bench.peers/1", "peers", "rows")
    try:
        right = report(opt, data, extra)
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        stop(" or ".join(map(str, filter(None, (opt.relayout, opt.peers)))), f"not what the programs write: {error!r}")
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
