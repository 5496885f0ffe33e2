# SPDX-License-Identifier: MIT
# For tests that print TAP and run machines of their own; bash.
#
#   . tests/tap.sh
#   skip WHY                       # instead of all points
#   needs_guests DIR               # skips where QEMU or the image is missing
#   needs_lending DIR              # likewise, and the modules of Device Lending
#   check NAME COMMAND...          # a point; if it fails its output is shown
#   until_ok SECONDS COMMAND...    # whether the command succeeds in time
#   done_testing                   # the plan, and the exit status
#
# $dir is a folder of the test's own. Functions of the test, if there are any:
# on_failure tells more of a point that failed, on_exit ends what was begun.
# Waiting takes $slow times as long as is said.
tests=0
failed=0
slow=1
dir=$(mktemp -d "${TMPDIR:-/tmp}/farside-test.XXXXXX") || exit 1

is_function() {
    declare -F "$1" >/dev/null
}

finish() {
    ! is_function on_exit || on_exit >/dev/null 2>&1
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

skip() {
    echo "1..0 # SKIP $*"
    exit 0
}

needs_guests() { # DIR
    command -v qemu-system-x86_64 >/dev/null && [ -e "$1/initramfs" ] ||
        skip "make cluster installs and builds what this needs"
}

needs_lending() { # DIR
    needs_guests "$1"
    grep -qa dl_fabric.ko "$1/initramfs" ||
        skip "no image of a guest with the modules; make guest"
}

# How many times as long all takes: more, with more processes than processors.
load_factor() {
    awk -v cpus="$(nproc)" '{ print int($1 / cpus) + 1 }' /proc/loadavg
}

# No locals: what the command calls would see them.
check() {
    tests=$((tests + 1))
    if "${@:2}" >"$dir/output" 2>&1; then
        echo "ok $tests - $1"
        return
    fi
    failed=$((failed + 1))
    echo "not ok $tests - $1"
    {
        tail -n 60 "$dir/output"
        ! is_function on_failure || on_failure 2>&1
    } | tr -d '\r' | sed 's/^/#   /'
}

until_ok() {
    local end=$((SECONDS + $1 * slow))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

done_testing() {
    echo "1..$tests"
    [ "$failed" -eq 0 ]
    exit
}
