"""The W3C's syntax tests: what is SPARQL is read, and what is not is told where it goes wrong."""

from __future__ import annotations

import pytest

from csparql_spark.language import LanguageError, parse

from ..w3c import ROOT, Case, cases

GOOD = list(cases("PositiveSyntaxTest"))
BAD = [*cases("NegativeSyntaxTest"), *cases("NegativeSyntaxTest11")]

pytestmark = pytest.mark.skipif(not GOOD, reason=f"the W3C's tests are not at {ROOT}: clone w3c/rdf-tests there")


def read(case: Case) -> None:
    name = case.files.get("action") or case.files["query"]
    parse(case.path(name).read_text(encoding="utf-8"), base=case.base + name)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in GOOD])
def test_what_is_sparql_is_read(case: Case) -> None:
    read(case)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in BAD])
def test_what_is_not_is_refused_with_a_place(case: Case) -> None:
    with pytest.raises(LanguageError, match=r"^line \d+, column \d+: "):
        read(case)


def test_there_are_some_of_both() -> None:
    assert (len(GOOD), len(BAD)) == (149, 54)
