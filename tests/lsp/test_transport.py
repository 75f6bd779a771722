"""What a server meets in the field: broken frames, wrong parameters, editors that vanish. Bytes in, bytes out."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.lsp.rpc import frames
from tests.lsp.conftest import Start
from tests.lsp.test_features import apply_changes
from tests.lsp.wire import FAKE, NEOVIM, REAL, VSCODE, Client, action_params

URI = "file:///tmp/graphmend-transport/a.py"
ENTRY = "def graphmend_entry(): ...\n"


def is_gone(pid: int, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def framed(body: bytes, header: str = "Content-Length: {}\r\n\r\n") -> bytes:
    return header.format(len(body)).encode() + body


INITIALIZE = json.dumps(
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"processId": None, "capabilities": {}}}
).encode()

HEADERS = [
    "content-length: {}\r\n\r\n",
    "CONTENT-LENGTH:{}\r\n\r\n",
    "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
    "Content-Length: {}\r\nX-Unknown: 1\r\n\r\n",
    "\r\n\r\nContent-Length: {}\r\n\r\n",
    "Content-Length: {}\n\n",
]


@pytest.mark.parametrize("header", HEADERS)
def test_headers_of_any_kind_are_read(start: Start, header: str) -> None:
    client = start()
    client.raw(framed(INITIALIZE, header))
    answer = client.next()
    assert answer is not None
    assert answer["id"] == 0
    assert "capabilities" in answer["result"]


INITIALIZE_PARAMS: list[tuple[str, dict[str, Any]]] = [
    ("nothing", {}),
    ("nulls", {"processId": None, "rootUri": None, "workspaceFolders": None, "capabilities": {"general": None}}),
    ("a nested key named jsonrpc", {"initializationOptions": {"jsonrpc": "x", "method": "m", "id": 3}}),
    ("an unknown trace", {"trace": "compact"}),
    ("an unknown symbol kind", {"capabilities": {"workspace": {"symbol": {"symbolKind": {"valueSet": [1, 99]}}}}}),
    (
        "unknown tags and operations",
        {
            "capabilities": {
                "workspace": {"workspaceEdit": {"resourceOperations": ["x"]}},
                "textDocument": {"publishDiagnostics": {"tagSupport": {"valueSet": [9]}}},
            }
        },
    ),
    ("wrong types everywhere", {"processId": "me", "capabilities": {"textDocument": 3, "general": []}, "rootUri": 7}),
    ("unknown encodings", {"capabilities": {"general": {"positionEncodings": ["utf-7", 5, "utf-32"]}}}),
    ("settings of wrong types", {"initializationOptions": {"settings": {"run": 3, "worker": {"timeout": "x"}}}}),
    ("options of a wrong type", {"initializationOptions": "yes", "clientInfo": [], "workspaceFolders": [1, {}]}),
    ("a dead parent", {"processId": 2**22 - 3}),
]


@pytest.mark.parametrize(("name", "params"), INITIALIZE_PARAMS, ids=[name for name, _ in INITIALIZE_PARAMS])
def test_initialize_is_answered_whatever_the_client_says_of_itself(
    start: Start, name: str, params: dict[str, Any]
) -> None:
    client = start()
    assert client.result("initialize", params)["capabilities"]["positionEncoding"] in ("utf-16", "utf-32")
    client.notify("initialized", {})
    client.open(URI, "foo\n")
    assert client.published(URI)


def request(method: str, params: Any = None, number: Any = 5) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


PLACE = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}
CLOSED = {"uri": "file:///x", "kind": "mend"}


def hover_at(line: Any) -> dict[str, Any]:
    return request("textDocument/hover", {**PLACE, "position": {"line": line, "character": 0}})


ERRORS: list[tuple[str, bytes | Any, int, Any]] = [
    ("not JSON", b"{bad}", -32700, None),
    ("not UTF-8", b'"\xff\xff"', -32700, None),
    ("nested too deeply", b"[" * 200_000, -32700, None),
    ("empty body", b"", -32700, None),
    ("a batch", [request("foo/bar")], -32600, None),
    ("a number", 3, -32600, None),
    ("no method", {"jsonrpc": "2.0", "id": 5}, -32600, 5),
    ("an id that is a list", request("foo/bar", number=[1]), -32600, None),
    ("an unknown method", request("foo/bar"), -32601, 5),
    ("an unknown optional method", request("$/foo"), -32601, 5),
    ("initialize again", request("initialize", {}), -32600, 5),
    ("no parameters", request("textDocument/codeAction"), -32602, 5),
    ("parameters of another kind", request("textDocument/codeAction", [1, 2]), -32602, 5),
    ("missing parameters", request("textDocument/codeAction", {"nope": 1}), -32602, 5),
    ("a negative position", hover_at(-1), -32602, 5),
    ("a fractional position", hover_at(0.5), -32602, 5),
    ("a boolean position", hover_at(True), -32602, 5),
    ("a URI that is none", request("textDocument/diagnostic", {"textDocument": {"uri": 3}}), -32602, 5),
    ("an action without data of ours", request("codeAction/resolve", {"title": "x", "data": {"uri": 3}}), -32602, 5),
    ("an action of a closed document", request("codeAction/resolve", {"data": CLOSED}), -32801, 5),
    ("an unknown command", request("workspace/executeCommand", {"command": "rm"}), -32602, 5),
    ("a command about no document", request("workspace/executeCommand", {"command": "graphmend.mendAll"}), -32602, 5),
]  # fmt: skip


@pytest.mark.parametrize(("name", "message", "code", "number"), ERRORS, ids=[error[0] for error in ERRORS])
def test_what_cannot_be_done_is_answered_and_the_server_goes_on(
    start: Start, name: str, message: Any, code: int, number: Any
) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.raw(framed(message if isinstance(message, bytes) else json.dumps(message).encode()))
    answer = client.until(lambda got: "error" in got)
    assert (answer["id"], answer["error"]["code"]) == (number, code)
    assert set(answer["error"]) == {"code", "message"}
    assert client.result("textDocument/hover", PLACE) is None


HOVER = json.dumps(request("textDocument/hover", PLACE, 41)).encode()
PRETTY = json.dumps(request("foo/bar", number=41), indent=2).replace("\n", "\r\n").encode()
BROKEN: dict[str, tuple[bytes, bool]] = {  # what is sent, and whether it costs an error
    "a length that is no number": (b"Content-Length: many\r\n\r\n", True),
    "no number, and its body": (b"Content-Length: many\r\n\r\n" + HOVER, True),
    "no length, and its body": (b"Content-Type: x\r\n\r\n" + HOVER, True),
    "a length beyond all bounds": (b"Content-Length: 99999999999999\r\n\r\n" + HOVER, True),
    "a negative length": (b"Content-Length: -3\r\n\r\n" + HOVER, True),
    "too short by 1": (framed(HOVER, f"Content-Length: {len(HOVER) - 1}\r\n\r\n"), True),
    "too short by 30": (framed(HOVER, f"Content-Length: {len(HOVER) - 30}\r\n\r\n"), True),
    "too short, over lines": (framed(PRETTY, "Content-Length: 5\r\n\r\n"), True),
    "none of it": (framed(HOVER, "Content-Length: 0\r\n\r\n"), True),
    "too long by 3": (framed(HOVER, f"Content-Length: {len(HOVER) + 3}\r\n\r\n"), False),
    "too long by a megabyte": (framed(HOVER, "Content-Length: 1000000\r\n\r\n"), False),
    "too long, and no JSON": (b"Content-Length: 1000\r\n\r\n{bad", True),
    "bytes between messages": (b"x" * 100_000, False),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_length_costs_its_own_message_only(start: Start, name: str) -> None:
    sent, is_error = BROKEN[name]
    client = start()
    client.initialize(NEOVIM)
    client.raw(sent)
    client.open(URI, "foo\n")
    assert client.published(URI)
    assert client.result("shutdown") is None
    client.notify("exit")
    assert client.code() == 0
    errors = [message["error"]["code"] for message in client.seen if "error" in message]
    assert (bool(errors), set(errors) <= {-32700, -32601}) == (is_error, True), client.seen
    assert len(errors) <= 3


def test_a_message_that_is_said_to_be_longer_is_answered(start: Start) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.raw(framed(HOVER, f"Content-Length: {len(HOVER) + 3}\r\n\r\n"))
    client.notify("$/nothing")
    assert client.until(lambda message: message.get("id") == 41)["result"] is None


@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_frames_are_read_in_pieces_of_any_size(step: int) -> None:
    bodies = [b'{"a": "\\r\\n\\r\\n"}', b"x" * 70_000, b"", b'"Content-Length: 3"', b"[\r\n\r\n]"]
    sent = b"".join(framed(body) for body in bodies)

    class Slow(io.BytesIO):
        def read1(self, _size: int | None = -1, /) -> bytes:
            return self.read(step)

    assert list(frames(Slow(sent))) == bodies


def test_notifications_never_get_an_answer(start: Start) -> None:
    client = start()
    client.initialize()
    for method in ("$/unknown", "foo/bar", "textDocument/didChange", "textDocument/didOpen", "$/cancelRequest"):
        client.notify(method, {"nope": 1})
    client.result("textDocument/hover", PLACE)
    assert not [message for message in client.seen if "id" in message and message["id"] not in (1, 2)]


def test_before_initialize_and_after_shutdown(start: Start) -> None:
    client = start(FAKE)
    assert client.ask("textDocument/hover", PLACE)["error"]["code"] == -32002
    client.open(URI, "foo\n")  # left out
    client.initialize()
    assert client.ask("shutdown")["result"] is None
    assert client.ask("textDocument/hover", PLACE)["error"]["code"] == -32600
    client.notify("exit")
    assert client.code() == 0


def test_an_exception_inside_is_an_error_without_places_of_this_machine(start: Start) -> None:
    client = start()
    client.initialize(VSCODE)
    client.open(URI, f"# fake: crash mend\nfoo\n{ENTRY}")
    answer = client.ask("workspace/executeCommand", {"command": "graphmend.mendAll", "arguments": [URI]})
    assert answer["error"]["code"] == -32603
    assert set(answer["error"]) == {"code", "message"}
    assert "secret" not in json.dumps(client.seen)
    assert client.result("textDocument/hover", PLACE) is None
    assert "the session crashed at /secret/place.py" in client.log()


ENDS: list[tuple[str, bool, int]] = [("exit", True, 0), ("exit", False, 1), ("eof", True, 0), ("eof", False, 1)]


@pytest.mark.parametrize("busy", ["", "worker", "worker hang check", "hang check", "hang mend", "slow static"])
@pytest.mark.parametrize(("how", "shut", "code"), ENDS)
@pytest.mark.slow
def test_the_end_is_prompt_and_takes_the_worker_along(start: Start, how: str, shut: bool, code: int, busy: str) -> None:
    client = start()
    client.initialize(NEOVIM)
    worker = None
    if busy:
        worker = begin_work(client, busy)
    began = time.monotonic()
    if shut:
        assert client.ask("shutdown")["result"] is None
    if how == "exit":
        client.notify("exit")
    else:
        assert client.process.stdin is not None
        client.process.stdin.close()
    assert client.code() == code
    assert time.monotonic() - began < 3
    assert worker is None or is_gone(worker)


def begin_work(client: Client, busy: str) -> int | None:
    text = "".join(f"# fake: {word}\n" for word in (["worker"] if "worker" in busy else []))
    order = busy.replace("worker", "").strip()
    client.open(URI, f"{text}# fake: {order or 'nothing'}\nfoo\n{ENTRY}")
    client.save(URI)
    if "mend" in busy:
        client.begin("workspace/executeCommand", {"command": "graphmend.mendAll", "arguments": [URI]})
    status = client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    if "worker" not in busy:
        return None
    status = client.until_note("graphmend/status", lambda params: params["message"].startswith("pid "))
    return int(status["message"].split()[1])


def test_exit_ends_a_server_whose_event_loop_is_held(start: Start) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(URI, f"# fake: block loop\nfoo\n{ENTRY}")
    client.save(URI)
    client.until_note("graphmend/status", lambda params: params["state"] == "busy")
    client.notify("exit")
    assert client.code() == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_its_worker(start: Start, number: signal.Signals) -> None:
    client = start()
    client.initialize(NEOVIM)
    worker = begin_work(client, "worker hang check")
    client.process.send_signal(number)
    assert client.code() == 1
    assert worker is not None
    assert is_gone(worker)


def test_the_death_of_the_editor_ends_it(start: Start) -> None:
    """The editor is a process of its own; our stdin stays open, as it does behind a shell."""
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    client = start()
    client.result("initialize", {"processId": editor.pid, "capabilities": {}})
    assert client.process.poll() is None
    editor.kill()
    try:
        assert client.code() == 1
    finally:
        editor.wait()


@pytest.mark.slow
def test_a_client_that_stops_reading_does_not_hold_the_server(start: Start) -> None:
    """Its stdout is full; it still reads, and still ends."""
    process = subprocess.Popen(FAKE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    try:
        process.stdin.write(framed(INITIALIZE))
        for number in range(20_000):
            process.stdin.write(framed(json.dumps(request("foo/bar", number=number)).encode()))
        process.stdin.write(framed(json.dumps({"jsonrpc": "2.0", "method": "exit"}).encode()))
        process.stdin.flush()
        assert process.wait(10) == 1
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


@pytest.mark.parametrize("begun", [True, False])
def test_cancelled_requests_are_answered_as_cancelled(start: Start, begun: bool) -> None:
    client = start()
    client.initialize(NEOVIM)
    client.open(URI, f"# fake: hang mend\nfoo\n{ENTRY}")
    client.published(URI)
    params = {"command": "graphmend.mendAll", "arguments": [URI]}
    if begun:
        number = client.begin("workspace/executeCommand", params)
        client.until_note("graphmend/status", lambda told: told["state"] == "busy")
        client.notify("$/cancelRequest", {"id": number})
    else:  # both are read at once: the request is cancelled before it began
        number = 77
        messages = [request("workspace/executeCommand", params, number), request("$/cancelRequest", {"id": number})]
        del messages[1]["id"]
        client.raw(b"".join(framed(json.dumps(message).encode()) for message in messages))
    answer = client.until(lambda message: message.get("id") == number)
    assert answer["error"]["code"] == -32800
    assert client.result("textDocument/hover", PLACE) is None


def test_nothing_but_protocol_reaches_stdout(start: Start) -> None:
    client = start(FAKE)
    client.initialize(NEOVIM)
    client.open(URI, "foo\n")
    client.published(URI)
    assert "printed by analysis" in client.log()
    assert client.stray == b""


def test_initialize_is_answered_without_heavy_imports() -> None:
    """What `initialize` needs imports none of what takes long; the module list is the check, not a clock."""
    code = "import sys, graphmend_lsp.lsp.server; print(' '.join(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"torch", "libcst", "pygls", "lsprotocol", "cattrs", "attrs", "rich"}
    assert not heavy & set(modules)
    assert not [name for name in modules if name.startswith(("graphmend_lsp.analysis", "graphmend_lsp.mending"))]


LINES = """\
import torch


