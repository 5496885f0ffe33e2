# SPDX-License-Identifier: MIT
# c's NIC writes into the memory of c's accelerator, for tests/devmem/two. The accelerator goes
# away while its memory is bound: nobody may write to its addresses any more.
gpu=/sys/bus/pci/devices/0000:00:04.0
pages=2000

. "$here/receive.sh"

# The memory has the pattern, and the machine's own memory none of it.
received() {
    on c 'ip link set eth0 mtu 4148' && on d 'ip link set eth0 mtu 4148' || return 1
    receive 10.0.0.1 eth0 2097152 -g /dev/fgpu0 -n $pages &&
        [ "$(counter c rx8_device_frags)" -ge 512 ]
}

# The name of the NIC is there once for each binding. The kernel keeps one that is closed until
# the last packet in its memory has gone.
bound() {
    on c "cat $gpu/importers" >"$dir/importers"
    grep -q 0000:00:03.0 "$dir/importers"
}

unbound() {
    ! bound
}

# A receiver that stays, and a sender that sends for ever
begin() {
    receive_begin 10.0.0.1 eth0 -g /dev/fgpu0 -n $pages && send_begin 10.0.0.1 &&
        until_ok 20 arrives && until_ok 5 bound && return
    cat "$dir/importers"
    on c 'tail -n 5 /tmp/err'
    return 1
}

arrives() {
    on c 'grep -q "received frag_page" /tmp/err'
}

still() { # the NIC writes nothing to the accelerator
    local before after
    before=$(counter c dev_rx_payload_bytes) && sleep 1 &&
        after=$(counter c dev_rx_payload_bytes) && echo "$before $after" &&
        [ "$before" = "$after" ]
}

goes() {
    begin && on c "echo 1 >$gpu/remove; dmesg | grep 'is off'" >"$dir/said" && cat "$dir/said" &&
        grep -q 'queue 8 is off: the memory that is bound to it goes away' "$dir/said" && still
}

# No queue runs when the accelerator goes, so none is stopped; and none writes to its addresses,
# where the next user is, when the interface is set up again.
goes_while_down() {
    validation='' begin && on c 'ip link set eth0 down; sleep 1; cd /sys/bus/pci/drivers/fgpu
        echo 0000:00:04.0 >unbind && echo 0000:00:04.0 >bind' &&
        until_ok 10 on c 'test -e /dev/fgpu[0-9]' && on c '
            fgpu fill /dev/fgpu[0-9] 0 16777216 0x5555555555555555
            ip link set eth0 up' && set_address c 10.0.0.1 &&
        until_ok 10 on d 'ping -c 1 -W 1 10.0.0.1' && sleep 3 &&
        on c 'dmesg | grep "queue 8 stays off"; fgpu sum /dev/fgpu[0-9] 0 16777216' >"$dir/sum"
    cat "$dir/sum"
    receive_kill
    # 2 Mi numbers of 0x5555555555555555, modulo 2^64
    grep -qx 0xaaaaaaaaaaa00000 "$dir/sum" && grep -q 'stays off' "$dir/sum"
}

# The interface works on, also when it is set up anew, and the queue when nobody is bound to it.
works_on() {
    until_ok 10 on d 'ping -c 1 -W 1 10.0.0.1' &&
        on c 'ip link set eth0 down; ip link set eth0 up' && set_address c 10.0.0.1 &&
        until_ok 10 on d 'ping -c 1 -W 1 10.0.0.1' && receive_kill &&
        on c 'ethtool -K eth0 ntuple off; ip link set eth0 mtu 1500' &&
        receive 10.0.0.1 eth0 1048576
}

returns() {
    on c 'echo 1 >/sys/bus/pci/rescan' && until_ok 10 on c 'test -e /dev/fgpu0' && received
}

# The kernel frees the structure of a PCI device when nobody refers to it.
watch_frees() {
    on c 'cd /sys/kernel/tracing && { test -e trace || mount -t tracefs tracefs .; } &&
        cd /sys/kernel/tracing && echo p:freed pci_release_dev >kprobe_events &&
        echo 1 >events/kprobes/freed/enable'
}

freed() {
    on c 'cat /sys/kernel/tracing/trace' | grep 'freed: (pci_release_dev'
}

# The NIC goes while memory of the accelerator is bound to it, and then the process. The kernel
# needs the NIC's structure until then, and not longer.
nic_goes() {
    begin && watch_frees && on c 'echo 1 >/sys/bus/pci/devices/0000:00:03.0/remove' &&
        ! freed && receive_kill && until_ok 40 unbound && until_ok 5 freed && on c 'echo 1 >/sys/bus/pci/rescan' &&
        until_ok 10 has_interface c && set_address c 10.0.0.1 && set_address d 10.0.0.2 &&
        until_ok 10 on d 'ping -c 1 -W 1 10.0.0.1'
}

# A reset of the NIC, whose queue has the memory again afterwards
nic_resets() {
    local before
    begin && on c 'echo flr >/sys/bus/pci/devices/0000:00:03.0/reset_method
        echo 1 >/sys/bus/pci/devices/0000:00:03.0/reset' &&
        before=$(on c 'grep -c "received frag_page" /tmp/err') &&
        until_ok 20 more_than "$before" && bound && receive_kill
}

more_than() { # FRAGMENTS
    [ "$(on c 'grep -c "received frag_page" /tmp/err')" -gt "$1" ]
}

# The only page of the machine's own memory is ncdevmem's, which compares there.
not_in_ram() {
    on c 'ip link set eth0 mtu 4148' && on d 'ip link set eth0 mtu 4148' &&
        pages_in_ram 10.0.0.1 eth0 -g /dev/fgpu0 -n $pages >"$dir/pages"
    echo "pages: $(cat "$dir/pages")"
    [ "$(cat "$dir/pages")" -le 1 ]
}

# The first 127 packets, as many as the ring has buffers, have a page each.
in_ram() {
    pages_in_ram 10.0.0.1 eth0 -n $pages >"$dir/pages"
    echo "pages: $(cat "$dir/pages")"
    [ "$(cat "$dir/pages")" -ge 127 ]
}

check "the machine's own memory has at most one page of the payload" not_in_ram
check "with a udmabuf it has at least a page for each buffer of the ring" in_ram
check "ncdevmem receives into the accelerator's memory" received
check 'a reset of the NIC leaves the memory bound' nic_resets
check 'the accelerator goes away while its memory is bound: the queue stops' goes
check 'the NIC works on without it' works_on
check 'the accelerator comes back' returns
check 'the NIC goes away while memory is bound to it' nic_goes
check 'the accelerator goes away while the interface is down' goes_while_down
