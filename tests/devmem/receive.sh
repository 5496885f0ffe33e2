# SPDX-License-Identifier: MIT
# The kernel's ncdevmem on host c, and a sender on host d, for tests with tests/devmem/bed.sh.
# Queues 8 to 15 of the interface take the memory.

# Starts ncdevmem-fgpu, or with another $ncdevmem that, which compares what it gets; without
# if $validation is empty.
receive_begin() { # ADDRESS INTERFACE OPTION...
    local address=$1 interface=$2
    shift 2
    on c "ulimit -l unlimited; rm -f /tmp/status /tmp/err
        setsid sh -c '${ncdevmem:-ncdevmem-fgpu} -s $address -f $interface -l -p 5201 ${validation--v 7} -t 8 -q 8 $* \
            >/tmp/out 2>/tmp/err; echo \$? >/tmp/status' </dev/null >/dev/null 2>&1 &
        sleep 0.1" && until_ok 40 on c 'grep -q Waiting /tmp/err'
}

receive_kill() {
    on c 'killall -q -9 ncdevmem ncdevmem-fgpu; true'
    on d 'killall -q -9 devmemtcp; true'
    until_ok 10 on c '! pidof ncdevmem ncdevmem-fgpu'
}

# Sends more than anybody takes.
send_begin() { # ADDRESS
    on d "setsid devmemtcp send $1 5201 100000000000 </dev/null >/dev/null 2>&1 & sleep 0.1"
}

# One transfer of the pattern, which ncdevmem validates
receive() { # ADDRESS INTERFACE BYTES OPTION...
    local address=$1 interface=$2 bytes=$3
    shift 3
    receive_begin "$address" "$interface" "$@" &&
        ON_SECONDS=200 on d "devmemtcp send $address 5201 $bytes" &&
        until_ok 60 on c 'test -e /tmp/status'
    on c 'grep -v "received frag_page\|recvmsg ret\|^total_received" /tmp/err | tail -n 20
        grep -c Validated /tmp/out; cat /tmp/status
        grep -o "total_received=[0-9]*" /tmp/err | tail -n 1' >"$dir/received"
    cat "$dir/received"
    grep -qx "total_received=$bytes" "$dir/received" &&
        ! grep -q 'ailed validation' "$dir/received" && on c 'test "$(cat /tmp/status)" = 0'
}

# The same with gates: the connection is there when gated_begin returns, all bytes when
# gated_send does, and gated_end lets both ends go.
gated_begin() { # ADDRESS INTERFACE BYTES OPTION...
    local address=$1 interface=$2 bytes=$3
    shift 3
    receive_begin "$address" "$interface" "$@" &&
        on d "rm -f /tmp/begin /tmp/end
            setsid devmemtcp send $address 5201 $bytes gates </dev/null >/dev/null 2>&1 &
            sleep 0.1" &&
        until_ok 10 on c 'grep -q ":1451 [0-9A-F:]* 01 " /proc/net/tcp /proc/net/tcp6'
}

gated_send() { # BYTES
    on d 'touch /tmp/begin' && until_ok 60 on c "grep -q 'total_received=$1\$' /tmp/err"
}

gated_end() {
    on d 'touch /tmp/end' && until_ok 20 on c 'test -e /tmp/status'
}

# Prints how many pages of a host's memory have more than 100 bytes of the pattern. Memory that
# was freed keeps what it had.
pages_of() { # HOST
    local socket size
    socket=$("$farside" cluster status -c "$name" --json |
        sed -n "s,.*\"qmp\" : \"\(.*/$1\.qmp\)\".*,\1,p")
    size=$("$here/../lending/monitor" "$socket" query-memory-size-summary |
        sed -n 's/.*"base-memory": \([0-9]*\).*/\1/p') && [ -n "$size" ] &&
        "$here/../lending/monitor" "$socket" pmemsave \
            "{\"val\": 0, \"size\": $size, \"filename\": \"$dir/ram\"}" >&2 &&
        perl -e 'my $pattern = "\1\2\3\4\5\6\0" x 15;
            my $pages = 0;
            open my $ram, "<:raw", $ARGV[0] or die;
            while (read $ram, my $page, 4096) { $pages++ if index($page, $pattern) >= 0 }
            print "$pages\n"' "$dir/ram"
    rm -f "$dir/ram"
}

# The same of c while the connection is open
pages_in_ram() { # ADDRESS INTERFACE OPTION...
    local bytes=1048576 address=$1 interface=$2
    shift 2
    gated_begin "$address" "$interface" $bytes "$@" >&2 && gated_send $bytes >&2 && pages_of c
    gated_end >&2
}
