from __future__ import annotations

import pytest

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.one_shot import Question, ask
from csparql_spark.language import LanguageError
from csparql_spark.rdf.chunk import Chunk

GRAPHS = {
    "urn:g": Chunk.from_triples([("<urn:a>", "<urn:p>", "<urn:b>"), ("<urn:b>", "<urn:p>", '"01"')]),
    "urn:h": Chunk.from_triples([("<urn:a>", "<urn:p>", "<urn:b>"), ("<urn:c>", "<urn:p>", "<urn:b>")], [5, 6]),
    "urn:empty": Chunk.empty(),
}
SO = "SELECT ?s ?o {} WHERE {{ ?s <urn:p> ?o }}"


def rows(text: str, default_graphs: tuple[str, ...] | None = None) -> list[tuple[str, ...]]:
    answer = ask(Question(text, GRAPHS, default_graphs=default_graphs))
    return [tuple(row.values()) for row in answer.table.rows()]


A, B, C = ("<urn:a>", "<urn:b>"), ("<urn:b>", '"01"'), ("<urn:c>", "<urn:b>")


def test_the_graphs_that_are_asked() -> None:
    assert rows(SO.format("")) == [A, B, C]  # all: a triple in two graphs counts once
    assert rows(SO.format("FROM <urn:h>")) == [A, C]  # those of the text
    assert rows(SO.format("FROM <urn:g> FROM <urn:h>")) == [A, B, C]
    assert rows(SO.format("FROM <urn:h>"), ("urn:g",)) == [A, B]  # those of the request
    assert rows(SO.format("FROM <urn:h>"), ()) == rows(SO.format("FROM <urn:empty>")) == []


def test_graphs_by_their_names() -> None:
    asked = "SELECT ?g ?s ?o {} WHERE {{ GRAPH ?g {{ ?s <urn:p> ?o }} }}"
    everything = ask(Question(asked.format(""), GRAPHS))
    assert {row["g"] for row in everything.table.rows()} == {"<urn:g>", "<urn:h>"}
    (first, *rest) = ask(Question(asked.format("FROM <urn:h> FROM NAMED <urn:g>"), GRAPHS)).table.rows()
    assert {row["g"] for row in (first, *rest)} == {"<urn:g>"}
    given = ask(Question(asked.format("FROM NAMED <urn:g>"), GRAPHS, named_graphs=["urn:h"])).table.rows()
    assert {row["g"] for row in given} == {"<urn:h>"}


def test_without_any_graph() -> None:
    assert ask(Question(SO.format(""), {})) == Result.from_rows(("s", "o"), [])
    assert ask(Question("SELECT * WHERE { }", {})) == Result.bindings((), (), 1)


def test_relative_names_start_from_the_base() -> None:
    graphs = {"http://x/g": Chunk.from_triples([("<http://x/a>", "<http://x/p>", "<http://x/b>")])}
    answer = ask(Question("SELECT ?o FROM <g> WHERE { <a> <p> ?o }", graphs, base="http://x/", default_graphs=None))
    assert answer == Result.from_rows(("o",), [{"o": "<http://x/b>"}])


@pytest.mark.parametrize(
    "text, default_graphs, code, sentence",
    [
        (SO.format("FROM <urn:i>"), None, "unknown-graph", "there is no background graph <urn:i>"),
        (SO.format(""), ("urn:g", "urn:i"), "unknown-graph", "there is no background graph <urn:i>"),
        (
            "ASK { SERVICE <urn:x> { ?s ?p ?o } }",
            None,
            "not-supported",
            "SERVICE is not supported: the server sends no requests on behalf of a query. Load what the other endpoint knows "
            "as a background graph",
        ),
    ],
)
def test_refusals(text: str, default_graphs: tuple[str, ...] | None, code: str, sentence: str) -> None:
    with pytest.raises(Refusal) as caught:
        rows(text, default_graphs)
    assert (caught.value.code, str(caught.value)) == (code, sentence)


def test_what_does_not_parse() -> None:
    with pytest.raises(LanguageError):
        rows("SELECT ?s WHERE { ?s }")


# --- windows, looked at once

ELEMENTS = Chunk.from_triples([(f"<urn:{t}>", "<urn:p>", "<urn:b>") for t in (1, 5, 9, 12)], [1, 5, 9, 12])


