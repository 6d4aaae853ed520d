"""The files of a Bundle. Imported when one is written.

A directory appears whole or not at all: it is filled beside the place where it will stand, and renamed. What is
replaced is moved aside first, and deleted last. Only an empty directory, or one that holds nothing but the files of a
bundle, is ever replaced; so does `tegula plan --out`.
"""
import json
import os
import re
import shutil
import tempfile

FILE = re.compile(r"bundle\.json|report\.txt|dci_.*\.json|[0-9].*\.json")


def files(bundle):
    """Name and text of each."""
    for i, name in enumerate(bundle.kernels):
        yield f"{name}.json", one_line(bundle.sdsc(i))
    for i, transfer in enumerate(bundle.transfers):
        yield f"dci_{transfer.step}_{transfer.direction}.json", one_line(bundle.dci(i))
    yield "report.txt", bundle.plan.report()
    yield "bundle.json", one_line(bundle.manifest())


def one_line(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def refusal(directory, force):
    """Why a directory that is there is not replaced; None if it may be."""
    if os.path.samefile(directory, "."):
        return "it is the working directory, which cannot be made anew"
    names = os.listdir(directory)
    stranger = next((name for name in names if not FILE.fullmatch(name)), None)
    if names and not force:
        return "it is not empty; force=True replaces an earlier bundle"
    if stranger is not None:
        return f"it has {stranger!r}, which is no file of a bundle; nothing was replaced"
    if names and "bundle.json" not in names:
        return "it has no bundle.json, so it is no bundle; nothing was replaced"
    return None


def put_in_place(made, target, beside):
    """`made` becomes `target`, in whose place nothing or something that may go is."""
    old = os.path.join(beside, "old")
    if os.path.isdir(target):
        os.rename(target, old)
    try:
        os.rename(made, target)
    except OSError:
        if os.path.isdir(old):
            os.rename(old, target)
        raise


def write(bundle, directory, force):
    target = os.path.realpath(os.fsdecode(directory))
    if os.path.isdir(target):
        why = refusal(target, force)
        if why is not None:
            raise FileExistsError(f"{os.fsdecode(directory)}: {why}")
    beside = tempfile.mkdtemp(prefix=".tegula-", dir=os.path.dirname(target))
    try:
        made = os.path.join(beside, "new")
        os.mkdir(made)
        for name, text in files(bundle):
            with open(os.path.join(made, name), "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        put_in_place(made, target, beside)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
