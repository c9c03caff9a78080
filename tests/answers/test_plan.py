from __future__ import annotations

import pytest

from csparql_spark.answers.plan import Plan, Unsupported, plan
from csparql_spark.language import parse

XSD = "http://www.w3.org/2001/XMLSchema#"


def planned(body: str, head: str = "SELECT *") -> Plan:
    return plan(parse(f"PREFIX x: <http://x/> {head} FROM STREAM <urn:s> [RANGE 10s STEP 5s] WHERE {{ {body} }}"))


def patterns(made: Plan) -> tuple[tuple[str, str, str], ...]:
    """The only basic graph pattern that a plan reads."""
    return made.reads[0] if made.reads else ()


def lines(made: Plan) -> list[tuple[str, str, str]]:
    """The lines of the pattern; they have no order."""
    return sorted(patterns(made))


def objects(*written: str) -> list[str]:
    """How each object is spelled in a plan."""
    return [patterns(planned(f"?s ?p {one}"))[0][2] for one in written]


def test_a_plan_is_the_pattern_and_what_is_shown_of_it() -> None:
    made = planned("?s x:p ?o . ?o a x:C", "SELECT ?o ?s")
    assert (made.variables, made.distinct) == (("o", "s"), False)
    assert lines(made) == [
        ("?o", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<http://x/C>"),
        ("?s", "<http://x/p>", "?o"),
    ]
    made = planned("?s x:p ?o", "SELECT DISTINCT ?s")
    assert (made.variables, made.distinct, made.reads) == (("s",), True, ((("?s", "<http://x/p>", "?o"),),))
    assert planned("?b x:p ?a", "SELECT *").variables == ("b", "a")
    assert planned("", "SELECT ?never").reads == () and planned("", "SELECT ?never").variables == ("never",)


def test_literals_keep_the_form_in_which_they_are_written() -> None:
    forms = ["1", "01", "+1", "1.0", "1.50", "1e0", "1.0E1", "true"]
    types = ["integer", "integer", "integer", "decimal", "decimal", "double", "double", "boolean"]
    assert objects(*forms) == [f'"{form}"^^<{XSD}{kind}>' for form, kind in zip(forms, types)]
    assert objects(f'"007"^^<{XSD}integer>', '"x"^^x:unit', f'"abc"^^<{XSD}integer>') == [
        f'"007"^^<{XSD}integer>',
        '"x"^^<http://x/unit>',
        f'"abc"^^<{XSD}integer>',
    ]


def test_terms_are_spelled_as_the_data_is() -> None:
    assert objects('"a"', f'"a"^^<{XSD}string>', '"""a"""', "'a'") == ['"a"'] * 4
    assert objects('"a"@EN-us', '"é\\u00e9"') == ['"a"@en-us', '"éé"']
    assert objects('"q\\"\\n\\t\\\\"', "'single \"'") == ['"q\\"\\n\\t\\\\"', '"single \\""']
    assert objects("<http://é/ü>", "x:") == ["<http://é/ü>", "<http://x/>"]


def test_blank_nodes_are_variables_that_cannot_be_shown() -> None:
    ((first, second),) = [pattern[::2] for pattern in patterns(planned("_:b x:p _:b"))]
    assert first == second and first.startswith("_:")
    made = planned("?s x:p [ x:q ?o ; x:r [] ]", "SELECT *")
    nodes = {node for pattern in patterns(made) for node in pattern if node.startswith("_:")}
    assert len(patterns(made)) == 3 and len(nodes) == 2 and made.variables == ("s", "o")


@pytest.mark.parametrize(
    "body, reads",
    [
        ("?s x:p/x:q ?o", {"p", "q"}),
        ("?s ^x:p ?o", {"p"}),
        ("?s x:p+ ?o", {"p"}),
        ("?s x:p|x:q ?o", {"p", "q"}),
        ("x:a x:p* ?o", {"p"}),
        ("x:a (x:p|x:q)? ?o", {"p", "q"}),
        ("?s x:p*/x:q ?o", {"p", "q"}),
        # From each node to itself, whatever is said of it.
        ("?s x:p* ?o", None),
        ("?s x:p? ?o", None),
        ("?s x:p*/x:q* ?o", None),
        ("?s (x:p|x:q*) ?o", None),
        ("?s !x:p ?o", None),
        ("?s !(x:p|^x:q) ?o", None),
    ],
)
def test_paths_read_the_predicates_that_they_name(body: str, reads: set[str] | None) -> None:
    made = planned(body)
    found = None if made.reads is None else {group[0][1].removeprefix("<http://x/")[:-1] for group in made.reads}
    assert found == reads


@pytest.mark.parametrize(
    "body, sentence",
    [
        (
            "SERVICE <urn:x> { ?s ?p ?o }",
            "SERVICE is not supported: the server sends no requests on behalf of a query. "
            "Load what the other endpoint knows as a background graph",
        ),
        (
            "?s ?p ?o FILTER(x:f(?o))",
            "the function <http://x/f> is not known: what can be called are SPARQL 1.1's "
            "functions, casts to XSD datatypes, and f:timestamp",
        ),
        (
            " . ".join(f"?s x:p{i} ?o{i}" for i in range(51)),
            "a graph pattern has 51 triples: 50 can be joined, at most",
        ),
    ],
)
def test_what_cannot_be_answered_is_named(body: str, sentence: str) -> None:
    with pytest.raises(Unsupported) as caught:
        planned(body)
    assert str(caught.value) == sentence


def test_equal_texts_have_equal_plans() -> None:
    assert planned("?s x:p 1") == planned("?s <http://x/p>   1 .")
    assert hash(planned("?s x:p 1")) == hash(planned("?s x:p 1"))
    assert planned("?s x:p 1") != planned("?s x:p 01")
