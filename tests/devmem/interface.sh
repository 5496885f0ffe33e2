# SPDX-License-Identifier: MIT
# The sentences of the kernel's Documentation/networking/devmem.rst, between c and d of
# tests/devmem/two. The last queue of c's NIC takes the memory.

# The commands of the document's section "NIC Setup"
setup() {
    on c 'ethtool -G eth0 tcp-data-split on && ethtool -K eth0 ntuple on &&
        ethtool --set-rxfh-indir eth0 equal 15 &&
        ethtool -N eth0 flow-type tcp4 dst-ip 10.0.0.1 dst-port 5201 queue 15 &&
        ethtool -g eth0 && ethtool -x eth0 && ethtool -n eth0' >"$dir/said"
    cat "$dir/said"
    grep -q 'TCP data split:.*on' "$dir/said" && grep -q 'Action: Direct to queue 15' "$dir/said"
}

# Page by page: 4,096 bytes of payload, 52 of headers.
jumbo() {
    on c 'ip link set eth0 mtu 4148' && on d 'ip link set eth0 mtu 4148'
}

# ncdevmem as the kernel's source has it, with 2 MiB and validation; d sends as the document
# says, by yes and nc. ncdevmem goes on at once if it has seen all.
ncdevmem() { # PROGRAM OPTION...
    local bytes=2097152 program=$1
    shift
    on c 'rm -f /tmp/err /tmp/status'
    on c "ulimit -l unlimited; setsid $program -s 10.0.0.1 -f eth0 -l -p 5201 -v 7 -t 8 -q 8 $* \
            </dev/null >/tmp/out 2>/tmp/err; echo \$? >/tmp/status" &
    until_ok 40 on c 'grep -q Waiting /tmp/err' &&
        on d "yes \"\$(printf '\\001\\002\\003\\004\\005\\006')\" | tr '\\n' '\\000' |
            head -c $bytes | nc 10.0.0.1 5201" &&
        until_ok 40 on c 'test -e /tmp/status'
    wait
    on c 'grep -v "received frag_page\|recvmsg ret\|^total_received" /tmp/err | tail -n 20
        grep -c Validated /tmp/out; cat /tmp/status; grep -o "total_received=[0-9]*" /tmp/err |
            tail -n 1' >"$dir/nc"
    cat "$dir/nc"
    grep -qx "total_received=$bytes" "$dir/nc" && ! grep -q 'ailed validation' "$dir/nc" &&
        on c 'test "$(cat /tmp/status)" = 0'
}

# devmemtcp.c prints a line for each sentence.
sentences() {
    on c 'ulimit -l unlimited; rm -f /tmp/said
        SLOW='"$slow"' setsid devmemtcp check eth0 15 10.0.0.1 5201 </dev/null >/tmp/said 2>&1 &
        sleep 0.1' && until_ok 10 on c 'grep -q listening /tmp/said' &&
        on d 'setsid devmemtcp send 10.0.0.1 5201 200000000 </dev/null >/tmp/sent 2>&1 & sleep 0.1'
    until_ok 180 on c '! pidof devmemtcp'
    on c 'cat /tmp/said' >"$dir/said"
    cat "$dir/said"
    [ "$(grep -c '^ok' "$dir/said")" -eq 9 ]
}

sentence() { # TEXT
    grep -e "$1" "$dir/said"
    grep -q "^ok - .*$1" "$dir/said"
}

has_pages_again() {
    local before after
    before=$(counter c rx15_page_frags)
    on c 'setsid devmemtcp read 10.0.0.1 5201 1000000 </dev/null >/tmp/read 2>&1 & sleep 0.2' &&
        on d 'devmemtcp send 10.0.0.1 5201 1000000' && on c 'cat /tmp/read' >"$dir/read" &&
        after=$(counter c rx15_page_frags) && cat "$dir/read" && echo "$before $after" &&
        grep -q 'bytes 1000000 .* wrong 0' "$dir/read" && [ "$after" -gt "$before" ]
}

