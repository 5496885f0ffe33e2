# SPDX-License-Identifier: MIT
# The bed of the tests of devmem TCP, for tests in bash, which call `farside cluster` as
# $farside and have the names of the hosts in $hosts. It reads tests/tap.sh.
#
#   on HOST COMMAND-LINE       # runs it there; it ends after $ON_SECONDS, times $slow
#   set_address HOST ADDRESS   # of its interface, which is set up
#   counter HOST NAME          # prints a counter of ethtool -S
#
# MEMORY is that of each host, if it is set, instead of that of the description. SLOW is how
# much longer all may take; without it, that follows from the load, up to 4.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../lending/faults.sh"
needs_guests "${FARSIDE_GUEST:-build-guest}"
grep -qa fnic.ko "${FARSIDE_GUEST:-build-guest}/initramfs" ||
    skip "no image of a guest with the NIC's driver; make guest guest-6.12"
name=devmem-$$
scale_limits 4 # the machines may have a part of a processor only

up() { # ARGUMENT...: of `farside cluster up`
    local host more=()
    for host in ${MEMORY:+$hosts}; do
        more+=(--set "hosts.$host.vm.memory=$MEMORY")
    done
    "$farside" cluster up "$scenario" --name "$name" --timeout $((60 * slow)) \
        "${more[@]}" "$@"
}

on() {
    timeout $((${ON_SECONDS:-60} * slow)) "$farside" cluster exec -c "$name" "$1" -- \
        sh -c "$2" </dev/null
}

has_interface() { # HOST
    on "$1" 'test -e /sys/class/net/eth0'
}

set_address() {
    on "$1" "sysctl -q -w net.ipv6.conf.eth0.accept_dad=0 2>/dev/null
        ip addr flush dev eth0; ip addr add $2/24 dev eth0; ip link set eth0 up"
}

counter() {
    on "$1" "ethtool -S eth0 | sed -n 's/^ *$2: //p'"
}

healthy() {
    local host
    for host in $hosts; do
        "$farside" cluster logs -c "$name" "$host" >"$dir/log" &&
            grep -q 'Linux version' "$dir/log" && no_faults "$dir/log" || return 1
    done
}

on_failure() {
    local host
    for host in $hosts; do
        echo "the end of $host's log:"
        ON_SECONDS=20 on "$host" 'dmesg | tail -n 15'
    done
}

on_exit() {
    "$farside" cluster down -c "$name"
}
