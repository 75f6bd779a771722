from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.lsp.wire import FAKE, Client

Start = Callable[..., Client]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts servers (the stand-in engine's unless told otherwise) and ends them with the test."""
    started: list[Client] = []

    def begin(command: list[str] | None = None, **env: str) -> Client:
        client = Client(command or FAKE, env)
        started.append(client)
        return client

    yield begin
    for client in started:
        client.stop()
