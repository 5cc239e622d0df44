#!/usr/bin/env bash
# The receiver is killed (kill -9) in mid-stream and started again under the same name: the sender is told which
# messages are uncertain, by number, and new messages flow, each exactly once and in order.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/netns.sh"
source "$(dirname "$0")/nodes.sh"
need_bowline
need_root "network namespaces and packet sockets"
net_make

mkfifo "$work/pipe"
start first on_veth b cat --from a --lines
input=$work/pipe start sender on_veth a cat --to b --lines
exec 3>"$work/pipe"

step "messages before the crash"
seq -f 'before %g' 1 100 >&3
wait_for 20 "100 messages at the first receiver" lines_in "$work/first.out" 100

step "kill -9, and messages that nobody is there to take"
kill_hard first
seq -f 'during %g' 1 20 >&3

step "a new incarnation"
start second on_veth b cat --from a --lines
wait_for 30 "the sender to be told of the restart" says sender 'restart|incarnation'

seq -f 'after %g' 1 100 >&3
wait_for 30 "the last new message at the second receiver" grep -qx 'after 100' "$work/second.out"

step "no message twice, none out of order, none of the first incarnation's again"
grep -x 'after [0-9]*' "$work/second.out" | cmp - <(seq -f 'after %g' 1 100) || fail "the new messages came otherwise than sent"
seq -f 'before %g' 1 100 | cmp - "$work/first.out" || fail "the first receiver got something else than was sent"
! grep -q '^before' "$work/second.out" || fail "acknowledged messages were replayed into the new incarnation"

step "the sender ends with a failure if anything is uncertain, and names it"
exec 3>&-
finish sender 30
delivered_during=$(grep -c '^during' "$work/second.out" || true)
if ((delivered_during < 20)); then
    ((status == 1)) || fail "messages are missing and the sender ended with status $status, expected 1"
    says sender '\b(101|1[0-1][0-9]|120)\b' || fail "the sender does not name the messages that may be lost"
else
    ((status == 0)) || fail "everything arrived and the sender ended with status $status"
fi
