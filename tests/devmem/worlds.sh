# SPDX-License-Identifier: MIT
# One file, two worlds: what crosses the cables in the machines of tests/devmem/cases, and in
# the flow of the same scenario in the model.
flow_bytes=262144 # as the flow of the scenario

# Prints for each way between hosts the bytes of what a NIC does there to receive: payloads,
# headers (Ethernet, IPv4, TCP with time stamps: 14 + 20 + 32), completions, descriptors, of which
# it reads 16 at a time, and reads for FLUSH. Each has its size, but for payloads, which are all
# other writes. What has 4 bytes (doorbells, interrupts, TX_WRITEBACK, beats of dl_fabric) is left
# out, as are all other reads, which are for acknowledgements: TCP decides on their number. A read
# counts where its data go. QEMU may cut a write into pieces that begin with some of 8 bytes, and
# cuts a read into pieces that follow each other.
#
# Reads CSV with the columns from, to, address, bytes, requester, and kind or tlp. NIC is the
# requester that counts, "" for all.
sorted_bytes() { # NIC
    awk -F, -v nic="${1-}" '
    function host(name) {
        sub(/:.*/, "", name)
        sub(/.*\//, "", name)
        sub(/[. ].*/, "", name)
        return name
    }
    function number(hex,    i, n) {
        for (i = 3; i <= length(hex); i++)
            n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
        return n
    }
    # The pieces of a write or a read are together.
    function over(way,    what) {
        what = size[way] == 66 ? "headers" : size[way] == 16 ? "completions" : "payloads"
        if (reads[way]) what = size[way] % 512 ? "" : "descriptors"
        if (size[way] && what) sum[way "," what] += size[way]
        size[way] = 0
    }
    function add(way, read) {
        if (address != end[way] || (!read && piece[way] != 8)) over(way)
        reads[way] = read
        size[way] += bytes
        piece[way] = bytes
        end[way] = address + bytes
    }
    NR == 1 {
        for (i = 1; i <= NF; i++) column[$i] = i
        kind = "kind" in column ? column["kind"] : column["tlp"]
        next
    }
    nic != "" && $column["requester"] != nic { next }
    {
        from = host($column["from"])
        to = host($column["to"])
        bytes = $column["bytes"]
        address = number($column["address"])
    }
    from == to { next }
    $kind == "MWr" && bytes != 4 { add(from ">" to, 0) }
    $kind == "MRd" && bytes == 1 { sum[to ">" from ",flush"] += bytes }
    $kind == "MRd" && bytes > 1 { add(to ">" from, 1) }
    END {
        for (way in size) over(way)
        for (x in sum) print x "," sum[x]
    }' | LC_ALL=C sort
}

# Nothing but the flow: no IPv6, no ARP, and no retransmission that a slow machine causes.
quiet() {
    local host
    for host in c d; do
        on $host 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
            echo 5000000 >/proc/sys/net/ipv4/tcp_rto_min_us
            echo 0 >/proc/sys/net/ipv4/tcp_early_retrans'
    done
    on d "arp -s $address $(on c "cat /sys/class/net/$interface/address")" &&
        on c "arp -s 10.0.0.2 $(on d 'cat /sys/class/net/eth0/address')"
}

loud() {
    local host
    on d "arp -d $address"
    on c 'arp -d 10.0.0.2'
    for host in c d; do
        on $host 'echo 0 >/proc/sys/net/ipv6/conf/all/disable_ipv6'
    done
}

retransmits() {
    on d "awk '/^Tcp:/ { if (n++) print \$13 }' /proc/net/snmp"
}

# One run of the flow, of which the traces have data and acknowledgements alone.
flow_run() {
    validation='' gated_begin $address "$interface" $flow_bytes -g "$file" -n 2000 &&
        trace on && gated_send $flow_bytes && sleep 0.5 && trace off && gated_end
}

flow_once() {
    local before after
    before=$(retransmits) && flow_run && after=$(retransmits) && receive_kill || return 1
    echo "retransmits: $before $after"
    [ "$before" = "$after" ]
}

model_runs() {
    "$farside" run -q --no-plot --trace 1000000 -o "$dir/model" "$scenario"
}

world() { # NIC ACCELERATOR
    local nic=00:06.0
    [ "$1" = own ] || nic=00:05.0
    use "$1" "$2" && quiet && { flow_once || flow_once || flow_once; } && loud || return 1
    "$farside" trace --csv="$dir/csv" "$dir"/trace-* >/dev/null &&
        sorted_bytes $nic <"$dir/csv" >"$dir/machines" &&
        awk -F, -v point="way=$1-$2" 'NR == 1 || $1 == point' "$dir/model/devmem.trace.csv" |
        sorted_bytes >"$dir/flow" || return 1
    echo "in the machines:"
    cat "$dir/machines"
    cmp "$dir/machines" "$dir/flow"
}

worlds() {
    check 'the scenario runs in the model' model_runs
    for way in 'own own' 'own borrowed' 'borrowed own' 'borrowed borrowed'; do
        # shellcheck disable=SC2086 # two words
        check "$way: the same bytes on each cable in both worlds" world $way
    done
}
