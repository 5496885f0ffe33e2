#compdef farside
# SPDX-License-Identifier: MIT
# Completion for zsh. The program itself knows what a word may be completed to;
# cli/cmd_form.h describes what it prints.
_farside() {
    local line word
    local -a more last
    local files=
    for line in ${(f)"$($words[1] --help-complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)"}; do
        word=${line%%$'\t'*}
        case $word in
        :file) files=_files ;;
        :dir) files='_files -/' ;;
        :command) files=_command_names ;;
        *[=.]) more+=("${word//:/\\:}:${line#*$'\t'}") ;;
        *) last+=("${word//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    # The value of --option=VALUE is completed alone.
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    (( $#last )) && _describe 'farside' last
    (( $#more )) && _describe 'farside' more -S ''
    [[ -n $files ]] && ${=files}
}
_farside "$@"
