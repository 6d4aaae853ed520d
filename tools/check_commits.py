#!/usr/bin/env python3
"""Check the messages of the commits that HEAD is made of.

    tools/check_commits.py [--root DIR]

`area: imperative summary`, at most 72 characters, no full stop, the second line blank. Areas are names
of folders that the history knows, at any depth (`layout`, `src/layout`, `unit`, `ci` for .ci), or
`build` for the build files of the root; several are joined with commas. Whether a summary is imperative
cannot be decided by a script; the usual slips (`adds`, `fixed`, `changing`) can be named. Merges and
git's own `Revert "..."` are left alone. Without git or without history there is nothing to check.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

WIDTH = 72
SUBJECT = re.compile(r"^([a-z0-9_./-]+(?:, ?[a-z0-9_./-]+)*): (\S.*)$")
VERBS = ("add", "allow", "build", "change", "check", "clean", "convert", "correct", "document", "drop", "extend", "fix",
         "handle", "implement", "improve", "introduce", "make", "merge", "move", "refactor", "remove", "rename",
         "replace", "rewrite", "simplify", "split", "support", "test", "update", "use", "write")
IRREGULAR = {"building", "built", "made", "making", "splitting", "wrote", "written", "writing", "dropped", "dropping",
             "simplifies", "simplified", "rewrote", "rewritten"}


def slips():
    """The common verbs in forms that a summary should not start with."""
    forms = set(IRREGULAR)
    for verb in VERBS:
        stem = verb[:-1] if verb.endswith("e") else verb
        forms |= {verb + "s", verb + "es", stem + "ed", stem + "ing"}
    return forms - {"tests", "checks", "builds", "splits", "merges", "moves", "uses", "changes", "documents"}


SLIPS = slips()


def git(root, *words):
    run = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(root), *words],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", check=False)
    return run.stdout if run.returncode == 0 else None


def known_areas(root):
    areas = {"build"}
    for path in set((git(root, "log", "--format=", "--name-only", "HEAD") or "").splitlines()):
        folders = path.split("/")[:-1]
        areas.update(folder.lstrip(".") for folder in folders)
        areas.update("/".join(folders[:n]).lstrip(".") for n in range(1, len(folders) + 1))
    return areas


def message_problems(message, areas):
    lines = message.rstrip("\n").split("\n")
    subject = lines[0]
    if subject.startswith('Revert "'):
        return []
    problems = []
    if len(subject) > WIDTH:
        problems.append(f"the subject has {len(subject)} characters, {WIDTH} is the limit")
    if subject.endswith("."):
        problems.append("the subject ends with a full stop")
    if len(lines) > 1 and lines[1].strip():
        problems.append("the second line is not blank")
    match = SUBJECT.match(subject)
    if match is None:
        return problems + ["the subject is not `area: summary`"]
    problems += [f"`{area}` is no folder" for area in re.split(", ?", match.group(1)) if area not in areas]
    if match.group(2).split()[0].lower() in SLIPS:
        problems.append(f"`{match.group(2).split()[0]}` is not imperative")
    return problems


def main():
    parser = argparse.ArgumentParser(description="Check the messages of the commits that HEAD is made of.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    try:
        log = git(root, "log", "--no-merges", "--format=%h%x00%B%x01", "HEAD")
    except FileNotFoundError:
        log = None
    if log is None:
        print("no git history here, nothing to check")
        return
    areas, problems = known_areas(root), []
    for entry in filter(None, (entry.strip("\n") for entry in log.split("\x01"))):
        commit, message = entry.split("\0", 1)
        problems += [f"{commit} {message.splitlines()[0]}: {text}" for text in message_problems(message, areas)]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
