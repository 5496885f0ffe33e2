# SPDX-License-Identifier: MIT
# The kernel's ncdevmem on host c, and a sender on host d, for tests with tests/devmem/bed.sh.
# Queues 8 to 15 of the interface take the memory.

# Starts ncdevmem-fgpu, or with another $ncdevmem that. It stays after the connection's end.
receive_begin() { # ADDRESS INTERFACE OPTION...
    local address=$1 interface=$2
    shift 2
    on c "ulimit -l unlimited; rm -f /tmp/status /tmp/err
        setsid sh -c '${ncdevmem:-ncdevmem-fgpu} -s $address -f $interface -l -p 5201 -v 7 -t 8 -q 8 $* \
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