@torch.compile
def fn(x: torch.Tensor):
    return {"𝒜": x, "it": ITEM}
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.slow
def test_a_mend_behind_characters_of_any_width_keeps_the_line_ends(start: Start, encoding: str, tmp_path: Path) -> None:
    text = LINES.replace("ITEM", "x * 2 if x.sum() > 0 else x").replace("\n", "\r\n")
    client = start(REAL)
    client.initialize({**NEOVIM, "general": {"positionEncodings": [encoding]}})
    uri = (tmp_path / "model.py").as_uri()
    client.open(uri, text)
    [shown] = client.published(uri)
    place = shown["range"]["start"]["line"], shown["range"]["start"]["character"]
    for _ in range(100):
        mends = [one for one in client.actions(uri, place) if "edit" in one and "torch.where" in one["title"]]
        if mends:
            break
        time.sleep(0.1)
    mended = apply_changes(text, mends[0]["edit"]["changes"][uri], encoding)
    assert mended == LINES.replace("ITEM", "torch.where(x.sum() > 0, x * 2, x)").replace("\n", "\r\n")


def test_the_real_command_starts_and_ends(start: Start) -> None:
    client = start(REAL)
    assert client.initialize(VSCODE)["serverInfo"]["name"] == "graphmend-lsp"
    client.result("textDocument/codeAction", action_params(URI, (0, 0)))
    client.ask("shutdown")
    client.notify("exit")
    assert client.code() == 0
