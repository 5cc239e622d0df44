"""`bowline bench` for a moment: it measures, writes both files of its report, and says what spoils the figures.

Usage: bench_test.py BOWLINE LIMIT
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

BOWLINE = LIMIT = ""


def bench(*args, **more):
    return subprocess.run([BOWLINE, "bench", "--limit", LIMIT, *args], capture_output=True, text=True, timeout=170,
                          stdin=subprocess.DEVNULL, check=False, **more)


class BenchTest(unittest.TestCase):
    def test_what_it_refuses(self):
        done = subprocess.run([BOWLINE, "bench", "--limit", "/nowhere/limit"], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nowhere/limit", done.stderr)
        self.assertEqual(bench("--cpus", "0,0").returncode, 2)
        self.assertEqual(bench("--pairs", "0").returncode, 2)

    def test_a_report_of_one_pair(self):
        with tempfile.TemporaryDirectory() as folder:
            scratch = os.path.join(folder, "scratch")
            os.mkdir(scratch)
            output = os.path.join(folder, "report")
            done = bench("--quick", "--pairs", "1", "--time", "250ms", "--output", output,
                         env=dict(os.environ, TMPDIR=scratch))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(os.listdir(scratch), [], "it leaves nothing behind")
            with open(os.path.join(output, "report.json"), encoding="utf-8") as file:
                report = json.load(file)
            with open(os.path.join(output, "index.html"), encoding="utf-8") as file:
                page = file.read()
        self.check(report, done.stdout)
        self.assertIn("</html>", page)
        for result in report["results"]:
            self.assertIn(result["name"], page)
            self.assertIn(result["name"], done.stdout)

    def check(self, report, printed):
        self.assertTrue(report["machine"]["cpu"])
        self.assertTrue(report["build"]["compiler"])
        self.assertIn("pairs discarded", printed)
        self.assertIn("fewer than 5 valid pairs", " ".join(report["warnings"]))
        media = {result["medium"] for result in report["results"]}
        self.assertIn("memif", media)
        if os.geteuid() == 0 and (os.environ.get("CI") == "true" or os.environ.get("BOWLINE_REQUIRE_ALL") == "1"):
            self.assertIn("veth", media, report["warnings"])
        if "veth" not in media:
            self.assertIn("left out: veth", " ".join(report["warnings"]))
        self.assertEqual(glob.glob("/run/netns/bowline-bench-*"), [])
        for result in report["results"]:
            with self.subTest(result["name"]):
                # Of a busy machine the pairs are discarded, and then measured twice at most.
                self.assertIn(result["valid_pairs"] + result["discarded_pairs"], (1, 2))
                for pair in result["pairs"]:
                    self.check_pair(result, pair)

    def check_pair(self, result, pair):
        if result["medium"] == "memif":
            self.assertEqual(len(pair["core_distance_ns"]), 3)
            in_bounds = all(150 <= ns <= 600 for ns in pair["core_distance_ns"])
            self.assertEqual(pair["discarded"], not in_bounds)
        if result["kind"] == "one way":
            self.assertGreater(pair["engine"]["msgs_per_s"], 0)
            self.assertGreater(pair["raw"]["packets_per_s"], 0)
            self.assertEqual(pair["engine"]["size"], result["size"])
        else:
            self.assertGreater(pair["engine"]["rtt_ns"]["p50"], 0)
            self.assertGreater(pair["raw"]["rtt_ns"]["p50"], 0)
        self.assertEqual(pair["raw"]["size"], result["raw_frame_bytes"])


if __name__ == "__main__":
    BOWLINE, LIMIT = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main()
