"""Repeats: a key lets a push in once, whatever happens in between."""

from __future__ import annotations

import threading

import pytest

from csparql_spark.disk import StoreError
from csparql_spark.log import Draft, Entry, Refused
from csparql_spark.log.contract import Reused
from csparql_spark.log.entries import Keys
from csparql_spark.log.guards import Present, Unused
from csparql_spark.store import StreamRecord
from tests.store.opened import Opened

ONE, TWO = b"1" * 32, b"2" * 32


def made(store: Opened, iri: str = "urn:s") -> int:
    return store.writer.append(StreamRecord.draft(iri, name=iri, clock="arrival", delay=0)).seq


def keyed(stream: int, keys: dict[str, bytes], *rest: object, **reply: object) -> Draft:
    return Draft("chunk", "urn:s", b"x", beside=Keys(stream, tuple(keys.items()), {"accepted": 1, **reply}, *rest))


def push(store: Opened, stream: int, key: str, digest: bytes = ONE) -> Entry:
    return store.writer.append(keyed(stream, {key: digest}), Unused(stream, key, digest))


def test_the_second_is_told_what_the_first_was_told(store: Opened) -> None:
    stream = made(store)
    assert store.writer.reply_to(stream, "k", ONE) is None
    entry = push(store, stream, "k")
    with pytest.raises(Refused) as caught:
        push(store, stream, "k")
    assert caught.value.guard == Unused(stream, "k", ONE)
    assert (
        caught.value.reply
        == store.writer.reply_to(stream, "k", ONE)
        == {"accepted": 1, "seq": entry.seq, "at": entry.at}
    )
    with pytest.raises(Refused) as caught:
        push(store, stream, "k", TWO)
    assert (caught.value.guard, caught.value.reply) == (Unused(stream, "k", TWO), None)
    with pytest.raises(Reused):
        store.writer.reply_to(stream, "k", TWO)
    assert push(store, stream, "l").seq == entry.seq + 1
    assert push(store, made(store, "urn:other"), "k").seq == entry.seq + 3
    assert store.log.tail() == entry.seq + 3


def test_of_many_at_once_one_gets_in(store: Opened) -> None:
    stream = made(store)
    seqs: list[int] = []

    def send() -> None:
        try:
            seqs.append(push(store, stream, "k").seq)
        except Refused as refused:
            seqs.append(refused.reply["seq"])

    threads = [threading.Thread(target=send) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seqs == [stream + 1] * 16
    assert store.log.tail() == stream + 1


def test_the_key_goes_with_its_entry(store: Opened) -> None:
    """Both are written, or neither: of an entry that is refused, or of a group that fails, no key is left."""
    stream = made(store)

    with pytest.raises(Refused):
        store.writer.append(keyed(stream, {"k": ONE}), Present("streams", "urn:none"))
    assert store.writer.reply_to(stream, "k", ONE) is None

    with pytest.raises(StoreError, match="nothing of this request was kept"):
        store.writer.append(keyed(stream, {"k": ONE}, warnings=object()))
    assert (store.writer.reply_to(stream, "k", ONE), store.log.tail()) == (None, stream)


def test_another_writer_knows_the_keys(store: Opened) -> None:
    stream = made(store)
    entry = push(store, stream, "k")
    store.reopen()
    with pytest.raises(Refused) as caught:
        push(store, stream, "k")
    assert caught.value.reply == {"accepted": 1, "seq": entry.seq, "at": entry.at}


def test_old_keys_go_and_those_that_are_too_many_and_those_of_streams_that_are_gone(store: Opened) -> None:
    stream, other = made(store), made(store, "urn:other")
    at = [push(store, stream, f"k{i}").at for i in range(6)]
    push(store, other, "k")
    now = at[-1]

    def left() -> list[str]:
        return [key for (key,) in store.database.connection.execute("SELECT key FROM repeats ORDER BY id")]

    assert store.writer.forget_keys(now, kept_ms=1000, kept_keys=4) == 2
    assert left() == ["k2", "k3", "k4", "k5", "k"]
    store.append("drop", "urn:other")
    assert store.writer.forget_keys(now) == 1
    assert left() == ["k2", "k3", "k4", "k5"]
    assert store.writer.forget_keys(now + 2000, kept_ms=1000) == 4
    assert left() == []


def test_many_keys_of_one_entry_and_the_newest_with_a_prefix(store: Opened) -> None:
    stream = made(store)
    push(store, stream, "mine")
    for first in (0, 3):
        keys = {f"m {i}": ONE for i in range(first, first + 3)}
        store.writer.append(keyed(stream, keys, "m ", 4))
    found = {key for key in ("mine", *(f"m {i}" for i in range(6))) if store.writer.reply_to(stream, key, ONE)}
    assert found == {"mine", "m 2", "m 3", "m 4", "m 5"}
