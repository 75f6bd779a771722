"""What tests of the engine share: the process that proposes mends, which nothing they do depends on or changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphmend_lsp.engine.mender import Mender


class _Shared(Mender):
    """One for all sessions: a session that is closed leaves it to the next."""

    def close(self) -> None:
        pass


@pytest.fixture(scope="session")
def _mender() -> Iterator[Mender]:
    shared = _Shared()
    yield shared
    Mender.close(shared)


@pytest.fixture
def one_mender(_mender: Mender, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session of the test proposes in the same process: its start is most of what telling a kept result takes."""
    monkeypatch.setattr("graphmend_lsp.engine.session.Mender", lambda: _mender)
