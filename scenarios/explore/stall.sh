#!/bin/bash
# SPDX-License-Identifier: MIT
# A script for `farside cluster explore` with lending.yaml: a drive is borrowed, and the
# driver of the borrower's kernel must find it. Meanwhile the kernel reads the drive's
# configuration space, for which dl_fabric asks the lender, and gives up after
# poll_timeout_us. See docs/user/stall.md.
set -u
. "$FARSIDE_INVARIANTS"

for host in lender borrower; do
    within "$host" 30000 'modprobe -a nvme dl_ctl' || fails "$host loads no modules"
done
within lender 60000 'lendctl add 0000:00:04.0 && lendctl available 10000' &&
    within borrower 70000 'lendctl borrow 10000 --wait 2' || fails "there is no loan"
within borrower 10000 '[ -b /dev/nvme0n1 ] || { dmesg | grep nvme; exit 1; }' ||
    fails "the driver has not found the drive"
holds
