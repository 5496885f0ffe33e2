#!/bin/bash
# SPDX-License-Identifier: MIT
# A script for `farside cluster explore` with lending.yaml: the borrower's kernel reads the
# configuration space of the borrowed drive again and again. Registers that the lender
# may change are asked of it, by a call that gives up after poll_timeout_us of dl_fabric
# and then reads as all ones. See docs/user/stall.md.
set -u
. "$FARSIDE_INVARIANTS"
function=/sys/bus/pci/devices/1f000:00:04.0

for host in lender borrower; do
    within "$host" 30000 'modprobe -a nvme dl_ctl' || fails "$host loads no modules"
done
within lender 60000 'lendctl add 0000:00:04.0 && lendctl available 10000' &&
    within borrower 70000 'lendctl borrow 10000 --wait 30' || fails "there is no loan"

within borrower 60000 "
    for i in \$(seq 50); do
        od -An -v -tx4 -w4 -N 256 $function/config | grep -n ffffffff && exit 1
    done
    exit 0" || fails "a read of configuration space gave up"
echo "all reads were answered"
holds
