"""The packets of tests/wireshark/golden.pcap: first the golden bytes of tests/protocol/wire and what is malformed, then a
conversation in which a packet is lost, sent again and acknowledged late, and a connection rotated.

    packets.py FILE     writes the capture
"""

import struct
import sys

HELLO, HELLO_ACK, HELLO_DONE, DATA, ACK, NEED_FIRST, CLOSE, PROBE, HEARTBEAT, RESET = range(1, 11)
F_ACK, F_FIRST, F_SACK, F_ECHO, F_DRAINED, F_BOUNDARY = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20

# As in tests/protocol/wire/header_test.cpp, frame_test.cpp and control_body_test.cpp.
GOLDEN_HEADER = "b1 04 0102 11121314 21222324 31323334 41424344 51525354 61626364 71727374 8182 29 00"
GOLDEN_FIRST = "0102030405060708 1112131415161718"
GOLDEN_SACK = "0200 0000 efcdab8967452301 0100000000000080"
GOLDEN_HELLO = (
    "01020304 00000000 1112131415161718 2122232425262728 3132333435363738 41424344 5152 6162 71727374 81828384"
    "9192939495969798 a1a2a3a4a5a6a7a8 b1b2b3b4b5b6b7b8 c1c2c3c4c5c6c7c8 d1d2d3d4 00000000 03000000 00000000 05 02"
    "616c706861 6232")
ONE_FRAME = "0300 616263"


def header(kind, flags=0, *, tag=7, slot=1, conn=1, seqno=1000, ack_conn=0, cum_ack=0, timestamp=0, echo=0, window=0,
           ack_delay=0):
    return struct.pack("<BBHIIIIIIIHBB", 0xB1, kind, slot, tag, conn, seqno, ack_conn, cum_ack, timestamp, echo, window,
                       flags, ack_delay)


def first(seqno, message):
    return struct.pack("<QQ", seqno, message)


def sack(*words):
    return struct.pack("<HH", len(words), 0) + b"".join(struct.pack("<Q", word) for word in words)


def whole(data):
    return struct.pack("<H", len(data)) + data


def first_fragment(data, total):
    return struct.pack("<HI", 1 << 14 | len(data), total) + data


def middle(data):
    return struct.pack("<H", 2 << 14 | len(data)) + data


def last(data):
    return struct.pack("<H", 3 << 14 | len(data)) + data


def hexed(text):
    return bytes.fromhex(text)


def every_type():
    """A valid packet of each type and with each extension: from x to y, whose conversation means nothing."""
    yield hexed(GOLDEN_HEADER) + hexed(ONE_FRAME)
    yield header(HELLO_ACK, F_ECHO, conn=0, seqno=0, echo=5) + hexed(GOLDEN_HELLO)
    greeting = hexed(GOLDEN_HELLO)
    yield header(HELLO, 0, tag=0, slot=0, conn=0, seqno=0) + greeting[:24] + bytes(8) + greeting[32:]
    yield header(HELLO_DONE, F_ACK | F_ECHO, conn=0, seqno=0) + struct.pack("<QQ", 0x1122, 0x3344)
    yield header(DATA, F_BOUNDARY | F_FIRST, seqno=0x04030201) + hexed(GOLDEN_FIRST) + hexed(ONE_FRAME)
    yield header(DATA, 0) + last(b"12345") + whole(b"") + whole(b"abcdefg") + first_fragment(b"xy", 100)
    yield header(DATA, 0) + middle(b"ab")
    yield header(ACK, F_ACK | F_SACK | F_ECHO, ack_conn=9, cum_ack=5000, window=64, ack_delay=3) + hexed(GOLDEN_SACK)
    yield header(ACK, F_ACK | F_FIRST | F_SACK | F_DRAINED, ack_conn=9, cum_ack=0xFFFFFFFE) + first(999, 1) + sack(0b0110)
    yield header(NEED_FIRST, 0, ack_conn=9) + struct.pack("<Q", 77)
    yield header(CLOSE, F_DRAINED) + struct.pack("<IQQ", 3, 78, 79)
    yield header(PROBE, F_FIRST, seqno=1) + first(1, 1)
    yield header(HEARTBEAT, F_ACK | F_DRAINED, ack_conn=9, cum_ack=5001, window=64)
    yield header(RESET, 0, conn=0, seqno=0)


