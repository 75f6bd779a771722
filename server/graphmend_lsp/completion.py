"""What a shell completes of the command line: a script for bash, zsh or fish, made from the parser itself. Pure."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

SHELLS = ("bash", "zsh", "fish")


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script; it goes where the shell looks for its completions, or is sourced."""
    commands = _commands(parser)
    if shell == "fish":
        return _fish(parser, commands)
    head = "#compdef graphmend-lsp\nautoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return head + _bash(parser, commands)


def _bash(parser: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser]) -> str:
    values, words = [], []
    for name, command in commands.items():
        words.append(f'        {name}) words="{" ".join(_options(command))}" ;;')
        for options, choices in _choices(command):
            told = " | ".join(f'"{name} {option}"' for option in options) or f'"{name} {name}"'
            values.append(f'        {told}) COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$cur")); return ;;')
    first = " ".join((*commands, *_options(parser), "--stdio"))
    return f"""\
_graphmend_lsp() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" command="" word words
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in {"|".join(commands)}) command="$word"; break ;; esac
    done
    case "$command $prev" in
{chr(10).join(values)}
    esac
    case "$command" in
{chr(10).join(words)}
        *) words="{first}" ;;
    esac
    if [[ "$cur" == -* || -z "$command" ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    else
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}}
complete -o filenames -F _graphmend_lsp graphmend-lsp
"""


def _fish(parser: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser]) -> str:
    lines = [f"complete -c graphmend-lsp -n __fish_use_subcommand -a {name}" for name in commands]
    lines += [
        f"complete -c graphmend-lsp -n __fish_use_subcommand -l {one[2:]}" for one in (*_options(parser), "--stdio")
    ]
    for name, command in commands.items():
        seen = f'complete -c graphmend-lsp -n "__fish_seen_subcommand_from {name}"'
        known = {option: choices for options, choices in _choices(command) for option in options}
        for option in _options(command):
            ending = f' -xa "{" ".join(known[option])}"' if option in known else ""
            lines.append(f"{seen} -l {option[2:]}{ending}")
        lines += [f'{seen} -xa "{" ".join(choices)}"' for options, choices in _choices(command) if not options]
    return "\n".join(lines) + "\n"


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """The long options."""
    return [one for action in parser._actions for one in action.option_strings if one.startswith("--")]


def _choices(parser: argparse.ArgumentParser) -> list[tuple[list[str], list[str]]]:
    """What may follow options, or (no options) what the command itself takes."""
    return [
        (list(action.option_strings), list(map(str, action.choices))) for action in parser._actions if action.choices
    ]
