from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..store.opened import Opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Opened]:
    opened = Opened(tmp_path / "data")
    yield opened
    opened.close()
