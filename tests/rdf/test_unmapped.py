"""What JSON-LD leaves out where it has no context, compared with what its parser makes of the rest."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.rdf.formats import RdfFormat
from csparql_spark.rdf.pushes import PushFormat, read_pushed
from csparql_spark.rdf.unmapped import told, unmapped_in, unmapped_of
from tests.examples import examples


@pytest.mark.parametrize(
    "document, keys",
    [
        ('{"@id": "urn:a", "celsius": 21.5, "urn:p": {"x": 1}}', 2),
        ('[{"a": {"b": 1}}, {"@graph": [{"c": 1}]}]', 2),
        ('{"@id": "urn:a", "@reverse": {"p": {"@id": "urn:b"}, "urn:q": {"@id": "urn:c", "r": 1}}}', 2),
        ('{"@id": "urn:a", "urn:p": {"@list": [{"@id": "urn:b", "x": 1}, 2]}}', 1),
        ('{"@id": "urn:a", "urn:p": {"@type": "@json", "@value": {"x": 1}}}', 0),
        ('{"@id": "urn:a", "@type": "T", "urn:p": 1}', 0),
        ('{"@context": {"@vocab": "urn:"}, "x": 1}', 0),
        ('{"@id": "urn:a", "x": null, "urn:p": {"y": null, "z": 1}}', 1),
        ('{"@id": "urn:a", "urn:p": [null, {"y": null}], "x": [null]}', 1),
        ('{"@graph": [{"@id": "urn:a", "x": 1}, {"@\\u0063ontext": {}, "y": 1}]}', 0),
        ("[]", 0),
        ("[" * 100_000, 0),
        ("no json", 0),
    ],
)
def test_what_is_left_out(document: str, keys: int) -> None:
    assert unmapped_in(document.encode()) == keys


names = st.sampled_from(["x", "y", "urn:p", "urn:q"])
nodes = st.recursive(
    st.sampled_from([1, "text", {"@id": "urn:b"}, None]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.fixed_dictionaries(
            {"@id": st.sampled_from(["urn:a", "urn:c"])},
            optional={"x": inner, "urn:p": inner, "urn:q": inner, "y": inner},
        ),
    ),
    max_leaves=8,
)
documents = st.dictionaries(names, nodes, max_size=4).map(lambda members: {"@id": "urn:s", **members})


def without(document: object) -> tuple[object, int]:
    """The document without those keys, one by one, and how many they were."""
    if isinstance(document, list):
        parts = [without(one) for one in document]
        return [part for part, _ in parts], sum(count for _, count in parts)
    if not isinstance(document, dict):
        return document, 0
    kept = {name: without(value) for name, value in document.items() if name[0] == "@" or ":" in name}
    lost = [name for name, value in document.items() if name not in kept and value is not None]
    return {name: part for name, (part, _) in kept.items()}, len(lost) + sum(count for _, count in kept.values())


def quads(document: object) -> list[str]:
    return sorted(map(str, ox.parse(json.dumps(document).encode(), format=ox.RdfFormat.JSON_LD)))


@given(documents)
@settings(max_examples=examples(150), deadline=None)
def test_the_parser_says_the_same_without_them(document: dict) -> None:
    rest, keys = without(document)
    assert unmapped_of(document) == keys
    assert quads(document) == quads(rest)


def test_lines_of_ndjson_are_documents_of_their_own() -> None:
    lines = [
        '{"s": "<urn:a>", "p": "<urn:p>", "o": 1}',
        '{"@id": "urn:a", "urn:p": 1, "celsius": 2, "t": 1700000000000}',
        '{"@context": {"@vocab": "urn:"}, "@id": "urn:a", "celsius": 2}',
    ]
    chunk, keys = read_pushed("\n".join(lines).encode(), PushFormat.NDJSON, base=None, blank_prefix="x.")
    assert (len(chunk), keys) == (3, 1)
    assert read_pushed(b"<urn:a> <urn:p> 1 .", RdfFormat.TURTLE, base=None, blank_prefix="x.").unmapped == 0


def test_what_is_told() -> None:
    assert told(1).startswith("1 of the keys could not be read as IRIs, and what they say was left out: ")
    assert '"@context": {"@vocab": ' in told(2)
