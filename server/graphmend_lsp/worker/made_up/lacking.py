"""What a configuration lacks, from the error of the model that is built from it. Pure: a failure and an object in, values out.

Configurations have defaults that their own models refuse: a width of heads that is None, a kind of layer for no layer, a
theta that nobody set. What is missing follows from the other numbers, or from what the failing line compares it with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .names import number
from .shrink import VOCABULARY, attribute, parts, scaled
from .trial import Trouble

_NO_ATTRIBUTE = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
_SPLIT = re.compile(r"expects split_sizes to sum exactly to (\d+) .*got split_sizes=\[(\d+, \d+, \d+)\]")
_NOT_SET = re.compile(r"[`'](\w+)[`'] .*config.*\bnot set\b")
_MEDIA = re.compile(r"^(image|video|audio)_token_(id|index)$")
_KNOWN = {"rope_theta": 10_000.0}
_ALIASES = {"top_k": "num_experts_per_tok"}  # what modules call it, and what configurations do
_DEEP = 4


def lacking(trouble: Trouble, config: Any) -> dict[str, Any]:
    """Values by dotted name that may be what was missing; none where the error says nothing of the configuration."""
    if found := _NO_ATTRIBUTE.search(trouble.message):
        owners = [path for path, part in named_parts(config) if type(part).__name__ == found[1]]
        value = _KNOWN.get(found[2], number(found[2]))
        if owners and value is not None:
            return {f"{path}{found[2]}": value for path in owners}
    if found := _SPLIT.search(trouble.message):
        sections = scaled([int(one) for one in found[2].split(",")], int(found[1]))
        return {
            f"{path}rope_parameters": {**rope, "mrope_section": sections}
            for path, part in named_parts(config)
            if isinstance(rope := attribute(part, "rope_parameters"), dict) and attribute(part, "vocab_size")
        }
    if "'bool' object has no attribute" in trouble.message:  # ids that are compared with a token that is None
        return {
            f"{path}{name}": VOCABULARY // 2
            for path, part in named_parts(config)
            for name, value in vars(part).items()
            if value is None and _MEDIA.search(name)
        }
    if found := _NOT_SET.search(trouble.message):
        return _unset(config, found[1], "")
    if not re.search(r"None(Type)?\b", trouble.message):
        return {}
    for frame in trouble.frames:
        for name in dict.fromkeys(_ALIASES.get(name, name) for name in re.findall(r"[a-z]\w*", frame.line)):
            if values := _unset(config, name, frame.line):
                return values
    for path, part in named_parts(config):  # a theta that is None is read far from where it is used
        rope = attribute(part, "rope_parameters")
        if isinstance(rope, dict) and "rope_theta" in rope and rope["rope_theta"] is None:
            return {f"{path}rope_parameters": {**rope, "rope_theta": _KNOWN["rope_theta"]}}
    return {}


def named_parts(config: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The configuration and all within it, each with what stands in front of an attribute's name ("" or "a.b.")."""
    yield path, config
    if depth < _DEEP:
        for name, part in parts(config).items():
            yield from named_parts(part, f"{path}{name}.", depth + 1)


def _unset(config: Any, name: str, line: str) -> dict[str, Any]:
    """A value for each attribute of that name that is None; `line` reads it."""
    return {
        f"{path}{name}": value
        for path, part in named_parts(config)
        if vars(part).get(name, 0) is None and (value := _derived(part, name, line)) is not None
    }


def _derived(part: Any, name: str, line: str) -> Any:
    """What an attribute that is None may be."""
    if name == "head_dim":
        width, heads = attribute(part, "hidden_size"), attribute(part, "num_attention_heads")
        return width // heads if isinstance(width, int) and isinstance(heads, int) and heads else None
    layers = attribute(part, "num_hidden_layers")
    if name.endswith("_types") and isinstance(layers, int):
        words = re.findall(rf"{name}\[\w+\]\s*[!=]=\s*[\"'](\w+)[\"']", line)
        return [words[0]] * layers if words else None
    known = number(name)
    return 1.0 if known is None else known
