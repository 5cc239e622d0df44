#!/usr/bin/env python3
"""Adds up the stages of `./run test`: GoogleTest cases one by one, every other program or script as one.

A stage is a folder with meson's log of its tests (meson.json, a JSON object a line) and the reports that GoogleTest
programs left beside it. A program that fails without a failed case in its report (a crash, a sanitizer, a leak) counts
as one failure."""

import argparse
import collections
import json
import pathlib
import re
import sys

Summary = collections.namedtuple("Summary", "passed failed left_out")  # a count and two lists of texts


def gtest_cases(reports, program):
    """(passed, names of failed, names of skipped) of all reports that `program` left; None when it left none."""
    passed, failed, skipped = 0, [], []
    files = [f for f in reports.glob("*.json") if re.fullmatch(re.escape(program) + r"(_\d+)?\.json", f.name)]
    for file in files:
        try:
            report = json.loads(file.read_text())
        except ValueError:
            continue  # it died while writing: its exit status says so
        for suite in report["testsuites"]:
            for case in suite["testsuite"]:
                name = f"{suite['name']}.{case['name']}"
                if "failures" in case:
                    failed.append(name)
                elif case["result"] == "SKIPPED":
                    skipped.append(name)
                elif case["status"] == "RUN":
                    passed += 1
    return (passed, failed, skipped) if files else None


def reason(test):
    found = re.search(r"^left out: (.*)$", test.get("stdout") or "", re.MULTILINE)
    return found.group(1) if found else "it asked to be skipped"


def stage_summary(name, reports):
    log = reports / "meson.json"
    tests = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if not tests:
        return Summary(0, [f"{name}: no test ran (did it build?)"], [])
    passed, failed, left_out = 0, [], []
    programs_seen = set()
    for test in tests:
        program = pathlib.PurePath(test["command"][-1 if test["command"][0].endswith("setarch") else 0]).name
        cases = None if program in programs_seen else gtest_cases(reports, program)
        programs_seen.add(program)
        ok = test["result"] in ("OK", "EXPECTEDFAIL")
        if test["result"] == "SKIP":
            left_out.append(f"{name}: {test['name']}: {reason(test)}")
            continue
        if cases:
            passed += cases[0]
            failed += [f"{name}: {case}" for case in cases[1]]
            left_out += [f"{name}: {case}: skipped itself" for case in cases[2]]
        elif ok:
            passed += 1
        if not ok and not (cases and cases[1]):
            failed.append(f"{name}: {test['name']} ({test['result'].lower()}, status {test['returncode']})")
    return Summary(passed, failed, left_out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--require-all", action="store_true")
    parser.add_argument("--left-out", action="append", default=[])
    parser.add_argument("stages", nargs="*", metavar="NAME=FOLDER")
    options = parser.parse_intermixed_args()

    passed, failed, left_out = 0, [], list(options.left_out)
    for stage in options.stages:
        name, folder = stage.split("=", 1)
        summary = stage_summary(name, pathlib.Path(folder))
        print(f"{name}: {summary.passed} passed, {len(summary.failed)} failed, {len(summary.left_out)} left out")
        passed += summary.passed
        failed += summary.failed
        left_out += summary.left_out
    for text in left_out:
        print(f"left out: {text}")
    if options.require_all:
        failed += [f"left out, and nothing may be: {text}" for text in left_out]
    for text in failed:
        print(f"FAILED: {text}")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
