"""Completion of the command line in a real bash; for zsh and fish, that their scripts name all that there is."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from graphmend_lsp.cli_arguments import parser
from graphmend_lsp.completion import SHELLS, _choices, _commands, _options, completion

ASKED = {  # what is typed, what is among the answers
    "graphmend-lsp m": {"mend", "merge"},
    "graphmend-lsp --st": {"--stdio"},
    "graphmend-lsp check --form": {"--format"},
    "graphmend-lsp check --format ": {"text", "json", "sarif", "github", "html"},
    "graphmend-lsp mend --device c": {"cpu", "cuda"},
    "graphmend-lsp check mod": {"model.py"},
    "graphmend-lsp mend --diff model": {"model.py"},
    "graphmend-lsp completion z": {"zsh"},
}


@pytest.mark.parametrize("typed", ASKED)
def test_bash_completes(tmp_path: Path, typed: str) -> None:
    (tmp_path / "model.py").write_text("")
    (tmp_path / "script").write_text(completion(parser(), "bash"))
    words = typed.split(" ")
    asked = f"source ./script; COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; "
    asked += 'complete -p graphmend-lsp > /dev/null && _graphmend_lsp; printf "%s\\n" "${COMPREPLY[@]}"'
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run([bash, "--norc", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == ASKED[typed] and done.stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_names_every_command_option_and_choice(shell: str) -> None:
    script, whole = completion(parser(), shell), parser()
    for name, command in _commands(whole).items():
        lines = [line for line in script.splitlines() if name in line]
        told = " ".join(lines)
        for option in _options(command):
            assert (option if shell != "fish" else f"-l {option[2:]}") in told, (name, option)
        for _, choices in _choices(command):
            assert " ".join(choices) in told, (name, choices)
    assert script.startswith("#compdef graphmend-lsp\n") == (shell == "zsh")
