#!/usr/bin/env bash
# 64 MiB under 5% loss each way: the same SHA-256, at no less than 0.7 of the goodput without loss in the same run.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/netns.sh"
source "$(dirname "$0")/nodes.sh"
need_bowline
need_root "network namespaces and packet sockets"
net_make

readonly rounds=7 # alternating; the median of their ratios counts, for single rounds vary by some 20%
readonly ratio_min=0.7

random_file "$work/file" $((64 << 20))

for ((round = 1; round <= rounds; round++)); do
    for loss in 0 5; do
        net_loss "$loss"
        transfer on_veth "$work/file" 180
        seconds[loss]=$(figure sender seconds)
    done
    ratio=$(awk -v clean="${seconds[0]}" -v lossy="${seconds[5]}" 'BEGIN { printf "%.3f", clean / lossy }')
    step "round $round: ${seconds[0]} s without loss, ${seconds[5]} s with 5% each way: ratio $ratio"
    printf '%s\n' "$ratio" >>"$work/ratios"
done
median=$(sort -n "$work/ratios" | sed -n "$(((rounds + 1) / 2))p")
at_least "$median" "$ratio_min" || fail "goodput under loss is $median of the lossless goodput, expected at least $ratio_min"
