# SPDX-License-Identifier: MIT
# One of three nodes stops in the middle of a request; for tests in bash on a cluster of
# scenarios/cluster/p2p.yaml. $farside is the program, $name the cluster, $dir a folder, $dl
# the folder of Device Lending in debugfs; on() runs a command on a host, and connected() says
# whether all nodes see each other.
#
# The node runs the real modules, and kmod/test/dl_stand.c stops it. First it is hostile: its
# heart beats and it answers all but this request, while it keeps the locks of the adapters at
# both ends of its cables. Then its QEMU stands. Both times each operation between the other
# two nodes ends within $limit seconds, and when QEMU stands the order that waits for the node
# does so, too. When the node goes on, all devices can be returned and nothing stays open.
limit=5
stopped=

stop() { # HOST: its QEMU
    stopped=$("$farside" cluster status -c "$name" --json | tr -d ' \n' |
        sed "s/.*\"name\":\"$1\"[^}]*\"pid\":\([0-9]*\).*/\1/")
    kill -STOP "$stopped"
}

go_on() {
    [ -z "$stopped" ] || kill -CONT "$stopped"
    stopped=
}

# The number of a request, as in enum dlend_op_number, and the function that handles it.
request() { # NAME
    case $1 in
    BORROW) echo 17 dl_lender:op_borrow ;;
    ATTACH) echo 18 dl_lender:op_attach ;;
    RETURN) echo 19 dl_lender:op_return ;;
    P2P_GRANT) echo 22 dl_lender:lender_grant_make ;;
    P2P_OPEN) echo 23 dl_lender:op_open ;;
    P2P_CLOSE) echo 24 dl_lender:op_close ;;
    P2P_FETCH) echo 25 dl_lender:lender_grant_fetch ;;
    P2P_REVOKE) echo 26 dl_lender:op_revoke ;;
    CFG_EXTENDED) echo 27 dl_lender:op_cfg_extended ;;
    REVOKE) echo 32 dl_borrower:op_revoke ;;
    P2P_LOST) echo 33 dl_borrower:op_p2p_lost ;;
    esac
}

# Functions for the hosts: "timed NAME COMMAND..." prints the name, the time in milliseconds
# by the host's own clock, and the exit status.
stops_guest='
now() {
    read up idle </proc/uptime
    echo $((${up%.*} * 1000 + 1${up#*.} % 100 * 10))
}
timed() {
    what=$1 begin=$(now)
    shift
    "$@" >/tmp/said 2>&1
    result=$?
    echo "$what $(($(now) - begin)) $result"
    [ $result -eq 0 ] || sed "s/^/# /" /tmp/said
}
order() { # COMMAND-LINE: in the background; /tmp/order says when it has ended
    rm -f /tmp/order
    setsid sh -c ". /root/stops; timed order sh -c \"$1\" >/tmp/order.new 2>&1
        mv /tmp/order.new /tmp/order" </dev/null >/dev/null 2>&1 &
}
'

stops_prepare() {
    local host
    for host in a b c; do
        on $host "cat >/root/stops <<'END'
$stops_guest
END
modprobe dl_stand" || return 1
    done
}

stand() { # HOST LINE
    on "$1" "echo $2 >/sys/kernel/debug/dl/stand"
}

# Chooses which of the other two lends a device to which, and its ID.
others_of() { # HOST
    case $1 in
    a) echo c b 30000 ;;
    b) echo a c 10001 ;;
    c) echo a b 10001 ;;
    esac
}

# The operations between the two others. Prints those that fail, or take too long.
others_work() { # HOST
    local lender borrower id
    read -r lender borrower id <<<"$(others_of "$1")"
    until_ok 10 on "$borrower" "lendctl list | grep -q '^$id '" || return 1
    {
        on "$borrower" ". /root/stops; timed list lendctl list; timed borrow lendctl borrow $id
            timed return lendctl return $id; timed list-p2p lendctl list-p2p"
        on "$lender" ". /root/stops; timed list lendctl list
            timed unavailable lendctl unavailable $id; timed available lendctl available $id"
    } >"$dir/work" 2>&1
    cat "$dir/work"
    sed "/^#/d; s/^/$1 /" "$dir/work" >>"$dir/times"
    in_time "$dir/work" 7
}