@pytest.mark.parametrize(
    "window, expected",
    [
        ("FROM STREAM <urn:s> [RANGE 5ms STEP 4ms]", [9]),  # (5, 10]: from now back, whatever the STEP
        ("FROM STREAM <urn:s> [RANGE 6ms]", [5, 9]),
        ("FROM STREAM <urn:s> [RANGE TRIPLES 2]", [5, 9]),
        ("FROM STREAM <urn:s> [RANGE 1ms]", []),
    ],
)
def test_what_a_window_sees_at_10(window: str, expected: list[int]) -> None:
    text = f"SELECT ?s {window} WHERE {{ ?s <urn:p> ?o }}"
    answer = ask(Question(text, GRAPHS, streams={"urn:s": ELEMENTS}, instant=10))
    assert answer.table.rows() == [{"s": f"<urn:{t}>"} for t in expected]


def test_windows_and_graphs_stand_beside_each_other() -> None:
    merged = ask(
        Question(
            "SELECT ?s FROM <urn:g> FROM STREAM <urn:s> [RANGE 3ms] WHERE { ?s <urn:p> <urn:b> }",
            GRAPHS,
            streams={"urn:s": ELEMENTS},
            instant=10,
        )
    )
    assert [row["s"] for row in merged.table.rows()] == ["<urn:9>", "<urn:a>"]
    named = ask(
        Question(
            "SELECT ?s ?x FROM <urn:g> FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT0.003S] "
            "WHERE { ?x <urn:p> '01' . WINDOW <urn:w> { ?s ?p ?o } }",
            GRAPHS,
            streams={"urn:s": ELEMENTS},
            instant=10,
        )
    )
    assert named.table.rows() == [{"s": "<urn:9>", "x": "<urn:b>"}]
    with pytest.raises(Refusal, match="there is no stream <urn:t>"):
        ask(Question("SELECT ?s FROM STREAM <urn:t> [RANGE 3ms] WHERE { ?s ?p ?o }", GRAPHS, streams={}))


def test_under_a_regime() -> None:
    rules = {"back": "[(?a <urn:p> ?b) -> (?b <urn:q> ?a)]"}
    asked = "SELECT ?o {} WHERE {{ {} }}"
    answer = ask(
        Question(
            asked.format("FROM STREAM <urn:s> [RANGE 3ms]", "<urn:b> <urn:q> ?o"),
            {},
            streams={"urn:s": ELEMENTS},
            instant=10,
            entailment=["back"],
            rules=rules,
        )
    )
    assert answer.table.rows() == [{"o": "<urn:9>"}]
    window = "FROM <urn:g> FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT0.003S]"
    answer = ask(
        Question(
            asked.format(window, "WINDOW <urn:w> { <urn:b> <urn:q> ?o }"),
            GRAPHS,
            streams={"urn:s": ELEMENTS},
            instant=10,
            entailment=["back"],
            rules=rules,
        )
    )
    assert answer.table.rows() == [{"o": "<urn:9>"}]  # and not what the background says by itself
    answer = ask(
        Question(
            asked.format(window, "<urn:b> <urn:q> ?o"),
            GRAPHS,
            streams={"urn:s": ELEMENTS},
            instant=10,
            entailment=["back"],
            rules=rules,
        )
    )
    assert answer.table.rows() == [{"o": "<urn:a>"}]


def test_a_rule_that_multiplies_fails_the_question_by_name() -> None:
    """3,000 triples are nine million pairs."""
    graph = Chunk.from_triples([(f"<urn:{n}>", "<urn:p>", f"<urn:o{n}>") for n in range(3_000)])
    rules = {"all": "[poison: (?a <urn:p> ?b) (?c <urn:p> ?d) -> (?a <urn:q> ?c)]"}
    asked = Question("SELECT ?c { <urn:1> <urn:q> ?c }", {"urn:g": graph}, entailment=["all"], rules=rules)
    with pytest.raises(TooMuch, match=r"^the rule \[poison: .*\] multiplies what it is given: it would go through"):
        ask(asked)
    few = Chunk.from_triples([(f"<urn:{n}>", "<urn:p>", f"<urn:o{n}>") for n in range(3)])
    answer = ask(Question(asked.text, {"urn:g": few}, entailment=["all"], rules=rules))
    assert answer.table.rows() == [{"c": "<urn:0>"}, {"c": "<urn:1>"}, {"c": "<urn:2>"}]
    with pytest.raises(TooMuch, match=r"longer than 0.001 s of processor time, .*and one of 500 rules like \[r0: "):
        chain = "".join(f"[r{n}: (?x <urn:p{n or ''}> ?y) -> (?x <urn:p{n + 1}> ?y)]" for n in range(500))
        ask(
            Question("SELECT ?c { <urn:1> <urn:p500> ?c }", {"urn:g": graph}, entailment=["all"], rules={"all": chain}),
            Limits(milliseconds=1),
        )
