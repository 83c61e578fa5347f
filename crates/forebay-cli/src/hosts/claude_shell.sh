#!/bin/sh
# Made by `forebay init claude-code`, removed by `forebay init claude-code --uninstall`.
# Claude Code runs the lines of its shell, its hooks and its MCP servers through this program. Where Forebay is gone, they
# run as if this were not here.
forebay=@PROGRAM@
[ -x "$forebay" ] && exec "$forebay" shell -- "$1"
case $1 in
    */snapshot-zsh-*) exec zsh -c "$1" ;;
    */snapshot-bash-*) exec bash -c "$1" ;;
    *) exec /bin/sh -c "$1" ;;
esac
