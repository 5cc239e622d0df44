#!/usr/bin/env bash
# A kernel on the other end of the wire: it asks and is asked by ARP, it can ping the engine with every size that fits,
# and whatever broken packets it sends, the engine lives on, counts them and keeps serving.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/netns.sh"
source "$(dirname "$0")/nodes.sh"
need_bowline
need_root "network namespaces and packet sockets"
need_command ping python3
net_make

readonly port=7900
net_watch asked "ether type arp arp operation request arp saddr ip $address_a arp daddr ip $address_b"
net_watch answered "ether type arp arp operation reply arp saddr ip $address_a"
net_watch greeted "iifname \"port_a\" ip daddr $address_b udp dport $port"

watched() {
    (($(net_watched "$1") > 0))
}

# pings SIZE COUNT: every one is answered (nothing is lost on this wire).
pings() {
    in_ns b ping -q -s "$1" -M "do" -c "$2" -i 0.01 -W 2 "$address_a" >"$work/ping.out" 2>&1 ||
        fail "ping of $1 bytes: $(cat "$work/ping.out")"
    grep -q "$2 received" "$work/ping.out" || fail "ping of $1 bytes: $(cat "$work/ping.out")"
}

in_ns b ip address add "$address_b/24" dev eth0
start engine on_veth a node --json -o "port=$port"

step "the engine asks for its peer's address, takes the kernel's answer and greets it"
wait_for 20 "an ARP request from the engine" watched asked
wait_for 20 "a packet to the peer's address" watched greeted

step "the kernel asks for the engine's address and gets an answer"
in_ns b ip neighbour flush dev eth0
wait_for 20 "an answer to ping" in_ns b ping -q -c 1 -W 1 "$address_a" >"$work/ping.out"
wait_for 5 "an ARP answer from the engine" watched answered
mac=$(in_ns b ip neighbour show "$address_a" dev eth0 | awk '{ print $3 }')
[[ $mac == "$(in_ns a cat /sys/class/net/eth0/address)" ]] || fail "the engine answers ARP with $mac"

step "ping of every kind of size that fits into a frame"
for size in 0 1 17 18 56 57 1000 1471 1472; do
    pings "$size" 10
done

step "broken packets of every kind"
in_ns b python3 "$source_root/tests/e2e/inject.py" eth0 "$mac" "$address_a" "$port" "$address_b" >"$work/kinds"
step "sent: $(wc -l <"$work/kinds") kinds"
running engine || fail "the engine is gone after broken packets"
pings 56 20
pings 1472 20

step "the engine still stops in order"
kill -TERM "${pids[engine]}"
finish_ok engine 10
