# SPDX-License-Identifier: MIT
# Traffic on the cables of a cluster; for tests in bash. $cables names them, $farside is
# the program, $scenario the description, $name the cluster, $dir a folder.

# Prints the pairs of hosts between which the traces have BYTES or more. What else crosses,
# such as commands and interrupts, is less than a tenth of it; if not, or if there is
# nothing at all, this fails.
traced_of() { # BYTES
    "$farside" trace --kind MWr,MSI,CplD --csv="$dir/csv" "$dir"/trace-* >/dev/null &&
        awk -F, -v bytes="$1" '
        function host(name) {
            sub(/:.*/, "", name)
            sub(/.*\//, "", name)
            return name
        }
        NR == 1 {
            for (i = 1; i <= NF; i++) column[$i] = i
            next
        }
        { sum[host($column["from"]) ">" host($column["to"])] += $column["bytes"] }
        END {
            for (way in sum) {
                print way, sum[way] >"/dev/stderr"
                if (sum[way] >= bytes) print way
                else if (sum[way] >= bytes / 10) bad = 1
                packets = 1
            }
            exit bad || !packets
        }' "$dir/csv"
}

trace() { # on|off
    local cable
    for cable in $cables; do
        if [ "$1" = on ]; then
            rm -f "$dir/trace-$cable"
            "$farside" cluster trace -c "$name" $cable "$dir/trace-$cable" || return 1
        else
            "$farside" cluster trace -c "$name" $cable off || return 1
        fi
    done
}

# Prints the pairs of hosts, such as a>b, between which `farside path` writes.
path_of() { # DEVICE OTHER
    "$farside" path "$scenario" "$1" "$2" >"$dir/path" || return 1
    awk '$3 == "ntb" {
            split($2, name, ".")
            if (before) print before ">" name[1]
            before = before ? "" : name[1]
        }' "$dir/path"
}
