# SPDX-License-Identifier: MIT
# The kernel's ncdevmem of Linux 7.3 on host c sends from memory that is bound for sending, and
# devmemtcp on host d reads it as any TCP; for tests with tests/devmem/bed.sh.

# Starts the reader. With "gates" it reads when there is a file /tmp/begin, and for as long as
# something comes.
read_begin() { # ADDRESS BYTES [gates]
    on d "killall -q devmemtcp; rm -f /tmp/read /tmp/begin
        SLOW=$slow setsid devmemtcp read $1 5202 $2 ${3-} </dev/null >/tmp/read 2>&1 & sleep 0.1" &&
        until_ok 10 on d 'grep -q listening /tmp/read'
}

read_end() {
    until_ok 90 on d 'grep -q ^bytes /tmp/read' && on d 'grep ^bytes /tmp/read' >"$dir/read"
    cat "$dir/read"
}

# Sends in the background, and leaves its status in /tmp/status. The pattern has no line's end,
# so ncdevmem puts all of it into the memory, from its start on, and sends it at once.
send_from() { # ADDRESS BYTES INTERFACE OPTION...
    local address=$1 bytes=$2 interface=$3
    shift 3
    on c "ulimit -l unlimited; rm -f /tmp/status /tmp/err
        yes \"\$(printf '\\001\\002\\003\\004\\005\\006')\" | tr '\\n' '\\000' |
            head -c $bytes >/tmp/pattern
        setsid sh -c '${ncdevmem:-ncdevmem-fgpu} -s $address -p 5202 -f $interface -t 8 -q 1 $* \
            </tmp/pattern >/tmp/out 2>/tmp/err; echo \$? >/tmp/status' </dev/null >/dev/null 2>&1 &
        sleep 0.1"
}

# One transfer; all bytes are right, and came from the memory.
sends() { # ADDRESS BYTES INTERFACE OPTION...
    local before after
    before=$(device_frags "$3") && read_begin "$1" "$2" && send_from "$@" && read_end &&
        until_ok 60 on c 'test -e /tmp/status' && after=$(device_frags "$3")
    on c 'tail -n 3 /tmp/err'
    echo "fragments in device memory: $before, then $after"
    grep -q "^bytes $2 .* wrong 0\$" "$dir/read" && on c 'test "$(cat /tmp/status)" = 0' &&
        [ $((after - before)) -ge $(($2 / 4096)) ]
}

device_frags() { # INTERFACE: that it has sent
    on c "ethtool -S $1" | awk '/^ *tx[0-9]*_device_frags:/ { sum += $2 } END { print sum + 0 }'
}

send_kill() {
    on c 'killall -q -9 ncdevmem ncdevmem-fgpu; true'
    until_ok 10 on c '! pidof ncdevmem ncdevmem-fgpu'
}
