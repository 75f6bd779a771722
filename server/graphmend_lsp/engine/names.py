"""Mends that are made together and bring the same name into one scope, with names of their own. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from graphmend_lsp.model import Mend, NewName, TextEdit

Called = Mapping[NewName, str]

_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"_\d+$")


def apart(
    mend: Mend, called: Called, made: Iterable[TextEdit], texts: Mapping[str, str]
) -> tuple[tuple[TextEdit, ...], Called] | None:
    """The mend's edits, and what its new names are called in them; None where a name cannot be exchanged for another.

    `called` are the new names of the mends before it, `made` their edits, `texts` the old texts. A name that both bind by the
    same edits (a helper that they share) stays one name. A mend's new name is no name of its file; where the word is in a string
    or a comment there, or in another file, it is not exchanged, as it may stand for something else in the edits.
    """
    own: dict[NewName, str] = {}
    for name in mend.names:
        own[name] = called.get(name, name.name)
        if name in called or not any(_meet(name, other, word) for other, word in called.items()):
            continue
        path = name.edits[0].path
        words = set(_WORD.findall(texts[path]))
        elsewhere = [edit.text for edit in mend.edits if edit.path != path]
        if name.name in words.union(*map(_WORD.findall, elsewhere)):
            return None
        words.update(word for edit in (*made, *mend.edits) for word in _WORD.findall(edit.text))
        own[name] = _next(name.name, words | {*called.values(), *own.values()})
    exchanged = {(name.edits[0].path, name.name): word for name, word in own.items()}
    if any(exchanged[name.edits[0].path, name.name] != word for name, word in own.items()):
        return None  # one word in two scopes, and only one of them is to change
    return tuple(_written(edit, exchanged) for edit in mend.edits), own


def _meet(name: NewName, other: NewName, word: str) -> bool:
    """Whether `name` would be bound where a name of another mend, called `word`, is: in its scope, or around or inside it."""
    here, there = ([part for part in one.scope.split(".") if part] for one in (name, other))
    shorter = min(len(here), len(there))
    return name.edits[0].path == other.edits[0].path and name.name == word and here[:shorter] == there[:shorter]


def _next(name: str, taken: set[str]) -> str:
    stem, number = _NUMBER.sub("", name), 2
    while f"{stem}_{number}" in taken:
        number += 1
    return f"{stem}_{number}"


def _written(edit: TextEdit, exchanged: Mapping[tuple[str, str], str]) -> TextEdit:
    text = _WORD.sub(lambda found: exchanged.get((edit.path, found[0]), found[0]), edit.text)
    return edit if text == edit.text else replace(edit, text=text)
