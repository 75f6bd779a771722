from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from tests.lsp.forked import POSSIBLE, Nursery
from tests.lsp.wire import FAKE, Client

Start = Callable[..., Client]


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery | None]:
    """Where stand-in servers are forked; None where that cannot be done."""
    if not POSSIBLE:
        yield None
        return
    started = Nursery()
    yield started
    started.close()


@pytest.fixture
def start(nursery: Nursery | None) -> Iterator[Start]:
    """Starts servers and ends them with the test: one with the stand-in engine, forked, or what the command says."""
    started: list[Client] = []

    def begin(command: list[str] | None = None, **env: str) -> Client:
        forked = nursery.fork({**os.environ, **env}) if nursery is not None and command is None else None
        client = Client(command or FAKE, env, forked)
        started.append(client)
        return client

    yield begin
    for client in started:
        client.stop()
