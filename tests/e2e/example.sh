#!/usr/bin/env bash
# The README's program, as its two nodes: each hears the other once, and both end in order. Needs no root.
source "$(dirname "$0")/lib.sh"
hello=${HELLO:-$source_root/build/examples/hello}
[[ -x $hello ]] || fail "$hello does not exist; ./run build makes it"

start a "$hello" a "memif:$work/hello.sock"
start b "$hello" b "memif:$work/hello.sock"
finish_ok a 20
finish_ok b 20
for node in a b; do
    other=$([[ $node == a ]] && echo b || echo a)
    [[ $(grep -c '^message' "$work/$node.out") == 1 ]] || fail "$node did not hear one message"
    grep -qx "message 1: hello from $other" "$work/$node.out" || fail "$node heard something else"
done
