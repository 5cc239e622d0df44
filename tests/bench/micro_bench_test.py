"""Every micro-benchmark runs, for a moment: each that is listed reports, and none has an error.

Usage: micro_bench_test.py MICRO_BENCH
"""

import json
import subprocess
import sys
import unittest

MICRO_BENCH = ""
# A mechanism whose benchmark is dropped from the build would otherwise not be missed.
MECHANISMS = ["ack_build", "deadlines_expire", "deadlines_move_away", "packing", "receive_stream", "receive_window",
              "sack_apply", "send_stream", "send_window_push_send_pass", "spsc_push_pop", "wire_decode_ack",
              "wire_decode_data", "wire_encode_header", "worker_flood", "worker_ping_pong"]


def micro_bench(*args):
    done = subprocess.run([MICRO_BENCH, *args], capture_output=True, text=True, timeout=280, check=False)
    if done.returncode != 0:
        raise AssertionError(f"micro-bench {args} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class MicroBenchTest(unittest.TestCase):
    def test_each_reports_and_none_has_an_error(self):
        listed = micro_bench("--benchmark_list_tests").split()
        out = micro_bench("--benchmark_min_time=0.001", "--benchmark_format=json")
        reports = json.loads(out)["benchmarks"]
        self.assertEqual([report["name"] for report in reports], listed)
        for report in reports:
            with self.subTest(report["name"]):
                self.assertFalse(report.get("error_occurred"), report.get("error_message"))
                self.assertGreater(report["iterations"], 0)
                self.assertGreater(report["real_time"], 0)
        there = {name.split("/")[0] for name in listed}
        self.assertEqual([mechanism for mechanism in MECHANISMS if mechanism not in there], [])


if __name__ == "__main__":
    MICRO_BENCH = sys.argv.pop(1)
    unittest.main()
