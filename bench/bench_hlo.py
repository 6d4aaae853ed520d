#!/usr/bin/env python3
"""How fast HLO text is read, against XLA's own parser in jaxlib on the same text in the same run.

    bench_hlo.py [--lib build/libtegula.so] [--megabytes N] [--rounds N] [--kind KIND] [--write FILE] [--json FILE]

 layers  a network as dumps have it: metadata, tiled layouts, fusions, reductions, one long entry computation
 dense   one computation of short lines and nothing else: the most to do for a byte
 old     as `layers`, in the form of 2019 to 2025: operands with their shapes

MB/s counts bytes of the text. The two take turns, round by round; a ratio is taken inside a round, and the median
over rounds is what counts. What is kept is told in bytes of memory for a byte of text. Without jaxlib the peer is
left out; it wants some gigabytes for a text of 100 MB.
"""

import argparse
import ctypes as C
import json
import os
import re
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("layers", "dense", "old")

ADD = """%add.N (x.N: f32[], y.N: f32[]) -> f32[] {
  %x.N = f32[] parameter(0)
  %y.N = f32[] parameter(1)
  ROOT %sum.N = f32[] add(%x.N, %y.N), metadata={op_name="jit(step)/jvp(layer_N)/reduce_sum"}
}

%fused_computation.N (param_0.N: f32[256,512], param_1.N: f32[512]) -> f32[256,512] {
  %param_0.N = f32[256,512]{1,0:T(8,128)} parameter(0)
  %param_1.N = f32[512]{0:T(512)} parameter(1)
  %broadcast.N = f32[256,512]{1,0:T(8,128)} broadcast(%param_1.N), dimensions={1}, \
metadata={op_name="jit(step)/jvp(layer_N)/mlp/bias/broadcast" source_file="model/layers.py" source_line=118}
  %multiply.N = f32[256,512]{1,0:T(8,128)} multiply(%param_0.N, %broadcast.N), \
metadata={op_name="jit(step)/jvp(layer_N)/mlp/bias/mul" source_file="model/layers.py" source_line=119}
  ROOT %tanh.N = f32[256,512]{1,0:T(8,128)} tanh(%multiply.N), \
metadata={op_name="jit(step)/jvp(layer_N)/mlp/tanh" source_file="model/layers.py" source_line=120}
}

"""

ENTRY = """  %w.N = f32[512,512]{1,0:T(8,128)} get-tuple-element(%weights), index=0
  %b.N = f32[512]{0:T(512)} get-tuple-element(%weights), index=1, metadata={op_name="args[0]['bias']"}
  %dot.N = f32[256,512]{1,0:T(8,128)} dot(%fusion.P, %w.N), lhs_contracting_dims={1}, rhs_contracting_dims={0}, \
metadata={op_name="jit(step)/jvp(layer_N)/mlp/dot_general" source_file="model/layers.py" source_line=117}, \
backend_config={"window_config":{"kernel_window_bounds":["16","4"],"output_window_bounds":["32","1"]},"x":"}{"}
  %fusion.N = f32[256,512]{1,0:T(8,128)} fusion(%dot.N, %b.N), kind=kLoop, calls=%fused_computation.N, \
metadata={op_name="jit(step)/jvp(layer_N)/mlp/tanh" source_file="model/layers.py" source_line=120}
  %transpose.N = f32[512,256]{1,0:T(8,128)} transpose(%fusion.N), dimensions={1,0}
  %copy.N = f32[512,256]{0,1:T(8,128)} copy(%transpose.N)
  %zero.N = f32[] constant(0)
  %reduce.N = f32[512]{0:T(512)} reduce(%copy.N, %zero.N), dimensions={1}, to_apply=%add.N, \
metadata={op_name="jit(step)/jvp(layer_N)/reduce_sum" source_file="model/layers.py" source_line=121}
  %slice.N = f32[128]{0:T(512)} slice(%reduce.N), slice={[0:512:4]}
  %tuple.N = (f32[128]{0:T(512)}, f32[512]{0:T(512)}, f32[256,512]{1,0:T(8,128)}) tuple(%slice.N, %reduce.N, %fusion.N)
"""

HEAD = ("HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[256,512]{1,0:T(8,128)}, "
        "(f32[512,512]{1,0:T(8,128)}, f32[512]{0:T(512)}))->f32[256,512]{1,0:T(8,128)}}\n\n")

MAIN = """ENTRY %main (p: f32[256,512], w: (f32[512,512], f32[512])) -> f32[256,512] {
  %fusion.x = f32[256,512]{1,0:T(8,128)} parameter(0)
  %weights = (f32[512,512]{1,0:T(8,128)}, f32[512]{0:T(512)}) parameter(1)
"""


def with_operand_shapes(text):
    """The form of older dumps: each operand in front of a shape of its own."""
    shapes = dict(re.findall(r"(%[\w.]+) = (\S+\[\S*) ", text + MAIN)) | {"%fusion.P": "f32[256,512]{1,0:T(8,128)}"}
    shapes["%weights"] = "(f32[512,512]{1,0:T(8,128)}, f32[512]{0:T(512)})"
    return re.sub(r"(?<=[(,]) ?(%[\w.]+)(?=[,)])", lambda m: f"{shapes.get(m[1], '')} {m[1]}", text)


