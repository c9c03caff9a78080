"""What many keep, found at once, is what each would keep that is asked alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers import computing as module
from csparql_spark.answers.algebra import Scan, all_of
from csparql_spark.answers.computing import Computing
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.answers.row_filters import RowFilter, Sieve
from csparql_spark.answers.translation import translated
from csparql_spark.windows.content import Content
from tests.answers.test_matches import Differing
from tests.examples import examples

XSD = "http://www.w3.org/2001/XMLSchema#"
NUMBERS = [f'"{number}"^^<{XSD}{kind}>' for kind in ("integer", "decimal", "double") for number in (-1, 0, 2, 3)]
TERMS = [
    *NUMBERS,
    '"3"',
    "<urn:a>",
    f'"4"^^<{XSD}byte>',
    f'"2020-01-01"^^<{XSD}date>',
    '"x"@en',
    f'"1e1"^^<{XSD}integer>',
]
SIGNS = ("=", "!=", "<", ">", "<=", ">=")


@dataclass
class Member:
    keep: tuple[RowFilter, ...]
    names: dict[str, str]


def filters(computing: Computing, condition: str) -> tuple[module.Test, ...]:
    body = f"SELECT * WHERE {{ ?x <urn:p> ?y FILTER({condition}) }}"
    scans = [part for part in all_of(translated(over_ids(body), body)) if isinstance(part, Scan)]
    return tuple(module.Test(computing, test) for scan in scans for test in scan.tests)


conditions = st.one_of(
    st.builds("{} {} {}".format, st.sampled_from(["?x", "?y"]), st.sampled_from(SIGNS), st.sampled_from(TERMS)),
    st.builds("{} {} {}".format, st.sampled_from(TERMS), st.sampled_from(SIGNS), st.sampled_from(["?x", "?y"])),
    st.builds("?x {} ?y".format, st.sampled_from(SIGNS)),
    st.sampled_from(["isIRI(?x)", "?x > 1 && ?y < 3", "?x + 1 > ?y"]),
)
members = st.lists(
    st.tuples(st.lists(st.one_of(conditions, st.booleans()), max_size=2), st.booleans()), min_size=1, max_size=8
)


@settings(max_examples=examples(150), deadline=None)
@given(members, st.lists(st.tuples(st.sampled_from(TERMS), st.sampled_from(TERMS)), max_size=12), st.randoms())
def test_a_sieve_keeps_what_each_keeps(
    drawn: list[tuple[list[str | bool], bool]], rows: list[tuple[str, str]], random
) -> None:
    content = Content()
    computing = Computing(content)
    asking = []
    for conditions, turned in drawn:
        keep: list[RowFilter] = []
        for one in conditions:
            keep += [Differing(("?x", "?y"), one)] if isinstance(one, bool) else filters(computing, one)
        asking.append(Member(tuple(keep), {"?x": "?1", "?y": "?0"} if turned else {"?x": "?0", "?y": "?1"}))
    ids = content.dictionary.encode([term for row in rows for term in row]).reshape(-1, 2)
    columns = {"?0": ids[:, 0].copy(), "?1": ids[:, 1].copy()}
    sieve = Sieve(asking, content.dictionary)
    pairs = [(row, place) for row in range(len(rows)) for place in range(len(asking)) if random.random() < 0.8]
    row, place = (np.array(column, dtype=np.int64) for column in zip(*pairs)) if pairs else [np.empty(0, np.int64)] * 2
    wanted = [
        all(
            one.mask({name: columns[there][row : row + 1] for name, there in asking[place].names.items()}, 1)[0]
            for one in asking[place].keep
        )
        for row, place in pairs
    ]
    assert sieve.passing(columns, row, place).tolist() == wanted
    assert not sieve.everything or all(wanted)
