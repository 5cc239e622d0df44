#!/usr/bin/env bash
# SIGTERM and SIGINT end `bowline node` in order: exit status 0, the peer told at once, nothing left on the machine.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/nodes.sh"
need_bowline

# What engines could leave behind: pages in hugetlbfs, EAL's runtime directories.
residue() {
    find /dev/hugepages /var/run/dpdk "${XDG_RUNTIME_DIR:-/tmp}/dpdk" -mindepth 1 2>/dev/null | sort || true
}

residue >"$work/residue.before"
for signal in TERM INT; do
    step "SIG$signal"
    start survivor on_memif b node
    start stopped on_memif a node
    wait_for 20 "b to see a" says survivor '\ba\b.*\bup\b|\bup\b.*\ba\b'
    wait_for 20 "a to see b" says stopped '\bb\b.*\bup\b|\bup\b.*\bb\b'
    kill "-$signal" "${pids[stopped]}"
    finish_ok stopped 10
    # Told, not timed out: long before any failure detection could have noticed.
    wait_for 1 "b to be told that a has stopped" says survivor '\ba\b.*\bdown\b|\bdown\b.*\ba\b'
    kill -TERM "${pids[survivor]}"
    finish_ok survivor 10
done
residue >"$work/residue.after"
diff "$work/residue.before" "$work/residue.after" || fail "engines left files behind"
