# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion for bash. The program itself knows what a word may be completed to;
# cli/cmd_form.h describes what it prints.
_farside() {
    local cur prev words cword line rest begin
    # "=" and ":" are parts of words here, as in --set=hosts.a.cpu=x.
    _get_comp_words_by_ref -n =: cur prev words cword || return
    COMPREPLY=()
    # bash replaces only the part of a word behind its last "=" or ":".
    rest=${cur##*[=:]}
    begin=${cur%"$rest"}
    [[ $begin == --*=* ]] && begin=${begin#--*=}
    while IFS= read -r line; do
        case $line in
        :file) compopt -o filenames
               mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$rest") ;;
        :dir) compopt -o filenames
              mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$rest") ;;
        :command) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$rest") ;;
        *) line=${line%%$'\t'*}
           COMPREPLY+=("${line#"$begin"}") ;;
        esac
    done < <("${words[0]}" --help-complete "${words[@]:1:cword}" 2>/dev/null)
    # More is to be written behind these.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=.] ]]; then
        compopt -o nospace
    fi
}
complete -F _farside farside
