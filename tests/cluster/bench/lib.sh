# SPDX-License-Identifier: MIT
# Functions for the scripts in this folder, which run commands in the guests of
# $CLUSTER. Its hosts are a and b; each has an NTB and an ivshmem device.
set -u

fail() {
    echo "$0: $*" >&2
    exit 1
}

# on HOST COMMAND: runs a shell command in the guest
on() {
    host=$1
    shift
    "$FARSIDE" cluster exec -c "$CLUSTER" "$host" -- sh -c "$*" </dev/null
}

# client NAME READY: loads an NTB client module on both hosts, and waits until the
# command READY succeeds on both. First unloads the other clients on both hosts: a
# client that finds another client's values in the scratchpads waits for a long time.
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

# pinging: loads ntb_ping on both hosts, and waits until each has set its window
pinging() {
    client ntb_ping '[ "$(cat /sys/kernel/debug/ntb_ping/link)" = Y ]'
}

# copies ADDRESS SIZE REPEATS: by a program in a, through the window at ADDRESS
copies() {
    on a "bench-copy $1 $2 $3" | awk '
        { print; value[$1] = $2 }
        END {
            if (NR != 4) exit 1
            printf "write-ratio %.4f\n", value["ntb-write"] / value["shm-write"]
            printf "read-ratio %.4f\n", value["ntb-read"] / value["shm-read"]
        }'
}

# window: prints the address of the window that ntb_ping has set
window() {
    on a 'read -r address size </sys/kernel/debug/ntb_ping/window && echo $address'
}
