# shellcheck shell=bash
# The Debian 12 packages that the tasks need, and how they get onto the machine. Sourced by ./run.

# libdpdk-dev brings every driver along (memif, af_packet, af_xdp, tap, ring, null, pcap, …) and the mempool drivers.
declare -A deps=(
    [build]="g++ meson ninja-build pkg-config python3 libdpdk-dev libtbb-dev libtomlplusplus-dev libcli11-dev
             libspdlog-dev libfmt-dev nlohmann-json3-dev libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev"
    [test]="iproute2 nftables iputils-ping ethtool tshark"
    [lint]="clang-format-14 clang-tidy-14 shellcheck"
)

# deps_of GROUP…: their packages, one a line.
deps_of() {
    local group
    for group in "$@"; do
        # shellcheck disable=SC2086 # a list of words
        printf '%s\n' ${deps[$group]}
    done
}

deps_missing() {
    local package
    while read -r package; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || printf '%s\n' "$package"
    done < <(deps_of "$@")
}

# ensure_deps GROUP…: installs what is missing, saying what; ends the script when something is and it may not.
ensure_deps() {
    local missing
    if ! command -v dpkg-query >/dev/null; then
        printf 'This is not Debian: packages are not checked. What Debian 12 calls them: ./run deps --list\n' >&2
        return
    fi
    mapfile -t missing < <(deps_missing "$@")
    ((${#missing[@]} > 0)) || return 0
    local as_root=()
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            printf 'Packages are missing, and without root or sudo they cannot be installed. Ask an administrator for:\n  apt-get install --no-install-recommends %s\n' "${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    printf 'Installing Debian packages%s: %s\n' "${as_root[0]:+ (with sudo)}" "${missing[*]}" >&2
    # A fresh machine has no package lists, an old one stale lists: fetch them only when that shows.
    if ! apt_install "${missing[@]}"; then
        "${as_root[@]}" apt-get update >&2
        apt_install "${missing[@]}"
    fi
}

# Uses as_root of its caller.
apt_install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install --yes --quiet --no-install-recommends "$@" </dev/null >&2
}
