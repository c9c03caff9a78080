"""Patterns of rules on a server: those that would never come to an end elsewhere, those that come from data, and those
of rule sets that an earlier server let in."""

from __future__ import annotations

import threading

from csparql_spark.asking.guarded import Crowded
from csparql_spark.log import Draft
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.remarks import Remarks, remarks
from csparql_spark.store.measures import Cost, Measures
from tests.server.playing import BASE, Engine

N_QUADS = {"Content-Type": "application/n-quads"}
SLOW = "[r: (?x <urn:text> ?t) regex(?t, '(a+)+b') -> (?x <urn:bad> ?t)]"
FROM_DATA = "[r: (?x <urn:text> ?t) (?x <urn:like> ?p) regex(?t, ?p) -> (?x <urn:is> ?p)]"
STORED = r"""[back: (?x <urn:text> ?t) regex(?t, '(a)\\1') -> (?x <urn:twice> ?t)]
[word: (?x <urn:text> ?t) regex(?t, '.*\\ba\\b.*') -> (?x <urn:word> ?t)]
[whole: (?x <urn:text> ?t) regex(?t, 'a+') -> (?x <urn:as> ?t)]
"""
BACK = (
    r"line 1, column 37: \1 stands for what a group has matched, which takes more than one look at the text. So "
    "this regex holds of nothing."
)
WORD = (
    r"line 2, column 37: \b and \B take no letters for parts of a word but those of English: write (^|\W) and "
    r"(\W|$) for others."
)
QUERY = (
    "REGISTER QUERY {} AS SELECT ?x ?p FROM STREAM <streams/s> [RANGE 10s STEP 10s] USING ENTAILMENT {} "
    "WHERE {{ ?x ?p ?o FILTER(?p NOT IN (<urn:text>, <urn:like>)) }}"
)


def pushed(client, *triples: str) -> None:
    data = "".join(f"{triple} <urn:t:5000> .\n" for triple in triples)
    sent = client.post("/streams/s", data=f'{data}<urn:z> <urn:text> "1" <urn:t:10001> .\n', headers=N_QUADS)
    assert sent.status_code == 200, sent.text


def rows(client, query: str = "q") -> list[tuple[str, str]]:
    found = client.get(f"/queries/{query}/answers?at=10000&format=json")
    assert found.status_code == 200, found.text
    return sorted((row["x"]["value"], row["p"]["value"]) for row in found.json["results"]["bindings"])


def test_a_pattern_that_goes_back_for_ever_in_others(client, engine: Engine) -> None:
    """Each of 10,000 letters would double the time."""
    client.put("/streams/s?clock=event")
    assert client.put("/rules/lab", data=SLOW).status_code == 201
    assert client.put("/queries/q", data=QUERY.format("q", "lab")).status_code == 201
    pushed(client, f'<urn:a> <urn:text> "{"a" * 10_000}"', f'<urn:b> <urn:text> "{"a" * 10_000}b"')
    engine.run()
    assert rows(client) == [("urn:b", "urn:bad")]
    asked = client.post(
        "/sparql?format=csv",
        data="SELECT ?x FROM STREAM <streams/s> [RANGE 10s] USING ENTAILMENT lab WHERE { ?x <urn:bad> ?t }",
    )
    assert asked.text.split() == ["x", "urn:b"]
    why = client.get("/queries/q/why", query_string={"triple": f'<urn:b> <urn:bad> "{"a" * 10_000}b"', "at": "10000"})
    assert why.json["holds"] is True


def test_patterns_from_data_that_are_none_are_counted(client, backend: Backend, engine: Engine) -> None:
    client.put("/streams/s?clock=event")
    client.put("/rules/lab", data=FROM_DATA)
    client.put("/queries/q", data=QUERY.format("q", "lab"))
    pushed(
        client,
        '<urn:a> <urn:text> "ab"',
        '<urn:a> <urn:like> "a."',
        '<urn:b> <urn:text> "ab"',
        '<urn:b> <urn:like> "("',
        '<urn:c> <urn:text> "aa"',
        r'<urn:c> <urn:like> "(a)\\1"',
    )
    costs = engine.run()
    assert rows(client) == [("urn:a", "urn:is")]
    assert [cost.refused_patterns for cost in costs] == [2]
    with backend.stores.database.transaction() as connection:
        Measures(backend.stores.database).write(connection, costs, at=11_000)
    assert 'csparql_query_refused_patterns_total{query="q"} 2.0' in client.get("/metrics").text
    assert client.get("/queries/q/explain").json["live"]["refused_patterns"] == 2


def test_totals_that_were_written_before_patterns_were_counted(backend: Backend) -> None:
    measures = Measures(backend.stores.database)
    cost = Cost(7, 1000, 1, 2, 2, 300, 300, 7, 1, 999, [1000], refused_patterns=3)
    with backend.stores.database.transaction() as connection:
        measures.write(connection, [cost], at=1000)
        connection.execute("UPDATE measures SET totals = json_remove(totals, '$[5]')")
    later = Measures(backend.stores.database)
    with backend.stores.database.transaction() as connection:
        later.write(connection, [cost], at=2000)
    assert later.newest(7).totals.refused_patterns == 3 and later.newest(7).totals.rows == 4


