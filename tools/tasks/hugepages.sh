# shellcheck shell=bash
# Borrowing huge pages from a machine: what was there is put back. Sourced by tasks and tests that run as root.

hugepages_pool=/sys/kernel/mm/hugepages/hugepages-2048kB

# Remembers the machine's state; hugepages_restore goes back to it.
hugepages_save() {
    hugepages_before=$(<"$hugepages_pool/nr_hugepages")
    hugepages_mounts_before=$(awk '$3 == "hugetlbfs" { print $2 }' /proc/mounts)
}

# Harmless when nothing was saved, and the second time.
hugepages_restore() {
    [[ -n ${hugepages_before:-} ]] || return 0
    local mount_point
    while read -r mount_point; do
        grep -qxF -- "$mount_point" <<<"$hugepages_mounts_before" || umount "$mount_point" || true
    done < <(awk '$3 == "hugetlbfs" { print $2 }' /proc/mounts)
    printf '%s\n' "$hugepages_before" >"$hugepages_pool/nr_hugepages" || true
    hugepages_before=''
}
