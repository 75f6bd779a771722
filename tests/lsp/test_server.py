"""The server is pygls', it offers what it answers `initialize` with, and pygls' own weaknesses do not reach a client."""

from __future__ import annotations

import asyncio
import io
import json
from concurrent.futures import Future
from typing import Any

import pytest
from lsprotocol import converters, types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from graphmend_lsp.lsp.language_server import NOTEBOOK_SYNC, GraphMendServer
from graphmend_lsp.lsp.offer import introduction, offer
from graphmend_lsp.lsp.protocol import complaint, tolerant_converter
from graphmend_lsp.lsp.rpc import Connection, Message
from tests.lsp.conftest import Start
from tests.lsp.fake_server import services
from tests.lsp.test_transport import INITIALIZE_PARAMS, PLACE, URI, framed, request
from tests.lsp.wire import FAKE, NEOVIM, VSCODE, Client, action_params

FEATURES = {
    "initialized",
    "shutdown",
    "$/setTrace",
    "window/workDoneProgress/cancel",
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/willSave",
    "textDocument/didSave",
    "textDocument/didClose",
    "notebookDocument/didOpen",
    "notebookDocument/didChange",
    "notebookDocument/didSave",
    "notebookDocument/didClose",
    "textDocument/diagnostic",
    "workspace/diagnostic",
    "textDocument/codeAction",
    "codeAction/resolve",
    "textDocument/codeLens",
    "textDocument/hover",
    "textDocument/inlayHint",
    "workspace/executeCommand",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWorkspaceFolders",
}
NOTEBOOKS = {**VSCODE, "notebookDocument": {"synchronization": {"dynamicRegistration": True}}}
CLIENTS = [
    {"capabilities": VSCODE},
    {"capabilities": NOTEBOOKS},
    {"capabilities": NEOVIM},
    *(params for _, params in INITIALIZE_PARAMS),
]


def made(params: Any) -> tuple[GraphMendServer, list[Message]]:
    """A server for the client that sent these `initialize` parameters, and what it writes."""
    connection = Connection(io.BytesIO(), io.BytesIO(), lambda _message: None)
    server = GraphMendServer(connection, services(), introduction(params))
    written: list[Message] = []
    connection.write = lambda data: written.append(json.loads(data))  # type: ignore[method-assign]
    return server, written


async def test_it_is_a_pygls_server_with_exactly_these_features() -> None:
    server, _ = made({})
    assert isinstance(server, LanguageServer)
    assert isinstance(server.protocol, LanguageServerProtocol)
    assert set(server.protocol.fm.features) == FEATURES
    assert server.protocol.fm.builtin_features == {}
    assert set(types.METHOD_TO_TYPES) >= FEATURES


@pytest.mark.parametrize("params", CLIENTS, ids=range(len(CLIENTS)))
async def test_initialize_is_answered_as_pygls_would_for_the_registered_features(params: Any) -> None:
    server, _ = made(params)
    client = server.state.client
    answer = offer(client)
    converter = converters.get_converter()
    assert converter.unstructure(converter.structure(answer, types.InitializeResult)) == answer
    features = server.protocol.fm
    notebooks = types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities())
    registered = set(features.features)
    commands = features.feature_options[types.WORKSPACE_EXECUTE_COMMAND]
    built = ServerCapabilitiesBuilder(
        types.ClientCapabilities(notebook_document=notebooks if client.opens_notebooks else None),
        registered if client.pulls_diagnostics else registered - {"textDocument/diagnostic"},
        features.feature_options,
        commands.commands,
        types.TextDocumentSyncKind.Incremental,
        NOTEBOOK_SYNC,
        client.encoding,
    ).build()
    of_pygls = converter.unstructure(built)
    assert of_pygls["workspace"].pop("fileOperations") == {}  # pygls' way to say that there are none
    of_pygls["executeCommandProvider"]["workDoneProgress"] = commands.work_done_progress  # pygls leaves it out
    assert of_pygls == answer["capabilities"]


def test_what_comes_before_pygls_is_there_is_answered_in_order(start: Start) -> None:
    client = start(FAKE)
    document = {"uri": URI, "languageId": "python", "version": 1, "text": "foo\n"}
    messages = [
        request("initialize", {"capabilities": NEOVIM}, 1),
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
        request("initialize", {}, 2),
        {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}},
        request("textDocument/hover", PLACE, 3),
        request("foo/bar", None, "four"),
        request("shutdown", None, 5),
        request("textDocument/hover", PLACE, 6),
    ]
    client.raw(b"".join(framed(json.dumps(message).encode()) for message in messages))
    client.until(lambda _message: {5, 6} <= {message.get("id") for message in client.seen}, 60)
    client.raw(framed(b'{"jsonrpc":"2.0","method":"exit"}'))
    assert client.code() == 0
    answers = [message for message in received(client) if "id" in message and "method" not in message]
    told = [(answer["id"], answer.get("error", {}).get("code")) for answer in answers]
    # shutdown waits for the worker's end; what is asked after it is refused at once
    assert [pair for pair in told if pair[0] != 5] == [(1, None), (2, -32600), (3, None), ("four", -32601), (6, -32600)]
    assert (5, None) in told


def received(client: Client) -> list[dict[str, Any]]:
    while client.next() is not None:
        pass
    return client.seen


def test_a_client_that_shuts_down_and_leaves_before_pygls_is_there(start: Start) -> None:
    client = start(FAKE)
    messages = [request("initialize", {}, 1), request("shutdown", None, 2), {"jsonrpc": "2.0", "method": "exit"}]
    client.raw(b"".join(framed(json.dumps(message).encode()) for message in messages))
    assert client.code(30) == 0


