"""Forms are read as the standard library reads them."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote_to_bytes, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.datastructures import MultiDict

from csparql_spark.server.http import forms
from csparql_spark.server.http.forms import MOST_FIELDS, decoded, fields_of
from csparql_spark.server.http.problems import Problem

PIECES = st.lists(st.sampled_from([b"%41", b"%", b"%4", b"%zz", b"%e2%82%ac", b"a", b"+", b"%%41", b"=", b"%C3%bC"]))


@given(PIECES, st.sampled_from([3, 4, 5, 7, 1 << 20]))
def test_percent_decoding(pieces: list[bytes], piece: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(forms, "PIECE", piece)
        assert decoded(b"".join(pieces)) == unquote_to_bytes(b"".join(pieces))


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=10))
def test_what_is_written_is_read(fields: list[tuple[str, str]]) -> None:
    assert fields_of(urlencode(fields).encode()) == MultiDict(fields)


@given(st.lists(st.sampled_from([b"a", b"=", b"&", b"%26", b"+", b"%3D", b"\xc3\xa4"])))
def test_any_form(pieces: list[bytes]) -> None:
    form = b"".join(pieces)
    wanted = parse_qsl(form.decode(), keep_blank_values=True, errors="strict")
    assert fields_of(form) == MultiDict(wanted)


@pytest.mark.parametrize("form", [b"a=%ff", b"a=\xff", b"&" * MOST_FIELDS])
def test_what_is_no_form(form: bytes) -> None:
    with pytest.raises(Problem) as problem:
        fields_of(form)
    assert problem.value.code == "bad-body"
