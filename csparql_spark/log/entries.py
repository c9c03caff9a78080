"""Entries: what a log holds. Everything that ever happened to the server, in one total order.

Kinds of entries, and what their `subject` and `payload` are (`contents` writes and reads them):

    stream       a stream is created        IRI      JSON {"name", "clock", "delay"}
    drop         a stream is deleted        IRI
    chunk        triples were pushed        IRI      Arrow IPC
    tick         an instant has passed      None     (arrival clock), or the IRI of a stream on the event clock
    register     a query is registered      name     JSON {"text", "base"}, {…, "paused": true}, {…, "compiled": {…}}
                                                          or, where a compiled form is too long, {…, "reads": {…}}
                 or replaced by another version           {…, "replaces": 17, "origin": 3}
    unregister   a query is deleted         name
    pause        a query answers no more    name     JSON {"id"}
    resume       it goes on                 name     JSON {"id"}
    fail         it has failed              name     JSON {"id", "instant", "reason", "answered"}
    background   a graph is set             IRI      Arrow IPC; none: there is no such graph any more
    rules        a rule set is set          name     text of a rule file; none: there is no such rule set any more
    damaged      something is lost          IRI      a sentence: what the stream was to hold here; no IRI: who knows
    skipped      nothing any more           None     it was damaged, and was decided to be passed over

`seq` is the place of an entry, `at` its arrival stamp. After a tick `at` T on the arrival clock no entry is stamped T
or earlier. A draft is an entry before the log has taken it:

    entry = writer.append(Draft("chunk", "urn:s", payload, rows=2))
    (entry.seq, entry.at)
"""

from __future__ import annotations

from dataclasses import dataclass

REGISTRY_KINDS = ("stream", "drop", "register", "unregister", "pause", "resume", "fail", "background", "rules")
KINDS = (*REGISTRY_KINDS, "chunk", "tick", "damaged", "skipped")
# Nobody needs the payload of these.
IN_THE_HEAD = ("drop", "unregister", "pause", "resume", "tick", "skipped")

Reply = dict[str, object]  # what was answered to a push: JSON, which is given back as it is, whatever is in it


@dataclass(frozen=True, slots=True)
class Keys:
    """Under which keys a push into a stream (by its id) is remembered, each with a digest of what was sent, and what is
    answered to it (`reply`), but for its place and its stamp. Of the keys with the prefix only so many of the `newest`
    are kept."""

    stream: int
    digests: tuple[tuple[str, bytes], ...]
    reply: Reply
    prefix: str = ""
    newest: int | None = None

    def reply_to(self, entry: Entry) -> Reply:
        """What is answered to the push that has become this entry."""
        return {**self.reply, "seq": entry.seq, "at": entry.at}


@dataclass(frozen=True, slots=True)
class Relayed:
    """That the answer of a query (by its id) at an instant is in the log, as the entry with which this is written."""

    query: int
    instant: int


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before the log has given it its place and its stamp (`at`: what a tick claims has passed). What is
    `beside` it is written with it, or not at all."""

    kind: str
    subject: str | None = None
    payload: bytes | None = None
    rows: int = 0
    first: int | None = None
    last: int | None = None
    unstamped: int = 0
    at: int | None = None
    beside: Keys | Relayed | None = None

    def entry(self, seq: int, at: int) -> Entry:
        """What it has become with a place and a stamp."""
        return Entry(seq, self.kind, at, self.subject, self.rows, self.first, self.last, self.unstamped, self.payload)


@dataclass(frozen=True, slots=True)
class Entry:
    seq: int
    kind: str
    at: int
    subject: str | None = None
    rows: int = 0
    first: int | None = None
    last: int | None = None
    unstamped: int = 0
    payload: bytes | None = None
    damage: str | None = None  # what of it is damaged
