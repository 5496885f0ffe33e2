# SPDX-License-Identifier: MIT
# Functions that make clean Debian systems and run commands in them. Need root.
#
#   . install/root.sh
#   root_unshare "$0" "$@"         # starts the script again, with mounts of its own
#   root_base DIR [SUITE]          # makes the clean system DIR/base, once; without
#                                  # SUITE of the suite that runs here
#   root_make DIR                  # makes DIR/root, a fresh copy of it
#   root_mount DIR                 # mounts again what it needs, in another process
#   root_run DIR COMMAND...        # runs the command in DIR/root
#   root_run_alone DIR SECONDS COMMAND...
#                                  # the same; all that the command starts ends with
#                                  # it, or after SECONDS (status 124), or with the
#                                  # script, however that ends
#
# DIR/archives keeps the packages that apt has fetched in any copy. The mirror is the
# one that apt uses here.

# The mounts end with the process that made them.
root_unshare() { # SCRIPT ARGUMENT...
    [ -n "$FARSIDE_UNSHARED" ] ||
        exec env FARSIDE_UNSHARED=1 unshare --mount --propagation private "$@"
}

root_suite() {
    sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

# The archive of this system's suite, or of its "-security", that apt uses here.
root_mirror() { # [-security]
    apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
        sed -n "s/^$(root_suite)$1 //p" | head -n 1
}

# A suite that is new has no script in an older debootstrap.
root_base() { # DIR [SUITE]
    local suite=${2:-$(root_suite)} script
    [ ! -e "$1/base/DONE" ] || return 0
    rm -rf "$1/base"
    script=/usr/share/debootstrap/scripts/$suite
    [ -e "$script" ] || script=${script%/*}/sid
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$1/base" \
        "$(root_mirror)" "$script" && touch "$1/base/DONE"
}

# The mounts of an earlier copy would keep rm from removing it, or worse, let it
# remove what is mounted.
root_clear() { # DIR
    for mounted in proc sys dev var/cache/apt/archives; do
        ! mountpoint -q "$1/root/$mounted" ||
            umount --recursive --lazy "$1/root/$mounted" || return
    done
    rm -rf --one-file-system "$1/root"
}

root_mount() { # DIR
    mkdir -p "$1/archives/partial"
    mountpoint -q "$1/root/proc" || mount -t proc proc "$1/root/proc" || return
    mountpoint -q "$1/root/sys" || mount -t sysfs -o ro sysfs "$1/root/sys" || return
    mountpoint -q "$1/root/dev" || mount --rbind /dev "$1/root/dev" || return
    mountpoint -q "$1/root/var/cache/apt/archives" ||
        mount --bind "$1/archives" "$1/root/var/cache/apt/archives"
}

# root_sources DIR SUITE...: apt's lines for those of the suites that their archive has
root_sources() {
    local dir=$1 mirror suite
    shift
    for suite; do
        case $suite in
        *-security) mirror=$(root_mirror -security) ;;
        *) mirror=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' "$dir/base/etc/apt/sources.list") ;;
        esac
        [ -n "$mirror" ] && /usr/lib/apt/apt-helper -q download-file \
            "${mirror%/}/dists/$suite/InRelease" "$dir/InRelease" >/dev/null 2>&1 &&
            echo "deb $mirror $suite main"
        rm -f "$dir/InRelease"
    done
    return 0
}

root_make() { # DIR
    local suite
    root_clear "$1" || return
    cp -a "$1/base" "$1/root" || return
    suite=$(sed -n 's/^deb [^ ]* \([^ ]*\) .*/\1/p' "$1/base/etc/apt/sources.list")
    root_sources "$1" "$suite" "$suite-updates" "$suite-security" \
        >"$1/root/etc/apt/sources.list"
    # The way in which this system reaches its mirror.
    apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-)' \
        >"$1/root/etc/apt/apt.conf.d/90host"
    cp /etc/resolv.conf "$1/root/etc/"
    root_mount "$1" || return
    # No service is to start in there, and apt is to keep what it fetches.
    printf '#!/bin/sh\nexit 101\n' >"$1/root/usr/sbin/policy-rc.d"
    chmod +x "$1/root/usr/sbin/policy-rc.d"
    rm -f "$1/root/etc/apt/apt.conf.d/docker-clean"
    # minbase leaves out manual pages on some mirrors' images only.
    rm -f "$1/root/etc/dpkg/dpkg.cfg.d/docker"
}

# The system never boots, so its kernel gets no initrd, which takes long.
root_environment=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
    DEBIAN_FRONTEND=noninteractive INITRD=No LC_ALL=C)

root_run() { # DIR COMMAND...
    chroot "$1/root" "${root_environment[@]}" "${@:2}"
}

# A signal that ends the script ends neither unshare nor what runs behind it.
root_run_alone() { # DIR SECONDS COMMAND...
    setpriv --pdeathsig KILL unshare --pid --fork --kill-child --mount-proc="$1/root/proc" \
        timeout --kill-after=10 "$2" \
        chroot "$1/root" "${root_environment[@]}" "${@:3}"
}
