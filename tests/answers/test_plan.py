from __future__ import annotations

import pytest

from csparql_spark.answers.plan import Plan, Unsupported, plan
from csparql_spark.language import parse

XSD = "http://www.w3.org/2001/XMLSchema#"


def planned(body: str, head: str = "SELECT *") -> Plan:
    return plan(parse(f"PREFIX x: <http://x/> {head} FROM STREAM <urn:s> [RANGE 10s STEP 5s] WHERE {{ {body} }}"))


def lines(made: Plan) -> list[tuple[str, str, str]]:
    """The lines of the pattern; they have no order."""
    return sorted(made.patterns)


def objects(*written: str) -> list[str]:
    """How each object is spelled in a plan."""
    return [planned(f"?s ?p {one}").patterns[0][2] for one in written]


def test_a_plan_is_the_pattern_and_what_is_shown_of_it() -> None:
    made = planned("?s x:p ?o . ?o a x:C", "SELECT ?o ?s")
    assert (made.variables, made.distinct) == (("o", "s"), False)
    assert lines(made) == [("?o", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<http://x/C>"),
                           ("?s", "<http://x/p>", "?o")]
    assert planned("?s x:p ?o", "SELECT DISTINCT ?s") == Plan(("s",), True, (("?s", "<http://x/p>", "?o"),))
    assert planned("?b x:p ?a", "SELECT *") == Plan(("b", "a"), False, (("?b", "<http://x/p>", "?a"),))
    assert planned("", "SELECT ?never").patterns == () and planned("", "SELECT ?never").variables == ("never",)


def test_literals_keep_the_form_in_which_they_are_written() -> None:
    forms = ["1", "01", "+1", "1.0", "1.50", "1e0", "1.0E1", "true"]
    types = ["integer", "integer", "integer", "decimal", "decimal", "double", "double", "boolean"]
    assert objects(*forms) == [f'"{form}"^^<{XSD}{kind}>' for form, kind in zip(forms, types)]
    assert objects(f'"007"^^<{XSD}integer>', '"x"^^x:unit', f'"abc"^^<{XSD}integer>') == [
        f'"007"^^<{XSD}integer>', '"x"^^<http://x/unit>', f'"abc"^^<{XSD}integer>']


def test_terms_are_spelled_as_the_data_is() -> None:
    assert objects('"a"', f'"a"^^<{XSD}string>', '"""a"""', "'a'") == ['"a"'] * 4
    assert objects('"a"@EN-us', '"é\\u00e9"') == ['"a"@en-us', '"éé"']
    assert objects('"q\\"\\n\\t\\\\"', "'single \"'") == ['"q\\"\\n\\t\\\\"', '"single \\""']
    assert objects("<http://é/ü>", "x:") == ["<http://é/ü>", "<http://x/>"]


def test_blank_nodes_are_variables_that_cannot_be_shown() -> None:
    (first, second), = [pattern[::2] for pattern in planned("_:b x:p _:b").patterns]
    assert first == second and first.startswith("_:")
    made = planned("?s x:p [ x:q ?o ; x:r [] ]", "SELECT *")
    nodes = {node for pattern in made.patterns for node in pattern if node.startswith("_:")}
    assert len(made.patterns) == 3 and len(nodes) == 2 and made.variables == ("s", "o")


@pytest.mark.parametrize("body",
                         ["?s x:p/x:q ?o", "?s ^x:p ?o", "?s x:p* ?o", "?s x:p+ ?o", "?s x:p? ?o", "?s x:p|x:q ?o",
                          "?s !x:p ?o", "?s !(x:p|^x:q) ?o"])
def test_paths_are_refused(body: str) -> None:
    with pytest.raises(Unsupported, match="property paths are not supported yet|UNION is not supported yet"):
        planned(body)


def test_entailment_is_refused_as_long_as_nothing_is_entailed() -> None:
    with pytest.raises(Unsupported) as caught:
        plan(parse("REGISTER QUERY q USING ENTAILMENT RDFS AS SELECT ?s FROM STREAM <urn:s> [RANGE 10s STEP 5s] "
                   "WHERE { ?s ?p ?o }"))
    assert str(caught.value) == ("USING ENTAILMENT is not supported yet: what the window says is answered, "
                                 "not what follows from it")


def test_equal_texts_have_equal_plans() -> None:
    assert planned("?s x:p 1") == planned("?s <http://x/p>   1 .")
    assert hash(planned("?s x:p 1")) == hash(planned("?s x:p 1"))
    assert planned("?s x:p 1") != planned("?s x:p 01")
