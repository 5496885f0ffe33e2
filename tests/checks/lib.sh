# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Functions of the checks; each check is called in the root of the tree.

# Prints the paths of tracked files and of new ones, but of none that is
# generated.
#
#   files PATHSPEC...
files() {
    git ls-files --cached --others --exclude-standard -- "$@" |
        while read -r path; do
            # A file that was deleted is tracked until that is committed.
            [ ! -e "$path" ] || echo "$path"
        done
}

# Ends the check: it cannot run on this machine.
#
#   skip REASON
skip() {
    echo "$*"
    exit 77
}

# Fails if standard input has a line, and prints all lines.
fail_on_lines() {
    ! grep .
}

git rev-parse --is-inside-work-tree >/dev/null 2>&1 ||
    skip "this is no git checkout, so it is unknown which files are sources"
