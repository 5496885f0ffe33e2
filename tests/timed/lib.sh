# SPDX-License-Identifier: MIT
# Functions for tests with timed clusters; bash. See tests/cluster/vms/lib.sh. A test
# that measures has set `timer`; one that asks the model has set `description`.
. "$(dirname "$0")/../cluster/vms/lib.sh"
up_options="--timed --timeout 280"
PATIENCE=120
# RAM that the guests' kernels leave alone
free=0x8000000

virtual_ns() { # HOST
    "$farside" cluster status -c "$cluster" --json | tr -d ' ,"' |
        awk -F: -v host="$1" '$1 == "name" { name = $2 }
            $1 == "virtual_ns" && name == host { print $2 }'
}

# path_ns FROM TO [OPTION]: the time in the model, in whole ns, rounded up
path_ns() {
    "$farside" path ${3:+"$3"} "$description" "$1" "$2" | sed -n \
        -e 's/^.*round trip of the read \([0-9]*\)\.[0-9]* ns$/\1/p;t' \
        -e 's/^[0-9]* hops, .* \([0-9]*\)\.[0-9]* ns$/\1/p' |
        awk 'NF { print $1 + 1 }'
}

# within VALUE LEAST MOST
within() {
    echo "$1 is to be $2 to $3"
    [ "$1" -ge $(($2)) ] && [ "$1" -le $(($3)) ]
}

copy_timer() { # HOST
    "$farside" cluster exec -c "$cluster" "$1" -- \
        sh -c 'cat >/tmp/timer && chmod +x /tmp/timer' <"$timer"
}

timer() { # HOST MODE FILE OFFSET COUNT [START]
    on "$1" "/tmp/timer $2 $3 $(($4)) $5 ${6:-}"
}

# agree WHAT MODEL LEAST GREATEST [POLL]: a guest's clock shows what the model computes,
# within 1 % or 20 ns, after what a poll takes. The loop that measures has a few
# instructions of 1 ns each.
agree() {
    local most=$(($2 / 100 > 20 ? $2 / 100 : 20))
    echo "# $1: $3 to $4 ns, in the model $2 ns${5:+, and up to $5 ns until the poll}" >&3
    [ "$2" -gt 0 ] && [ "$3" -ge "$2" ] && [ "$4" -le $(($2 + most + ${5:-0})) ]
}