def every_fault():
    """One packet for each kind of docs/PROTOCOL.md §1.3, more for those with more than one cause."""
    good = header(DATA, F_BOUNDARY)
    yield good[:35]
    yield b"\xC1" + good[1:] + whole(b"abc")
    yield b"\xB2" + good[1:] + whole(b"abc")
    yield header(11) + whole(b"abc")
    yield header(0) + whole(b"abc")
    yield header(HEARTBEAT, 0x40)
    yield header(HELLO, F_ACK) + bytes(100)
    yield header(ACK, F_SACK) + sack(1)
    yield header(DATA, 0) + whole(b"abc")
    yield header(DATA, F_BOUNDARY) + last(b"abc")
    yield header(HEARTBEAT, F_ACK, ack_delay=1)
    yield header(ACK, F_ACK | F_SACK) + struct.pack("<HHQ", 1, 1, 1)
    yield header(HELLO) + bytes(4) + b"\1" + bytes(91) + b"\1\1ab"
    yield header(DATA, F_FIRST | F_BOUNDARY) + bytes(15)
    yield header(DATA, F_FIRST | F_BOUNDARY, seqno=5) + first(6, 1) + whole(b"a")
    yield header(ACK, F_ACK | F_SACK) + b"\1\0"
    yield header(ACK, F_ACK | F_SACK) + struct.pack("<HH", 0, 0)
    yield header(ACK, F_ACK | F_SACK) + struct.pack("<HH", 129, 0) + bytes(8 * 129)
    yield header(ACK, F_ACK | F_SACK) + struct.pack("<HHQ", 2, 0, 1)
    yield header(RESET) + b"x"
    yield header(NEED_FIRST) + bytes(7)
    yield header(CLOSE) + struct.pack("<IQQ", 4, 1, 1)
    yield header(HELLO) + bytes(99)
    yield header(HELLO) + bytes(24) + b"\1" + bytes(71) + b"\1\1ab"
    yield header(HELLO) + bytes(88) + b"\4" + bytes(7) + b"\1\1ab"
    yield header(HELLO) + bytes(96) + b"\2\2abc"
    yield header(HELLO) + bytes(96) + b"\0\2ab"
    yield header(HELLO) + bytes(96) + b"\1\1 b"
    yield header(HELLO) + bytes(96) + b"\x40\1" + b"a" * 65
    yield header(DATA, F_BOUNDARY) + b"\5\0abcd"
    yield header(DATA, F_BOUNDARY) + whole(b"abc") + b"\1"
    yield header(DATA, F_BOUNDARY) + whole(b"abc") + last(b"d")
    yield header(DATA, 0) + middle(b"a") + whole(b"b")
    yield header(DATA, 0) + last(b"")
    yield header(DATA, F_BOUNDARY) + first_fragment(b"abc", 3)
    yield header(DATA, F_BOUNDARY) + first_fragment(b"abc", 7)[:5]
    yield header(DATA, F_BOUNDARY)


