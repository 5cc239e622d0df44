# shellcheck shell=bash
# What the end-to-end tests and `./run demo` share: a scratch directory, processes with names, bounded waiting, clean-up
# on every way out. Sourced, not run.
set -euo pipefail

source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BOWLINE=${BOWLINE:-$source_root/build/tools/bowline}

# Exit status that meson takes for "left out".
readonly exit_left_out=77

work=$(mktemp -d "${TMPDIR:-/tmp}/bowline-e2e.XXXXXX")
declare -A pids=()        # name of a process -> its pid, as long as nobody has collected its exit status
declare -a exit_actions=() # run on exit, the latest first

# — the end —

on_exit() {
    exit_actions+=("$*")
}

clean_up() {
    local status=$? name i
    trap '' INT TERM
    set +e
    if ((status != 0 && status != exit_left_out)); then
        show_outputs
    fi
    for name in "${!pids[@]}"; do
        kill -KILL "${pids[$name]}" 2>/dev/null
        wait "${pids[$name]}" 2>/dev/null
    done
    for ((i = ${#exit_actions[@]} - 1; i >= 0; i--)); do
        eval "${exit_actions[i]}"
    done
    rm -rf "$work"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Prints the end of what every process wrote to standard error: what one wants to see first of a failure.
show_outputs() {
    local file
    for file in "$work"/*.err; do
        [[ -s $file ]] || continue
        printf -- '--- %s\n' "${file##*/}" >&2
        tail -n 15 "$file" >&2
    done
}

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

step() {
    printf '• %s\n' "$*"
}

# — what a scenario needs —

# Ends the script as left out, or as failed where nothing may be left out (CI, `./run test --require-all`).
leave_out() {
    if [[ ${CI:-} == true || ${BOWLINE_REQUIRE_ALL:-} == 1 ]]; then
        fail "$* (and nothing may be left out here)"
    fi
    printf 'left out: %s\n' "$*"
    exit "$exit_left_out"
}

need_root() {
    ((EUID == 0)) || leave_out "needs root: $*"
}

need_command() {
    local command
    for command in "$@"; do
        command -v "$command" >/dev/null || leave_out "needs the command $command (./run deps installs it)"
    done
}

need_bowline() {
    [[ -x $BOWLINE ]] || fail "$BOWLINE does not exist; ./run build makes it"
}

# — processes with names —

# start NAME COMMAND…: runs it in the background; its output goes to $work/NAME.out and $work/NAME.err, its standard
# input comes from ${input:-/dev/null}.
start() {
    local name=$1
    shift
    "$@" <"${input:-/dev/null}" >"$work/$name.out" 2>"$work/$name.err" &
    pids[$name]=$!
}

running() {
    kill -0 "${pids[$1]}" 2>/dev/null
}

gone() {
    ! running "$1"
}

# wait_for SECONDS WHAT COMMAND…: polls until the command succeeds; fails, naming WHAT, when it has not in time.
wait_for() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        ((SECONDS <= deadline)) || fail "waited in vain for $what"
        sleep 0.02
    done
}

# finish NAME SECONDS: waits for its end and leaves its exit status in $status.
finish() {
    wait_for "$2" "the end of $1" gone "$1"
    status=0
    wait "${pids[$1]}" || status=$?
    unset "pids[$1]"
}

# finish_ok NAME SECONDS: the same, and it must have succeeded.
finish_ok() {
    finish "$@"
    ((status == 0)) || fail "$1 ended with status $status, expected 0"
}

# kill_hard NAME: kill -9 and collect.
kill_hard() {
    kill -KILL "${pids[$1]}"
    wait "${pids[$1]}" 2>/dev/null || true
    unset "pids[$1]"
}

# says NAME REGEX: whether the process has written a line like this (either output).
says() {
    grep -Eqsi -- "$2" "$work/$1.out" "$work/$1.err"
}

# lines_in FILE N: whether the file has N lines or more.
lines_in() {
    (($(wc -l <"$1") >= $2))
}

# — files and figures —

# random_file PATH BYTES: the same bytes in every run.
random_file() {
    python3 - "$1" "$2" <<'EOF'
import random, sys
with open(sys.argv[1], "wb") as out:
    out.write(random.Random(1).randbytes(int(sys.argv[2])))
EOF
}

sha256() {
    sha256sum -- "$1" | cut -d' ' -f1
}

same_file() {
    [[ $(sha256 "$1") == $(sha256 "$2") ]] || fail "$2 ($(stat -c %s -- "$2") bytes) differs from $1 ($(stat -c %s -- "$1") bytes)"
}

# figure NAME KEY: a figure of the JSON object that the process printed last (either output); KEY may be a.b.
figure() {
    python3 - "$2" "$work/$1.out" "$work/$1.err" <<'EOF'
import json, sys
key, *files = sys.argv[1:]
found = None
for name in files:
    for line in open(name, "rb"):
        if line.startswith(b"{"):
            try:
                found = json.loads(line)
            except ValueError:
                pass
if found is None:
    sys.exit(f"no JSON object in {' or '.join(files)}")
for part in key.split("."):
    found = found[part]
print(found)
EOF
}

# at_least A B: whether A >= B, for decimal numbers.
at_least() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'
}
