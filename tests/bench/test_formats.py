"""All formats of a push say the same triples."""

from __future__ import annotations

from bench.formats import bodies, measure, readings
from csparql_spark.rdf.pushes import push_format, read_push


def test_each_body_is_the_same_push() -> None:
    rows = readings(20)
    for name, (media_type, body) in bodies(rows).items():
        chunk = read_push(body, push_format(media_type), base=None, blank_prefix="b")
        assert chunk.triples() == list(zip(*rows)), name
    assert set(measure(20)) == {"triples", *(f"{name}_per_s" for name in bodies(rows))}
