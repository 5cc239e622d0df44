#!/usr/bin/env python3
"""examples/hello.cpp in Python, by the C interface and ctypes: two nodes greet each other over shared memory.

Run `hello.py a` in one terminal and `hello.py b` in another, or `hello.py --self-test`, which runs both and compares what
they say. The library is libbowline.so.1, or the file that the environment's BOWLINE_LIBRARY names.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import time

ADDRESSES = {"a": "10.0.0.1", "b": "10.0.0.2"}
BACK_PRESSURED = 1


class Message(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("peer", ctypes.c_void_p), ("number", ctypes.c_uint64),
                ("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("internal", ctypes.c_void_p)]


class Event(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("peer", ctypes.c_void_p), ("first", ctypes.c_uint64),
                ("last", ctypes.c_uint64), ("kind", ctypes.c_uint32), ("certainty", ctypes.c_uint32),
                ("down", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


ON_MESSAGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Message))
ON_EVENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Event))


class Handler(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("context", ctypes.c_void_p), ("on_message", ON_MESSAGE),
                ("on_event", ON_EVENT)]


class PeerStatus(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "up", "sent", "acknowledged", "delivered", "queued_packets", "in_flight_packets", "packets_sent", "retransmits",
        "acks_received")] + [("srtt_ns", ctypes.c_int64)]


def load():
    """The library, with the types of the functions that are used here."""
    lib = ctypes.CDLL(os.environ.get("BOWLINE_LIBRARY", "libbowline.so.1"))
    pointer, text, size, out = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER
    for name, arguments in {
        "config_create": [out(pointer)],
        "config_set": [pointer, text, text],
        "engine_start": [pointer, out(pointer)],
        "engine_poll": [pointer, out(Handler), size, out(size)],
        "engine_stop": [pointer, out(Handler), ctypes.c_int64],
        "engine_destroy": [pointer],
        "peer_send": [pointer, text, size, out(ctypes.c_uint64)],
        "peer_get_status": [pointer, out(PeerStatus)],
    }.items():
        function = getattr(lib, "bowline_" + name)
        function.argtypes = arguments
        function.restype = ctypes.c_int
    lib.bowline_config_destroy.argtypes = [pointer]
    lib.bowline_config_destroy.restype = None
    lib.bowline_engine_peer_at.argtypes = [pointer, size]
    lib.bowline_engine_peer_at.restype = pointer
    lib.bowline_last_error.restype = text
    lib.bowline_event_kind_text.argtypes = [ctypes.c_uint32]
    lib.bowline_event_kind_text.restype = text
    return lib


def run(name, device):
    lib = load()

    def check(status):
        if status != 0:
            sys.exit("hello.py: " + lib.bowline_last_error().decode())

    other = "b" if name == "a" else "a"
    config = ctypes.c_void_p()
    check(lib.bowline_config_create(ctypes.byref(config)))
    for key, value in (("name", name), ("device", device), ("address", ADDRESSES[name] + "/24"),
                       ("peer", f"{other}={ADDRESSES[other]}")):
        check(lib.bowline_config_set(config, key.encode(), value.encode()))
    engine = ctypes.c_void_p()
    check(lib.bowline_engine_start(config, ctypes.byref(engine)))
    lib.bowline_config_destroy(config)

    heard = []

    def on_message(_context, message):
        text = ctypes.string_at(message.contents.data, message.contents.length).decode()
        heard.append(text)
        print(f"message {message.contents.number}: {text}", flush=True)

    def on_event(_context, event):
        print("event:", lib.bowline_event_kind_text(event.contents.kind).decode(), flush=True)

    # `handler` keeps the functions alive as long as the engine may call them.
    handler = Handler(ctypes.sizeof(Handler), None, ON_MESSAGE(on_message), ON_EVENT(on_event))
    peer = lib.bowline_engine_peer_at(engine, 0)
    status = PeerStatus(ctypes.sizeof(PeerStatus))
    greeting = f"hello from {name}".encode()
    sent = False
    while not heard or status.acknowledged == 0:
        check(lib.bowline_engine_poll(engine, ctypes.byref(handler), 256, None))
        if not sent:
            result = lib.bowline_peer_send(peer, greeting, len(greeting), None)
            if result != BACK_PRESSURED:  # else offered again
                check(result)
                sent = True
        check(lib.bowline_peer_get_status(peer, ctypes.byref(status)))
    check(lib.bowline_engine_stop(engine, ctypes.byref(handler), 1_000_000_000))
    check(lib.bowline_engine_destroy(engine))


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        nodes = {name: subprocess.Popen([sys.executable, __file__, name, f"memif:{folder}/s"], stdout=subprocess.PIPE,
                                        text=True) for name in ADDRESSES}
        deadline = time.monotonic() + 30
        try:
            for name, node in nodes.items():
                output, _ = node.communicate(timeout=max(0, deadline - time.monotonic()))
                expected = f"message 1: hello from {'b' if name == 'a' else 'a'}"
                if node.returncode != 0 or output.splitlines().count(expected) != 1:
                    sys.exit(f"{name} ended with {node.returncode}, expected '{expected}' once, got:\n{output}")
        finally:
            for node in nodes.values():
                node.kill()
    print("ok")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) in (2, 3) and sys.argv[1] in ADDRESSES:
        run(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "memif:/tmp/bowline-hello.sock")
    else:
        sys.exit("usage: hello.py a|b [DEVICE], or hello.py --self-test")
