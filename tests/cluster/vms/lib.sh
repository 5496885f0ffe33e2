# SPDX-License-Identifier: MIT
# Functions for the tests on virtual machines; bash. Each test is a program that
# prints TAP and starts its own cluster:
#
#   tests/cluster/vms/TEST FARSIDE [TOOL]
#
# FARSIDE is the program farside; TOOL is the program of tool.c, for guests. A test
# skips if QEMU or the files of the guests are missing.
set -u

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/../../tap.sh"
scale_limits 6 # the machines may have a part of a processor only
farside=$1
tool=${2:-}
cluster=test-$(basename "$0")-$$
hosts=
needs_guests "${FARSIDE_GUEST:-$here/../../../build-guest}"
exec 3>&1

on_exit() {
    "$farside" cluster down -c "$cluster"
}

on_failure() {
    local host
    for host in $hosts; do
        echo "end of $host's console:"
        "$farside" cluster logs -c "$cluster" "$host" | tail -n 12
    done
}

# up FILE HOST...: boots the cluster, and prints the time it took
up() {
    local file=$1 begin
    shift
    hosts=$*
    begin=$(date +%s%N)
    # shellcheck disable=SC2086 # options are words
    "$farside" cluster up --name "$cluster" --timeout $((120 * slow)) ${up_options:-} \
        "$here/$file" ||
        return 1
    echo "# up after $((($(date +%s%N) - begin) / 1000000)) ms" >&3
}

# on HOST COMMAND...: runs a shell command there; returns its output and exit status
on() {
    local host=$1
    shift
    timeout $((${PATIENCE:-60} * slow)) "$farside" cluster exec -c "$cluster" "$host" -- \
        sh -c "$*" </dev/null
}

# The processes of the machines
machines() {
    local p
    for p in $(pgrep -f -- "cluster up --name $cluster "); do
        pgrep -P "$p" -x qemu-system-x86
    done
}

# all_map EXPRESSION, none_maps EXPRESSION: files that the machines have mapped
all_map() {
    local p
    [ "$(machines | wc -l)" -eq "$(echo "$hosts" | wc -w)" ] || return 1
    for p in $(machines); do
        grep -q -- "$1" "/proc/$p/maps" || return 1
    done
}

none_maps() {
    local p
    for p in $(machines); do
        ! grep -- "$1" "/proc/$p/maps" || return 1
    done
}

# The first point of each test. If it fails, the test ends.
boots() {
    check "hosts boot: ${*:2}" up "$@"
    if [ "$failed" -gt 0 ]; then
        sed 's/^/# /' "$dir/output"
        done_testing
    fi
}

# True if no kernel reports a fault.
kernels_are_content() {
    local host
    for host in $hosts; do
        "$farside" cluster logs -c "$cluster" "$host" >"$dir/log" || return 1
        [ -s "$dir/log" ] || return 1
        if grep -E 'BUG:|Oops|Call Trace|nobody cared|soft lockup|blocked for more' \
            "$dir/log"; then
            return 1
        fi
    done
}

# The PCI slot of the NTB that leads from one host to another, on bus 0; elsewhere BUS:SLOT
slot() { # FROM TO
    case $1$2 in
    ac | bc | cb) echo 06 ;;
    *) echo 05 ;;
    esac
}

address() { # SLOT
    [[ $1 = *:* ]] && echo "0000:$1.0" || echo "0000:00:$1.0"
}

tool_of() { # FROM TO
    echo "/sys/kernel/debug/ntb_tool/$(address "$(slot "$1" "$2")")"
}

# The folder of a peer in that of ntb_tool
peer_of() { # FROM TO
    echo peer0
}

enable() { # FROM TO
    on "$1" "echo Y >$(tool_of "$1" "$2")/link"
}

disable() { # FROM TO
    on "$1" "echo N >$(tool_of "$1" "$2")/link"
}

link_is() { # FROM TO Y|N
    [ "$(on "$1" "cat $(tool_of "$1" "$2")/$(peer_of "$1" "$2")/link")" = "$3" ]
}

links_are() { # FROM TO Y|N: at both ends
    until_ok 10 link_is "$1" "$2" "$3" && until_ok 10 link_is "$2" "$1" "$3"
}

