#!/usr/bin/env python3
"""Build the library the way somebody does who copied it: with a compiler and nothing else.

    tools/check_vendoring.py [--root DIR]

Four promises: one line of shell compiles all of src/ but the protos, without protobuf; two lines compile the
protos as well; base, layout and notation make a program with libc alone; and those three rooms call nothing of
libc but <string.h>, so no allocation and no stdio. The program asks where element (3,13,1000) of an XLA layout
lives, which needs all three.

Nothing is made faster where the whole library is compiled: whether it compiles and answers does not depend on that, and
the warnings that do are errors in the builds of `make check`. What the three rooms call depends on it, so they are.
The lines of shell differ in what they link, so their files are compiled once, with the words that both have.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PURE_ROOMS = ("base", "layout", "notation")
PROGRAM = r"""
#include <tegula/tegula.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    static const char text[] = "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}";
    static const int64_t coord[] = {3, 13, 1000};
    tg_desc desc;
    tg_error err;
    if (tg_desc_parse(&desc, text, strlen(text), &err) != TG_OK) return puts(err.message), 1;
    printf("%lld\n", (long long)tg_layout_offset(&desc.layout, coord));
    return 0;
}
"""
ANSWER = "433873"  # shared by the contract's example and tests/spec
STRING_H = {"memchr", "memcmp", "memcpy", "memmove", "memset", "strchr", "strcmp", "strcspn", "strlen", "strncmp",
            "strrchr", "strspn", "strstr"}
# What the compiler itself asks for, and brings in libgcc: division of 128-bit integers, for one.
COMPILER_OWN = re.compile(r"_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__\w+ti[234]")


def shell(root, command):
    return subprocess.run(command, shell=True, cwd=root, text=True, capture_output=True, check=False)


def sources(root, rooms):
    return [str(path) for room in rooms for path in sorted((root / "src" / room).glob("*.c"))]


def one_line(root, folder):
    """The line of the style guide; its objects lie in a folder of their own, where two_lines finds them."""
    (Path(folder) / "objects").mkdir()
    (Path(folder) / "objects/tree").symlink_to(root)
    run = shell(f"{folder}/objects",
                "cc -c -Wall -Werror $(find tree/src/ -name '*.c' ! -name 'proto_*') -Itree/include -Itree/src && "
                "cc -Wall -Werror *.o ../program.c -Itree/include -lpthreadpool -lm -o most && ./most")
    return run.returncode == 0 and run.stdout.strip() == ANSWER, run.stdout + run.stderr


def two_lines(root, folder):
    """Newer releases of protobuf-c have no program of their own but extend protoc."""
    run = shell(f"{folder}/objects",
                "$(command -v protoc-c || command -v protoc) --c_out=. --proto_path=tree/src/hlo "
                "tree/src/hlo/xla_data.proto && "
                "cc -c -Wall -Werror $(find tree/src/ -name 'proto_*.c') xla_data.pb-c.c -Itree/include -Itree/src "
                "-I. && cc -Wall -Werror *.o ../program.c -Itree/include -lpthreadpool -lprotobuf-c -lm -o whole && "
                "./whole")
    return run.returncode == 0 and run.stdout.strip() == ANSWER, run.stdout + run.stderr


def libc_only(root, folder):
    """The three rooms are one object, which the next promise is about as well."""
    files = " ".join(sources(root, PURE_ROOMS))
    run = shell(root, f"cc -O2 -Wall -Werror -r -nostdlib {files} -Iinclude -Isrc -o {folder}/rooms.o && "
                      f"cc -O2 -Wall -Werror {folder}/rooms.o {folder}/program.c -Iinclude -o {folder}/pure && "
                      f"{folder}/pure && readelf -d {folder}/pure")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run.stdout))
    fine = run.returncode == 0 and run.stdout.startswith(ANSWER + "\n") and needed == {"libc.so.6"}
    return fine, run.stdout + run.stderr


def string_h_only(root, folder):
    """Look at what the object still wants."""
    run = shell(root, f"nm -u {folder}/rooms.o")
    wanted = {line.split()[-1] for line in run.stdout.splitlines()}
    extra = sorted(name for name in wanted - STRING_H if not COMPILER_OWN.fullmatch(name))
    return run.returncode == 0 and not extra, run.stderr + "".join(f"wants {name}\n" for name in extra)


def main():
    parser = argparse.ArgumentParser(description="Build the library with a compiler and nothing else.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.c").write_text(PROGRAM)
        for name, check in (("one line compiles all but the protos", one_line),
                            ("two lines compile all", two_lines), ("libc alone is enough", libc_only),
                            ("only <string.h> is called", string_h_only)):
            fine, output = check(root, folder)
            print("ok" if fine else "FAILED", name)
            if not fine:
                print(output)
            failed = failed or not fine
    sys.exit(failed)


if __name__ == "__main__":
    main()
