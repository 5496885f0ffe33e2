# SPDX-License-Identifier: MIT
# For scripts that run in a machine: IDs and classes of devices for which the kernel runs
# quirks. The lender is kmod/test/dl_liar.c, which shows the drive under any of them.
dl=/sys/kernel/debug/dl
allow=/sys/module/dl_borrower/parameters/allow
liar=/sys/module/dl_liar/parameters

load() {
    # No driver shall believe the truth, either.
    modprobe -r nvme igb e1000e
    modprobe dl_fabric loopback=1 && modprobe dl_borrower && modprobe dl_liar &&
        until_ok 10 grep -q '^state up' $dl/loop1/stats && note_state
}

# Settings that a quirk may change for the whole node.
state() {
    cat /proc/ioports /proc/iomem
    grep . /sys/bus/pci/devices/0000:*/boot_vga 2>/dev/null
}

note_state() {
    state >/tmp/state
    # The kernel then writes each quirk that it runs into its log.
    echo 1 >/sys/module/kernel/parameters/initcall_debug
    dmesg -c >>/tmp/log
}

# ask VENDOR DEVICE CLASS: sets $said to the borrower's answer to such a device
ask() {
    echo "$1" >$liar/vendor && echo "$2" >$liar/device && echo "$3" >$liar/class_code &&
        echo 0 >$dl/liar && read -r said <$dl/liar && said=${said#0 truth: }
}

answer() {
    ask "$@" && echo "$said"
}

quirks_of_this() { # the quirks that ran for borrowed functions since the last call
    dmesg -c >/tmp/new
    cat /tmp/new >>/tmp/log
    sed -n 's/.*pci 1....:.*calling  *\([A-Za-z0-9_]*\)+.*/\1/p' /tmp/new
}

is_harmless() { # QUIRK...: whether kmod/borrower/quirks/harmless has all of them
    local quirk
    for quirk in "$@"; do
        grep -q "^$quirk\( but .*\)\?\$" ./harmless || return 1
    done
}

# danger VENDOR DEVICE CLASS QUIRK: refused, although its class and its ID are allowed
danger() {
    echo "::$(printf %04x $(($3 >> 8))),$(printf '%04x:%04x' "$1" "$2")" >$allow
    answer "$1" "$2" "$3" >/tmp/answer
    cat /tmp/answer "$allow"
    grep -q "makes this kernel run $4(); if you trust its lender: lendctl allow $(printf '%04x:%04x:%04x' "$1" "$2" $(($3 >> 8)))+quirks" \
        /tmp/answer && [ -z "$(quirks_of_this)" ]
}

# fine VENDOR DEVICE CLASS QUIRK: borrowed if it is allowed; this quirk runs
fine() {
    echo "::$(printf %04x $(($3 >> 8)))" >$allow
    answer "$1" "$2" "$3" >/tmp/answer
    cat /tmp/answer
    grep -q '^borrowed$' /tmp/answer && ran=$(quirks_of_this) && echo "$ran" &&
        echo "$ran" | grep -qx "$4" && is_harmless $ran
}

# trusted VENDOR DEVICE CLASS QUIRK: borrowed because the list says so; this quirk runs
trusted() {
    printf '%04x:%04x:%04x+quirks\n' "$1" "$2" $(($3 >> 8)) >$allow
    answer "$1" "$2" "$3" >/tmp/answer
    cat /tmp/answer
    grep -q '^borrowed$' /tmp/answer && quirks_of_this | grep -x "$4" &&
        answer "$1" "$2" 0x010601 | grep 'may not be borrowed'
}

# Some IDs, among them those whose quirks do the most harm.
sample() {
    local how vendor device class quirk
    while read -r how vendor device class quirk; do
        check "$how: $vendor $device $class" $how $vendor $device $class $quirk
    done <<'END'
danger 0x8086 0x0042 0x120000 disable_igfx_irq
danger 0x8086 0x0102 0x010802 disable_igfx_irq
danger 0x8086 0x0152 0x020000 disable_igfx_irq
danger 0x8086 0x0166 0x120000 reset_ivb_igd
danger 0x104c 0x8231 0x120000 quirk_xio2000a
danger 0x1166 0x0017 0x020000 quirk_disable_all_msi
danger 0x1002 0x5950 0x120000 quirk_disable_all_msi
danger 0x8086 0x27bc 0x010802 quirk_tigerpoint_bm_sts
danger 0x1022 0x7912 0x120000 quirk_amd_dwc_class
danger 0x1039 0x0496 0x120000 quirk_nopcipci
danger 0x1106 0x1234 0x120000 quirk_via_vlink
danger 0x177d 0xa100 0x020000 pci_quirk_cavium_acs
danger 0x15b3 0x1013 0x020700 mellanox_check_broken_intx_masking
danger 0x144d 0xa804 0x010802 nvme_disable_and_flr
danger 0x19e5 0x375e 0x020000 reset_hinic_vf_dev
danger 0x10de 0x1234 0x030000 pci_fixup_video
danger 0x1b36 0x000d 0x0c0330 quirk_usb_early_handoff
danger 0x1b36 0x1234 0x0c0310 quirk_usb_early_handoff
danger 0x1b36 0x1234 0x030001 pci_fixup_video
fine 0x1022 0x1487 0x040300 quirk_no_flr
fine 0x8086 0x1572 0x020000 quirk_broken_intx_masking
fine 0x8086 0x10a7 0x020000 quirk_disable_aspm_l0s
fine 0x15b3 0x1234 0x020700 mellanox_check_broken_intx_masking
fine 0x10de 0x2340 0x030200 quirk_nvidia_no_bus_reset
trusted 0x1180 0xe832 0x120000 quirk_dma_func0_alias
END
}

unharmed() {
    check 'a rescan of PCI ends' timeout 10 sh -c 'echo 1 >/sys/bus/pci/rescan'
    state >/tmp/after
    check 'ports, memory and the boot VGA device are as before' cmp /tmp/state /tmp/after
    check 'no function became the boot VGA device' eval "! grep 'vgaarb: .*boot VGA' /tmp/log"
    check "the node's own drive still has MSI-X" eval "modprobe nvme &&
        until_ok 10 grep -q msix /sys/bus/pci/devices/0000:00:05.0/msi_irqs/*"
}
