"""A server in this process that is strict: what needs too much is told so soon.

with strict(path, milliseconds=1000, memory=256 << 20) as client:
    client.post("/sparql", data=text, content_type="application/sparql-query")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings


@contextmanager
def strict(data: Path, *, milliseconds: int, memory: int) -> Iterator[FlaskClient]:
    """`milliseconds` of processor time for what is asked or sent, and `memory` for a question, or a body."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CSPARQL_SPARK_MOST_MILLISECONDS", str(milliseconds))
        with Backend(Settings(data=data, base_url="http://csparql.test", question_memory=memory)) as backend:
            yield create_app(backend).test_client()
