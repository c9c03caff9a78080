from __future__ import annotations

import pytest

from csparql_spark.entailment.rules.regimes import known, rules_of
from csparql_spark.entailment.rules.sets import RuleSetError, rule_set
from csparql_spark.language import parse_rules

MINE = "@include <rho-df>. [(?a <urn:p> ?b) -> (?b <urn:p> ?a)]"


def test_names_as_queries_write_them() -> None:
    assert [
        known(name, ())
        for name in (
            "rdfs",
            "RDFS",
            "Rho-DF",
            "http://www.w3.org/ns/entailment/RDFS",
            "http://www.w3.org/ns/entailment/RDF",
        )
    ] == ["rdfs", "rdfs", "rho-df", "rdfs-full", "rdf-full"]
    assert known("mine", {"mine"}) == "mine"
    with pytest.raises(RuleSetError) as caught:
        known("Mine", {"mine"})
    assert str(caught.value) == (
        "there is no rule set 'Mine': there are owl-horst, rdf-full, rdfs, rdfs-full, rho-df, "
        "mine; PUT /rules/{name} brings others"
    )


def test_several_regimes_are_one() -> None:
    both = rules_of(("rho-df", "mine"), {"mine": MINE})
    assert both == (*rule_set("rho-df"), *parse_rules(MINE).rules)
    assert set(rules_of(("mine",), {"mine": MINE})) == set(both)
