# SPDX-License-Identifier: MIT
# For the scripts beside this one: commands in the guests of $CLUSTER, whose
# hosts are a and b and have each an NTB and an ivshmem device.
set -u

fail() {
    echo "$0: $*" >&2
    exit 1
}

# on HOST COMMAND: a shell's command, in that host's guest
on() {
    host=$1
    shift
    "$FARSIDE" cluster exec -c "$CLUSTER" "$host" -- sh -c "$*" </dev/null
}

# client NAME READY: that client of the NTBs on both hosts, until the command
# READY succeeds on both. Others go from both first: a client that finds another
# one's words in the scratchpads waits for its own for long.
client() {
    clients='ntb_ping ntb_perf ntb_tool ntb_pingpong ntb_msi_test ntb_netdev ntb_transport'
    for host in a b; do
        on "$host" "for m in $clients; do
            [ \$m = $1 ] || [ ! -e /sys/module/\$m ] || rmmod \$m || exit 1
        done" || fail "$host: the clients of the NTB cannot be unloaded"
    done
    for host in a b; do
        on "$host" "[ -e /sys/module/$1 ] || modprobe $1" ||
            fail "$host: there is no $1"
    done
    for host in a b; do
        on "$host" "n=0; until $2; do
            n=\$((n + 1)); [ \$n -lt 200 ] || exit 1; sleep 0.1
        done" || fail "$host: the link of $1 does not come up"
    done
}

# pinging: ntb_ping on both hosts, of which each has set the other's window
pinging() {
    client ntb_ping '[ "$(cat /sys/kernel/debug/ntb_ping/link)" = Y ]'
}
