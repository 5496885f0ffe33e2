#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the kernel's ntb_test.sh, unmodified, without the steps that FARSIDE_LEAVE_OUT
# names, one in each line; for each it prints "Left out: STEP".
#
#   leave_out.sh SCRIPT [ARGUMENT]...
script=$1
shift

# True if the command that is about to run is a step that is left out. The names are those
# of the script's functions.
is_left_out() {
    local step
    case $BASH_COMMAND in
    link_test*) step="link" ;;
    mw_test*) step=mw ;;
    ntb_pingpong_tests) step="ping pong" ;;
    ntb_msi_tests) step=MSI ;;
    ntb_perf_tests) step="local perf" ;;
    *) return 1 ;;
    esac
    [[ $'\n'$FARSIDE_LEAVE_OUT$'\n' == *$'\n'"$step"$'\n'* ]] && echo "Left out: $step"
}

# With extdebug, a command before which the trap fails is not executed. `set -e` in the
# script would end it for that failure; a negated command is exempt. BASH_ENV cannot hold
# these lines, since extdebug at the start of a shell wants a debugger.
shopt -s extdebug
set -o functrace
trap '! is_left_out' DEBUG
# shellcheck source=/dev/null
. "$script"