@pytest.mark.parametrize("ending", [b"", framed(b'{"jsonrpc":"2.0","method":"exit"}')])
def test_a_client_that_leaves_before_pygls_is_there(start: Start, ending: bytes) -> None:
    client = start(FAKE)
    client.raw(framed(json.dumps(request("initialize", {}, 1)).encode()) + ending)
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.code(4) == 1


KINDS: list[tuple[str, Message, int | None]] = [
    ("a notification with an id", request("textDocument/didClose", {"textDocument": {"uri": URI}}), -32600),
    ("a request without an id", {"method": "textDocument/hover", "params": PLACE}, None),
    ("an unknown kind of action", request("textDocument/codeAction", action_params(URI, (0, 0), only=["x.y"])), 0),
    ("odd diagnostics of others", request("textDocument/codeAction", action_params(URI, (0, 0), triggerKind=9)), 0),
    ("an unknown trace", {"method": "$/setTrace", "params": {"value": "compact"}}, None),
    ("a message without a version", {"id": 5, "method": "textDocument/hover", "params": PLACE}, 0),
    ("an answer to no question", {"jsonrpc": "2.0", "id": "x", "result": 3}, None),
    ("a shutdown with parameters", request("shutdown", []), 0),
    ("an action without a title", request("codeAction/resolve", {}), 0),
    ("a cancel of nothing", {"method": "$/cancelRequest", "params": {"id": 99}}, None),
    ("a cancel without an id", {"method": "$/cancelRequest", "params": {}}, None),
    ("a name among the arguments", request("workspace/executeCommand", {"command": "x", "arguments": {}}), -32602),
]


@pytest.mark.parametrize(("name", "message", "code"), KINDS, ids=[kind[0] for kind in KINDS])
async def test_messages_of_odd_kinds(name: str, message: Message, code: int | None) -> None:
    """`code` None: no answer; 0: an answer without error."""
    server, written = made({"capabilities": VSCODE})
    if name == "odd diagnostics of others":
        message["params"]["context"]["diagnostics"] = [{"range": None, "severity": 77}, 3]
    server.protocol.receive(message)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    answers = [answer for answer in written if "method" not in answer]
    told = [answer.get("error", {}).get("code", 0) for answer in answers]
    assert told == ([] if code is None else [code])


STARTS = [{"method": "initialized"}, *({"method": "initialized", "params": value} for value in ({}, [], None, 3))]
CHANGES = [{"params": value} for value in ({"settings": None}, {"settings": {}}, {}, [], None)]


@pytest.mark.parametrize("message", [*STARTS, *({"method": "workspace/didChangeConfiguration", **c} for c in CHANGES)])
async def test_settings_are_asked_for_however_the_client_puts_it(message: Message) -> None:
    server, written = made({"capabilities": {"workspace": {"configuration": True}}})
    server.protocol.receive(message)
    await asyncio.sleep(0)
    assert "workspace/configuration" in [sent.get("method") for sent in written]


async def test_questions_to_the_client_and_what_it_makes_of_them() -> None:
    server, written = made({})
    wanted = types.ConfigurationParams([types.ConfigurationItem(section="graphmend")])

    async def ask(answer: Any) -> Any:
        question = asyncio.ensure_future(server.workspace_configuration_async(wanted))
        await asyncio.sleep(0)
        server.protocol.receive({"id": written[-1]["id"], **answer})
        return await question

    assert await ask({"result": [{"run": "off"}]}) == ({"run": "off"},)
    for answer in ({"error": {"code": 3, "message": "no"}}, {"error": "no"}, {"result": 3}):
        with pytest.raises(JsonRpcException):
            await ask(answer)
    given_up = asyncio.ensure_future(server.workspace_configuration_async(wanted))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    server.protocol.receive({"id": written[-1]["id"], "result": []})
    waiting: dict[Any, Future[Any]] = server.protocol._request_futures
    assert waiting == {}
    assert server.protocol._result_types == {}


async def test_an_answer_does_not_settle_a_request_of_the_client() -> None:
    server, written = made({"capabilities": VSCODE})
    server.state.opened(server.state.store.open(URI, "python", 1, "foo\n"))
    server.protocol.receive(request("textDocument/diagnostic", {"textDocument": {"uri": URI}}, 7))
    server.protocol.receive({"id": 7, "result": "mine"})
    await server.state.files[URI].analysed.wait()
    await asyncio.sleep(0.05)
    [answer] = [message for message in written if message.get("id") == 7]
    assert answer["result"]["kind"] == "full"


COMPLAINTS = [
    ({"textDocument": {"uri": 3}, "position": {"line": 0, "character": 0}}, "params.textDocument.uri: must be a string"),
    ({"textDocument": {"uri": "x"}}, "params.position: missing"),
    ({"textDocument": {"uri": "x"}, "position": {"line": 0.5, "character": 0}}, "params.position.line: must be an integer"),
    ([1, 2], "params.textDocument: not valid here in LSP"),
]  # fmt: skip


@pytest.mark.parametrize(("params", "words"), COMPLAINTS)
def test_what_is_wrong_with_parameters_is_told(params: Any, words: str) -> None:
    with pytest.raises(Exception) as caught:
        tolerant_converter().structure(request("textDocument/hover", params), types.HoverRequest)
    assert complaint(caught.value) == words
