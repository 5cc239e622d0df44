#!/usr/bin/env bash
# `./run demo`: the main job, visible. A real file crosses a network that loses packets; then latency and rate over
# shared memory.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/e2e/lib.sh
source tests/e2e/netns.sh
source tests/e2e/nodes.sh
source tools/tasks/deps.sh
source tools/tasks/hugepages.sh

readonly loss=5

# The largest shared library of 2 to 16 MiB on this machine: a real file of a size that shows something.
demo_file() {
    find /usr/lib /usr/lib64 /lib -xdev -type f -name '*.so*' -size +2M -size -16M -printf '%s %p\n' 2>/dev/null |
        sort -rn | sed -n '1s/^[0-9]* //p'
}

use_hugepages() {
    [[ -d $hugepages_pool ]] || return 0
    hugepages_save
    on_exit hugepages_restore
    # A machine that has more reserved keeps them.
    (($(<"$hugepages_pool/free_hugepages") >= 512)) || hugepage-setup/hugepage-setup --apply --pages 512 ||
        printf 'Going on with what there is.\n'
}

show_lossy_network() {
    local file dropped_a dropped_b passed
    file=$(demo_file)
    if [[ -z $file ]]; then
        file=$work/file
        random_file "$file" $((8 << 20))
    fi
    printf '\nTwo processes in two network namespaces, af_packet on veth, a bridge that drops %d%% of packets each way:\n\n' "$loss"
    net_make
    net_loss "$loss"
    transfer on_veth "$file" 60
    dropped_a=$(net_count dropped_a)
    dropped_b=$(net_count dropped_b)
    passed=$(($(net_count passed_a) + $(net_count passed_b)))
    printf '  file            %s (%s bytes)\n' "$file" "$(stat -c %s -- "$file")"
    printf '  sha256 sent     %s\n' "$(sha256 "$file")"
    printf '  sha256 received %s\n' "$(sha256 "$work/receiver.out")"
    printf '  bridge          dropped %d packets of the sender and %d of the receiver; passed %d\n' \
        "$dropped_a" "$dropped_b" "$passed"
    printf '  sender          %s packets, %s of them sent again\n' "$(figure sender packets)" "$(figure sender retransmits)"
    printf '  time            %s s\n' "$(figure sender seconds)"
    ((dropped_a + dropped_b > 0)) || fail "the bridge dropped nothing: this demo shows nothing"
}

# row SIZE: a line of the table: a ping run and a flood run between two processes.
row() {
    local size=$1
    start echo on_memif b echo
    start ping on_memif a ping b --size "$size" --time 3s --json
    finish_ok ping 30
    kill -TERM "${pids[echo]}"
    finish_ok echo 10
    start sink on_memif b sink
    start flood on_memif a flood b --size "$size" --time 3s --json
    finish_ok flood 30
    kill -TERM "${pids[sink]}"
    finish_ok sink 10
    printf '%s %s %s %s %s %s\n' "$size" "$(figure ping rtt_ns.p50)" "$(figure ping rtt_ns.p99)" "$(figure ping rtt_ns.max)" \
        "$(figure flood msgs_per_s)" "$(figure flood payload_bits_per_s)" |
        awk '{ printf "  %6d B  %9.2f  %9.2f  %9.1f  %12.2f  %10.2f\n", $1, $2 / 1e3, $3 / 1e3, $4 / 1e3, $5 / 1e6, $6 / 1e9 }'
}

show_memif() {
    printf '\nTwo processes over shared memory (memif):\n\n'
    printf '  message    RTT p50 µs     p99 µs     max µs   M messages/s    Gbit/s\n'
    row 64
    row 1024
}

need_bowline
left_out=''
if ((EUID == 0)); then
    ensure_deps test
    use_hugepages
    show_lossy_network
else
    left_out="the transfer through a lossy network: it needs root (network namespaces, packet sockets). Try: sudo ./run demo"
fi
show_memif
[[ -z $left_out ]] || printf '\nLeft out: %s\n' "$left_out"
