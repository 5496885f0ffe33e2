# SPDX-License-Identifier: MIT
# Functions for the scripts of `farside cluster explore`; sh. A script sources it by
#
#   . "$FARSIDE_INVARIANTS"
#
# and ends with one of holds, impossible and fails. Times are those of the guests: ms
# of virtual time.

holds() {
    exit 0
}

# The faults have made the work impossible, in a way that is documented.
impossible() { # REASON
    echo "$*"
    exit 77
}

fails() { # REASON
    echo "$*"
    exit 1
}

# within HOST MS COMMAND: runs a shell command there, with its output and exit status.
# If it has not ended by then, prints the stacks of the tasks that wait in the host's
# kernel, and fails. The status is 255 if the host is not there.
within() {
    "$FARSIDE" cluster exec -c "$FARSIDE_CLUSTER" "$1" -- bash -c '
        at=/tmp/within.$$
        mkfifo "$at" || exit 254
        exec 3<>"$at"
        setsid sh -c '\''(eval "$1") >"$2.out" 2>&1; echo $? >"$2"'\'' \
            sh "$2" "$at" 3>&- </dev/null >/dev/null 2>&1 &
        if read -r -t "$((($1 + 999) / 1000))" status <&3; then
            [ ! -s "$at.out" ] || cat "$at.out"
            exit "$status"
        fi
        cat "$at.out"
        for task in /proc/[0-9]*; do
            grep -q "^State:.D" "$task/status" 2>/dev/null &&
                echo "$(cat "$task/comm"):" && cat "$task/stack"
        done
        exit 124' within "$2" "$3" </dev/null
    within_status=$?
    [ "$within_status" -ne 124 ] ||
        fails "$1 has not ended this after $2 ms: $(echo "$3" | tr '\n' ' ' | cut -c 1-100)"
    return "$within_status"
}

# until_true HOST MS COMMAND: runs the command again and again until it succeeds; false
# if it has not by then.
until_true() {
    within "$1" $(($2 + 10000)) "
        read -r began rest </proc/uptime
        until { $3
        } >/tmp/until 2>&1; do
            read -r now rest </proc/uptime
            [ \$((\${now%.*} - \${began%.*})) -lt $((($2 + 999) / 1000)) ] || {
                cat /tmp/until; exit 1; }
            sleep 0.1
        done"
}

# The value of a member of each host in the status: lines "HOST VALUE".
status_of() { # MEMBER
    "$FARSIDE" cluster status --json -c "$FARSIDE_CLUSTER" | tr -d ' ,"' |
        awk -F: -v member="$1" '$1 == "links" { exit }
            $1 == "name" { name = $2 } $1 == member { print name, $2 }'
}

# The state of a host: up, booting, dead and so on.
state() { # HOST
    status_of state | awk -v host="$1" '$1 == host { print $2; exit }'
}

is_up() { # HOST
    [ "$(state "$1")" = up ]
}

# The virtual time in ns.
now_ns() {
    status_of virtual_ns | awk '$2 + 0 > most { most = $2 } END { printf "%.0f\n", most }'
}

advance() { # MS
    [ "$1" -le 0 ] || "$FARSIDE" cluster advance -c "$FARSIDE_CLUSTER" "$1ms"
}

# settle MS: lets time pass until the last fault that has a time is over, and for as
# much more; and then until no host boots.
settle() {
    settle_left=$(((FARSIDE_FAULTS_END - $(now_ns)) / 1000000 + 1))
    [ "$settle_left" -gt 0 ] || settle_left=0
    advance $((settle_left + $1))
    settle_left=600
    while [ "$settle_left" -gt 0 ] && status_of state | grep -q ' booting$'; do
        advance 100
        settle_left=$((settle_left - 1))
    done
}

# has WORDS: true if a fault of the schedule has them, such as "action: kill".
has() {
    grep "^  - {name: f" "$FARSIDE_SCHEDULE" | grep -q "$1"
}

# The number of faults in the schedule.
fault_count() {
    grep -c "^  - {name: f" "$FARSIDE_SCHEDULE"
}
