#!/usr/bin/env bash
# hugepage-setup: wrong usage, --check by an unprivileged user, --apply and its effect, stale files of dead processes.
source "$(dirname "$0")/lib.sh"
source "$source_root/tools/tasks/hugepages.sh"
hugepage_setup=$source_root/hugepage-setup/hugepage-setup

# expect STATUS REGEX COMMAND…: its exit status, and that its output (both) matches.
expect() {
    local expected=$1 pattern=$2 status=0
    shift 2
    "$@" >"$work/output" 2>&1 || status=$?
    ((status == expected)) || fail "\"$*\" ended with $status, expected $expected: $(cat "$work/output")"
    grep -Eq -- "$pattern" "$work/output" || fail "\"$*\" does not say /$pattern/: $(cat "$work/output")"
}

step "wrong usage is status 2 and names the offender"
expect 2 'say --check or --apply' "$hugepage_setup"
expect 2 '"--frobnicate"' "$hugepage_setup" --frobnicate
expect 2 'exclude each other' "$hugepage_setup" --check --apply
expect 2 'needs a number' "$hugepage_setup" --check --pages
for wrong in 0 -1 abc 1.5 99999999 ''; do
    expect 2 "not \"$wrong\"" "$hugepage_setup" --check "--pages=$wrong"
    expect 2 "not \"$wrong\"" "$hugepage_setup" --check --pages "$wrong"
done
expect 0 '^usage:' "$hugepage_setup" --help

step "without root: --check works, --apply says what to do"
as_nobody=()
if ((EUID == 0)); then
    # A copy, for nobody may be unable to enter the folder that this tree lies in.
    cp "$hugepage_setup" "$work/hugepage-setup"
    chmod 755 "$work" "$work/hugepage-setup"
    as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    hugepage_setup=$work/hugepage-setup
fi
expect 1 'Not ready: .* 9999999 wanted' "${as_nobody[@]}" "$hugepage_setup" --check --pages 9999999
expect 1 'needs root. Run: sudo ' "${as_nobody[@]}" "$hugepage_setup" --apply --pages 8

need_root "reserving huge pages"
[[ -d $hugepages_pool ]] || leave_out "this kernel has no 2 MiB huge pages"

step "--apply reserves and mounts; --check agrees"
hugepages_save
on_exit hugepages_restore
expect 0 'reserved 8 pages' "$hugepage_setup" --apply --pages 8
expect 0 'Ready: 8 free pages' "$hugepage_setup" --check --pages 8
expect 1 'Not ready: 8 free pages of 2 MiB, 9 wanted' "$hugepage_setup" --check --pages 9

step "more than the machine can spare: says how many it could, and leaves things as they are"
expect 1 'ask for at most --pages [0-9]+' "$hugepage_setup" --apply --pages 9999999
expect 0 'Ready: 8 free pages' "$hugepage_setup" --check --pages 8

step "files of the dead are named, those of the living are not"
mount_point=$(awk '$3 == "hugetlbfs" { print $2; exit }' /proc/mounts)
dead=$mount_point/e2e$$-deadmap_0
alive=$mount_point/e2e$$-alivemap_0
on_exit "rm -f '$dead' '$alive'"
: >"$dead"
exec 4>"$alive"
flock 4
expect 0 "$dead" "$hugepage_setup" --check --pages 1
! grep -q "$alive" "$work/output" || fail "a file that a living process holds is called stale"
exec 4>&-
expect 0 "$alive" "$hugepage_setup" --check --pages 1
