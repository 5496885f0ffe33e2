# SPDX-License-Identifier: MIT
# Functions for the clients of `farside ntb-test`; bash. A client is a program that tries
# one thing from one host of a chip to another. It finds in its environment:
#
#   FARSIDE            the program
#   FARSIDE_CLUSTER    the cluster, which is up
#   FARSIDE_HOSTS      all hosts of the chip
#   FARSIDE_FROM, FARSIDE_TO   the pair
#   FARSIDE_LINK       the name of what joins them
#   FARSIDE_LEAVE_OUT  steps to leave out, one in each line
#   FARSIDE_NTB_TEST   the kernel's ntb_test.sh
#   FARSIDE_SLOW       all times are multiplied by this
#
# It prints a line for each step, "ok STEP", "not ok STEP" or "left out STEP", then lines
# with "# ", which say more, and "end" at the very end. Modules that it loads stay:
# the next client unloads them.
set -u
from=$FARSIDE_FROM
to=$FARSIDE_TO
hosts=$FARSIDE_HOSTS
slow=${FARSIDE_SLOW:-1}
debugfs=/sys/kernel/debug
declare -A devices peers

# on HOST COMMAND: runs a shell command there; returns its output and exit status
on() {
    "$FARSIDE" cluster exec -c "$FARSIDE_CLUSTER" --timeout $((${PATIENCE:-40} * slow)) \
        "$1" -- sh -c "$2" </dev/null
}

step() { # NAME COMMAND...
    local name=$1 said status
    shift
    if [[ $'\n'$FARSIDE_LEAVE_OUT$'\n' == *$'\n'"$name"$'\n'* ]]; then
        echo "left out $name"
        return 0
    fi
    said=$("$@" 2>&1)
    status=$?
    [ "$status" -eq 0 ] && echo "ok $name" || echo "not ok $name"
    [ -z "$said" ] || printf '%s\n' "$said" | tail -n 40 | sed 's/^/# /'
    return "$status"
}

ended() {
    echo end
    exit 0
}

# until_ok SECONDS COMMAND...: repeats the command until it succeeds; fails later
until_ok() {
    local limit=$((SECONDS + $1 * slow))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$limit" ] || {
            "$@"
            return
        }
        sleep 0.2
    done
}

# Commands for a guest: unloads all clients of NTBs. Windows of ntb_tool are closed
# first, since Linux would oops later.
unload='for window in /sys/kernel/debug/ntb_tool/*/peer*/mw_trans*; do
        [ ! -e "$window" ] || echo 0 >"$window" 2>/dev/null; done
    for module in ntb_netdev ntb_transport ntb_msi_test ntb_perf ntb_pingpong ntb_tool; do
        [ ! -e /sys/module/$module ] || rmmod $module || exit 1; done'

# all COMMAND: on all hosts, one after the other
all() {
    local host
    for host in $hosts; do
        on "$host" "$1" || return 1
    done
}

# load MODULE [PARAMETER...]: a client in the place of the one that is loaded. First all
# hosts unload theirs: a client that finds another client's values in the scratchpads
# waits for a long time.
load() {
    all "$unload" && all "modprobe $*"
}

# load_netdev: if ntb_transport refuses an NTB, the log of that host's kernel has the
# reason. It is the first of all hosts that refuses.
load_netdev() {
    local host
    load ntb_netdev && return
    for host in $hosts; do
        on "$host" "dmesg | grep 'ntb_transport.*:' | tail -n 5"
    done
    return 1
}

# appears HOST ADDRESS: the interface does, if ntb_transport has taken the NTB, and gets
# an address
appears() {
    on "$1" "n=0; until ip address add $2/24 dev eth0 2>/dev/null; do
            n=\$((n + 1)); [ \$n -lt $((50 * slow)) ] || { dmesg | grep -i ntb | tail -n 5; exit 1; }
            usleep 100000; done
        ip link set eth0 up"
}

device() { # HOST
    echo "${devices[$1]}"
}

tool() { # HOST
    echo "$debugfs/ntb_tool/${devices[$1]}"
}

# The folder of OTHER at HOST, of ntb_tool
peer() { # HOST OTHER
    echo "$(tool "$1")/peer${peers[$1,$2]}"
}

# Prints the NTB of a host, its port, and those of its peers.
ports='cd /sys/kernel/debug/ntb_tool/* && basename $PWD && cat port &&
    { i=0; while [ -e peer$i ]; do cat peer$i/port; i=$((i + 1)); done; }'

# Finds the devices, and the index of each host's port at the others, as ntb_tool says.
find_ports() {
    local host other said i own
    declare -A all_ports own
    load ntb_tool || return 1
    for host in $hosts; do
        said=$(on "$host" "$ports") || return 1
        said=($said)
        devices[$host]=${said[0]}
        own[$host]=${said[1]}
        all_ports[$host]="${said[*]:2}"
    done
    for host in $hosts; do
        for other in $hosts; do
            i=0
            for port in ${all_ports[$host]}; do
                [ $((port)) -ne $((${own[$other]})) ] || peers[$host,$other]=$i
                i=$((i + 1))
            done
        done
    done
    [ -n "${peers[$from,$to]:-}" ] && [ -n "${peers[$to,$from]:-}" ] || {
        echo "$from and $to do not have each other's port"
        return 1
    }
}

# The first step of each client: its result must be known to what follows.
begins() {
    local said
    said=$(mktemp) || exit 1
    find_ports >"$said" 2>&1 && echo 'ok ports' || {
        echo 'not ok ports'
        sed 's/^/# /' "$said"
        rm -f "$said"
        ended
    }
    rm -f "$said"
}

# Some drivers refuse this although the link comes up.
enable() { # HOST
    on "$1" "echo Y >$(tool "$1")/link" 2>/dev/null || true
}

