from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.entailment.evaluate.tables import RuleTable, tables
from csparql_spark.language.rules.rule import Atom, Guard, Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.joins import Relation
from tests.examples import examples

P, Q, A, B, C = (f"<urn:{name}>" for name in "pqabc")
small = st.integers(0, 2)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.tuples(
            st.lists(st.tuples(*[small] * width), min_size=1, max_size=8),
            st.lists(st.tuples(*[small] * width), max_size=8),
            st.sets(st.integers(0, width - 1)),
        )
    )
)
@settings(max_examples=examples(80), deadline=None)
def test_a_row_for_each_rule_that_agrees(drawn: tuple) -> None:
    parameters, known, bound = drawn
    names = [f"?${place}" for place in range(len(parameters[0]))]
    rules = tuple(Rule((Atom("?x", P, f"<urn:{number}>"),), ()) for number in range(len(parameters)))
    table = RuleTable(rules, (), (), {name: np.array([row[i] for row in parameters]) for i, name in enumerate(names)})
    columns = {names[i]: np.array([row[i] for row in known], np.int64) for i in sorted(bound)}
    columns["?x"] = np.arange(len(known))
    joined = table.joined(Relation(columns, np.arange(len(known)) + 100))
    expected = sorted(
        (place, place + 100, *row)
        for place, given in enumerate(known)
        for row in parameters
        if all(given[i] == row[i] for i in bound)
    )
    if known:
        rows = zip(*(joined.columns[name].tolist() for name in ("?x", *names)))
        assert sorted((place, tag, *row) for (place, *row), tag in zip(rows, joined.tag.tolist())) == expected
    half = table.only(set(rules[::2]))
    assert half.rules == rules[::2]
    assert list(zip(*(half.columns[name].tolist() for name in names))) == parameters[::2]
    assert table.only(set()) is None and table.only(set(rules)) is table


def test_rules_of_one_form() -> None:
    dictionary = TermDictionary()
    a, b, c, p, q = dictionary.encode([A, B, C, P, Q]).tolist()
    step = [Rule((Atom("?x", P, new),), (Atom("?x", P, old),)) for old, new in ((A, B), (B, C))]
    renamed = Rule((Atom("?y", P, A),), (Atom("?y", P, C),))
    guarded = Rule((Atom("?x", P, B),), (Atom("?x", P, C),), (Guard("isBNode", ("?x",)),))
    other = Rule((Atom("?x", Q, B),), (Atom("?x", P, "?y"),))
    found = list(tables([*step, other, guarded, renamed], dictionary, set(), 2))
    assert [table.rules for table in found] == [(*step, renamed), (other,), (guarded,)]
    assert found[0].body == (("?0", p, "?$0"),) and found[0].head == (("?0", p, "?$1"),)
    assert {name: column.tolist() for name, column in found[0].columns.items()} == {"?$0": [a, b, c], "?$1": [b, c, a]}
    assert found[1].body == (("?x", p, "?y"),) and found[1].head == (("?x", q, b),) and found[1].columns == {}
    assert len(list(tables([*step, renamed], dictionary, set(), 3))) == 3
    assert [table.rules for table in tables([*step, renamed], dictionary, {step[1]}, 1)] == [
        (step[0], renamed),
        (step[1],),
    ]
