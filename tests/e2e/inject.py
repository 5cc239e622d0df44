#!/usr/bin/env python3
"""Sends broken frames to an engine, a few of each kind, from a raw socket: inject.py IFACE MAC ADDRESS PORT SOURCE.

Every frame is wrong in one way only; what is around the fault is right, so that the check for that fault is what
meets it. Prints the kinds, one a line."""

import random
import socket
import struct
import sys

COPIES = 5
ETHERTYPE_IPV4, ETHERTYPE_ARP = 0x0800, 0x0806


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Frames:
    def __init__(self, target_mac, own_mac, target, source, port):
        self.ethernet = target_mac + own_mac
        self.target_mac, self.own_mac = target_mac, own_mac
        self.target, self.source, self.port = target, source, port

    def ip(self, protocol, payload, total=None, version_ihl=0x45, fragment=0, bad_checksum=False):
        length = 20 + len(payload) if total is None else total
        header = struct.pack("!BBHHHBBH4s4s", version_ihl, 0, length, 1, fragment, 64, protocol, 0, self.source,
                             self.target)
        header_sum = checksum(header) ^ (0x5555 if bad_checksum else 0)
        header = header[:10] + struct.pack("!H", header_sum) + header[12:]
        return self.ethernet + struct.pack("!H", ETHERTYPE_IPV4) + header + payload

    def udp(self, payload, length=None, bad_checksum=False):
        size = 8 + len(payload) if length is None else length
        header = struct.pack("!HHHH", self.port, self.port, size, 0)
        pseudo = self.source + self.target + struct.pack("!BBH", 0, 17, 8 + len(payload))
        total = checksum(pseudo + header + payload) or 0xFFFF
        if bad_checksum:
            total = (total ^ 0x1234) or 0x4321
        return header[:6] + struct.pack("!H", total) + payload

    def bowline(self, payload, **options):
        return self.ip(17, self.udp(payload, **options))

    def echo_request(self, size, bad_checksum=False):
        body = struct.pack("!BBHHH", 8, 0, 0, 1, 1) + bytes(size)
        total = checksum(body) ^ (0x5555 if bad_checksum else 0)
        return body[:2] + struct.pack("!H", total) + body[4:]

    def arp(self, operation=1, hardware=1, cut=0):
        body = struct.pack("!HHBBH6s4s6s4s", hardware, 0x0800, 6, 4, operation, self.own_mac, self.source, bytes(6),
                           self.target)
        return self.ethernet + struct.pack("!H", ETHERTYPE_ARP) + body[:len(body) - cut]


def broken(frames):
    # A header as the protocol has it: version 1, type ACK, a tag that nobody gave out.
    header = struct.pack("<BBHIIIIIIIHBB", 0xB1, 5, 1, 0xDEADBEEF, 1, 0, 1, 0, 0, 0, 16, 1, 0)
    data = bytes([header[0], 4]) + header[2:]
    whole = frames.bowline(header)
    rng = random.Random(7)
    return {
        "ethernet header alone": frames.ethernet + struct.pack("!H", ETHERTYPE_IPV4),
        "IPv4 header cut short": whole[:14 + 12],
        "IPv4 total length beyond the frame": frames.ip(17, frames.udp(header), total=1400),
        "IPv4 total length below the header": frames.ip(17, frames.udp(header), total=8),
        "IPv4 header length below 20": frames.ip(17, frames.udp(header), version_ihl=0x42),
        "IPv4 version 7": frames.ip(17, frames.udp(header), version_ihl=0x75),
        "IPv4 header checksum": frames.ip(17, frames.udp(header), bad_checksum=True),
        "IPv4 fragment": frames.ip(17, frames.udp(header), fragment=0x2000),
        "UDP length beyond the packet": frames.bowline(header, length=1400),
        "UDP length below the header": frames.bowline(header, length=3),
        "UDP checksum": frames.bowline(header, bad_checksum=True),
        "empty datagram": frames.bowline(b""),
        "header cut short": frames.bowline(header[:20]),
        "wrong magic": frames.bowline(b"\x51" + header[1:]),
        "another version": frames.bowline(b"\xb7" + header[1:]),
        "unknown type": frames.bowline(header[:1] + b"\x7f" + header[2:]),
        "unknown tag": whole,
        "data without a frame": frames.bowline(data),
        "a frame beyond the packet": frames.bowline(data + struct.pack("<H", 1000) + b"short"),
        "greeting cut short": frames.bowline(header[:1] + b"\x01" + header[2:] + bytes(9)),
        "noise to the port": frames.bowline(rng.randbytes(600)),
        "noise as ARP": frames.ethernet + struct.pack("!H", ETHERTYPE_ARP) + rng.randbytes(40),
        "ARP cut short": frames.arp(cut=9),
        "ARP for other hardware": frames.arp(hardware=6),
        "ICMP checksum": frames.ip(1, frames.echo_request(56, bad_checksum=True)),
        "ICMP cut short": frames.ip(1, b"\x08\x00\x00"),
        "noise": frames.ethernet + rng.randbytes(200),
    }


def main():
    interface, mac, target, port, source = sys.argv[1:]
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((interface, 0))
    own_mac = raw.getsockname()[4]
    frames = Frames(bytes.fromhex(mac.replace(":", "")), own_mac, socket.inet_aton(target), socket.inet_aton(source),
                    int(port))
    for kind, frame in broken(frames).items():
        for _ in range(COPIES):
            raw.send(frame)
        print(kind)


if __name__ == "__main__":
    main()