# doorbells FROM TO [BITS]: FROM rings some bits, and TO sees and clears them
doorbells() {
    local db bits=${3:-0xa00005}
    db=$(tool_of "$2" "$1")/db
    on "$1" "echo 's $bits' >$(tool_of "$1" "$2")/peer_db" || return 1
    on "$2" "n=0; until [ \$(cat $db) = $bits ]; do
            n=\$((n + 1)); [ \$n -lt $((50 * slow)) ] || exit 1; usleep 100000; done
        echo 'c $bits' >$db && [ \$(cat $db) = 0x0 ]"
}

# scratchpads FROM TO [LEAST]: FROM writes new values to all, and TO reads them. There
# are at least LEAST.
scratchpads() {
    local base=$((RANDOM * 65536)) n here there
    here=$(tool_of "$1" "$2")/peer0
    there=$(tool_of "$2" "$1")
    n=$(on "$1" "cd $here && ls -d spad* | wc -l")
    [ "$n" -ge "${3:-16}" ] || return 1
    on "$1" "for i in \$(seq 0 $((n - 1))); do
            echo \$(($base + i)) >$here/spad\$i || exit 1; done"
    on "$2" "for i in \$(seq 0 $((n - 1))); do
            read -r v <$there/spad\$i
            [ \$((v)) -eq \$(($base + i)) ] || { echo spad\$i is \$v; exit 1; }
        done"
}

# The number of windows that a host has to another.
window_count() { # FROM TO
    on "$1" "cd $(tool_of "$1" "$2")/peer0 && ls -d peer_mw_trans* | wc -l"
}

# allocate AT FROM N BYTES: allocates memory at AT for window N of FROM; prints its
# address
allocate() {
    local trans
    trans=$(tool_of "$1" "$2")/$(peer_of "$1" "$2")/mw_trans$3
    on "$1" "echo $4 >$trans && cat $trans" |
        sed -n 's/^DMA Address[^0-9]*\(0x[0-9a-f]*\).*/\1/p' | grep .
}

# translation ADDRESS BYTES: what ntb_tool's peer_mw_trans is given. That of Linux 7.3
# reads decimal numbers alone.
translation() {
    echo $(($1)):$(($2))
}

