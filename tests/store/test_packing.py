"""Packed payloads: what is unpacked is what was packed, and never longer than it was."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.store.packing import packed, unpacked
from tests.examples import examples

payloads = st.one_of(
    st.binary(max_size=600), st.builds(lambda piece, times: piece * times, st.binary(max_size=30), st.integers(0, 100))
)


@given(payloads, st.booleans())
@settings(max_examples=examples(300), deadline=None)
def test_it_comes_back(payload: bytes, marked: bool) -> None:
    payload = b"Z" + payload if marked else payload
    stored = packed(payload)
    assert unpacked(stored, len(payload)) == payload and packed(payload) == stored
    assert len(stored) <= len(payload) or payload[:1] == b"Z"
    assert unpacked(payload, None) == payload, "from before they were packed"


@given(payloads, st.integers(0, 5000), st.binary(min_size=1, max_size=40))
@settings(max_examples=examples(300), deadline=None)
def test_of_other_bytes_no_more_is_made(payload: bytes, size: int, noise: bytes) -> None:
    for stored in (b"Z" + noise, packed(b"Z" + payload)[:-1] + noise[:1]):
        with suppress(ValueError):
            assert len(unpacked(stored, size)) == size


def test_nobody_makes_room_for_what_cannot_be_there() -> None:
    with pytest.raises(ValueError, match="cannot have been"):
        unpacked(packed(b"1" * 1000), 1 << 40)


def test_answers_become_a_third() -> None:
    names = [f"<http://example.org/sensors/room{number * 7919 % 100000:06d}>" for number in range(100)]
    payload = Result.bindings(("room",), [sorted(names)]).to_bytes()
    assert len(packed(payload)) < len(payload) / 2
