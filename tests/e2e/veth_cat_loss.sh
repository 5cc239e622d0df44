#!/usr/bin/env bash
# `bowline cat` over af_packet on veth, through a bridge that drops 0%, 5% and 30% of the packets both ways.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/netns.sh"
source "$(dirname "$0")/nodes.sh"
need_bowline
need_root "network namespaces and packet sockets"
net_make

random_file "$work/file" $((8 << 20))

for loss in 0 5 30; do
    net_loss "$loss"
    transfer on_veth "$work/file" 120
    dropped_a=$(net_count dropped_a)
    dropped_b=$(net_count dropped_b)
    retransmits=$(figure sender retransmits)
    step "$loss% loss: dropped $dropped_a from a, $dropped_b from b; $retransmits retransmissions"
    if ((loss == 0)); then
        ((dropped_a + dropped_b == 0)) || fail "the bridge dropped packets that it was not asked to drop"
    else
        ((dropped_a > 0 && dropped_b > 0)) || fail "the bridge did not drop packets both ways: the test shows nothing"
        ((retransmits > 0)) || fail "packets were dropped and none was sent again, yet the file arrived?"
    fi
done
