#!/usr/bin/env bash
# `./run lint`: checks that need no test run. Each counts as one in the last line.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tools/tasks/build.sh

scripts() {
    grep -rlIZ --exclude-dir=.git --exclude-dir='build*' -E '^#!/usr/bin/env bash|^# shellcheck shell=bash' .
}

lint_format() {
    cpp_files | xargs -0 clang-format-14 --dry-run -Werror
}

# Our sources as the release build compiles them. A check that fires is an error (.clang-tidy says which, and why not).
lint_tidy() {
    configure_release
    python3 - <<'EOF' | xargs -0 -P "$(nproc)" -n 1 \
        clang-tidy-14 -p build --quiet --extra-arg=-Wno-unknown-warning-option 2> >(grep -Ev '^[0-9]+ warnings? generated' >&2)
import json, os
commands = json.load(open("build/compile_commands.json"))
files = {os.path.normpath(os.path.join(c["directory"], c["file"])) for c in commands}
print(end="".join(f + "\0" for f in sorted(files) if not f.startswith(os.path.abspath("build") + os.sep)))
EOF
}

lint_shell() {
    scripts | xargs -0 shellcheck --external-sources --source-path=SCRIPTDIR --source-path=tests/e2e --source-path=.
}

# What users include must need nothing but the standard library and what it includes itself.
lint_headers() {
    local header
    while read -r header; do
        printf '#include "%s"\n' "${header#include/}" |
            g++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -x c++ - || return 1
        [[ $header == *.hpp ]] || printf '#include "%s"\n' "${header#include/}" |
            gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -x c - || return 1
    done < <(find include/bowline -name '*.hpp' -o -name '*.h')
}

lint_docs() {
    python3 tools/tasks/check_docs.py
}

checks=("$@")
((${#checks[@]} > 0)) || checks=(format shell headers docs tidy)
passed=0
failed=()
for check in "${checks[@]}"; do
    declare -F "lint_$check" >/dev/null || {
        printf './run lint: unknown check "%s" (known: format tidy shell headers docs)\n' "$check" >&2
        exit 2
    }
    printf '== %s ==\n' "$check"
    # In a process of its own: a function called as a condition would run on after its first failure.
    if bash -c "set -euo pipefail; source tools/tasks/build.sh; $(declare -f scripts "lint_$check"); lint_$check"; then
        passed=$((passed + 1))
    else
        failed+=("$check")
    fi
done
((${#failed[@]} == 0)) || printf 'FAILED: %s\n' "${failed[@]}"
printf '%d passed, %d failed\n' "$passed" "${#failed[@]}"
((${#failed[@]} == 0))
