"""TEGULA_LOGS=graph,layouts,restickify: what torch.compile does, on stderr, in the manner of TORCH_LOGS.

Words: graph (the planner's nodes), layouts (of every tensor), restickify (copies, with the line that caused each, and
what is not planned or runs on the CPU), all.
"""
import os
import sys

WORDS = ("graph", "layouts", "restickify")


def _chosen(text):
    words = {word.strip() for word in text.split(",") if word.strip()}
    unknown = words - {*WORDS, "all"}
    if unknown:
        raise ValueError(f"TEGULA_LOGS: {', '.join(sorted(unknown))}: there are {', '.join(WORDS)}, and all")
    return set(WORDS) if "all" in words else words


def planned(compiled, program, again):
    """A graph has a new program."""
    words = _chosen(os.environ.get("TEGULA_LOGS", ""))
    if words:
        from tegula.torch import compile_report
        print(compile_report.GraphReport(compiled.kind, program, True, again).text(words), file=sys.stderr)
