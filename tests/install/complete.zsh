#!/usr/bin/zsh -f
# SPDX-License-Identifier: MIT
# Types the keys of the first argument into an interactive zsh, and prints the line that
# its editor then has. The .zshrc in ZDOTDIR sets the prompt, and lets Ctrl-X print the
# line.
zmodload zsh/zpty || exit 1
zpty shell zsh -i
zpty -r -m shell said '*ready>*'
zpty -w -n shell "$1"$'\x18'
zpty -r -m shell said '*<*>*'
zpty -d shell
print -r -- ${${said##*\<}%%\>*}
