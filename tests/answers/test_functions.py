"""The functions that a body over ids calls, one by one."""

from __future__ import annotations

import numpy as np
import pyoxigraph as ox
import pytest

from csparql_spark.answers.functions import COMPUTED, Functions, datetime_of
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.rdf.terms import RDF, XSD

TERMS = ["<urn:a>", "_:b", '"x"', '"x"@en', f'"01"^^<{XSD}integer>', '"x"@ar--rtl', f'"x"^^<{XSD}integer>']


@pytest.fixture
def functions() -> Functions:
    dictionary = TermDictionary()
    dictionary.encode(TERMS)
    made = Functions(dictionary)
    made.begin(instant=1_767_603_600_250, stamps=lambda s, p, o: 17 if (s, p, o) == (0, 1, 2) else None)
    return made


def call(functions: Functions, name: str, *given: object) -> str | None:
    """What a function says of terms, by number, or of anything else."""
    result = functions.custom[ox.NamedNode(f"f:{name}")](
        *(ox.NamedNode(f"i:{term}") if isinstance(term, int) else term for term in given)
    )
    return None if result is None else str(result)


def test_terms(functions: Functions) -> None:
    assert [call(functions, "term", id) for id in range(5)] == TERMS[:5]
    assert [call(functions, "str", id) for id in range(7)] == ['"urn:a"', None, '"x"', '"x"', '"01"', '"x"', '"x"']
    assert [call(functions, "datatype", id) for id in range(7)] == [
        None,
        None,
        f"<{XSD}string>",
        f"<{RDF}langString>",
        f"<{XSD}integer>",
        None,
        f"<{XSD}integer>",
    ]
    assert call(functions, "key", 3) == '"\\"x\\"@en"'
    assert call(functions, "row", 3, 0, ox.NamedNode("i:none")) == '"i:3 i:0 i:none"'
    assert (
        call(functions, "order", 4)
        == call(functions, "order", ox.NamedNode(functions.id_of(f'"1"^^<{XSD}integer>').value))
        != call(functions, "order", 2)
    )


def test_ids(functions: Functions) -> None:
    assert call(functions, "id", ox.Literal("x", language="en")) == "<i:3>"
    assert call(functions, "id", ox.BlankNode("b")) == "<i:1>"
    assert call(functions, "id", ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:a"), ox.NamedNode("urn:a"))) is None
    assert [call(functions, "id", ox.Literal(text)) for text in ("new", "x", "newer", "new")] == [
        f"<i:{COMPUTED}>",
        "<i:2>",
        f"<i:{COMPUTED + 1}>",
        f"<i:{COMPUTED}>",
    ]
    assert functions.decode(np.array([COMPUTED + 1, 0, COMPUTED, 2])) == ['"newer"', "<urn:a>", '"new"', '"x"']
    assert functions.decode(np.array([2, 0])) == ['"x"', "<urn:a>"] and functions.decode(np.array([], int)) == []
    assert call(functions, "term", COMPUTED) == '"new"'
    functions.begin(instant=0)
    assert call(functions, "id", ox.Literal("newest")) == f"<i:{COMPUTED}>"
    assert call(functions, "term", COMPUTED) == '"newest"'  # and no longer "new"


def test_time(functions: Functions) -> None:
    assert call(functions, "now") == f'"2026-01-05T09:00:00.250Z"^^<{XSD}dateTime>'
    assert call(functions, "timestamp", 0, 1, 2) == f'"17"^^<{XSD}integer>'
    assert call(functions, "timestamp", 0, 1, 3) is None
    functions.begin(instant=0)
    assert call(functions, "timestamp", 0, 1, 2) is None
    assert [datetime_of(instant) for instant in (0, -1, 999, 1 << 60, -(1 << 60), -62_135_596_800_000)] == [
        "1970-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00.999Z",
        "9999-12-31T23:59:59.999Z",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
    ]


def test_chance_is_a_function_of_instant_place_and_row(functions: Functions) -> None:
    one, two = ox.Literal("1"), ox.Literal("2")
    for name in ("rand", "uuid", "struuid", "bnode"):
        said = [call(functions, name, *given) for given in ((one, 0, 2), (one, 0, 3), (one, 2, 0), (two, 0, 2), (one,))]
        assert len(set(said)) == 5 and call(functions, name, one, 0, 2) == said[0]
        functions.begin(instant=functions._instant + 1)
        assert call(functions, name, one, 0, 2) not in said


def test_chance_does_not_hang_on_ids() -> None:
    said = set()
    for terms in (TERMS, TERMS[::-1]):
        dictionary = TermDictionary()
        id = int(dictionary.encode(terms)[terms.index("<urn:a>")])
        functions = Functions(dictionary)
        functions.begin(instant=5)
        said.add(call(functions, "uuid", ox.Literal("1"), id, ox.NamedNode("i:none")))
    assert len(said) == 1


def test_what_chance_gives_is_well_formed(functions: Functions) -> None:
    for place in range(50):
        given = ox.Literal(str(place))
        number = functions.custom[ox.NamedNode("f:rand")](given)
        assert number.datatype.value == f"{XSD}double" and 0 <= float(number.value) < 1
        parts = functions.custom[ox.NamedNode("f:struuid")](given).value.split("-")
        assert [len(part) for part in parts] == [8, 4, 4, 4, 12] and parts[2][0] == "4" and parts[3][0] in "89ab"
        assert call(functions, "uuid", given).startswith("<urn:uuid:")


def test_accumulators(functions: Functions) -> None:
    def accumulated(name: str, *ids: object) -> str | None:
        made = functions.aggregates([name])[ox.NamedNode(f"a:{name}")]()
        for id in ids:
            made.accumulate(ox.NamedNode(f"i:{id}"))
        result = made.finish()
        return None if result is None else functions.text(result)

    bar = b'"|"'.hex()
    assert (
        accumulated("sum", 4, 4) == f'"2"^^<{XSD}integer>'
        and accumulated("sum-distinct", 4, 4) == f'"1"^^<{XSD}integer>'
    )
    assert accumulated("sum", 4, 2) is None and accumulated("min") is None
    assert accumulated(f"group_concat:{bar}", 2, 4, 2) == '"01|x|x"'
    assert accumulated(f"group_concat-distinct:{bar}", 2, 4, 2) == '"01|x"'
    assert accumulated("count", 2, "none", 2) == f'"2"^^<{XSD}integer>'
