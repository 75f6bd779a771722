"""Reading what lsprotocol has no types for: `initialize` before pygls is there, settings, data of actions, arguments."""

from __future__ import annotations

from typing import Any

from graphmend_lsp.lsp.rpc import INVALID_PARAMS, RpcError


class InvalidParamsError(RpcError):
    """A parameter that is missing or of the wrong type; answered with -32602."""

    def __init__(self, path: tuple[str, ...], wanted: str) -> None:
        super().__init__(INVALID_PARAMS, f"{'.'.join(path) or 'params'} must be {wanted}")


def at(value: Any, *path: str) -> Any:
    """What lies at `path`, None where the way is cut: for capabilities and options of which nothing is required."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def flag(value: Any, *path: str) -> bool:
    """Whether a capability is literally true."""
    return at(value, *path) is True


def strings(value: Any) -> tuple[str, ...]:
    """The strings of a list; whatever else is in it is left out."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def need_string(params: Any, *path: str) -> str:
    """The string at `path`."""
    value = at(params, *path)
    if not isinstance(value, str):
        raise InvalidParamsError(path, "a string")
    return value
