# SPDX-License-Identifier: MIT
# Users of mediated devices on a host, for tests that read tests/lending/cluster.sh. A user
# is a process (vfio_user.c) that has devices, and a file of its orders.
#
#   bring_users HOST PROGRAM       # PROGRAM is vfio_user.c
#   in_host HOST COMMAND-LINE      # runs it with the functions below
guest='
uuid_of() { # ID
    echo "000$1-0000-4000-8000-000000000000"
}
mediate() { # ID: makes the mediated device of a borrowed one
    slot=/sys/class/dl_mdev/$(cat /tmp/function.$1)
    echo "$(uuid_of $1)" >$slot/mdev_supported_types/dl_mdev-pci/create
}
borrow() { # ID WINDOW-SIZE OPTION...
    lendctl borrow "$@" --wait 30 >/tmp/said || { cat /tmp/said; return 1; }
    sed -n "s/^Local virtual device: //p" /tmp/said >/tmp/function.$1
    mediate $1
}
begin() { # USER ID...
    user=$1 uuids=
    shift
    for id in "$@"; do
        uuids="$uuids $(uuid_of $id)"
    done
    rm -f /tmp/$user
    mkfifo /tmp/$user
    : >/tmp/$user.said
    setsid /tmp/vfio_user /tmp/$user $uuids >/tmp/$user.said 2>&1 </dev/null &
}
does() { # USER ORDER [ANSWER]: the user answers "done", or ANSWER
    lines=$(wc -l </tmp/$1.said) tries=0
    echo "$2" >/tmp/$1
    until [ "$(wc -l </tmp/$1.said)" -gt "$lines" ]; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || return 1
        sleep 0.05
    done
    said=$(tail -n 1 /tmp/$1.said)
    echo "$1 $2: $said"
    [ "$said" = "${3:-done}" ]
}
'

bring_users() { # HOST PROGRAM
    on "$1" "cat >/root/functions <<'END'
$guest
END" &&
        "$farside" cluster exec -c "$name" "$1" -- \
            sh -c 'cat >/tmp/vfio_user && chmod +x /tmp/vfio_user' <"$2" &&
        on "$1" 'modprobe -a vfio_iommu_type1 dl_mdev'
}

in_host() { # HOST COMMAND-LINE
    on "$1" ". /root/functions; $2"
}
