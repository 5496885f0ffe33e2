# SPDX-License-Identifier: MIT
# Functions that make clean Debian systems and run commands in them. Need root.
#
#   . install/root.sh
#   root_unshare "$0" "$@"         # starts the script again, with mounts of its own
#   root_base DIR                  # makes the clean system DIR/base, once
#   root_make DIR                  # makes DIR/root, a fresh copy of it
#   root_run DIR COMMAND...        # runs the command in DIR/root
#
# DIR/archives keeps the packages that apt has fetched in any copy.

# The mounts end with the process that made them.
root_unshare() { # SCRIPT ARGUMENT...
    [ -n "$FARSIDE_UNSHARED" ] ||
        exec env FARSIDE_UNSHARED=1 unshare --mount --propagation private "$@"
}

# The first mirror that apt uses here.
root_mirror() {
    apt-cache policy |
        sed -n 's/^ *[0-9]* \(http[^ ]*\) bookworm\/main.*/\1/p' |
        grep -v security | head -n 1
}

root_base() { # DIR
    [ ! -e "$1/base/DONE" ] || return 0
    rm -rf "$1/base"
    mirror=$(root_mirror)
    debootstrap --variant=minbase --include=ca-certificates bookworm \
        "$1/base" "${mirror:-http://deb.debian.org/debian}" &&
        touch "$1/base/DONE"
}

# The mounts of an earlier copy would keep rm from removing it, or worse, let it
# remove what is mounted.
root_clear() { # DIR
    for mounted in proc dev var/cache/apt/archives; do
        ! mountpoint -q "$1/root/$mounted" ||
            umount --recursive --lazy "$1/root/$mounted" || return
    done
    rm -rf --one-file-system "$1/root"
}

root_make() { # DIR
    root_clear "$1" || return
    cp -a "$1/base" "$1/root" || return
    mkdir -p "$1/archives/partial"
    rm -f "$1/root/etc/apt/sources.list"
    cp /etc/apt/sources.list "$1/root/etc/apt/" 2>/dev/null
    cp /etc/apt/sources.list.d/*.sources "$1/root/etc/apt/sources.list.d/" \
        2>/dev/null
    cp /etc/resolv.conf "$1/root/etc/"
    mount -t proc proc "$1/root/proc" &&
        mount --rbind /dev "$1/root/dev" &&
        mount --bind "$1/archives" "$1/root/var/cache/apt/archives" || return
    # No service is to start in there, and apt is to keep what it fetches.
    printf '#!/bin/sh\nexit 101\n' >"$1/root/usr/sbin/policy-rc.d"
    chmod +x "$1/root/usr/sbin/policy-rc.d"
    rm -f "$1/root/etc/apt/apt.conf.d/docker-clean"
    # minbase leaves out manual pages on some mirrors' images only.
    rm -f "$1/root/etc/dpkg/dpkg.cfg.d/docker"
}

# The system never boots, so its kernel gets no initrd, which takes long.
root_run() { # DIR COMMAND...
    chroot "$1/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        DEBIAN_FRONTEND=noninteractive INITRD=No LC_ALL=C "${@:2}"
}
