# SPDX-License-Identifier: MIT
# Functions for tests with hosts h0, h1, ... on one IDT switch, in the order of its
# partitions; bash. See lib.sh. $all has the names of the hosts, $count their number.

slot() { # FROM TO
    echo 05
}

# A host's peers are the other hosts in their order.
peer_of() { # FROM TO
    local from=${1#h} to=${2#h}
    echo "peer$((to < from ? to : to - 1))"
}

each_pair() { # FUNCTION [ARGUMENT...], which gets FROM TO in front
    local from to what=$1
    shift
    for from in $all; do
        for to in $all; do
            [ "$from" = "$to" ] || "$what" "$from" "$to" "$@" || {
                echo "from $from to $to"
                return 1
            }
        done
    done
}

# The links that a host sees, one letter for each peer
sees() { # HOST LETTERS
    [ "$(on "$1" "cat $(tool_of "$1" x)/peer?/link | tr -d '\n'")" = "$2" ]
}

letters() { # NUMBER: so many Y
    head -c "$1" </dev/zero | tr '\0' Y
}

all_see_all() {
    local host
    for host in $all; do
        until_ok 30 sees "$host" "$(letters $((count - 1)))" || {
            echo "$host sees $(on "$host" "cat $(tool_of "$host" x)/peer?/link")"
            return 1
        }
    done
}

# message FROM TO: the first is taken, and says from whom it is; the second is refused.
message() {
    local value back near far
    near=$(tool_of "$1" "$2")
    far=$(tool_of "$2" "$1")
    value=0x$(printf %08x $((0x12340000 + ${1#h} * 16 + ${2#h})))
    back=$(peer_of "$2" "$1")
    on "$1" "cd $near; echo 'c 0xf000f' >msg_sts
        echo $value >$(peer_of "$1" "$2")/msg1; [ \$(cat msg_sts) = 0x0 ] || exit 1
        echo 0x1 >$(peer_of "$1" "$2")/msg1; [ \$(cat msg_sts) = 0x2 ] || exit 2
        echo 'c 0xf000f' >msg_sts" &&
        on "$2" "cd $far; [ \$(cat msg1) = '$value<-${back#peer}' ] || { cat msg1; exit 3; }
            echo 'c 0xf000f' >msg_sts"
}
