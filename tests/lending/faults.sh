# SPDX-License-Identifier: MIT
# $faults: an extended regular expression for the messages with which a kernel reports a
# fault of itself or of a module. For tests in sh or bash that look at a console.
faults='BUG: |WARNING: |Oops|Call Trace|KASAN|UBSAN|possible (circular|recursive)'
faults="$faults|INFO: (task|trying|possible|rcu)|DMA-API: .*(error|warning)|ODEBUG"
faults="$faults|Kernel panic|soft lockup|general protection|DMAR: .*[Ff]ault"
faults="$faults|unreferenced object|invalid IRTE|irq .*: nobody cared"
faults="$faults|debugging out of memory"
