# SPDX-License-Identifier: MIT
# Functions for tests that compare runs of a timed cluster; bash. See lib.sh.
. "$(dirname "$0")/lib.sh"
up_options="--timed --quiet --timeout 240"
PATIENCE=240

# The consoles with their virtual times, without the lines of the supervisor,
# which has process numbers.
keep_consoles() { # DIR HOST...
    local host out=$1
    shift
    for host in "$@"; do
        "$farside" cluster logs -t -c "$cluster" "$host" | grep -v '^.\{13\}-- ' \
            >"$out/console.$host" || return 1
    done
}

# while_busy COMMAND...: with two processes for each processor that only compute
while_busy() {
    local i status busy=
    for ((i = 0; i < 2 * $(nproc); i++)); do
        sh -c 'while :; do :; done' &
        busy="$busy $!"
    done
    "$@"
    status=$?
    # shellcheck disable=SC2086 # numbers are words
    kill $busy
    return $status
}

# The file of the two runs has the same bytes, and at least that many. The first
# lines that differ tell when the runs parted.
same() { # FILE LEAST
    echo "$(wc -c <"$dir/idle/$1") and $(wc -c <"$dir/busy/$1") bytes"
    [ "$(wc -c <"$dir/idle/$1")" -ge "$2" ] || return 1
    cmp "$dir/idle/$1" "$dir/busy/$1" && return
    diff "$dir/idle/$1" "$dir/busy/$1" | head -n 8
    return 1
}

# True if no kernel reports a fault on the consoles in DIR.
are_content() { # DIR
    ! grep -E 'BUG:|Oops|Call Trace|nobody cared|soft lockup|blocked for more' \
        "$1"/console.*
}
