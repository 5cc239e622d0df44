"""What tshark shows of Bowline's packets with wireshark/bowline.lua, in one pass over a capture and in two.

    dissector_test.py DISSECTOR [--write]     --write: what is seen becomes what is expected (expected.txt)
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import packets

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, "expected.txt")
SUMMARY = ("frame.number", "_ws.col.Protocol", "_ws.col.Info", "_ws.expert.message")
DISSECTOR = ""


def tshark(capture, *args):
    # Wireshark does not check UDP checksums unless asked.
    done = subprocess.run(["tshark", "-r", capture, "-X", "lua_script:" + DISSECTOR, "-o", "udp.check_checksum:TRUE",
                           *args], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0 or "Lua" in done.stderr:
        raise AssertionError(f"tshark {args} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def fields(capture, names, *args):
    wanted = [word for name in names for word in ("-e", name)]
    return tshark(capture, "-T", "fields", "-E", "separator=|", *wanted, *args)


class DissectorTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.capture = os.path.join(folder.name, "golden.pcap")
        with open(self.capture, "wb") as out:
            out.write(packets.golden_capture())

    def one(self, number, *names):
        return fields(self.capture, names, "-Y", f"frame.number=={number}").rstrip("\n").split("|")

    def test_summaries_and_findings(self):
        with open(EXPECTED, encoding="utf-8") as file:
            expected = file.read()
        self.maxDiff = None
        for passes in ((), ("-2",)):
            with self.subTest(passes=passes):
                self.assertEqual(fields(self.capture, SUMMARY, *passes), expected)

    def test_every_field_of_the_golden_header(self):
        names = ("slot", "tag", "conn_id", "seqno", "ack_conn_id", "cum_ack", "timestamp", "echo", "window", "flags",
                 "flags.ack", "flags.first", "flags.echo", "flags.boundary")
        # The values of golden_header() in tests/protocol/wire/header_test.cpp.
        self.assertEqual(self.one(1, *("bowline." + name for name in names)), [
            str(0x0201), "0x14131211", str(0x24232221), str(0x34333231), str(0x44434241), str(0x54535251),
            str(0x64636261), str(0x74737271), str(0x8281), "0x29", "1", "0", "1", "1"])

    def test_extensions_and_frames(self):
        self.assertEqual(self.one(5, "bowline.first.seqno", "bowline.first.message"),
                         [str(0x0807060504030201), str(0x1817161514131211)])
        self.assertEqual(self.one(6, "bowline.frame.kind", "bowline.frame.length", "bowline.frame.total"),
                         ["3,0,0,1", "5,0,7,2", "100"])
        self.assertEqual(self.one(8, "bowline.sack.word", "bowline.ack_delay"),
                         ["0x0123456789abcdef,0x8000000000000001", "3"])
        # The messages of the conversation: its FIRST says that message 41 begins at its first seqno.
        self.assertEqual(self.one(56, "bowline.frame.message"), ["41,42"])
        self.assertEqual(self.one(57, "bowline.frame.message"), ["43,44"])

    def test_a_greeting(self):
        self.assertEqual(self.one(2, "bowline.hello.from", "bowline.hello.to", "bowline.hello.incarnation"),
                         ["alpha", "b2", "0x1817161514131211"])

    def test_filters_by_finding(self):
        def shown(display_filter):
            return fields(self.capture, ("frame.number",), "-2", "-Y", display_filter).split()
        self.assertEqual(shown("bowline.rotation"), ["69"])
        self.assertEqual(shown("bowline.gap"), ["59"])
        self.assertEqual(shown("bowline.stale_ack"), ["65", "70"])

    def test_other_ports(self):
        self.assertEqual(tshark(self.capture, "-o", "bowline.ports:9000-9001", "-Y", "bowline"), "")
        self.assertNotEqual(tshark(self.capture, "-o", "bowline.ports:7000-8000", "-Y", "bowline"), "")


def main():
    global DISSECTOR
    DISSECTOR = sys.argv.pop(1)
    if shutil.which("tshark") is None:
        required = os.environ.get("CI") == "true" or os.environ.get("BOWLINE_REQUIRE_ALL") == "1"
        print("tshark is not installed (./run deps installs it)")
        sys.exit(1 if required else 77)
    if "--write" in sys.argv:
        with tempfile.NamedTemporaryFile() as capture, open(EXPECTED, "w", encoding="utf-8") as out:
            capture.write(packets.golden_capture())
            capture.flush()
            out.write(fields(capture.name, SUMMARY))
        return
    unittest.main()


if __name__ == "__main__":
    main()
