"""Answers that say until when they hold: an answer row is one more derived fact."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.testing import replay
from tests.examples import examples

PUSHED = "".join(
    f"<urn:{s}> <urn:{p}> <urn:{o}> <urn:t:{t}> .\n"
    for s, p, o, t in (("a", "in", "b", 1000), ("b", "in", "c", 2500), ("a", "in", "b", 3000))
)
QUERY = "REGISTER QUERY q AS SELECT {} FROM STREAM <urn:s> [RANGE 4s STEP 1s] WHERE {{ {} }}"


def told(head: str, where: str, **options: object) -> dict[int, list[tuple]]:
    instants = replay(QUERY.format(head, where), streams={"urn:s": PUSHED}, **options)
    return {
        one.at: None if one.until is None else list(zip([tuple(row.values()) for row in one.rows], one.until))
        for one in instants
    }


def test_a_row_holds_as_long_as_all_of_its_triples() -> None:
    """
          1000      2500  3000        5000      6500  7000
    ───────●─────────●─────●───────────┤─────────┤─────┤──▶    RANGE 4s
          a in b    b in c a in b      a's first is out; again at 3000, so the row holds until b in c goes at 6500
    """
    said = told("?x ?z", "?x <urn:in> ?y . ?y <urn:in> ?z")
    assert said[3000] == said[6000] == [(("<urn:a>", "<urn:c>"), 6500)]
    assert said[2000] == [] and said[7000] == []
    alone = told("?x ?y", "?x <urn:in> ?y")
    assert alone[2000] == [(("<urn:a>", "<urn:b>"), 5000)]
    assert alone[3000] == [(("<urn:a>", "<urn:b>"), 7000), (("<urn:b>", "<urn:c>"), 6500)]


def test_background_holds_for_ever_and_what_follows_as_long_as_its_premises() -> None:
    text = QUERY.format("?x ?z", "?x <urn:in> ?z").replace("FROM STREAM", "FROM <urn:g> FROM STREAM")
    rules = {"r": "[(?a <urn:in> ?b) (?b <urn:in> ?c) -> (?a <urn:in> ?c)]"}
    instants = {
        one.at: one
        for one in replay(
            text,
            streams={"urn:s": PUSHED},
            rules=rules,
            entailment="r",
            background={"urn:g": "<urn:c> <urn:in> <urn:d> ."},
        )
    }
    rows = {row["x"] + row["z"]: until for row, until in zip(instants[3000].rows, instants[3000].until)}
    assert rows == {
        "<urn:a><urn:b>": 7000,
        "<urn:a><urn:c>": 6500,
        "<urn:a><urn:d>": 6500,
        "<urn:b><urn:c>": 6500,
        "<urn:b><urn:d>": 6500,
        "<urn:c><urn:d>": None,
    }


def test_where_something_that_is_not_there_matters_nothing_is_said() -> None:
    assert told("?x", "?x <urn:in> ?y FILTER NOT EXISTS { ?y <urn:in> ?z }")[3000] is None
    assert told("(COUNT(?x) AS ?n)", "?x <urn:in> ?y")[3000] is None
    assert told("?x", "?x <urn:in> ?y BIND(NOW() AS ?now)")[3000] is None  # the snapshot evaluator does not know


def test_a_path_holds_as_long_as_the_way_that_holds_longest() -> None:
    said = told("?x ?z", "?x <urn:in>+ ?z")
    ab, ac, bc = (("<urn:a>", "<urn:b>"), ("<urn:a>", "<urn:c>"), ("<urn:b>", "<urn:c>"))
    assert said[3000] == [(ab, 7000), (ac, 6500), (bc, 6500)]
    assert said[2000] == [(ab, 5000)]
    assert told("?x", "?x <urn:in>+ ?y")[3000] == [(("<urn:a>",), 7000), (("<urn:a>",), 6500), (("<urn:b>",), 6500)]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.integers(1, 30)), min_size=1, max_size=12))
@settings(max_examples=examples(60), deadline=None)
def test_a_row_is_there_until_it_says_and_not_longer_unless_it_is_told_again(
    elements: list[tuple[str, str, int]],
) -> None:
    recorded = "".join(
        f"<urn:{s}> <urn:in> <urn:{o}> <urn:t:{t}> .\n" for s, o, t in sorted(elements, key=lambda e: e[2])
    )
    text = (
        "REGISTER QUERY q AS SELECT ?x ?y ?z FROM STREAM <urn:s> [RANGE 7ms STEP 1ms] "
        "WHERE { ?x <urn:in> ?y . ?y <urn:in> ?z }"
    )
    holds: dict[tuple, int] = {}
    for one in replay(text, streams={"urn:s": recorded}):
        rows = {tuple(row.values()): until for row, until in zip(one.rows, one.until)}
        assert {row for row, until in holds.items() if until > one.at} <= rows.keys()
        assert all(until > one.at for until in rows.values())
        # What holds longer than was said has been told again.
        came = {(s, o) for s, o, t in elements if t == one.at}
        for row in rows.keys() & holds.keys():
            if rows[row] != holds[row]:
                assert {(row[0][5], row[1][5]), (row[1][5], row[2][5])} & came
        holds = rows
