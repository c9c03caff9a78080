"""Checksums: whether what is read from the disk is what was written.

An entry of the log has two, so that it can be told what is damaged: that of its *head* (what kind of entry it is, when
it came, whom it concerns) and that of its *payload*. If only the payload is, the entry says at least who would have
read it. An answer has one.

    head = head_sum(EntryHead("chunk", 1700000000000, "urn:s", 2, None, None, 0))
    body = payload_sum(b"…")

A checksum is 64 bits: CRC-32, and beside it Adler-32, or of more than `LARGE` bytes the sum of their 64-bit words,
which costs next to nothing there. All run at gigabytes a second without Python's lock. They are meant for what happens
to bytes by accident: nobody is kept from changing both. NULL in the place of one says that it was written before there
were any (see `database`): then nothing is checked.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import adler32, crc32

LARGE = 1 << 16
_SIGNED = 1 << 63  # SQLite's integers have a sign


class EntryHead(NamedTuple):
    """All that an entry says beside its payload, in the order of its columns."""

    kind: str
    at: int
    subject: str | None = None
    rows: int = 0
    first: int | None = None
    last: int | None = None
    unstamped: int = 0


def head_sum(entry: EntryHead) -> int:
    kind, at, subject, rows, first, last, unstamped = entry
    # A name may hold what UTF-8 cannot say when it is damaged; the subject stands last, so that no two heads are alike.
    head = f"{kind} {at!r} {rows!r} {first!r} {last!r} {unstamped!r} {subject!r}".encode("utf-8", "surrogatepass")
    return (crc32(head) << 32 | adler32(head)) - _SIGNED


def payload_sum(payload: bytes | None) -> int:
    if payload is None:
        return 0
    return (crc32(payload) << 32 | _second(payload, 1)) - _SIGNED


class AnswerHead(NamedTuple):
    """All that an answer says beside its payload. The last four are None in what was written before there were any."""

    query: int
    instant: int
    part: int
    rows: int
    since: int | None = None
    frame: int | None = None
    weight: int | None = None
    size: int | None = None


def answer_sum(answer: AnswerHead, payload: bytes) -> int:
    query, instant, part, rows, since, frame, weight, size = answer
    head = b"%d %d %d %d " % (query, instant, part, rows)
    if frame is not None:
        head += f"{since!r} {frame!r} {weight!r} {size!r} ".encode("utf-8", "surrogatepass")
    return (crc32(payload, crc32(head)) << 32 | _second(payload, adler32(head))) - _SIGNED


def _second(payload: bytes, begin: int) -> int:
    if len(payload) <= LARGE:
        return adler32(payload, begin)
    import numpy as np  # who has only small things to check need not wait for it

    # What is left over behind the last whole word, CRC-32 sees.
    words = int(np.frombuffer(payload, "<u8", len(payload) >> 3).sum(dtype=np.uint64)) + begin
    return (words ^ words >> 32) & 0xFFFFFFFF
