#!/usr/bin/env bash
# A peer is killed (kill -9) in mid-stream and started again under the same name: who sent to it is told which messages
# are uncertain, by number; who lives on exchanges messages with the new incarnation, in both directions, at once.
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
exec 3>&-

step "a new incarnation: the sender is told, names what may be lost and ends with a failure"
start second on_veth b cat --from a --lines
finish sender 30
((status == 1)) || fail "messages may be lost and the sender ended with status $status, expected 1"
says sender 'restart' || fail "the sender does not say that its peer has restarted"
# Message 1 says what the transfer is; the 100 lines before the crash were acknowledged.
says sender '102\.\.12[12]' || fail "the sender does not name messages 102..121 (and the end, 122), which may be lost"
seq -f 'before %g' 1 100 | cmp - "$work/first.out" || fail "the first receiver got something else than was sent"
[[ ! -s $work/second.out ]] || fail "messages were replayed into a process that never knew the stream"
kill -TERM "${pids[second]}"
finish second 20

# Counted since the last net_loss: the handshake alone is a handful.
traffic_flows() {
    (($(net_count passed_a) > 1000))
}

step "an echo lives on while the peer that pings it is killed and started again"
start echo on_veth b echo
for incarnation in 1 2 3; do
    net_loss 0
    start "killed$incarnation" on_veth a ping b --time 60s
    wait_for 20 "pings of incarnation $incarnation" traffic_flows
    kill_hard "killed$incarnation"
done
start last on_veth a ping b --count 10000 --json
finish_ok last 30
[[ $(figure last count) == 10000 ]] || fail "the last incarnation got $(figure last count) answers to 10000 pings"
kill -TERM "${pids[echo]}"
finish_ok echo 20
