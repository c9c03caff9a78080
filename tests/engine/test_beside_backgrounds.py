"""A window that counts beside one of time, over a background: what is done with what goes hangs on how large that is; what
is said does not, and `explain` names what is done."""

from __future__ import annotations

from unittest import mock

import pytest

from csparql_spark.asking.explain import explained
from csparql_spark.engine.closures import Closures
from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import InstantAnswer, Message
from csparql_spark.entailment.maintain import strategies
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.maintain.recompute import Recompute
from csparql_spark.language import parse
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import QueryRecord, StreamRecord
from tests.engine.running import routed
from tests.engine.test_closures import GRAPH, STREAM

SUBPROPERTY = "<http://www.w3.org/2000/01/rdf-schema#subPropertyOf>"
SMALL = [("<urn:p>", SUBPROPERTY, "<urn:q>"), ("<urn:x0>", "<urn:p>", "<urn:x1>")]
LARGER = [*SMALL, ("<urn:x1>", "<urn:p>", "<urn:x2>")]
TEXT = (
    "REGISTER QUERY q AS SELECT * FROM STREAM <{stream}> [RANGE {counted}] FROM STREAM <{stream}> [RANGE 4ms STEP 2ms] "
    "FROM <{graph}> USING ENTAILMENT rho-df WHERE {{ ?a <urn:q> ?b }}"
)


def text(counted: str) -> str:
    return TEXT.format(stream=STREAM, graph=GRAPH, counted=counted)


def log(counted: str) -> list[Entry]:
    """The background grows, and shrinks, under a query that is there."""
    made: list[Entry] = []

    def append(kind: str, subject: str | None, at: int, payload: bytes | None = None) -> None:
        made.append(Entry(len(made) + 1, kind, at, subject, payload=payload))

    append("stream", STREAM, 0, StreamRecord.draft(STREAM, name="s", clock="arrival", delay=0).payload)
    append("background", GRAPH, 0, Chunk.from_triples(SMALL).to_ipc())
    append("register", "q", 0, QueryRecord.draft("q", text=text(counted), base=None).payload)
    for at in range(1, 31):
        if at in (10, 20):
            append("background", GRAPH, at, Chunk.from_triples(LARGER if at == 10 else SMALL).to_ipc())
        triple = (f"<urn:x{at % 3}>", "<urn:p>", f"<urn:x{at % 5}>")
        append("chunk", STREAM, at, Chunk.from_triples([triple]).to_ipc())
        append("tick", None, at)
    return made


def told(counted: str) -> tuple[list[Message], list[type]]:
    """What is said, and by which strategies, in their order."""
    used: list[type] = []
    make = Closures._materialization

    def watched(closures: Closures, *given: object) -> object:
        facts = make(closures, *given)
        used.append(type(facts))
        return facts

    with mock.patch.object(Closures, "_materialization", watched):
        rows = routed(log(counted))
        group = Group(rows[0].group)
        return [message for row in rows for message in group.feed([row])], used


@pytest.mark.parametrize(
    "counted, beside",
    [
        pytest.param("TRIPLES 3 STEP 1", Expiration, id="one goes at an instant"),
        pytest.param("TRIPLES 6 STEP 3", Recompute, id="too many go"),
    ],
)
def test_a_large_background_is_not_walked_through_at_each_instant(
    counted: str, beside: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, used = told(counted)
    assert len(usual) > 10 and all(isinstance(one, InstantAnswer) for one in usual)
    assert set(used) == {Recompute}
    monkeypatch.setattr(strategies, "LARGE", len(SMALL))
    monkeypatch.setattr(strategies, "FEW", 2)
    again, used = told(counted)
    assert again == usual
    assert used == [Recompute, beside, Recompute]


@pytest.mark.parametrize("background, named", [(SMALL, "recompute"), (LARGER, "expiration")])
def test_explain_names_it(background: list[tuple], named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "LARGE", len(SMALL))
    description = explained(
        parse(text("TRIPLES 3 STEP 1")), background={GRAPH: Chunk.from_triples(background)}, rules={}
    )
    assert [closure["strategy"] for closure in description["closures"]] == [named]
