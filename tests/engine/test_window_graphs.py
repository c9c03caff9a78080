"""What a named window owns: what it holds, and what follows from that with the background's help, also when the
background loses something."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.engine.moment import ClockReading
from csparql_spark.engine.window_graphs import Basis, Sliding
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.rules.preparing import as_they_are, closed
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.relations.graph import Facts
from csparql_spark.store import QueryRecord, StreamRecord
from csparql_spark.windows.content import Content
from tests.engine.running import in_one_go, matched_anew
from tests.entailment.twin import ALWAYS, closure
from tests.examples import examples

P, Q = "<urn:p>", "<urn:q>"
RULES = (
    Rule((Atom("?a", P, "?c"),), (Atom("?a", P, "?b"), Atom("?b", P, "?c"))),
    Rule((Atom("?b", P, "?a"),), (Atom("?a", Q, "?b"),)),
)
Tagged = dict[tuple[str, str, str], int]


def owned(background: Tagged, window: Tagged) -> Tagged:
    """By the naive closure: what the window says, and what does not hold for ever."""
    followed = closure(RULES, {**window, **background})
    return {
        triple: window[triple] if tag == ALWAYS else tag
        for triple, tag in followed.items()
        if tag < ALWAYS or triple in window
    }


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 10**9))
def test_what_a_window_owns_follows_what_the_background_loses(seed: int) -> None:
    random, content = Random(seed), Content()
    encode = content.dictionary.encode
    nodes = [f"<urn:{n}>" for n in range(5)]

    def some(count: int) -> list[tuple[str, str, str]]:
        return [(random.choice(nodes), random.choice((P, Q)), random.choice(nodes)) for _ in range(count)]

    def columns(triples: list[tuple[str, str, str]]) -> list[np.ndarray]:
        ids = encode([term for triple in triples for term in triple]).reshape(-1, 3)
        return [np.ascontiguousarray(column) for column in ids.T]

    background: Tagged = dict.fromkeys(some(4), ALWAYS)
    s, p, o = columns(list(background))
    prepared = as_they_are(RULES, closed(RULES, content.dictionary, (s, p, o)))
    own = Expiration(content.dictionary, ())
    facts = Expiration(content.dictionary, RULES)
    sliding = Sliding(facts, content, prepared, Basis(RULES, None, ()), own)
    # The closed background is stated as a whole: what is to be taken back is what was said, and what it led to.
    said, window = dict(closure(RULES, background)), Tagged()
    for now in range(1, 9):
        came = some(random.randint(0, 3))
        for triple in came:
            window[triple] = now
        if said and random.random() < 0.5:
            gone = random.sample(sorted(said), random.randint(1, len(said)))
            said = {triple: tag for triple, tag in said.items() if triple not in gone}
            # Whoever takes back what the window says, too, says it again.
            facts.remove(*columns(gone))
            again = [triple for triple in gone if triple in window and window[triple] > now - 4]
            facts.insert(*columns(again), np.array([window[triple] for triple in again], dtype=np.int64))
        arrived = Facts(*columns(came), np.full(len(came), now))
        sliding.move([arrived], ClockReading(now, now), now - 4)
        window = {triple: tag for triple, tag in window.items() if tag > now - 4}
        if random.random() < 0.7:
            found = own.visible(now - 4)
            terms = [content.dictionary.decode(column) for column in found[:3]]
            assert dict(zip(zip(*terms, strict=True), found.tag.tolist(), strict=True)) == owned(said, window)


def test_what_a_window_that_counts_says_no_more_stays_where_it_follows() -> None:
    """
    w, two triples      b p a · a q b          b p a follows from a q b, too
                                a q b · x p y  so it is in the window without being said
                                        x p y · x z y  until that has gone
    """
    log: list[Entry] = []

    def append(kind: str, at: int, subject: str | None = None, payload: bytes | None = None) -> None:
        log.append(Entry(len(log) + 1, kind, at, subject, payload=payload))

    for stream in ("urn:s", "urn:t"):
        append("stream", 0, stream, StreamRecord.draft(stream, name=stream, clock="arrival", delay=0).payload)
    append("rules", 0, "mine", b"[(?a <urn:q> ?b) -> (?b <urn:p> ?a)]")
    text = (
        "REGISTER QUERY q AS SELECT * FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE TRIPLES 2 STEP 1] FROM NAMED WINDOW "
        "<urn:v> ON <urn:t> [RANGE PT0.1S] USING ENTAILMENT mine WHERE { WINDOW <urn:w> { ?s <urn:p> ?o } }"
    )
    append("register", 1, "q", QueryRecord.draft("q", text=text, base=None).payload)
    triples = [("b", P, "a"), ("a", Q, "b"), ("x", P, "y"), ("x", "<urn:z>", "y")]
    for turn, (s, p, o) in enumerate(triples):
        chunk = Chunk.from_triples([(f"<urn:{s}>", p, f"<urn:{o}>")])
        at = 100 * turn + 3
        log.append(Entry(len(log) + 1, "chunk", at, "urn:s", 1, None, None, 1, chunk.to_ipc()))
        append("tick", 100 * (turn + 1))

    def rows() -> dict[int, set[str]]:
        told = [one for said in in_one_go(log).values() for one in said]
        return {one.instant: {row["s"] for row in Result.from_bytes(one.payload).table.rows()} for one in told}

    found = rows()
    assert found[303] == {"<urn:x>"} and found[203] == {"<urn:b>", "<urn:x>"}
    with matched_anew():
        assert rows() == found
