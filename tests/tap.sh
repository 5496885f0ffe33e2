# SPDX-License-Identifier: MIT
# Functions for tests in bash that print TAP. Many start virtual machines.
#
#   . tests/tap.sh
#   skip REASON                    # skips the whole test
#   needs_guests DIR               # skips if QEMU or the guest image is missing
#   needs_lending DIR              # also if the image has no Device Lending
#                                  # modules
#   check NAME COMMAND...          # a test point; shows the output of a command
#                                  # that fails
#   until_ok SECONDS COMMAND...    # repeats the command until it succeeds; fails
#                                  # after SECONDS
#   done_testing                   # prints the plan and exits
#
# $dir is a temporary folder of the test. The test may define two functions:
# on_failure prints more about a point that failed, and on_exit cleans up.
# until_ok multiplies its time limit by $slow.
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

# For tests that ask the monitor of a machine of the cluster $name.
needs_monitor() {
    perl -MIO::Socket::UNIX -e 1 2>/dev/null || skip 'perl is not installed'
}

monitor() { # HOST COMMAND [ARGUMENTS]: as tests/lending/monitor
    _monitor=$("$farside" cluster status -c "$name" --json |
        sed -n "s,.*\"qmp\" : \"\(.*/$1\.qmp\)\".*,\1,p")
    shift
    "$(dirname "$0")/monitor" "$_monitor" "$@"
}

# Estimates how much slower commands run on this machine: the load average
# divided by the number of processors, plus 1, or what commands that need all processors
# get at the moment, if that is less. The load average is that of the last minute.
load_factor() {
    local i
    for i in $(seq "$(nproc)"); do
        (
            i=$((${EPOCHREALTIME/./} + 200000))
            while [ "${EPOCHREALTIME/./}" -lt $i ]; do :; done
            times
        ) &
    done | awk -v cpus="$(nproc)" '
        FILENAME == "-" { split($1, user, "[ms]"); split($2, kernel, "[ms]")
            got += user[2] + kernel[2]; next }
        { load = $1 / cpus }
        END { share = cpus * 0.2 / (got > 0 ? got : 0.01)
            print int(load > share - 1 ? load : share - 1 + 0.5) + 1 }' - /proc/loadavg
}

# scale_limits MOST: sets $slow, by which limits of time are multiplied, from the load, up to
# MOST. SLOW names another one.
scale_limits() {
    slow=$(load_factor)
    [ "$slow" -le "$1" ] || slow=$1
    slow=${SLOW:-$slow}
}

# No local variables: the functions that the command calls would see them.
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