link_is() { # HOST OTHER Y|N
    local state
    state=$(on "$1" "cat $(peer "$1" "$2")/link") || return 1
    echo "$1 has the link to $2 as $state"
    [ "$state" = "$3" ]
}

links_are() { # HOST OTHER Y|N
    until_ok 20 link_is "$1" "$2" "$3" && until_ok 20 link_is "$2" "$1" "$3"
}

# doorbells FROM TO [BITS]: FROM rings two bits; TO sees them, clears them, and they are
# clear
doorbells() {
    local bits=${3:-} db
    db=$(tool "$2")/db
    [ -n "$bits" ] ||
        bits=$(on "$1" "mask=\$((\$(cat $(tool "$1")/db_valid_mask)))
            [ \$((mask & 5)) -eq 5 ] && echo 0x5 || echo 0x1") || return 1
    on "$2" "echo 'c 0xff' >$db; echo 's 0xff' >${db}_mask" 2>/dev/null
    on "$1" "echo 's $bits' >$(tool "$1")/peer_db" || return 1
    on "$2" "n=0; until [ \$((\$(cat $db) & 0xff)) -eq $((bits)) ]; do
            n=\$((n + 1)); [ \$n -lt $((50 * slow)) ] || { echo $2 has \$(cat $db); exit 1; }
            usleep 100000; done
        echo 'c $bits' >$db && [ \$((\$(cat $db) & $bits)) -eq 0 ]"
}

# scratchpads FROM TO: FROM writes new values to all of TO's, and TO reads them
scratchpads() {
    local base=$((RANDOM * 65536)) n here
    here=$(peer "$1" "$2")
    n=$(on "$1" "cd $here && ls -d spad* 2>/dev/null | wc -l")
    [ "$n" -gt 0 ] || {
        echo 'unsupported: the driver has no scratchpads'
        return 1
    }
    on "$1" "for i in \$(seq 0 $((n - 1))); do
        echo \$(($base + i)) >$here/spad\$i || exit 1; done" &&
        on "$2" "for i in \$(seq 0 $((n - 1))); do
            read -r v <$(tool "$2")/spad\$i
            [ \$((v)) -eq \$(($base + i)) ] || { echo scratchpad \$i of $2 is \$v; exit 1; }
        done; echo $n scratchpads"
}

# messages FROM TO: each register carries a value, and TO reads it with the right sender;
# a message to a full register is refused or waits, so the bits are cleared before
messages() {
    local n value=$((RANDOM * 65536 + RANDOM)) i there
    there=$(tool "$2")
    n=$(on "$1" "cd $(peer "$1" "$2") && ls -d msg* 2>/dev/null | wc -l")
    [ "$n" -gt 0 ] || {
        echo 'unsupported: the driver has no messages'
        return 1
    }
    on "$2" "echo c \$(cat $there/msg_inbits) >$there/msg_sts" &&
        on "$1" "echo c \$(cat $(tool "$1")/msg_outbits) >$(tool "$1")/msg_sts" || return 1
    for i in $(seq 0 $((n - 1))); do
        on "$1" "echo $((value + i)) >$(peer "$1" "$2")/msg$i" || return 1
        on "$2" "read -r v <$there/msg$i
            [ \$((\${v%%<-*})) -eq $((value + i)) ] &&
                [ \$((\${v##*<-})) -eq ${peers[$2,$1]} ] ||
                { echo message $i of $2 is \$v; exit 1; }" || return 1
    done
    echo "$n messages"
}

# translation ADDRESS BYTES: what ntb_tool's peer_mw_trans is given; that of Linux 7.3
# takes decimal numbers alone
translation() {
    echo "$(($1)):$(($2))"
}

# piece FILE BYTES: a guest's command that prints the beginning of a file. The guests' head
# moves single bytes.
piece() {
    echo "dd if=$1 bs=$(($2)) count=1 iflag=fullblock 2>/dev/null"
}

# window FROM TO N: FROM writes random data through its window, and TO finds them in its
# memory; TO changes them, and FROM reads that through the window
window() {
    local near far here there address size=${WINDOW_BYTES:-0x10000}
    near=$(peer "$1" "$2")
    far=$(peer "$2" "$1")
    address=$(on "$2" "echo $size >$far/mw_trans$3 && cat $far/mw_trans$3" |
        sed -n 's/^DMA Address[^0-9]*\(0x[0-9a-f]*\).*/\1/p' | grep .) || {
        echo "$2 has no memory for window $3"
        return 1
    }
    here=$(on "$1" "echo $(translation "$address" "$size") >$near/peer_mw_trans$3 &&
        $(piece /dev/urandom "$size") >/tmp/data && cat /tmp/data >$near/peer_mw$3
        md5sum </tmp/data")
    there=$(on "$2" "$(piece "$far/mw$3" "$size") | md5sum
        $(piece /dev/urandom "$size") >/tmp/data && cat /tmp/data >$far/mw$3
        md5sum </tmp/data")
    here="$here
$(on "$1" "$(piece "$near/peer_mw$3" "$size") | md5sum
        echo $(translation "$address" 0) >$near/peer_mw_trans$3")"
    on "$2" "echo 0 >$far/mw_trans$3" || return 1
    [ "$(grep -c -- - <<<"$here")" -eq 2 ] && [ "$here" = "$there" ] || {
        printf '%s wrote and read:\n%s\n%s read and wrote:\n%s\n' "$1" "$here" "$2" "$there"
        return 1
    }
}

# alive FROM TO: the link, a doorbell and a window work
alive() {
    enable "$1"
    enable "$2"
    links_are "$1" "$2" Y && doorbells "$1" "$2" 0x1 && window "$1" "$2" 0
}
