from __future__ import annotations

import pytest

from csparql_spark.rdf.errors import UnsupportedFormat
from csparql_spark.rdf.formats import RdfFormat
from csparql_spark.rdf.pushes import PUSH_MEDIA_TYPES, PushFormat, push_format, push_format_of_path


@pytest.mark.parametrize(
    "header, format",
    [
        ("application/x-ndjson", PushFormat.NDJSON),
        ("application/ndjson; charset=UTF-8", PushFormat.NDJSON),
        (" Application/VND.apache.arrow.stream ", PushFormat.ARROW),
        ("text/turtle;charset=utf-8", RdfFormat.TURTLE),
        ("application/n-quads", RdfFormat.N_QUADS),
    ],
)
def test_media_types(header: str, format: object) -> None:
    assert push_format(header) is format


@pytest.mark.parametrize("header", ["image/png", "", None, "application/x-ndjson; charset=latin-1"])
def test_others_are_refused_with_all_that_there_are(header: str | None) -> None:
    with pytest.raises(UnsupportedFormat) as caught:
        push_format(header)
    assert caught.value.accepted == PUSH_MEDIA_TYPES
    assert {"application/x-ndjson", "application/vnd.apache.arrow.stream", "text/turtle"} <= set(PUSH_MEDIA_TYPES)


@pytest.mark.parametrize(
    "path, format",
    [
        ("a.ndjson", PushFormat.NDJSON),
        ("a.JSONL.gz", PushFormat.NDJSON),
        ("a.arrows", PushFormat.ARROW),
        ("a.nt", RdfFormat.N_TRIPLES),
        ("a", None),
    ],
)
def test_extensions(path: str, format: object) -> None:
    assert push_format_of_path(path) is format
