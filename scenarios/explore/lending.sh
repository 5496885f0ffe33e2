#!/bin/bash
# SPDX-License-Identifier: MIT
# A script for `farside cluster explore` with lending.yaml: a drive is lent, borrowed,
# written, returned, and read by its own host.
#
# Invariants, whatever faults come: no command takes longer than what docs/reference/lending.md
# calls its longest time. Data that were written are read, from either host. Hosts that
# are there close all windows of a loan that has ended. Each fault can spoil one
# attempt: if all is there again, one more attempt succeeds, and the adapters' tables
# are as they were (kmod/test/dl_audit.c). A host or a cable that is gone for good, and a
# drive that was pulled out and has lost its settings, make the work impossible.
set -u
. "$FARSIDE_INVARIANTS"

dl=/sys/kernel/debug/dl
blocks=64
# Requests end within a second of the loss of a node, which is known after 2 s, and 4 s
# later if the borrower stands still. Nothing tells of a drive that does not answer: the
# time-outs of its driver count.
patience=15000
! has 'target: lender.disk' || patience=100000
# These reset the drive. If it does not answer then, Linux doubles its waits until they
# are 65.5 s in all, and a long timer may come an eighth too late.
reset=90000
written=

both() {
    "$1" lender && "$1" borrower
}

load() { # HOST
    within "$1" 30000 'modprobe -a nvme dl_ctl dl_audit'
}

# A node that stands still is lost after 2 s; the other one finds it again by its
# next greeting.
connected() { # HOST
    until_true "$1" 30000 'lendctl list | grep -q " up "'
}

# The tables of the adapter, without the addresses that they lead to: those of a peer
# that has started again differ.
audit() { # HOST FILE
    within "$1" 10000 'cat /sys/kernel/debug/dl_audit' |
        sed 's/ 0x[0-9a-f]*\(...\)$/ \1/' >"$2" && [ -s "$2" ]
}

losses() { # HOST
    within "$1" 10000 "sed -n 's/^lost //p' $dl/*/stats"
}

# The tables as they are while the hosts are connected. If a host or the cable goes
# meanwhile, some entries may be closed already, and the next attempt reads them.
tables() {
    local lost
    [ ! -e "$FARSIDE_RUN/tables" ] || return 0
    lost=$(both losses) && audit lender "$FARSIDE_RUN/audit.lender" &&
        audit borrower "$FARSIDE_RUN/audit.borrower" && both connected &&
        [ "$(both losses)" = "$lost" ] && touch "$FARSIDE_RUN/tables"
}

lend() {
    within lender $reset 'lendctl list | grep -q "^10000 " || lendctl add 0000:00:04.0
        lendctl list | grep -q "^10000 .* available" || lendctl available 10000'
}

borrow() {
    within borrower 70000 'lendctl borrow 10000 --wait 30 && [ -b /dev/nvme0n1 ]'
}

# Blocks with another content in each attempt. What the drive has acknowledged it must
# keep.
write() { # ATTEMPT
    written=
    within borrower $patience "seq $1 1000000 | head -c $((blocks * 4096)) >/tmp/data
        dd if=/tmp/data of=/dev/nvme0n1 bs=4096 oflag=direct conv=fsync 2>/dev/null" ||
        return 1
    written=$(seq "$1" 1000000 | head -c $((blocks * 4096)) | md5sum)
}

# Reads the drive. Fails if that works and the data are others.
same() { # HOST
    local sum
    sum=$(within "$1" $patience "dd if=/dev/nvme0n1 bs=4096 count=$blocks iflag=direct \
        2>/dev/null >/tmp/read && [ \$(wc -c </tmp/read) = $((blocks * 4096)) ] &&
        md5sum </tmp/read") || return 1
    [ -z "$written" ] || [ "$sum" = "$written" ] ||
        fails "$1 reads other data than were written: $sum instead of $written"
}

give_back() {
    within borrower 70000 'lendctl return 10000' &&
        within lender $reset 'lendctl unavailable 10000' &&
        until_true lender 20000 '[ -b /dev/nvme0n1 ]'
}

# step WORDS COMMAND...: notes what failed
step() {
    doing=$1
    shift
    "$@"
}

attempt() { # NUMBER
    step "the modules are loaded" both load &&
        step "the hosts are connected" both connected &&
        step "the tables are read" tables &&
        step "the drive is lent" lend &&
        step "the drive is borrowed" borrow &&
        step "the drive is written" write "$1" &&
        step "the borrower reads" same borrower &&
        step "the drive is returned" give_back &&
        step "the lender reads" same lender
}

# Nothing of a loan is open at a host that is there; the other one may be gone.
clean() { # HOST
    is_up "$1" || return 0
    # A host that has started again has no modules yet.
    until_true "$1" 40000 "[ -d $dl ] || exit 0
        ! cat $dl/*/windows | grep -v ' 0\$' && grep '^mapped 0\$' $dl/borrower &&
        ! cat $dl/*/requesters | grep lent" || is_gone "$1" ||
        fails "$1 has not closed what a loan had open"
}

is_gone() { # HOST
    ! is_up "$1"
}

# True if the borrower's driver waits for ever, by the stacks in TEXT: docs/reference/lending.md,
# "Longest times", has this defect of Linux.
hangs_in_nvme() { # TEXT
    echo "$1" | grep -q nvme_scan_work && echo "$1" | grep -q nvme_remove_namespaces
}

# Undoes what an attempt has left, as a user would.
undo() {
    local said
    said=$(within borrower 70000 'lendctl list 2>/dev/null | grep -q "^10000 .*here" &&
        lendctl return --force 10000')
    echo "$said"
    if echo "$said" | grep -q '^borrower has not ended this'; then
        is_gone_for_good && hangs_in_nvme "$said" &&
            impossible "nvme never ends the scan of a drive that was pulled out"
        exit 1
    fi
    within lender $reset 'lendctl list 2>/dev/null | grep -q "^10000 .* available" &&
        lendctl unavailable 10000'
}

same_tables() { # HOST
    local left=20
    until audit "$1" "$FARSIDE_RUN/now.$1" &&
        cmp -s "$FARSIDE_RUN/audit.$1" "$FARSIDE_RUN/now.$1"; do
        left=$((left - 1))
        if [ "$left" -le 0 ]; then
            diff "$FARSIDE_RUN/audit.$1" "$FARSIDE_RUN/now.$1"
            fails "the tables of $1's adapter are not as before"
        fi
        advance 500
    done
}

# True if something is gone for good, or the drive has lost its settings.
is_gone_for_good() {
    has 'action: kill' || has 'target: lender.disk, action: \(remove\|link-down\)' ||
        grep 'target: cable, action: link-down' "$FARSIDE_SCHEDULE" | grep -qv ' for: '
}

attempts=$(($(fault_count) + 1))
for ((number = 1; number <= attempts; number++)); do
    if attempt "$number"; then
        settle 0
        clean lender
        clean borrower
        if is_up lender && is_up borrower && ! is_gone_for_good; then
            both connected && both same_tables || continue
        fi
        holds
    fi
    echo "attempt $number: not so: $doing"
    settle 3000
    undo
    clean lender
    clean borrower
    # Further attempts would show the same.
    ! is_gone_for_good || [ "$number" -lt 2 ] || break
done
! is_gone_for_good || impossible "$doing: something is gone for good"
fails "after $attempts attempts not so: $doing"
