"""Reading what clients send. Strict where a request cannot be carried out (`InvalidParamsError`), else tolerant."""

from __future__ import annotations

from typing import Any

from graphmend_lsp.lsp.rpc import INVALID_PARAMS, RpcError

_LARGEST = 2**31 - 1


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


def need_integer(params: Any, *path: str) -> int:
    """The integer at `path`."""
    value = at(params, *path)
    if not isinstance(value, int) or isinstance(value, bool) or not -_LARGEST - 1 <= value <= _LARGEST:
        raise InvalidParamsError(path, "an integer")
    return value


def need_list(params: Any, *path: str) -> list[Any]:
    """The list at `path`."""
    value = at(params, *path)
    if not isinstance(value, list):
        raise InvalidParamsError(path, "an array")
    return value


def need_object(params: Any, *path: str) -> dict[str, Any]:
    """The object at `path`."""
    value = at(params, *path)
    if not isinstance(value, dict):
        raise InvalidParamsError(path, "an object")
    return value


def need_uri(params: Any) -> str:
    """`textDocument.uri`."""
    return need_string(params, "textDocument", "uri")


def need_place(params: Any, *path: str) -> tuple[int, int]:
    """An LSP position: 0-based line and character."""
    line, character = need_integer(params, *path, "line"), need_integer(params, *path, "character")
    if line < 0 or character < 0:
        raise InvalidParamsError(path, "a position that is not negative")
    return line, character


def need_range(params: Any, *path: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """An LSP range, in order even when the client gave its ends the wrong way round."""
    start, end = need_place(params, *path, "start"), need_place(params, *path, "end")
    return (start, end) if start <= end else (end, start)