def conversation():
    """From a to b where True. Connection 5 of a, whose 32-bit seqnos wrap, and connection 2 of b."""
    def seq(n):
        return (0xFFFFFFFD + n) % 2**32

    def data(n, content, flags=F_BOUNDARY, conn=5, tag=0xB0B, first_at=None):
        extension = b"" if first_at is None else first(0x1FFFFFFFD + first_at[0], first_at[1])
        return True, header(DATA, flags | (F_FIRST if extension else 0), tag=tag, conn=conn, seqno=seq(n)) + extension + content

    def ack(n, conn=5, held=(), window=64):
        flags = F_ACK | F_DRAINED | (F_SACK if held else 0)
        return False, header(ACK, flags, tag=0xA0A, conn=2, seqno=1, ack_conn=conn, cum_ack=seq(n), window=window) + \
            (sack(*held) if held else b"")

    yield data(0, whole(b"one") + whole(b"two"), first_at=(0, 41))
    yield data(1, whole(b"three") + first_fragment(b"fo", 4), first_at=(0, 41))
    yield ack(1)
    yield data(3, whole(b"five"))                        # 2 is not in the capture: a gap
    yield data(4, whole(b"six"))
    yield ack(2, held=[0b11])                            # lacks 2, holds 3 and 4
    yield data(2, last(b"ur"), flags=0)                  # fills the gap
    yield data(4, whole(b"six"))                         # again
    yield ack(5, window=0)
    yield ack(2)                                         # an older one: stale
    yield data(5, whole(b"seven"))
    yield data(0, whole(b"one") + whole(b"two"))         # acknowledged long ago
    yield False, header(NEED_FIRST, 0, tag=0xA0A, conn=2, seqno=1, ack_conn=5) + struct.pack("<Q", 0x200000002)
    yield data(5, whole(b"seven"), conn=6, first_at=(5, 47))  # rotation
    yield ack(6, conn=5)                                 # of the old connection: stale
    yield data(6, whole(b"eight"), conn=5)               # late packet of the old connection
    yield ack(9, conn=6)                                 # of what is not in the capture
    yield data(9, whole(b"ten"), conn=6)
    yield data(0, whole(b"x"), conn=7, tag=0xB0C, first_at=(0, 1))  # a new association
    yield data(10, whole(b"eleven"), conn=6)             # of the old one
    yield False, header(CLOSE, F_ACK, tag=0xA0A, conn=2, seqno=1, ack_conn=7, cum_ack=seq(1), window=64) + \
        struct.pack("<IQQ", 2, 1, 1)
    yield False, header(RESET, 0, tag=0xB0B, conn=0, seqno=0)


def ones_complement(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ethernet(source, destination, payload, *, port=7727, source_port=None, vlan=None, bad_checksum=False):
    """A frame from host 10.77.0.`source` to 10.77.0.`destination`."""
    source_port = port if source_port is None else source_port
    addresses = bytes([10, 77, 0, source, 10, 77, 0, destination])
    udp = struct.pack(">HHHH", source_port, port, 8 + len(payload), 0) + payload
    checksum = ones_complement(addresses + struct.pack(">BBH", 0, 17, len(udp)) + udp) or 0xFFFF
    udp = udp[:6] + struct.pack(">H", checksum ^ (1 if bad_checksum else 0)) + udp[8:]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0) + addresses
    ip = ip[:10] + struct.pack(">H", ones_complement(ip)) + ip[12:]
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    return bytes([2, 0, 0, 0, 0, destination, 2, 0, 0, 0, 0, source]) + tag + b"\x08\x00" + ip + udp


def pcap(records, link=1):
    """A capture of (seconds, frame[, bytes that are captured of it]) as a file's bytes."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for seconds, frame, *snap in records:
        kept = frame[:snap[0]] if snap else frame
        whole_s, micros = divmod(round(seconds * 1e6), 1000000)
        out += struct.pack("<IIII", whole_s, micros, len(kept), len(frame)) + kept
    return out


def frames():
    for payload in every_type():
        yield (ethernet(3, 4, payload),)
    for payload in every_fault():
        yield (ethernet(5, 6, payload),)
    whole_packet = header(DATA, F_BOUNDARY) + whole(b"abcdefgh")
    yield (ethernet(7, 8, whole_packet, vlan=12),)
    yield (ethernet(7, 8, whole_packet, bad_checksum=True),)
    yield (ethernet(7, 8, whole_packet), 80)  # cut short by the capture
    yield (ethernet(7, 8, whole_packet), 50)  # even in its header
    for forth, payload in conversation():
        yield (ethernet(1, 2, payload) if forth else ethernet(2, 1, payload),)


def golden_capture():
    return pcap((1 + i * 0.001, *frame) for i, frame in enumerate(frames()))


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as out:
        out.write(golden_capture())