# Captures ten frames to a port by a packet socket, as tcpdump has one, during the command.
captured() { # PORT COMMAND...
    on c "rm -f /tmp/frames
        setsid devmemtcp capture eth0 $1 10 </dev/null >/tmp/frames 2>&1 & sleep 0.1" &&
        until_ok 10 on c 'grep -q listening /tmp/frames' && "${@:2}" &&
        until_ok 10 on c 'grep -q ^told /tmp/frames'
    on c 'grep ^told /tmp/frames; killall -q devmemtcp' | tee "$dir/frames"
}

unreadable() {
    captured 5201 ncdevmem ncdevmem
    grep -q '^told [1-9][0-9]* got 0$' "$dir/frames"
}

# A queue without memory: no control message, and the packet socket gets all.
not_bound() {
    captured 5205 not_bound_once
    grep -qx 'plain 1000000 others 0 wrong 0' "$dir/plain" &&
        awk '/^told/ { ok = $2 > 0 && $2 == $4 } END { exit !ok }' "$dir/frames"
}

not_bound_once() {
    on c 'setsid devmemtcp plain 10.0.0.1 5205 1000000 </dev/null >/tmp/plain 2>&1 & sleep 0.1' &&
        until_ok 10 on c 'grep -q listening /tmp/plain' &&
        on d 'devmemtcp send 10.0.0.1 5205 1000000' && until_ok 10 on c 'grep -q ^plain /tmp/plain'
    on c 'cat /tmp/plain' | tee "$dir/plain" | grep ^plain
}

# TCP behind a header of options of IPv6, which the NIC does not split: of each packet, 256 bytes
# are in the buffer for headers, 94 of them headers (Ethernet 14, IPv6 40, options 8, TCP 32).
# Of 100 packets of 4148 bytes, 4068 are data.
unsplit() {
    on c 'ethtool -X eth0 start 15 equal 1; ip -6 addr add fd00::1/64 dev eth0
        ulimit -l unlimited; rm -f /tmp/said
        setsid devmemtcp linear eth0 15 fd00::1 5204 406800 </dev/null >/tmp/said 2>&1 &
        sleep 0.1' && until_ok 10 on c 'grep -q listening /tmp/said' &&
        on d 'ip -6 addr add fd00::2/64 dev eth0; sleep 1
            devmemtcp send fd00::1 5204 406800 whole' &&
        until_ok 10 on c 'grep -q ^linear /tmp/said'
    on c 'cat /tmp/said; ethtool -X eth0 equal 15' >"$dir/unsplit"
    cat "$dir/unsplit"
    awk '/^linear/ { ok = $2 >= 100 * 162 && $2 <= 110 * 162 && $2 + $4 == 406800 && $6 == 0 }
        END { exit !ok }' "$dir/unsplit"
}

refuses_no_split() {
    on c 'ethtool -G eth0 tcp-data-split off; ulimit -l unlimited
        devmemtcp linear eth0 15 10.0.0.1 5203 1 </dev/null' >"$dir/refused" 2>&1
    cat "$dir/refused"
    ! grep -q listening "$dir/refused"
}

check "the kernel's own ncdevmem receives into a udmabuf" ncdevmem ncdevmem
check 'with one page in each packet' jumbo
check 'and again' ncdevmem ncdevmem
check 'a packet socket gets nothing of such a payload' unreadable
check 'data of a queue that is not bound come without a control message' not_bound
check "the document's commands set the NIC up" setup
check 'the program that tests the sentences ends' sentences
for text in 'memory is bound' 'without MSG_SOCK_DEVMEM: EFAULT' 'more than 128 tokens: EINVAL' \
    '128 tokens: 128 are freed' 'memory that is not given back runs out' \
    'of more than 1,024 fragments, the kernel frees 1,024' \
    'when it is given back, reception goes on' 'all bytes are those that were sent' \
    'a queue has one binding'; do
    check "$text" sentence "$text"
done
check 'packets that the NIC cannot split come in linear fragments, and the rest of them' unsplit
check 'the binding has ended with its socket: the queue has pages again' has_pages_again
check 'without header split no memory is bound' refuses_no_split
