"""The language: C-SPARQL and RSP-QL texts become `ContinuousQuery` objects, rule files `RuleFile` objects, or a
`LanguageError` says why not.

- `tokens`     a text as words, each with its span
- `queries`    from a text to a `ContinuousQuery`
- `rules`      from a rule file to a `RuleFile`
- `updates`    from a text of SPARQL Update to its operations
- `durations`  lengths of time as texts write them
- `diagnostics`   what was found wrong in a text, in its order
- `errors`     one of these: what is wrong, where, and what to write instead

    from csparql_spark.language import parse, show

    query = parse("REGISTER QUERY Hot AS SELECT ?s FROM STREAM <http://ex.org/t> [RANGE 30s STEP 5s] { ?s ?p 1 }")
    query.windows, query.body, query.variables
    parse(show(query)) == query

    file = parse_rules("[r: (?a <urn:isIn> ?b) (?b <urn:isIn> ?c) -> (?a <urn:isIn> ?c)]")
    file.rules[0].body, file.rules[0].head
    parse_rules(show_rules(file)) == file
"""

from csparql_spark.language.errors import LanguageError
from csparql_spark.language.queries.describe import describe
from csparql_spark.language.queries.parser import parse
from csparql_spark.language.queries.printing import show
from csparql_spark.language.queries.query import ContinuousQuery, Window
from csparql_spark.language.rules.parser import parse_rules
from csparql_spark.language.rules.printing import show_rules
from csparql_spark.language.rules.rule import Atom, Guard, Rule, RuleFile

__all__ = [
    "Atom",
    "ContinuousQuery",
    "Guard",
    "LanguageError",
    "Rule",
    "RuleFile",
    "Window",
    "describe",
    "parse",
    "parse_rules",
    "show",
    "show_rules",
]
