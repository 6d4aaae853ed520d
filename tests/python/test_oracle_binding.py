"""The structs of tegula_c.py are the structs of the header: compared by a compiler, not by reading."""
import ctypes
import os
import shutil
import subprocess

import pytest

import tegula_c as t

COMPILER = os.environ.get("CC", "gcc").split()


def c_program():
    lines = ["#include <stdio.h>", "#include <tegula/tegula.h>", "int main(void) {"]
    for name, struct in t.STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, _ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
    for name in ("TG_MAX_NDIM", "TG_MAX_AXES", "TG_MAX_MODES", "TG_SPYRE_MAX_RANK", "TG_XLA_MAX_TILES",
                 "TG_XLA_MAX_TILE_DIMS", "TG_XLA_MAX_SPLITS", "TG_XLA_MAX_SPLIT_INDICES", "TG_ERR_IO",
                 "TG_NOTATION_CUTE", "TG_DIFFERENT_SPAN", "TG_SLOT_OUTSIDE", "TG_QFP8WT"):
        lines.append(f'printf("{name} %d\\n", (int){name});')
    return "\n".join(lines + ["return 0; }"])


def expected():
    for name, struct in t.STRUCTS.items():
        yield f"{name} {ctypes.sizeof(struct)}"
        for field, _ in struct._fields_:
            yield f"{name}.{field} {getattr(struct, field).offset}"
    yield from (f"{name} {value}" for name, value in (
        ("TG_MAX_NDIM", t.MAX_NDIM), ("TG_MAX_AXES", t.MAX_AXES), ("TG_MAX_MODES", t.MAX_MODES),
        ("TG_SPYRE_MAX_RANK", t.SPYRE_MAX_RANK), ("TG_XLA_MAX_TILES", t.XLA_MAX_TILES),
        ("TG_XLA_MAX_TILE_DIMS", t.XLA_MAX_TILE_DIMS), ("TG_XLA_MAX_SPLITS", t.XLA_MAX_SPLITS),
        ("TG_XLA_MAX_SPLIT_INDICES", t.XLA_MAX_SPLIT_INDICES), ("TG_ERR_IO", t.ERR_IO),
        ("TG_NOTATION_CUTE", t.NOTATIONS.index("cute")), ("TG_DIFFERENT_SPAN", t.DIFFERENT_SPAN),
        ("TG_SLOT_OUTSIDE", t.OUTSIDE), ("TG_QFP8WT", t.ARRANGEMENTS.index("QFP8WT"))))


@pytest.mark.skipif(shutil.which(COMPILER[0]) is None, reason="no C compiler")
def test_structs_match_the_header(tmp_path):
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text(c_program())
    subprocess.run([*COMPILER, "-std=c11", f"-I{t.ROOT / 'include'}", str(source), "-o", str(program)], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    assert printed.splitlines() == list(expected())


def test_names_of_states():
    assert [t.lib.tg_status_name(k).decode() for k in range(len(t.STATUS))] == t.STATUS
    assert t.lib.tg_status_name(999)
    assert [t.lib.tg_arrangement_name(k).decode() for k in range(len(t.ARRANGEMENTS))] == t.ARRANGEMENTS
    assert t.lib.tg_arrangement_name(6) is None
