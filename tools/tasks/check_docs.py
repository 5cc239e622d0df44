#!/usr/bin/env python3
"""Checks what the documents refer to: relative links lead to files and headings that exist, and every `./run TASK` is a
task of ./run. Run in the project's folder."""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
TASK = re.compile(r"\./run +([a-z][a-z-]*)")
HEADING = re.compile(r"^#+ +(.*?)#*$", re.MULTILINE)
FENCE = re.compile(r"^(```+|~~~+).*?^\1", re.MULTILINE | re.DOTALL)
SKIPPED_FOLDERS = re.compile(r"^(build(-.*)?|\.git|bench-report)$")


def documents():
    for path in sorted(pathlib.Path(".").rglob("*.md")):
        if not SKIPPED_FOLDERS.match(path.parts[0]):
            yield path


def anchors(text):
    """The names that a Markdown page gives its headings."""
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
            for heading in HEADING.findall(FENCE.sub("", text))}


def tasks():
    page = subprocess.run(["./run", "help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^  ([a-z]+)  ", page, re.MULTILINE))


def faults(path, known_tasks):
    text = path.read_text()
    for match in LINK.finditer(FENCE.sub("", text)):
        link = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file) if file else path
        if not target.exists():
            yield f"{path}: link to {link}, which does not exist"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
            yield f"{path}: link to {link}, which has no such heading"
    for task in TASK.findall(text):
        if task not in known_tasks:
            yield f"{path}: ./run {task} is no task (see ./run help)"


def main():
    known_tasks = tasks()
    found = [fault for path in documents() for fault in faults(path, known_tasks)]
    if not pathlib.Path("README.md").exists():
        found.append("README.md does not exist")
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