in_time() { # FILE NUMBER OF LINES: all have ended well, within $limit seconds
    awk -v most=$((limit * 1000 * slow)) -v lines="$2" '/^#/ { next }
        { n++; if ($2 > most) { bad = 1; print $1 " took too long" } }
        $3 != 0 { bad = 1; print $1 " failed" }
        END { exit bad || n != lines }' "$1"
}

# Prints the slowest operations so far: which node stopped, operation, milliseconds.
slowest() {
    sort -k 3 -n -r "$dir/times" | head -n 5 | sed 's/^/# slowest: /'
}

# The order of another node that waits for the node; its result may be a failure.
order_ends() { # HOST
    on "$1" 'cat /tmp/order'
}

# c returns the device of the other lender, although a pair joins it with that of the node.
other_returns() { # HOST ORDER
    local id=10000
    [ "$1" = b ] || id=20000
    if [ "$2" = "lendctl return $id" ]; then
        until_ok $((2 * limit)) order_ends c && on c 'cat /tmp/order' >"$dir/work"
    else
        on c ". /root/stops; timed return-other lendctl return $id" >"$dir/work"
    fi
    cat "$dir/work"
    sed "/^#/d; s/^/$1 /" "$dir/work" >>"$dir/times"
    in_time "$dir/work" 1
}

# The device that a step needs is borrowed and enabled by c.
make_state() { # none|loans|pairs
    case $1 in
    loans | pairs) on c 'lendctl borrow 10000 >/dev/null && lendctl borrow 20000 >/dev/null' || return 1 ;;
    esac
    case $1 in
    pairs) on c 'lendctl enable-p2p 10000 20000 && lendctl enable-p2p 20000 10000' ;;
    esac
}

all_closed() { # HOST
    ! on "$1" "cat $dl/*/windows" | grep -qv ' 0$' &&
        on "$1" "grep -q '^p2p_routes 0' $dl/lender && grep -q '^p2p_grants 0' $dl/lender"
}

all_is_back() {
    local host
    for host in a b c; do
        all_closed $host || return 1
    done
    [ "$(on c 'lendctl list' | grep -c ' available')" -ge 3 ]
}

# The node goes on, and c returns what it has.
give_all_back() {
    until_ok 30 connected || return 1
    on c 'for id in 10000 20000; do
        ! lendctl list | grep -q "^$id .*(here" || lendctl return $id || exit 1; done' &&
        until_ok 40 all_is_back && return
    for host in a b c; do
        on $host "echo $host; cat $dl/*/windows $dl/lender; lendctl list"
    done
    return 1
}

# HOST stops: "call REQUEST": before it sends the request; "before" or "after": when it
# handles it. ORDER, a command line on host BY, leads to the step; STATE is what c has before.
stops_at() { # HOST WHEN REQUEST STATE BY ORDER
    local host=$1 by=$5 result=0 number handler
    read -r number handler <<<"$(request "$3")"
    [ "$2" = call ] || number=$handler
    make_state "$4" && stand "$host" "$2 $number" || return 1
    on "$by" ". /root/stops; order '$6'"
    if until_ok 10 on "$host" "grep -q stands $dl/stand"; then
        stand "$host" keep
        echo "$host keeps the locks"
        others_work "$host" || result=1
        [ "$4" = none ] || [ "$host" = c ] || other_returns "$host" "$6" || result=1
        stop "$host"
        echo "$host stands still"
        others_work "$host" || result=1
        [ "$by" = "$host" ] || until_ok $limit order_ends "$by" ||
            { echo "the order has not ended"; result=1; }
        go_on
    else
        echo "$host does not come to this step"
        order_ends "$by"
        result=1
    fi
    stand "$host" go || result=1
    until_ok 30 order_ends "$by" && order_ends "$by" || result=1
    give_all_back || result=1
    return $result
}
