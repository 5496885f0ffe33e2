# SPDX-License-Identifier: MIT
# Functions for tests with timed clusters; bash. The test has set `timer`, and the
# arguments of tests/cluster/vms/lib.sh.
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

copy_timer() { # HOST
    "$farside" cluster exec -c "$cluster" "$1" -- \
        sh -c 'cat >/tmp/timer && chmod +x /tmp/timer' <"$timer"
}

timer() { # HOST MODE FILE OFFSET COUNT [START]
    on "$1" "/tmp/timer $2 $3 $(($4)) $5 ${6:-}"
}