def layers(nbytes, old):
    add, entry = (with_operand_shapes(ADD), with_operand_shapes(ENTRY)) if old else (ADD, ENTRY)
    count = max(1, nbytes // (len(add) + len(entry) + 2 * 60))
    parts = [HEAD]
    parts += (add.replace("N", str(i)) for i in range(count))
    parts.append(MAIN)
    parts += (entry.replace("N", str(i)).replace("fusion.P", f"fusion.{i - 1 if i else 'x'}") for i in range(count))
    parts.append(f"  ROOT %out = f32[256,512]{{1,0:T(8,128)}} negate(%fusion.{count - 1})\n}}\n")
    return "".join(parts).encode()


def dense(nbytes):
    count = max(1, nbytes // 47)
    lines = (f"  %v.{i} = f32[8,128]{{1,0}} add(%v.{i - 1}, %v.{i // 2})\n" for i in range(1, count))
    body = "".join(lines)
    return ("HloModule dense\n\nENTRY %main (p: f32[8,128]) -> f32[8,128] {\n"
            f"  %v.0 = f32[8,128]{{1,0}} parameter(0)\n{body}"
            f"  ROOT %out = f32[8,128]{{1,0}} negate(%v.{count - 1})\n}}\n").encode()


def make_text(kind, nbytes):
    return dense(nbytes) if kind == "dense" else layers(nbytes, kind == "old")


# ---- the two readers --------------------------------------------------------------------------------


class Text(C.Structure):
    _fields_ = [("chars", C.c_void_p), ("len", C.c_size_t)]


class Header(C.Structure):
    _fields_ = [("present", C.c_bool), ("name", Text), ("stack_frames", Text), ("first_attribute", C.c_int64),
                ("nattributes", C.c_int64), ("ncomputations", C.c_int64), ("ninstructions", C.c_int64),
                ("nshapes", C.c_int64), ("entry", C.c_int64), ("kept_bytes", C.c_size_t)]


class Tegula:
    def __init__(self, path):
        self.lib = C.CDLL(str(path))
        self.lib.tg_hlo_parse.argtypes = [C.POINTER(C.c_void_p), C.c_char_p, C.c_size_t, C.c_void_p]
        self.lib.tg_hlo_get_header.restype = Header
        self.lib.tg_hlo_get_header.argtypes = [C.c_void_p]
        self.header = None

    def __call__(self, text):
        module = C.c_void_p()
        start = time.perf_counter()
        status = self.lib.tg_hlo_parse(C.byref(module), text, len(text), None)
        seconds = time.perf_counter() - start
        if status:
            sys.exit(f"bench_hlo: tg_hlo_parse fails with status {status}")
        self.header = self.lib.tg_hlo_get_header(module)
        self.lib.tg_hlo_destroy(C.byref(module))
        return seconds


def jaxlib_reader():
    try:
        import jaxlib
        from jaxlib import _hlo
    except ImportError:
        return None, None

    def read(text):
        as_str = text.decode()
        start = time.perf_counter()
        module = _hlo.hlo_module_from_text(as_str)
        seconds = time.perf_counter() - start
        del module
        return seconds
    return read, jaxlib.__version__


# ---- measuring ---------------------------------------------------------------------------------------


def measure(kind, text, tegula, peer, rounds):
    ours, theirs = [], []
    tegula(text)
    for _ in range(rounds):
        ours.append(min(tegula(text) for _ in range(3)))
        if peer:
            theirs.append(peer(text))
    header = tegula.header
    row = {"kind": kind, "bytes": len(text), "instructions": header.ninstructions, "shapes": header.nshapes,
           "kept": header.kept_bytes / len(text), "seconds": statistics.median(ours), "best": min(ours)}
    row["mb_per_s"] = len(text) / row["seconds"] / 1e6
    if peer:
        row["jaxlib_seconds"] = statistics.median(theirs)
        row["x_jaxlib"] = statistics.median(b / a for a, b in zip(ours, theirs))
    return row


def report(row):
    peer = f"{row['bytes'] / row['jaxlib_seconds'] / 1e6:9.2f} {row['x_jaxlib']:9.0f}" if "x_jaxlib" in row else ""
    print(f"{row['kind']:8s} {row['bytes'] / 1e6:8.1f} {row['instructions']:10d} {row['mb_per_s']:8.0f} "
          f"{row['kept']:6.2f} {peer}", flush=True)


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines() if os.path.exists("/proc/cpuinfo") else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def main():
    parser = argparse.ArgumentParser(description="How fast HLO text is read, against jaxlib.")
    parser.add_argument("--lib", type=Path, default=ROOT / "build/libtegula.so")
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all")
    parser.add_argument("--no-peer", action="store_true", help="leave jaxlib out")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the text of the one kind, measure nothing")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    kinds = options.kind or KINDS
    if options.write:
        options.write.write_bytes(make_text(kinds[0], int(options.megabytes * 1e6)))
        return
    peer, version = (None, None) if options.no_peer else jaxlib_reader()
    print(f"cpu: {processor()}\njaxlib: {version or 'none'}\n")
    print(f"{'text':8s} {'MB':>8s} {'instrs':>10s} {'MB/s':>8s} {'kept':>6s} {'jax MB/s':>9s} {'x jaxlib':>9s}")
    rows = []
    for kind in kinds:
        rows.append(measure(kind, make_text(kind, int(options.megabytes * 1e6)), Tegula(options.lib), peer,
                            options.rounds))
        report(rows[-1])
    if options.json:
        options.json.write_text(json.dumps({"schema": "tegula.bench-hlo/1", "cpu": processor(), "jaxlib": version,
                                            "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
