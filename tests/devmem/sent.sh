# SPDX-License-Identifier: MIT
# c sends from the memory of its accelerator, for tests/devmem/two. The accelerator goes away
# while packets wait: what is at its addresses then is somebody else's, and must not be sent.
bytes=8192000 # 2,000 pages

. "$here/send.sh"

large_frames() {
    on c 'ip link set eth0 mtu 4148' && on d 'ip link set eth0 mtu 4148'
}

file() {
    on c 'ls /dev/fgpu*'
}

from_accelerator() {
    large_frames && sends 10.0.0.2 2097152 eth0 -g "$(file)" -N 2000
}

# A reset drops the packets that the NIC has; TCP sends them again, from the same memory.
nic_resets() {
    read_begin 10.0.0.2 $bytes gates && send_from 10.0.0.2 $bytes eth0 -g "$(file)" -N 2000 &&
        sleep 1 && on d 'touch /tmp/begin' && on c 'for i in 1 2 3; do
            echo 1 >/sys/bus/pci/devices/0000:00:03.0/reset; sleep 0.2; done' && read_end &&
        grep -q "^bytes $bytes .* wrong 0\$" "$dir/read" && send_kill
}

# Takes the accelerator from those that use it. The next user, at the same addresses, fills all
# its memory.
new_user() {
    on c 'cd /sys/bus/pci/drivers/fgpu; echo 0000:00:04.0 >unbind && echo 0000:00:04.0 >bind' &&
        until_ok 10 file && on c "fgpu fill $(file) 0 16777216 0x5555555555555555"
}

# The reader stands, so most packets are still to be sent when the memory goes.
goes() {
    local sent
    read_begin 10.0.0.2 $bytes gates && send_from 10.0.0.2 $bytes eth0 -g "$(file)" -N 2000 &&
        sleep 3 && new_user && on d 'touch /tmp/begin' && read_end || return 1
    sent=$(sed 's/^bytes \([0-9]*\) .*/\1/' "$dir/read")
    [ "$sent" -gt 0 ] && [ "$sent" -lt $bytes ] && grep -q ' wrong 0$' "$dir/read"
}

# The same under load, in which the NIC has packets of the memory when it goes.
goes_under_load() {
    local i
    for i in 1 2 3; do
        read_begin 10.0.0.2 $bytes gates && on d 'touch /tmp/begin' &&
            send_from 10.0.0.2 $bytes eth0 -g "$(file)" -N 2000 && sleep 0.3 && new_user &&
            read_end && grep -q ' wrong 0$' "$dir/read" && send_kill || return 1
    done
}

works_on() {
    send_kill && until_ok 10 on d 'ping -c 1 -W 1 10.0.0.1' && both_ways && from_accelerator
}

# devmemsend.c prints a line for each sentence of the document.
sentences() {
    on c 'echo 1 >/sys/bus/pci/devices/0000:00:03.0/sriov_numvfs' &&
        until_ok 10 on c 'test -e /sys/class/net/eth1' && read_begin 10.0.0.2 3072 &&
        on c 'ulimit -l unlimited; devmemsend eth0 eth1 10.0.0.2 5202' >"$dir/said" && read_end
    cat "$dir/said"
    on c 'echo 0 >/sys/bus/pci/devices/0000:00:03.0/sriov_numvfs'
    grep -q '^bytes 3072 .* wrong 0$' "$dir/read" && [ "$(grep -c '^ok' "$dir/said")" -eq 8 ]
}

# The NIC goes while memory of the accelerator is bound for sending, and then the process.
nic_goes() {
    read_begin 10.0.0.2 $bytes gates && send_from 10.0.0.2 $bytes eth0 -g "$(file)" -N 2000 &&
        sleep 2 && on c 'echo 1 >/sys/bus/pci/devices/0000:00:03.0/remove' && send_kill &&
        sleep 2 && on c 'echo 1 >/sys/bus/pci/rescan' && until_ok 10 has_interface c &&
        set_address c 10.0.0.1 && until_ok 10 on d 'ping -c 1 -W 1 10.0.0.1' && both_ways
}

# The kernel frees the structure of a PCI device when nobody refers to it.
watch_frees() {
    on c 'cd /sys/kernel/tracing && { test -e trace || mount -t tracefs tracefs .; } &&
        cd /sys/kernel/tracing && echo p:freed pci_release_dev >kprobe_events &&
        echo 1 >events/kprobes/freed/enable'
}

not_freed() {
    ! on c 'cat /sys/kernel/tracing/trace' | grep 'freed: (pci_release_dev'
}

# The same with memory of the machine, of which the driver knows only that it was bound
nic_goes_with_udmabuf() {
    watch_frees && read_begin 10.0.0.2 $bytes gates &&
        ncdevmem=ncdevmem send_from 10.0.0.2 $bytes eth0 && sleep $((2 * slow))
    on c 'tail -n 3 /tmp/err; pidof ncdevmem && echo 1 >/sys/bus/pci/devices/0000:00:03.0/remove' &&
        send_kill && sleep 2 && not_freed && on c 'dmesg' | grep 'are kept for good' &&
        on c 'echo 1 >/sys/bus/pci/rescan' && until_ok 10 has_interface c &&
        set_address c 10.0.0.1 && until_ok 10 on d 'ping -c 1 -W 1 10.0.0.1' && both_ways
}

check 'what the document says of sending holds' sentences
check "the kernel's ncdevmem sends from memory of the machine" \
    eval 'ncdevmem=ncdevmem sends 10.0.0.2 65536 eth0'
check "and from the accelerator's memory" from_accelerator
check 'resets of the NIC leave the memory bound' nic_resets
check 'the accelerator goes away while packets wait: nothing of its next user is sent' goes
check 'the NIC sends on without it, and from it when it is there again' works_on
check 'it goes away three times under load' goes_under_load
check 'the NIC goes away while memory of the machine is bound to it' nic_goes_with_udmabuf
check 'and while memory of the accelerator is' nic_goes