# window FROM TO N BYTES: FROM writes random data through the window, and TO reads
# it from memory; TO writes other data, and FROM reads it through the window
window() {
    local here there address size=$4 near far data=/tmp/data-$1-$2
    near=$(tool_of "$1" "$2")/$(peer_of "$1" "$2")
    far=$(tool_of "$2" "$1")/$(peer_of "$2" "$1")
    address=$(allocate "$2" "$1" "$3" "$size") || return 1
    here=$(on "$1" "echo $(translation "$address" "$size") >$near/peer_mw_trans$3 &&
        dd if=/dev/urandom of=$data bs=$((size)) count=1 2>/dev/null && cat $data >$near/peer_mw$3
        md5sum <$data")
    there=$(on "$2" "dd if=$far/mw$3 bs=4k count=$((size / 4096)) 2>/dev/null | md5sum
        dd if=/dev/urandom of=$data bs=$((size)) count=1 2>/dev/null && cat $data >$far/mw$3
        md5sum <$data")
    here="$here
$(on "$1" "dd if=$near/peer_mw$3 bs=4k count=$((size / 4096)) 2>/dev/null | md5sum
        echo $(translation "$address" 0) >$near/peer_mw_trans$3")"
    # Clears the window: removing ntb_tool while a window is set would oops.
    on "$2" "echo 0 >$far/mw_trans$3" || return 1
    echo "here: $here, there: $there"
    [ "$(echo "$here" | grep -c -- -)" -eq 2 ] && [ "$here" = "$there" ]
}

bar() { # HOST SLOT N: the address of BAR N
    on "$1" "sed -n '$(($3 + 1))s/ .*//p' /sys/bus/pci/devices/$(address "$2")/resource"
}

# open_window FROM TO ENTRY VALUE: FROM writes an entry of its own LUT without its
# driver. The first end of a cable is partition 0, the other one partition 1; in
# these clusters that is also the order of the hosts' names.
open_window() {
    local gas block
    gas=$(bar "$1" "$(slot "$1" "$2")" 0)
    block=$((gas + 0x14000 + $(partition "$1" "$2") * 0x2000))
    on "$1" "devmem $((block + 4)) 32 1; usleep 100000
        devmem $((block + 0x1000 + 8 * $3)) 64 $(($4))
        devmem $((block + 4)) 32 2; usleep 100000
        [ \$((\$(devmem $block 32))) -eq 1 ]"
}

partition() { # OF OTHER
    [[ $1 < $2 ]] && echo 0 || echo 1
}

# entry FROM TO ADDRESS: the value of an entry of FROM's LUT that leads to ADDRESS
# at TO
entry() {
    echo $(($3 | 1 | $(partition "$2" "$1") << 1))
}

through() { # FROM TO ENTRY: the address of this LUT window; each has 64 KiB
    echo $(($(bar "$1" "$(slot "$1" "$2")" 2) + $3 * 0x10000))
}

# client MODULE [PARAMETER...]: loads an NTB client on a and b. First unloads the
# old one on both: a client that finds another client's values in the scratchpads
# waits for a long time.
client() {
    on a "modprobe -r $loaded" && on b "modprobe -r $loaded" &&
        on a "modprobe $*" && on b "modprobe $*" || return 1
    loaded=$1
}

# transfer FROM TO ADDRESS MIB: sends random data over TCP; the checksums must agree
transfer() {
    local here PATIENCE=200
    # nc hangs up at the end of its input, so its input is a pipe that never ends.
    on "$2" 'rm -f /tmp/pipe; mkfifo /tmp/pipe; nc -l -p 9000 <>/tmp/pipe |
        md5sum >/tmp/sum' &
    on "$2" 'until netstat -lnt | grep -q :9000; do usleep 50000; done' || return 1
    here=$(on "$1" "dd if=/dev/urandom of=/tmp/block bs=1M count=1 2>/dev/null
        send() { for i in \$(seq $4); do echo \$i; cat /tmp/block; done; }
        send | md5sum; send | nc $3 9000" | head -n 1)
    wait $!
    echo "sent $here"
    [ -n "$here" ] && [ "$here" = "$(on "$2" 'cat /tmp/sum')" ]
}

# The kernel's clients between a and b, whose only NTB is in slot 5

# Both close their windows to each other at the same time, again and again. Neither may
# wait for the other in vain: that would take a second each time.
close_at_once() {
    local far begin loop
    loop="cd $(tool_of a b)/peer0
        for i in \$(seq 40); do echo 0x10000 >mw_trans0; echo 0 >mw_trans0; done"
    begin=$(date +%s%N)
    on a "$loop" &
    on b "$loop" || return 1
    wait $! || return 1
    far=$((($(date +%s%N) - begin) / 1000000))
    echo "# 40 windows of both opened and closed in $far ms" >&3
    [ "$far" -lt 15000 ]
}

counts() { # HOST
    [ $(($(on "$1" 'cat /sys/kernel/debug/ntb_pingpong/*/count'))) -gt 20 ]
}

pingpong() { # PARAMETER...
    client ntb_pingpong delay_ms=0 "$@" && until_ok 20 counts a && until_ok 20 counts b
}

# ntb_perf waits until the hosts have told each other their windows.
perf() { # HOST
    local run=/sys/kernel/debug/ntb_perf/0000:00:05.0/run
    on "$1" "echo 0 >$run && cat $run" >"$dir/perf"
    cat "$dir/perf"
    grep -q 'MBytes/s' "$dir/perf"
}

# Twenty echoes in turn: ntb_netdev's buffers are as large as its MTU of 64 KiB, and ping's
# socket drops an answer that comes while it holds one.
ping_netdev() {
    local host
    client ntb_netdev || return 1
    on a 'ip address add 10.0.0.1/24 dev eth0; ip link set eth0 up'
    on b 'ip address add 10.0.0.2/24 dev eth0; ip link set eth0 up'
    until_ok 40 on a 'ping -c 1 -w 1 10.0.0.2' &&
        on a 'for n in $(seq 20); do
            ping -c 1 -W 20 -s 8000 10.0.0.2 || exit 1
        done' && return
    for host in a b; do
        on "$host" 'ifconfig eth0; cat /sys/kernel/debug/ntb_transport/*/qp0/stats'
    done
    return 1
}

# The driver of the host that is left sees the end, and the return.
dies_and_returns() { # HOST OTHER
    "$farside" cluster kill -c "$cluster" "$1" && until_ok 10 link_is "$2" "$1" N &&
        "$farside" cluster restart -c "$cluster" "$1" && links_are a b Y
}
