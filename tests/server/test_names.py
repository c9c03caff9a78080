"""Names in URLs, and the IRIs and URLs they make."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.server.http.names import LONGEST_IRI, ResourceNames, as_sent, decoded
from csparql_spark.server.http.problems import Problem

NAMES = ResourceNames("http://csparql.test:8000")
IRIS = [
    "http://ex.org/temp",
    "http://ex.org/a%20b",
    "urn:x",
    "http://ex.org/ü?q=1#f",
    "http://csparql.test:8000/streams/a/b",
    "http://csparql.test:8000/streams/",
    "https://ex.org//a//b",
]


@pytest.mark.parametrize("name", ["temp", "a.b-c_d~e", "0", "a" * 200, "..."])
def test_plain_names(name: str) -> None:
    assert decoded(name) == name
    assert NAMES.stream_iri(name) == f"http://csparql.test:8000/streams/{name}"
    assert NAMES.stream_name(NAMES.stream_iri(name)) == name


@pytest.mark.parametrize("iri", IRIS)
def test_iris(iri: str) -> None:
    assert decoded(quote(iri, safe="")) == iri
    assert NAMES.stream_iri(iri) == NAMES.stream_name(iri) == iri
    assert decoded(NAMES.stream_url(iri).removeprefix("http://csparql.test:8000/streams/")) == iri
    assert decoded(NAMES.query_url(iri).removeprefix("http://csparql.test:8000/queries/")) == iri


@pytest.mark.parametrize(
    "segment",
    [
        "",
        ".",
        "..",
        "a" * 201,
        "a b",
        "a%20b",
        "a/b",
        "%zz",
        "ü",
        "ex:",
        "http://ex.org/<",
        "%FF",
        "a%00",
        "http%3A%2F%2Fex.org%2F" + "a" * LONGEST_IRI,
    ],
)
def test_what_is_no_name(segment: str) -> None:
    if segment == "ex:":
        assert decoded(segment) == "ex:"  # a short IRI, but an IRI
        return
    with pytest.raises(Problem) as caught:
        decoded(segment)
    assert caught.value.code == "bad-name"


@pytest.mark.parametrize(
    "environ, path",
    [
        ({"REQUEST_URI": "/streams/a%2Fb?x=%2F", "PATH_INFO": "/streams/a/b"}, "/streams/a%2Fb"),
        ({"RAW_URI": "/streams/a%252Fb", "PATH_INFO": "/streams/a%2Fb"}, "/streams/a%252Fb"),
        ({"PATH_INFO": "/streams/http://ex.org/\xc3\xbc %"}, "/streams/http://ex.org/%C3%BC%20%25"),
    ],
)
def test_routes_see_paths_as_they_were_sent(environ: dict[str, object], path: str) -> None:
    seen = []
    as_sent(lambda environ, start: seen.append(environ["PATH_INFO"]))(environ, None)
    assert seen == [path]


@given(st.from_regex(r"[a-z]{1,5}:[a-zA-Z0-9/?#%._~!$&'()*+,;=@ü-]{1,30}", fullmatch=True))
def test_what_is_encoded_comes_back(iri: str) -> None:
    try:
        name = decoded(quote(iri, safe=""))
    except Problem:
        return  # not an IRI: half an escape, say
    assert name == iri or name == iri.replace(":/", "://", 1)
