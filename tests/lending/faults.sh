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

# Prints the faults in a console's log. Return: whether there is none.
no_faults() { # FILE
    ! grep -E -A 25 "$faults|non-static key" "$1"
}

# $no_leaks: a script for a guest. Only a debug kernel finds leaks. kmemleak reports an
# object only after some seconds and two scans.
no_leaks='leaks=/sys/kernel/debug/kmemleak
[ -e $leaks ] || exit 0
sleep 6; echo scan >$leaks; sleep 1; echo scan >$leaks
cat $leaks; ! grep -q . $leaks'
