# shellcheck shell=bash
# Two network namespaces, a and b, joined by a bridge in a third that drops packets at random. Sourced after lib.sh.
#
#   a: eth0 ── port_a ┐
#                     bridge (namespace s, nftables)
#   b: eth0 ── port_b ┘
#
# The interfaces a and b have no kernel address, so that the kernel answers nothing in an engine's stead (an ICMP "port
# unreachable" for every packet, for one). Names carry the pid: runs do not meet.

net=bl$$

in_ns() {
    local side=$1
    shift
    ip netns exec "$net-$side" "$@"
}

# net_make: builds all of it, lossless, and has it deleted on exit.
net_make() {
    need_command ip nft
    local side
    on_exit net_delete
    for side in a b s; do
        ip netns add "$net-$side" || leave_out "needs network namespaces, which this kernel or container refuses"
        # The kernel's own IPv6 chatter (router solicitations, duplicate address detection) would be counted as loss.
        in_ns "$side" sh -c 'cd /proc/sys/net/ipv6/conf 2>/dev/null && echo 1 | tee */disable_ipv6 >/dev/null' || true
    done
    ip -n "$net-s" link add name bridge0 type bridge
    for side in a b; do
        ip -n "$net-s" link add "port_$side" type veth peer name eth0 netns "$net-$side"
        ip -n "$net-s" link set dev "port_$side" master bridge0
        ip -n "$net-s" link set dev "port_$side" up
        ip -n "$net-$side" link set dev eth0 up
        # A kernel that leaves checksums to the device would send wrong ones over veth to an engine that checks them.
        if command -v ethtool >/dev/null; then
            in_ns "$side" ethtool -K eth0 tx off >/dev/null 2>&1 || true
        fi
    done
    ip -n "$net-s" link set dev bridge0 up
    net_loss 0
    wait_for 10 "the bridge to forward" net_forwards
}

net_forwards() {
    local side
    for side in a b; do
        [[ $(in_ns s cat "/sys/class/net/port_$side/brport/state") == 3 ]] || return 1
    done
}

# net_loss PERCENT: drop so many of the packets, each way, chosen at random. Counts start anew.
net_loss() {
    in_ns s nft -f - <<EOF
table bridge bowline
delete table bridge bowline
table bridge bowline {
    counter passed_a { }
    counter passed_b { }
    counter dropped_a { }
    counter dropped_b { }
    chain forward {
        type filter hook forward priority 0; policy accept;
        iifname "port_a" numgen random mod 100 < $1 counter name dropped_a drop
        iifname "port_b" numgen random mod 100 < $1 counter name dropped_b drop
        iifname "port_a" counter name passed_a
        iifname "port_b" counter name passed_b
    }
}
EOF
}

# net_count dropped_a: packets so far; _a came from a. Also passed_a, dropped_b, passed_b and counters of the test's own.
net_count() {
    in_ns s nft list counter bridge bowline "$1" | awk '$1 == "packets" { print $2 }'
}

# net_watch NAME MATCH: counts the packets that match (an nft expression) and that the bridge takes in.
net_watch() {
    in_ns s nft -f - <<EOF
table bridge bowline_watch {
    counter $1 { }
    chain $1 {
        type filter hook prerouting priority -10; policy accept;
        $2 counter name $1
    }
}
EOF
}

net_watched() {
    in_ns s nft list counter bridge bowline_watch "$1" | awk '$1 == "packets" { print $2 }'
}

net_delete() {
    local side
    for side in a b s; do
        ip netns delete "$net-$side" 2>/dev/null || true
    done
}
