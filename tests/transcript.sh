# SPDX-License-Identifier: MIT
# Functions for tests in bash that run the commands of a document and compare
# their output.
#
#   . tests/transcript.sh
#   transcript_load docs/user/first-steps.md HEADING
#   transcript_until PATTERN      # an ERE that matches a command
#
# In the code blocks below the heading, a line that begins with "$ " is a
# command. The command must succeed, and must print the lines that follow it, in
# any order. "..." stands for any further lines. A command without such lines may
# print anything. Numbers must be equal, except measured ones: seconds, MB/s, and
# the numbers in the output of df. "$ make ..." is not run. build/cli/farside is
# replaced by $farside.

transcript_load() { # FILE HEADING
    transcript=()
    transcript_at=0
    mapfile -t transcript < <(awk -v heading="$2" '
        /^```/ { code = !code; next }
        !code && /^##+ / { sub(/^#+ /, ""); on = $0 == heading; next }
        on && code' "$1")
    [ ${#transcript[@]} -gt 0 ] || { echo "$1: there is no command below $2"; return 1; }
}

# Runs the next commands, up to and including the first that matches PATTERN.
# They run in this shell, so a later command sees the variables of earlier ones.
transcript_until() { # PATTERN
    local line command shown=()
    while [ "$transcript_at" -lt ${#transcript[@]} ]; do
        line=${transcript[transcript_at++]}
        command=${line#'$ '}
        [ "$command" != "$line" ] || { echo "not a command: $line"; return 1; }
        while [[ $command == *\\ ]]; do
            command=${command%\\}${transcript[transcript_at++]}
        done
        shown=()
        while [ "$transcript_at" -lt ${#transcript[@]} ] &&
            [[ ${transcript[transcript_at]} != '$ '* ]]; do
            shown+=("${transcript[transcript_at++]}")
        done
        transcript_run "$command" "${shown[@]}" || return 1
        [[ ! $command =~ $1 ]] || return 0
    done
    echo "no command matches $1"
    return 1
}

transcript_run() { # COMMAND SHOWN-LINE...
    local command=$1 line pattern said status more=
    shift
    echo "\$ $command"
    case $command in
    make | 'make '*) return 0 ;;
    esac
    said=$(mktemp) || return 1
    # shellcheck disable=SC2154
    eval "${command//build\/cli\/farside/$farside}" >"$said" 2>&1 </dev/null
    status=$?
    cat "$said"
    [ $status -eq 0 ] || { echo "status $status"; rm -f "$said"; return 1; }
    for line in "$@"; do
        if [ "$line" = ... ]; then
            more=1
            continue
        fi
        pattern=$(sed -E -e 's/[][\.*^$(){}+?|]/\\&/g' \
            -e 's/[0-9]+\\\.[0-9]+ s$/[0-9]+\\.[0-9]+ s/' \
            -e 's/[0-9]+ usecs, [0-9]+ MB/[0-9]+ usecs, [0-9]+ MB/' \
            -e '/^\/dev\//s/ +[0-9]+/ +[0-9]+/g' <<<"$line")
        line=$(grep -nxE -m 1 -e "$pattern" "$said") ||
            { echo "missing: $pattern"; status=1; continue; }
        sed -i "${line%%:*}d" "$said"
    done
    if [ $# -gt 0 ] && [ -z "$more" ] && [ -s "$said" ]; then
        echo "not shown:" && cat "$said"
        status=1
    fi
    rm -f "$said"
    return $status
}
