#!/usr/bin/env bash
# `bowline cat` between two processes over memif: whatever goes in comes out, in blocks and in lines. Needs no root.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/nodes.sh"
need_bowline

step "16 MiB in blocks"
random_file "$work/blocks" $((16 << 20))
transfer on_memif "$work/blocks" 60

step "a length that no block size divides, in blocks of 7 bytes"
random_file "$work/odd" 100003
transfer on_memif "$work/odd" 60 --size 7

step "lines: empty ones, one of 1 MiB, and many"
{
    printf '\n\nfirst\n'
    head -c $((1 << 20)) /dev/zero | tr '\0' x
    printf '\n'
    seq 1 50000
} >"$work/lines"
transfer on_memif "$work/lines" 60 --lines

step "nothing at all"
: >"$work/empty"
transfer on_memif "$work/empty" 60

step "a pipe that opens late and comes in pieces"
mkfifo "$work/pipe"
start receiver on_memif b cat --from a --lines
input=$work/pipe start sender on_memif a cat --to b --lines
exec 3>"$work/pipe"
for round in 1 2 3; do
    printf 'round %d\n' "$round" >&3
    wait_for 20 "round $round to arrive while the pipe is open" grep -qx "round $round" "$work/receiver.out"
done
exec 3>&-
finish_ok sender 20
finish_ok receiver 20
(($(wc -l <"$work/receiver.out") == 3)) || fail "expected three lines: $(cat "$work/receiver.out")"
