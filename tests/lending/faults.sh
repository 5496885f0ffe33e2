# SPDX-License-Identifier: MIT
# Faults that kernels report. For tests in sh or bash.
#
# $faults: an extended regular expression for the messages with which a kernel reports a
# fault of itself or of a module.
faults='BUG: |WARNING: |Oops|Call Trace|KASAN|UBSAN|possible (circular|recursive)'
faults="$faults|INFO: (task|trying|possible|rcu)|DMA-API: .*(error|warning)|ODEBUG"
faults="$faults|Kernel panic|soft lockup|general protection|DMAR: .*[Ff]ault"
faults="$faults|unreferenced object|invalid IRTE|irq .*: nobody cared"
faults="$faults|debugging out of memory"

# Prints the faults in a console's log. The switchtec driver of Linux 6.1 does not
# initialise the lock of its doorbells. Lockdep reports that and turns itself off. This one
# report is ignored. Return: whether there is no other one.
no_faults() { # FILE
    sed '/INFO: trying to register non-static key/,/<\/TASK>/d' "$1" >"$1.other"
    if grep -q 'non-static key' "$1" && ! grep -q 'switchtec_ntb_db_' "$1"; then
        grep -A 25 'non-static key' "$1"
        return 1
    fi
    ! grep -E -A 25 "$faults" "$1.other"
}

# $no_leaks: a script for a guest. Only a debug kernel finds leaks. kmemleak reports an
# object only after some seconds and two scans.
no_leaks='leaks=/sys/kernel/debug/kmemleak
[ -e $leaks ] || exit 0
sleep 6; echo scan >$leaks; sleep 1; echo scan >$leaks
cat $leaks; ! grep -q . $leaks'
