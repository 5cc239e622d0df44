"""What the command says of wrong usage and configuration, and how it exits: 0 done, 1 failed, 2 usage or configuration.

No case here starts an engine: each is refused before. Usage: command_test.py BOWLINE
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BOWLINE = ""
NODE = ["--name", "a", "--device", "null", "--address", "10.0.0.1/24", "--peer", "b=10.0.0.2"]


def bowline(*args):
    return subprocess.run([BOWLINE, *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


class CommandTest(unittest.TestCase):
    def refused(self, subcommand, *args, says):
        done = bowline(subcommand, *args)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertTrue(done.stderr.startswith(f"bowline {subcommand}: "), done.stderr)
        self.assertIn(says, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_help_is_everywhere_and_no_failure(self):
        for command in ([], ["cat"], ["echo"], ["ping"], ["sink"], ["flood"], ["node"], ["devices"], ["keys"], ["version"]):
            done = bowline(*command, "--help")
            self.assertEqual(done.returncode, 0, command)
            self.assertIn("Usage", done.stdout, command)
            self.assertEqual(done.stderr, "", command)

    def test_version(self):
        for word in ("version", "--version"):
            done = bowline(word)
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stdout, r"^bowline \d+\.\d+\.\d+\n$")

    def test_unknown_and_missing_subcommands(self):
        for args in ([], ["tie"]):
            done = bowline(*args)
            self.assertEqual(done.returncode, 2)
            self.assertTrue(done.stderr.startswith("bowline: "), done.stderr)
            self.assertIn("--help", done.stderr)

    def test_unknown_options(self):
        self.refused("echo", *NODE, "--jsn", says="--jsn")
        self.refused("ping", *NODE, says="PEER")

    def test_values_of_options(self):
        self.refused("ping", *NODE, "b", "--time", "5", says="--time: must be a duration such as '500us', '10ms' or '5s', not '5'")
        self.refused("ping", *NODE, "b", "--size", "big", says="--size: must be a size")
        self.refused("ping", *NODE, "b", "--size", "8", says="--size 8: must be at least 16")
        self.refused("ping", *NODE, "b", "--rate", "0", says="--rate: must be a rate above 0")
        self.refused("ping", *NODE, "b", "--count", "0", says="--count")
        self.refused("ping", *NODE, "b", "--count", "5", "--time", "1s", says="excludes")
        self.refused("flood", *NODE, "b", "--size", "7", says="--size 7: must be at least 8")
        self.refused("echo", *NODE, "--cpu", "4096", says="--cpu 4096: this process may use the CPUs ")
        self.refused("cat", *NODE, "--to", "b", "--lines", "--size", "4", says="excludes")

    def test_directions_of_cat(self):
        self.refused("cat", *NODE, says="--to")
        self.refused("cat", *NODE, "--to", "b", "--from", "b", says="")

    def test_messages_larger_than_message_max(self):
        self.refused("ping", *NODE, "b", "--size", "1KiB", "-o", "message_max=1000", says="--size 1024: must be at most 1000")
        self.refused("flood", *NODE, "b", "--size", "1KiB", "-o", "message_max=1000", says="--size 1024: must be at most 1000")
        self.refused("cat", *NODE, "--to", "b", "--size", "1000", "-o", "message_max=1000", says="--size 1000: must be at most 999")

    def test_configuration_keys(self):
        self.refused("node", "--name", "a", says="key 'device' is missing")
        self.refused("node", *NODE, "-o", "windw=64", says="-o: key 'windw': unknown key; did you mean 'window'?")
        self.refused("node", *NODE, "-o", "window=63", says="key 'window': must be a power of two, 2 to 16384, not '63'")
        self.refused("node", *NODE, "--peer", "b=10.0.0.3", says="peer 'b' is configured twice")
        self.refused("node", *NODE, "--peer", "c=10.1.0.3", says="outside this node's network")
        self.refused("node", *NODE[:4], "--address", "10.0.0.300/24", says="--address: key 'address': must be an address")

    def test_unknown_peers(self):
        for subcommand, args in (("ping", ["c"]), ("flood", ["c"]), ("cat", ["--to", "c"]), ("cat", ["--from", "c"])):
            self.refused(subcommand, *NODE, *args, says="peer 'c' is not configured; configured are: b")

    def test_configuration_files(self):
        self.refused("node", "--config", "/nonexistent.toml", says="/nonexistent.toml: cannot read the configuration: ")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.write('name = "a"\nwindw = 64\n')
            self.refused("node", "--config", path, says=f"{path}:2:1: key 'windw': unknown key; did you mean 'window'?")
            with open(path, "w", encoding="utf-8") as file:
                file.write('name = "a\n')
            self.refused("node", "--config", path, says=f"{path}:1:")

    def test_scenarios(self):
        self.refused_scenario("nodes A B\nat 0us sned A B 1\n", says=":2: unknown action 'sned'; did you mean 'send'?")
        self.refused("sim", says="nothing to run: name scenario files, or give --seeds FIRST..LAST")
        self.refused("sim", "--exhaustive", "--budget", "much", says="--budget: 'much' is no part of a budget")
        good = "nodes A B\nat 0us send A B 3\nrun quiet\nexpect delivered B from A = 1..3\n"
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, text in enumerate((good, good + "expect conn A to B = 2\n", good)):
                paths.append(os.path.join(folder, f"{i}.scn"))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    file.write(text)
            done = bowline("sim", paths[0])
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{paths[0]}: ok\n", ""))
            done = bowline("sim", *paths)
            self.assertEqual(done.returncode, 1)
            lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
            self.assertEqual(lines, [f"{paths[0]}: ok", f"{paths[1]}:5: expected conn A to B = 2, seen 1", f"{paths[2]}: ok"])
            self.assertIn("A->B DATA", done.stdout)
            done = bowline("sim", paths[0], "--trace")
            self.assertEqual(done.returncode, 0)
            self.assertIn("script: at 0us send A B 3", done.stdout)
            self.assertTrue(done.stdout.endswith(f"{paths[0]}: ok\n"))

    def refused_scenario(self, text, says):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.scn")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = bowline("sim", path)
            self.assertEqual(done.returncode, 2)
            self.assertIn(path + says, done.stdout)
            self.assertIn(path + says, done.stderr)

    def test_devices_are_listed(self):
        done = bowline("devices", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = {entry["device"].split(":")[0] for entry in json.loads(done.stdout)}
        self.assertLessEqual({"memif", "null"}, listed)
        for entry in json.loads(done.stdout):
            self.assertIn(entry["offloads"], ("none", "checksums", "probed"), entry)
            self.assertLessEqual({"driver", "link", "numa_node"}, entry.keys())
        table = bowline("devices")
        self.assertTrue(table.stdout.startswith("DEVICE "), table.stdout)

    def test_keys_are_listed(self):
        done = bowline("keys")
        self.assertEqual(done.returncode, 0)
        self.assertIn("window = 1024\n", done.stdout)


if __name__ == "__main__":
    BOWLINE = sys.argv.pop(1)
    unittest.main()
