from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.spark import processor as processors

from ..store.opened import Opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Opened]:
    opened = Opened(tmp_path / "data")
    yield opened
    opened.close()


@pytest.fixture
def new_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker process that has seen nothing yet, and whose memory is still collected."""
    monkeypatch.setattr(processors, "_remembered", {})
    monkeypatch.setattr(processors, "_settle_in", lambda: None)
