"""From a text to a `RuleFile`.

The steps, for one rule after another: its clauses; its names and terms; whether it makes sense; its guards in an order
in which they can be called. Everything that is wrong with a rule is gathered, and the leftmost of it is raised.

    file = parse_rules("@prefix ex: <http://ex.org/>.  [isIn: (?a ex:isIn ?b) (?b ex:isIn ?c) -> (?a ex:isIn ?c)]")
    file.rules[0].head       # (Atom('?a', '<http://ex.org/isIn>', '?c'),)

How large a text may be stands in `bounds`.
"""

from __future__ import annotations

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.queries.bounds import check_size
from csparql_spark.language.rules.bounds import MOST_RULES, check_written
from csparql_spark.language.rules.checks import RuleChecks
from csparql_spark.language.rules.reading import Reader, RuleDraft, Unfit
from csparql_spark.language.rules.rule import Rule, RuleFile
from csparql_spark.language.rules.terms import RuleTerms
from csparql_spark.language.rules.tokens import rule_tokens
from csparql_spark.language.rules.traps import rule_diagnostic


def parse_rules(text: str, *, base: str | None = None, stored: bool = False) -> RuleFile:
    """The rules of a text in Jena's syntax; raises `LanguageError` and nothing else.

    `base` is what relative IRIs start from. Nothing is fetched: `includes` are names of rule sets. Of a text that is
    `stored` already, what was let in once is not refused: patterns that cannot be matched are warnings.
    """
    check_size(text)
    tokens = rule_tokens(text)
    diagnostics = Diagnostics(text)
    terms = RuleTerms(base, tokens, diagnostics)
    reader = Reader(tokens, terms)
    checks = RuleChecks(diagnostics, stored=stored)
    rules: list[Rule] = []
    while not reader.ended:
        draft = None
        try:
            draft = reader.item()
        except Unfit as unfit:
            diagnostics.put(rule_diagnostic(text, tokens, unfit))
            if unfit.draft is not None:
                checks.part(unfit.draft, unfit.clause)
        rule = checks.rule(draft) if draft is not None else None
        diagnostics.raise_first()
        if rule is not None:
            rules.append(rule)
        if draft is not None and len(rules) > MOST_RULES:
            _refuse_more(draft, diagnostics)
    file = RuleFile(tuple(rules), tuple(terms.includes), diagnostics.warnings, tuple(checks.patterns))
    check_written(file)
    return file


def _refuse_more(draft: RuleDraft, diagnostics: Diagnostics) -> None:
    message = f"The text goes on after {MOST_RULES} rules."
    diagnostics.add(draft.start, draft.end, "too-large", message, hint="Write several files.")
    diagnostics.raise_first()
