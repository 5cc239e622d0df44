#!/usr/bin/env bash
# `./run test`: five stages, each a meson run in the build that suits it, and one summary.
#
#   unit  everything that needs no device, with AddressSanitizer and UBSan and all assertions
#   tsan  the tests of threads, with ThreadSanitizer
#   mutants  every rule of the protocol broken on purpose, one at a time: simulation must notice; every order of events
#   dpdk  the tests that start DPDK, in the release build
#   e2e   whole processes (tests/e2e), in the release build
set -euo pipefail
cd "$(dirname "$0")/../.."
source tools/tasks/build.sh
source tools/tasks/hugepages.sh

readonly hugepages_wanted=512
hugepages_asked=no
stages=()
report_options=()
[[ ${CI:-} != true ]] || export BOWLINE_REQUIRE_ALL=1

while (($# > 0)); do
    case $1 in
        --require-all) export BOWLINE_REQUIRE_ALL=1 ;;
        unit | tsan | mutants | dpdk | e2e) stages+=("$1") ;;
        *)
            printf './run test: unknown argument "%s" (known: --require-all unit tsan mutants dpdk e2e)\n' "$1" >&2
            exit 2
            ;;
    esac
    shift
done
((${#stages[@]} > 0)) || stages=(unit tsan mutants dpdk e2e)
[[ ${BOWLINE_REQUIRE_ALL:-} != 1 ]] || report_options+=(--require-all)

trap hugepages_restore EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# leave_out WHAT: for the summary.
leave_out() {
    report_options+=(--left-out "$1")
}

# Reserves huge pages for the tests that would use them, where we may.
borrow_hugepages() {
    [[ $hugepages_asked == no ]] || return 0
    hugepages_asked=yes
    if ((EUID != 0)); then
        leave_out "huge pages: needs root (DPDK ran on ordinary pages)"
    elif [[ ! -d $hugepages_pool ]]; then
        leave_out "huge pages: this kernel has none (DPDK ran on ordinary pages)"
    else
        hugepages_save
        ((hugepages_before >= hugepages_wanted)) ||
            hugepage-setup/hugepage-setup --apply --pages "$hugepages_wanted" ||
            leave_out "huge pages: the kernel gave too few (DPDK may have run on ordinary pages)"
    fi
}

# run_stage NAME FOLDER MESON-TEST-OPTIONS…: leaves the results in FOLDER/reports-NAME for the summary. meson builds what
# the chosen tests need, and nothing else.
run_stage() {
    local name=$1 folder=$2
    local reports=$folder/reports-$name log=$folder/meson-logs/testlog.json
    shift 2
    printf '\n== %s ==\n' "$name"
    rm -rf "$reports" "$log"
    mkdir "$reports"
    GTEST_OUTPUT="json:$PWD/$reports/" meson test -C "$folder" --print-errorlogs "$@" || true
    [[ ! -f $log ]] || mv "$log" "$reports/meson.json"
    report_options+=("$name=$reports")
}

# The runtime of g++ 12's ThreadSanitizer cannot place its shadow when addresses are randomised over more than 28 bits.
tsan_wrapper() {
    (($(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28) > 28)) && printf -- '--wrapper=setarch -R'
}

for stage in "${stages[@]}"; do
    case $stage in
        unit)
            configure_sanitized build-asan address,undefined
            export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=1
            export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
            run_stage unit build-asan --no-suite dpdk --no-suite e2e --no-suite mutants
            ;;
        tsan)
            configure_sanitized build-tsan thread
            export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
            mapfile -t wrapper < <(tsan_wrapper)
            run_stage tsan build-tsan --suite tsan "${wrapper[@]}"
            ;;
        mutants)
            configure build-mutants --buildtype=release -Ddchecks=true -Dmutants=true
            run_stage mutants build-mutants --suite mutants
            ;;
        dpdk)
            borrow_hugepages
            configure_release
            run_stage dpdk build --suite dpdk --num-processes 1
            ;;
        e2e)
            borrow_hugepages
            configure_release
            run_stage e2e build --suite e2e --num-processes 1
            ;;
    esac
done

printf '\n'
python3 tools/tasks/test_report.py "${report_options[@]}"
