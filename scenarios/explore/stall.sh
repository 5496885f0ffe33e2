#!/bin/bash
# SPDX-License-Identifier: MIT
# A script for `farside cluster explore` with lending.yaml: a drive is borrowed, and the
# driver of the borrower's kernel must find it and read it. dl_fabric gives up a node whose
# heart has not beaten for lost_ms, and then the drive is gone. See docs/user/timed.md.
set -u
. "$FARSIDE_INVARIANTS"

beat_ms=5
lost_ms=20

for host in lender borrower; do
    within "$host" 30000 "modprobe dl_fabric beat_ms=$beat_ms lost_ms=$lost_ms &&
        modprobe -a nvme dl_ctl" || fails "$host loads no modules"
done
within lender 60000 'lendctl add 0000:00:04.0 && lendctl available 10000' &&
    within borrower 70000 'lendctl borrow 10000 --wait 2' || fails "there is no loan"
within borrower 10000 'dd if=/dev/nvme0n1 of=/dev/null bs=1M count=8 iflag=direct ||
    { dmesg | grep -e dl_ -e nvme; exit 1; }' || fails "the drive is not read"
holds
