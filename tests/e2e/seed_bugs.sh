#!/usr/bin/env bash
# The three bugs that Bowline exists for, between real processes over af_packet and veth: nftables rules drop packets by
# the type (and seqno) in their header, `bowline ctl` changes views, and frames are kept to be sent late. The outcome must
# be that of tests/scenarios/jgrp_*.scn.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/netns.sh"
source "$(dirname "$0")/nodes.sh"
need_bowline
need_root "network namespaces and packet sockets"
need_command nft python3
net_make

# Types of packets (docs/PROTOCOL.md §2), and where nft finds them: behind the 8 bytes of the UDP header.
readonly data=4 ack=5 close=7 probe=8 heartbeat=9
type_is() { printf '@th,72,8 %d' "$1"; }
# seqno_is N: low 32 bits, little-endian, as nft compares bytes.
seqno_is() { printf '@th,160,32 0x%02x%02x%02x%02x' $(($1 & 255)) $((($1 >> 8) & 255)) $((($1 >> 16) & 255)) $((($1 >> 24) & 255)); }

# network RULE…: drops what matches one of these from now on, and passes all else.
network() {
    local rule
    {
        printf 'table bridge faults\ndelete table bridge faults\ntable bridge faults {\n'
        printf '  chain forward {\n    type filter hook forward priority -5; policy accept;\n'
        for rule in "$@"; do
            printf '    %s drop\n' "$rule"
        done
        printf '  }\n}\n'
    } | in_ns s nft -f -
}
from() { printf 'iifname "port_%s" udp dport 7727 %s' "$1" "$2"; }

ctl() {
    local node=$1
    shift
    "$BOWLINE" ctl --socket "$work/$node.sock" "$@" >"$work/ctl.out" 2>"$work/ctl.err" ||
        fail "bowline ctl ($node) $* ended with status $?: $(cat "$work/ctl.err")"
}
field() {
    ctl "$1" --json "$2"
    python3 -c 'import json, sys; answer = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/ctl.out" "$3"
}
is_true() { [[ $(field "$1" "$2" "$3") == True ]]; }
counter() { field "$1" counters "answer[\"counters\"].get(\"$2\", 0)"; }
sending() { printf 'answer["connections"][0]["send"]["%s"]' "$1"; }
receiving() { printf 'answer["connections"][0]["receive"]["%s"]' "$1"; }

# begin_stream: a sends lines to b, both with external views of each other.
begin_stream() {
    network
    rm -f "$work/lines"
    mkfifo "$work/lines"
    start receiver on_veth b cat --from a --lines -o views=external -o suspect_after=60s
    input=$work/lines start sender on_veth a cat --to b --lines -o views=external -o suspect_after=60s
    exec 7>"$work/lines" # after it, so that the sender does not hold it open itself
    wait_for 20 "both control sockets" test -S "$work/a.sock" -a -S "$work/b.sock"
    ctl a install-view a b
    ctl b install-view a b
    wait_for 20 "a to have b up" is_true a peers 'answer["peers"][0]["up"]'
    wait_for 20 "b to have a up" is_true b peers 'answer["peers"][0]["up"]'
    said=0
}
# A packet holds one of these.
printf -v padding '%01300d' 0
readonly padding
line() { printf 'line %d %s\n' "$1" "$padding"; }
# say N: the next N lines, at once: so many packets in one burst.
say() {
    local i text=
    for ((i = 0; i < $1; ++i)); do
        said=$((said + 1))
        text+=$(line "$said")$'\n'
    done
    printf '%s' "$text" >&7
}
# end_stream: everything said has come, once and in order, and both know.
end_stream() {
    exec 7>&-
    finish_ok sender 60
    finish_ok receiver 60
    local i
    for ((i = 1; i <= said; ++i)); do
        line "$i"
    done >"$work/expected"
    cmp -s "$work/expected" "$work/receiver.out" ||
        fail "b has not had the $said lines once and in order: $(cut -c1-12 "$work/receiver.out" | tr '\n' ' ')"
}

step "JGRP-126: the first message is lost, later ones are not: none is discarded, none acknowledged in its place"
begin_stream
wait_for 20 "what cat says first to be acknowledged" is_true a connections "$(sending snd_una) == $(sending snd_nxt)"
next=$(field a connections "$(sending snd_nxt)")
ctl a close b # so that the lost message is a connection's first
network "$(from a "$(type_is "$data") $(seqno_is "$next")")"
say 3
wait_for 20 "b to hold the second and the third line" is_true b connections "$(receiving out_of_order) == 2"
is_true a connections "$(sending snd_una) == $next" || fail "a takes the lost message for acknowledged: $(cat "$work/ctl.out")"
network
end_stream

step "JGRP-348: one side starts again, the other goes on in the middle, and its next message is late"
begin_stream
say 24
wait_for 20 "24 lines" lines_in "$work/receiver.out" 24
wait_for 20 "them to be acknowledged" is_true a connections "$(sending snd_una) == $(sending snd_nxt)"
network 'iifname "port_a"' 'iifname "port_b"'
ctl b install-view b # b excludes a, a never excludes b
is_true b peers 'not answer["peers"][0]["in_view"]' || fail "a is still in b's view"
next=$(field a connections "$(sending snd_nxt)")
network "$(from a "$(type_is "$data") $(seqno_is "$next")")" # 25 is late
ctl b install-view a b
say 2
wait_for 20 "26 to be held at b" is_true b connections "$(receiving out_of_order) == 1"
network
end_stream

step "JGRP-1873: acks from before a close come when the new window still lacks what they are about"
begin_stream
say 9
wait_for 20 "9 lines" lines_in "$work/receiver.out" 9
wait_for 20 "them to be acknowledged" is_true a connections "$(sending snd_una) == $(sending snd_nxt)"
una=$(field a connections "$(sending snd_una)")
start keeper ip netns exec "$net-s" python3 "$source_root/tests/e2e/frames.py" keep port_b "$ack" "$work/acks"
wait_for 10 "the keeper" says keeper keeping
silent=("$(from b "$(type_is "$ack")")" "$(from b "$(type_is "$probe")")" "$(from b "$(type_is "$heartbeat")")")
network "${silent[@]}"
say 11
wait_for 20 "20 lines" lines_in "$work/receiver.out" 20
wait_for 20 "an ack of them to be kept" test -s "$work/acks"
kill -TERM "${pids[keeper]}"
finish keeper 10
is_true a connections "$(sending snd_una) == $una" || fail "an ack came through: $(cat "$work/ctl.out")"
network "${silent[@]}" "$(from a "$(type_is "$data")")" "$(from b "$(type_is "$close")")"
ctl b install-view b
ctl b install-view a b # asks for the first seqno: a rotates
wait_for 20 "a to rotate" is_true a connections "$(sending conn_id) >= 2"
stale=$(counter a stale_acks)
kept=$(in_ns s python3 "$source_root/tests/e2e/frames.py" send port_a "$work/acks")
wait_for 20 "the $kept late acks to be counted as stale" is_true a counters "answer[\"counters\"].get(\"stale_acks\", 0) >= $stale + 1"
is_true a connections "$(sending snd_una) == $una" || fail "a late ack has had an effect: $(cat "$work/ctl.out")"
say 1
network
end_stream
