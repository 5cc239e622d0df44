#!/usr/bin/env python3
"""Bowline against the raw limit of the same device, alternating: A B A B ..., ratios within each pair.

    bench/compare.py [--pairs 5] [--seconds 2] [--build build] [--json]

Both run over memif between two processes pinned to CPUs 0 and 1, with the same device options: `limit ping/pong` sends
frames of the size that `bowline ping --size 64` makes, `limit flood/sink` one such frame a message. Needs two CPUs and
nothing else running on them. Prints medians, and the ratio's median, minimum and maximum over the pairs.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

# Ethernet 14, IPv4 20, UDP 8, Bowline header 36, one message frame 2 + 64.
FRAME_BYTES = 144


def run_pair(server, client, seconds):
    """Starts `server`, runs `client` to its end, stops the server; returns the client's JSON."""
    with tempfile.TemporaryDirectory(prefix="bowline-bench.") as folder:
        socket = os.path.join(folder, "memif.sock")
        fill = lambda command: [word.replace("@SOCKET@", socket) for word in command]
        environment = dict(os.environ, XDG_RUNTIME_DIR=folder)
        with open(os.path.join(folder, "server.log"), "w+") as log:
            background = subprocess.Popen(fill(server), stdout=log, stderr=log, env=environment)
            try:
                done = subprocess.run(fill(client), capture_output=True, text=True, env=environment,
                                      timeout=seconds * 5 + 30, check=False)
            finally:
                background.terminate()
                background.wait(timeout=20)
            if done.returncode != 0:
                log.seek(0)
                sys.exit(f"{' '.join(client)} ended with {done.returncode}:\n{done.stderr}{log.read()}")
            return json.loads(done.stdout.strip().splitlines()[-1])


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--pairs", type=int, default=5)
    arguments.add_argument("--seconds", type=int, default=2)
    arguments.add_argument("--build", default=os.path.join(os.path.dirname(__file__), "..", "build"))
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    if os.cpu_count() < 2:
        sys.exit("compare.py: two CPUs are needed: each end spins on one of its own")
    bowline = os.path.join(options.build, "tools", "bowline")
    limit = os.path.join(options.build, "bench", "limit", "limit")
    for program in (bowline, limit):
        if shutil.which(program) is None:
            sys.exit(f"compare.py: {program} is missing: run ./run build, or name another folder with --build")

    device = ["--device", "memif:@SOCKET@"]
    time = ["--time", f"{options.seconds}s"]
    a = device + ["--cpu", "0"]
    b = device + ["--cpu", "1"]
    node_a = a + ["--name", "a", "--address", "10.77.0.1/24", "--peer", "b=10.77.0.2"]
    node_b = b + ["--name", "b", "--address", "10.77.0.2/24", "--peer", "a=10.77.0.1"]
    long = ["--time", f"{options.seconds + 20}s"]
    raw_size = ["--size", str(FRAME_BYTES)]
    results = []
    for number in range(options.pairs):
        raw_ping = run_pair([limit, "pong"] + b + long, [limit, "ping"] + a + raw_size + time, options.seconds)
        ping = run_pair([bowline, "echo"] + node_b, [bowline, "ping", "b"] + node_a + time + ["--json"],
                        options.seconds)
        raw_flood = run_pair([limit, "flood"] + a + raw_size + long, [limit, "sink"] + b + time, options.seconds)
        flood = run_pair([bowline, "sink"] + node_b, [bowline, "flood", "b"] + node_a + time + ["--json"],
                         options.seconds)
        results.append({
            "raw_p50_ns": raw_ping["rtt_ns"]["p50"], "p50_ns": ping["rtt_ns"]["p50"],
            "raw_p99_ns": raw_ping["rtt_ns"]["p99"], "p99_ns": ping["rtt_ns"]["p99"],
            "raw_packets_per_s": raw_flood["packets_per_s"], "msgs_per_s": flood["msgs_per_s"],
        })
        if not options.json:
            r = results[-1]
            print(f"pair {number + 1}: round trip p50 {r['p50_ns'] / 1000:.2f} us against {r['raw_p50_ns'] / 1000:.2f} "
                  f"raw ({r['p50_ns'] / r['raw_p50_ns']:.2f}); one way {r['msgs_per_s'] / 1e6:.1f} M msg/s against "
                  f"{r['raw_packets_per_s'] / 1e6:.1f} M raw packets/s ({r['msgs_per_s'] / r['raw_packets_per_s']:.2f})",
                  flush=True)
    ratios = {
        "p50": summary([r["p50_ns"] / r["raw_p50_ns"] for r in results]),
        "p99": summary([r["p99_ns"] / r["raw_p99_ns"] for r in results]),
        "rate": summary([r["msgs_per_s"] / r["raw_packets_per_s"] for r in results]),
    }
    if options.json:
        print(json.dumps({"pairs": results, "ratios": ratios}))
        return
    for name, text in (("p50", "round trip, p50, against raw"), ("p99", "round trip, p99, against raw"),
                       ("rate", "messages of 64 bytes against raw packets")):
        s = ratios[name]
        print(f"{text}: {s['median']:.2f} (from {s['min']:.2f} to {s['max']:.2f})")


if __name__ == "__main__":
    main()
