"""pygls' protocol, without what it gets wrong: how messages become lsprotocol's types, and how calls are answered.

Parameters that cannot be read are answered with -32602, values of an enumeration that we do not know are kept as they
are, every request gets exactly one answer, and no answer tells of files of this machine.
"""

from __future__ import annotations

import asyncio
import enum
import json
import sys
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, default_converter

from graphmend_lsp.lsp.params import at
from graphmend_lsp.lsp.render import SOURCE
from graphmend_lsp.lsp.rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    Message,
    RpcError,
    log_exception,
    usable_id,
)

_LARGEST = 2**31 - 1
_LEFT_OUT: dict[str, dict[str, Any]] = {
    types.CODE_ACTION_RESOLVE: {"title": ""},
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: {"settings": None},
}
_NAMES: dict[type[Any], str] = {int: "an integer", str: "a string", bool: "true or false"}


class _WrongScalarError(Exception):
    """A JSON scalar of another kind than LSP has in its place; the message says which."""


class Protocol(LanguageServerProtocol):
    """What `server.feature` registers with, and what server-to-client calls go through."""

    def _register_builtin_features(self) -> None:
        """None of pygls' own: they keep the documents in its store (which splits lines where no editor does) and end
        the process; all that we offer is registered with `feature`."""

    def receive(self, message: Message) -> None:
        """Handle one message, of a kind that may come now."""
        method, number = message.get("method"), usable_id(message.get("id"))
        if method is None:
            self._take_answer(message)
            return
        kind = self.get_message_type(method)
        if kind is None or (method != types.CANCEL_REQUEST and method not in self.fm.features):
            self._refuse(number, METHOD_NOT_FOUND, f"{method[:100]} is not supported")
            return
        if hasattr(kind, "id") != (number is not None):
            self._refuse(number, INVALID_REQUEST, f"{method} is a notification and takes no id")
            return
        try:
            typed = self._converter.structure(_readable(method, message), kind)
        except Exception as error:
            if number is None:
                print(f"graphmend: ignored {method}: {complaint(error)}", file=sys.stderr, flush=True)
            self._refuse(number, INVALID_PARAMS, f"{method}: {complaint(error)}")
            return
        self.handle_message(typed)

    def running(self) -> list[asyncio.Future[Any]]:
        """The requests of the client that are being answered."""
        futures: list[Any] = list(self._request_futures.values())
        return [future for future in futures if isinstance(future, asyncio.Future)]

    # What pygls calls

    def _send_handler_result(self, future: Future[Any], *, msg_id: int | str) -> None:
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self._refuse(msg_id, REQUEST_CANCELLED, "cancelled")
            return
        error = future.exception()
        try:
            if error is None:
                self._send_response(msg_id, result=future.result())
                return
        except Exception as problem:  # what the handler returned cannot be sent
            error = problem
        if isinstance(error, (RpcError, JsonRpcException)):
            self._refuse(msg_id, error.code, error.message)
            return
        log_exception("in a request", error)
        self._refuse(msg_id, INTERNAL_ERROR, "the request failed inside GraphMend; see its log (stderr)")

    def _check_handler_result(self, future: Future[Any]) -> None:
        if future.cancelled() or (error := future.exception()) is None:
            return
        if not isinstance(error, (RpcError, JsonRpcException)):
            log_exception("in a notification", error)

    def _handle_cancel_notification(self, msg_id: int | str) -> None:
        future = self._request_futures.get(msg_id)
        if isinstance(future, asyncio.Future):  # else it is a question of ours, or answered already
            future.cancel()

    def _send_data(self, data: Any) -> None:
        assert self.writer is not None
        body = json.dumps(self._converter.unstructure(data), separators=(",", ":"))
        self.writer.write(body.encode("ascii"))

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: int | str | None = None,
    ) -> Future[Any]:
        """Ask the client; a question that is given up leaves nothing behind."""
        number = str(uuid.uuid4()) if msg_id is None else msg_id
        future = super().send_request(method, params, callback, number)

        def forget(_future: Future[Any]) -> None:
            self._request_futures.pop(number, None)
            self._result_types.pop(number, None)

        future.add_done_callback(forget)
        return future

    # Answers

    def _take_answer(self, message: Message) -> None:
        number = usable_id(message["id"])
        future = self._request_futures.get(number) if number is not None else None
        if number is None or not isinstance(future, Future) or not future.set_running_or_notify_cancel():
            return  # no question of ours, or one that nobody waits for
        if message.get("error") is not None:
            error = message["error"] if isinstance(message["error"], dict) else {}
            code = error.get("code")
            told = str(error.get("message", "the client answered with an error"))[:500]
            future.set_exception(JsonRpcException(told, code if isinstance(code, int) else INTERNAL_ERROR))
            return
        kind = self._result_types.get(number)
        try:
            result = (
                self._converter.structure({**message, "jsonrpc": "2.0"}, kind).result if kind else message.get("result")
            )
        except Exception as error:
            future.set_exception(JsonRpcException(f"GraphMend cannot read the client's answer: {complaint(error)}"))
            return
        future.set_result(result)

    def _refuse(self, number: int | str | None, code: int, message: str) -> None:
        if number is not None:
            self._send_response(number, error=types.ResponseError(code=code, message=message))


