from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.log.both import START, InMemory, InSqlite, Opened
from tests.store.conftest import store
from tests.store.opened import Hands

__all__ = ["store"]


@pytest.fixture
def hands() -> Hands:
    return Hands(START)


@pytest.fixture(params=[InMemory, InSqlite])
def log(request: pytest.FixtureRequest, tmp_path: Path, hands: Hands) -> Iterator[Opened]:
    opened = request.param(tmp_path, hands)
    yield opened
    opened.close()