def test_a_new_rule_set_is_refused_at_the_place_of_its_pattern(client, backend: Backend) -> None:
    refused = client.put("/rules/lab", data=STORED)
    assert (refused.status_code, refused.json["code"]) == (400, "bad-rules")
    assert [(error["line"], error["column"], error["code"]) for error in refused.json["errors"]] == [
        (1, 37, "slow-pattern")
    ]
    checked = client.post("/check?kind=rules", data=STORED.split("\n", 1)[1]).json
    assert checked["ok"] and [warning["line"] for warning in checked["warnings"]] == [1]
    assert backend.stores.log.tail() == 0


def test_a_rule_set_that_an_earlier_server_let_in(client, backend: Backend, engine: Engine) -> None:
    """It is named at the start and in the list; its other rules are followed, and others include it."""
    backend.stores.writer.append(Draft("rules", "old", STORED.encode(), rows=3))
    assert list(remarks(backend.stores, backend.texts)) == [
        f"the rule set old has patterns that do not match what they may seem to: {BACK} {WORD} Mend it, and bring it "
        f"again with PUT {BASE}/rules/old"
    ]
    listed = {rules["name"]: rules["warnings"] for rules in client.get("/rules").json["rules"]}
    assert listed.pop("old") == [BACK, WORD] and not any(listed.values())
    client.put("/streams/s?clock=event")
    assert client.put("/rules/new", data="[n: (?x <urn:as> ?t) -> (?x <urn:new> ?t)]").status_code == 201
    assert client.put("/queries/q", data=QUERY.format("q", "old, new")).status_code == 201
    assert client.put("/queries/other", data=QUERY.format("other", "new")).status_code == 201
    pushed(client, '<urn:a> <urn:text> "aa"', '<urn:b> <urn:text> "an a"', '<urn:c> <urn:as> "b"')
    engine.run()
    assert rows(client) == [
        ("urn:a", "urn:as"),
        ("urn:a", "urn:new"),
        ("urn:b", "urn:word"),
        ("urn:c", "urn:as"),
        ("urn:c", "urn:new"),
    ]
    assert rows(client, "other") == [("urn:c", "urn:as"), ("urn:c", "urn:new")]
    mended = "[whole: (?x <urn:text> ?t) regex(?t, 'a+') -> (?x <urn:as> ?t)]"
    assert client.put("/rules/old", data=mended).status_code == 200
    assert list(remarks(backend.stores, backend.texts)) == []


def test_a_stored_rule_set_that_cannot_be_read_concerns_nobody_else(client, backend: Backend, engine: Engine) -> None:
    backend.stores.writer.append(Draft("rules", "odd", b"[r: ->", rows=1))
    (remark,) = remarks(backend.stores, backend.texts)
    assert remark.startswith("the rule set odd cannot be read, and queries that use it fail: line 1, column ")
    (warning,) = next(rules["warnings"] for rules in client.get("/rules").json["rules"] if rules["name"] == "odd")
    assert warning in remark
    client.put("/streams/s?clock=event")
    assert client.put("/rules/new", data="[n: (?x <urn:as> ?t) -> (?x <urn:new> ?t)]").status_code == 201
    for name, regime in ("q", "new"), ("broken", "odd"):
        assert client.put(f"/queries/{name}", data=QUERY.format(name, regime)).status_code == 201
    pushed(client, '<urn:c> <urn:as> "b"')
    engine.run()
    assert rows(client) == [("urn:c", "urn:as"), ("urn:c", "urn:new")]
    assert client.get("/queries/broken").json["status"] == "failed"


def test_remarks_come_while_others_are_served(backend: Backend, monkeypatch, capsys) -> None:
    """While the first set is read there is a registration; a set for which there is no place is tried again, and when
    it is time to stop no other is read."""
    for name in ("a", "b", "c"):
        backend.stores.writer.append(Draft("rules", name, STORED.encode(), 3))
    tried, begun, may_end, stopped = [], threading.Event(), threading.Event(), threading.Event()

    def slow(text: str) -> tuple[list[str], list[str]]:
        tried.append(text)
        if len(tried) == 1:
            begun.set()
            may_end.wait()
            raise Crowded("4 texts wait already")
        if len(tried) == 3:
            stopped.set()
            may_end.wait()
        return [], [BACK]

    monkeypatch.setattr("csparql_spark.server.remarks.PAUSE", 0.0)
    monkeypatch.setattr(backend.checked_texts, "remarks", slow)
    remarks = Remarks(backend.stores, backend.checked_texts)
    remarks.start()
    begun.wait()
    client = create_app(backend).test_client()
    assert client.put("/streams/s?clock=event").status_code == 201
    assert client.put("/queries/q", data=QUERY.format("q", "rdfs")).status_code == 201
    assert capsys.readouterr().err == ""
    may_end.set()
    stopped.wait()
    remarks.stop()
    said = capsys.readouterr().err
    assert said.startswith("csparql-spark: the rule set a has patterns that do not match what they may seem to: ")
    assert len(tried) in (3, 4) and said.count("the rule set") == len(tried) - 1
