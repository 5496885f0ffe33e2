# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Functions of the checks; each check is called in the root of the tree.

# Prints the paths of tracked files and of new files that git does not ignore.
#
#   files PATHSPEC...
files() {
    git ls-files --cached --others --exclude-standard -- "$@" |
        while read -r path; do
            # git lists a deleted file until the deletion is committed.
            [ ! -e "$path" ] || echo "$path"
        done
}

# Ends the check because it cannot run on this machine.
#
#   skip REASON
skip() {
    echo "$*"
    exit 77
}

# Prints standard input. Fails if it has a line that is not empty.
fail_on_lines() {
    ! grep .
}

git rev-parse --is-inside-work-tree >/dev/null 2>&1 ||
    skip "this is no git checkout, so it is unknown which files are sources"
