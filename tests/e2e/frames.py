#!/usr/bin/env python3
"""Keeps frames that cross an interface, and sends them later: what a network that delays packets does.

    frames.py keep IFACE TYPE FILE     until SIGTERM: the frames that come in with this Bowline type (protocol/wire/header.hpp)
    frames.py send IFACE FILE          the kept frames, in their order; prints how many
"""

import signal
import socket
import struct
import sys

ETH_P_ALL = 3
BOWLINE_AT = 14 + 20 + 8
PACKET_OUTGOING = 4


def keep(iface, kind, path):
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    packets.bind((iface, 0))
    packets.settimeout(0.05)
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    with open(path, "wb") as out:
        print("keeping", flush=True)
        while not ended:
            try:
                frame, address = packets.recvfrom(65536)
            except TimeoutError:
                continue
            if address[2] == PACKET_OUTGOING or len(frame) <= BOWLINE_AT + 1:
                continue
            if frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[BOWLINE_AT + 1] == kind:
                out.write(struct.pack("<H", len(frame)) + frame)
                out.flush()


def send(iface, path):
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    packets.bind((iface, 0))
    count = 0
    with open(path, "rb") as kept:
        while size := kept.read(2):
            packets.send(kept.read(struct.unpack("<H", size)[0]))
            count += 1
    print(count)


if sys.argv[1] == "keep":
    keep(sys.argv[2], int(sys.argv[3]), sys.argv[4])
else:
    send(sys.argv[2], sys.argv[3])
