#!/usr/bin/env python3
"""Checks what the documents refer to: relative links lead to files and headings that exist, every `./run TASK` is a task
of ./run, every `Suite.Test` is a test that exists, and the README's program is examples/hello.cpp to the letter. Run in the
project's folder."""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
TASK = re.compile(r"\./run +([a-z][a-z-]*)")
TEST_NAME = re.compile(r"`([A-Z]\w+\.[A-Z]\w+)`")
TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\((\w+),\s*(\w+)", re.MULTILINE)
EXAMPLE = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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


def tests():
    """Names of all GoogleTest cases, as Suite.Test."""
    return {".".join(match.groups()) for path in pathlib.Path("tests").rglob("*.cpp")
            for match in TEST.finditer(path.read_text())}


def example_faults():
    """The README shows the program that is built, so that what readers copy compiles."""
    source = pathlib.Path("examples/hello.cpp")
    readme = pathlib.Path("README.md")
    if not readme.exists():
        yield "README.md does not exist"
    elif EXAMPLE.findall(readme.read_text()) != [source.read_text()]:
        yield f"README.md: its one block of C++ is not {source} as it is: copy it"


def faults(path, known_tasks, known_tests):
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
    for test in TEST_NAME.findall(text):
        if test not in known_tests:
            yield f"{path}: there is no test {test}"


def main():
    known_tasks = tasks()
    known_tests = tests()
    found = [fault for path in documents() for fault in faults(path, known_tasks, known_tests)]
    found += example_faults()
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
