# SPDX-License-Identifier: MIT
# The bed of a test that lends between the machines of one cluster; for tests in bash,
# which call `farside cluster` as $farside. It reads tests/tap.sh.
#
#   on HOST COMMAND-LINE    # runs it there; it ends after $ON_SECONDS, times $slow
#   up                      # true if the borrower has a session
#   show_logs               # the ends of the logs of $hosts
#
# The cluster is to be called $name. It goes down with the test. A point that fails shows
# the logs; the test may define its own on_failure after this. SLOW is how much longer all may
# take; without it, that follows from the load, up to 6.
. "$(dirname "$0")/../tap.sh"
needs_lending "${FARSIDE_GUEST:-build-guest}"
name=lending-$(basename "$0")-$$
hosts='lender borrower'
scale_limits 6 # the machines may have a part of a processor only

on() {
    timeout $((${ON_SECONDS:-60} * slow)) "$farside" cluster exec -c "$name" "$1" -- \
        sh -c "$2" </dev/null
}

up() {
    on borrower 'lendctl list' | grep ' up '
}

show_logs() {
    local host
    for host in $hosts; do
        echo "the end of $host's log:"
        ON_SECONDS=20 on "$host" 'dmesg | tail -n 15'
    done
}

on_failure() {
    show_logs
}

on_exit() {
    ! is_function go_on || go_on # tests/lending/stops.sh
    "$farside" cluster down -c "$name"
}
