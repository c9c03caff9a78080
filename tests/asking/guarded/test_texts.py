"""What texts say is found out in children, as it would be here; and what is slow delays no other text."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import pytest

from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.asking.admission import Refusal, admit, check_maintained, check_rules, check_together
from csparql_spark.asking.guarded import Pool, work
from csparql_spark.asking.guarded.texts import Texts
from csparql_spark.language import LanguageError, parse
from csparql_spark.language.queries.mentions import mentions
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings
from tests.asking.guarded import deeds

BASE = "http://csparql.test/"
STREAM = "FROM STREAM <s> [RANGE 4s STEP 2s]"
TRANSITIVE = "[(?a <urn:in> ?b) (?b <urn:in> ?c) -> (?a <urn:in> ?c)]"
MAKES = "[(?a <urn:n> ?b) sum(?b, 1, ?c) -> (?a <urn:m> ?c)]"
FEEDS = "[(?a <urn:m> ?b) -> (?a <urn:n> ?b)]"
LASTING = Limits(milliseconds=60_000)  # longer than registering takes on any machine


@pytest.fixture(scope="module")
def texts() -> Iterator[Texts]:
    with contextlib.closing(Pool(memory=128 << 20)) as pool:
        yield Texts(pool)


@pytest.mark.parametrize(
    "text",
    [
        f"REGISTER QUERY q AS SELECT ?x FROM <g> {STREAM} USING ENTAILMENT rdfs WHERE {{ ?x <p> ?y }}",
        f"REGISTER STREAM q AS CONSTRUCT {{ ?x <p> ?y }} {STREAM} WHERE {{ ?x <p> ?y OPTIONAL {{ ?y <q> ?z }} }}",
        "ASK { ?s ?p ?o }",
        f"SELECT ?x {STREAM} WHERE {{ SERVICE <urn:s> {{ ?x ?y ?z }} }}",
        f"SELECT ?x {STREAM} WHERE {{ ?x a foaf:Person . ?x ?y ?never . FILTER(?z > 1) }}",
        f"SELECT ?x {STREAM}\nWHERE {{ ?x <p> }}",
        f"SELECT ?x {STREAM} WHERE {{ ?x nix:p 1 }}",
        "",
    ],
)
def test_a_query_says_what_it_says_here(texts: Texts, text: str) -> None:
    try:
        expected = parse(text, base=BASE)
    except LanguageError as error:
        with pytest.raises(LanguageError) as raised:
            texts.read(text, BASE)
        assert vars(raised.value) == vars(error) and str(raised.value) == str(error)
        return
    reading = texts.read(text, BASE)
    assert reading.query == expected and reading.mentions == mentions(text, BASE)
    try:
        admit(text, base=BASE, streams={f"{BASE}s"}, graphs={f"{BASE}g"})
    except Refusal as refusal:
        assert reading.refusal is not None
        assert (reading.refusal.code, str(reading.refusal)) == (refusal.code, str(refusal))
    else:
        assert reading.refusal is None


@pytest.mark.parametrize(
    "text, others, used",
    [
        (TRANSITIVE, {}, ()),
        (f"@include <rdfs> .\n{TRANSITIVE}", {}, ()),
        (f"@include <nix> .\n{TRANSITIVE}", {"b": FEEDS}, ()),
        ("[(?a <urn:in> ?b)\n-> (?a nix:in ?b)]", {}, ()),
        (MAKES, {"b": FEEDS}, ()),
        (MAKES, {"b": FEEDS}, (("b", "rdfs"), ("a", "b"))),
        ("[(?a <urn:p> ?b) sum(?b, 1, ?c) -> (?a <urn:p> ?c)]", {}, ()),
    ],
)
def test_a_rule_file_says_what_it_says_here(texts: Texts, text: str, others: dict[str, str], used) -> None:
    try:
        file = check_rules("a", text, others)
        for names in used:
            check_together(names, {**others, "a": text})
    except (LanguageError, Refusal) as error:
        with pytest.raises(type(error)) as raised:
            texts.rule_file("a", text, others, used)
        assert vars(raised.value) == vars(error) and str(raised.value) == str(error)
    else:
        assert texts.rule_file("a", text, others, used) == (len(file.rules), file.warnings)
        assert texts.remarks(text) == (list(file.warnings), list(file.patterns))


@pytest.mark.parametrize("names, maintenance", [(("a", "b"), "auto"), (("a",), "counting"), (("rdfs",), "expiration")])
def test_rule_sets_agree_as_they_do_here(texts: Texts, names: tuple[str, ...], maintenance: str) -> None:
    sets = {"a": MAKES, "b": FEEDS}
    try:
        check_together(names, sets)
        check_maintained(names, sets, maintenance)
    except Refusal as refusal:
        with pytest.raises(Refusal) as raised:
            texts.check_rules(names, sets, maintenance)
        assert (raised.value.code, str(raised.value)) == (refusal.code, str(refusal))
    else:
        texts.check_rules(names, sets, maintenance)


def test_what_needs_more_than_a_quick_place_has_is_begun_again(texts: Texts, monkeypatch) -> None:
    assert texts.run(deeds.fill, 96 << 20) == b"%d" % (96 << 20)
    with pytest.raises(TooMuch, match="more memory than the 256 MiB that a text may have until it is understood"):
        texts.run(deeds.fill, 512 << 20)
    monkeypatch.setenv("CSPARQL_SPARK_MOST_MILLISECONDS", "400")
    with pytest.raises(TooMuch, match="longer than 0.4 s of processor time until it is understood"):
        texts.run(deeds.spin)


def test_slow_texts_and_questions_delay_no_registration(tmp_path, monkeypatch) -> None:
    """Two texts and two questions keep the processors busy; five queries are registered before one of them ends."""
    over = tmp_path / "over"
    monkeypatch.setenv("CSPARQL_SPARK_MOST_MILLISECONDS", str(LASTING.milliseconds))
    with Backend(Settings(data=tmp_path, base_url="http://csparql.test")) as backend:
        client = create_app(backend).test_client()
        client.put("/streams/s?clock=event")
        ended: list[bytes] = []

        def question() -> None:
            with backend.pool.place("sparql") as place:
                ended.append(bytes(place.run(LASTING, deeds.spin_until, str(over))))

        def text() -> None:
            ended.append(bytes(backend.texts.run(deeds.spin_until, str(over))))

        slow = [threading.Thread(target=one) for one in (text, text, question, question)]
        for thread in slow:
            thread.start()
        while backend.pool.working("questions") < 2 or not sum(map(backend.pool.working, ("texts", "long texts"))):
            threading.Event().wait(0.01)
        for number in range(5):
            query = f"SELECT ?s FROM STREAM <streams/s> [RANGE 2s] {{ ?s <urn:p> {number} }}"
            assert client.put(f"/queries/q{number}", data=query).status_code == 201
        assert ended == []
        over.touch()
        for thread in slow:
            thread.join()
        assert ended == [b"spun"] * 4


def test_slow_questions_delay_no_small_ones(tmp_path, monkeypatch) -> None:
    """Two questions keep the processors busy; five small ones of each kind are answered before one has ended."""
    over = tmp_path / "over"
    monkeypatch.setenv("CSPARQL_SPARK_MOST_MILLISECONDS", str(LASTING.milliseconds))
    with Backend(Settings(data=tmp_path, base_url="http://csparql.test")) as backend:
        client = create_app(backend).test_client()
        turtle = {"Content-Type": "text/turtle"}
        graph = "".join(f"<urn:s{i}> <urn:p> {i} .\n" for i in range(300))
        assert client.put("/graphs?graph=urn:kb", data=graph, headers=turtle).status_code == 201
        monkeypatch.setattr(work, "answered", deeds.BusyAnswer(str(over)))
        found: list[int] = []

        def slow() -> None:
            response = (
                create_app(backend)
                .test_client()
                .get("/sparql", query_string={"query": "SELECT ?slow { ?slow <urn:p> 1 }"})
            )
            found.append(response.status_code)

        threads = [threading.Thread(target=slow) for _ in range(2)]
        for thread in threads:
            thread.start()
        while backend.pool.working("questions") < 2:
            threading.Event().wait(0.01)
        for number in range(5):
            for path in ("/sparql", "/kb"):
                asked = client.get(path, query_string={"query": f"SELECT ?s {{ ?s <urn:p> {number} }}"})
                assert [row["s"]["value"] for row in asked.json["results"]["bindings"]] == [f"urn:s{number}"]
        assert found == []
        over.touch()
        for thread in threads:
            thread.join()
        assert found == [200, 200]