def tolerant_converter() -> Any:
    """lsprotocol's converter, strict where pygls' guesses (0.5 is no line), lenient where the client knows more."""
    converter = default_converter()  # type: ignore[no-untyped-call]
    for kind in (int, str, bool):
        converter.register_structure_hook(kind, _scalar)
    return converter


def _scalar(value: Any, kind: type[Any]) -> Any:
    """A JSON scalar as it is. lsprotocol's enumerations are subclasses of `int` and `str`."""
    if issubclass(kind, enum.Enum):
        try:
            return kind(value)
        except ValueError:
            return value
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _WrongScalarError(f"must be {_NAMES[kind]}")
    if kind is int and not -_LARGEST - 1 <= value <= _LARGEST:
        raise _WrongScalarError("must be a 32-bit number")
    return value


def complaint(error: BaseException) -> str:
    """What a converter's error is about, in words: the place, and what is wrong there."""
    place: list[str] = []
    while inner := getattr(error, "exceptions", None):
        error = inner[0]
        for note in getattr(error, "__notes__", ()):
            step = getattr(note, "name", getattr(note, "index", None))
            if step is not None:
                head, *rest = str(step).split("_")
                place.append(head + "".join(word.capitalize() for word in rest))
    told = str(error)[:200] if isinstance(error, (_WrongScalarError, ValueError)) else "not valid here in LSP"
    return f"{'.'.join(place) or 'the message'}: {'missing' if isinstance(error, KeyError) else told}"


def _readable(method: str, message: Message) -> Message:
    """The message as lsprotocol reads it: without what we never read, which must not keep us from answering when it is
    out of the ordinary, and with what clients are known to leave out."""
    params = message.get("params")
    if method in (types.INITIALIZED, types.SHUTDOWN):
        params = {} if method == types.INITIALIZED else None
    elif not isinstance(params, dict):
        params = _LEFT_OUT.get(method, params)
    elif method == types.TEXT_DOCUMENT_CODE_ACTION and isinstance(params.get("context"), dict):
        shown = _ours(params["context"].get("diagnostics"))
        params = {**params, "context": {**params["context"], "diagnostics": shown}}
    elif method == types.TEXT_DOCUMENT_DID_CHANGE and isinstance(params.get("contentChanges"), list):
        changes = [
            {key: value for key, value in change.items() if value is not None} if isinstance(change, dict) else change
            for change in params["contentChanges"]
        ]
        params = {**params, "contentChanges": changes}
    else:
        params = {**_LEFT_OUT.get(method, {}), **params}
    return {**message, "jsonrpc": "2.0", "params": params}


def _ours(diagnostics: Any) -> list[dict[str, Any]]:
    """The ranges of the diagnostics that are from here, of those that a client sends; nothing else of them is ever read."""
    ranges = (
        [at(one, "range") for one in diagnostics if at(one, "source") == SOURCE]
        if isinstance(diagnostics, list)
        else []
    )
    return [{"range": each, "message": ""} for each in ranges if _is_range(each)]


def _is_range(value: Any) -> bool:
    numbers = [at(value, end, part) for end in ("start", "end") for part in ("line", "character")]
    return all(type(number) is int and 0 <= number <= _LARGEST for number in numbers)
