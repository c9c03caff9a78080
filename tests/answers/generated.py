"""Random datasets and random queries over them, for the tests of what a body says.

The literals are those that Oxigraph's store keeps as they are, so that it can be asked the same. Variables have a kind
(`?a` is a node, `?n` a number, `?t` a text, `?z` anything), so that most expressions have a value and that aggregates
have one result: of mixed kinds, MIN is a matter of taste.
"""

from __future__ import annotations

import random

from hypothesis import strategies as st

from csparql_spark.rdf.terms import XSD

Quad = tuple[str, str, str, str]

NUMBERS = [
    f'"{text}"^^<{XSD}{kind}>'
    for text, kind in (
        ("1", "integer"),
        ("2", "integer"),
        ("-10", "integer"),
        ("2.5", "decimal"),
        ("2", "decimal"),
        ("0.5", "double"),
        ("2", "double"),
        ("0.25", "float"),
    )
]
TEXTS = ['"a"', '"b"', '"a b"', '"a"@en', '"b"@de', '"1"', '""']
OTHERS = [
    f'"true"^^<{XSD}boolean>',
    f'"2026-01-05T09:00:00Z"^^<{XSD}dateTime>',
    '"x"^^<urn:unit>',
    f'"x"^^<{XSD}integer>',
    f'"P1D"^^<{XSD}dayTimeDuration>',
    f'"2026-01-05"^^<{XSD}date>',
]
NODES = ["<urn:a>", "<urn:b>", "<urn:c>", "_:d", "_:e"]
GRAPHS = ["<urn:g>", "<urn:h>"]
KINDS = {
    "<urn:r>": NODES,
    "<urn:q>": NODES,
    "<urn:n>": NUMBERS,
    "<urn:t>": TEXTS,
    "<urn:any>": [*NODES, *NUMBERS, *TEXTS, *OTHERS],
}


def dataset(seed: int) -> list[Quad]:
    """Some quads, which the seed chooses."""
    chance = random.Random(seed)
    # What queries name is in every graph: of a term that is not, Oxigraph forgets that a path may have no length.
    found = [(graph, "<urn:a>", "<urn:any>", "<urn:b>") for graph in ("", *GRAPHS)]
    for _ in range(chance.randint(0, 36)):
        predicate = chance.choice(list(KINDS))
        found.append(
            (chance.choice(["", "", "", "", *GRAPHS]), chance.choice(NODES), predicate, chance.choice(KINDS[predicate]))
        )
    return found


datasets = st.integers(0, 2**32 - 1).map(dataset)


def one_of(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


def filled(template: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The template with each `$` replaced by one of its parts."""

    def put(*texts: str) -> str:
        first, *rest = template.split("$")
        return first + "".join(text + piece for text, piece in zip(texts, rest, strict=True))

    return st.builds(put, *parts)


# --- patterns

starts = one_of("?a", "?a", "?a", "?b", "?b", "?c", "<urn:a>")
ends = one_of("?a", "?b", "?b", "?c", "?c", "<urn:b>", "[]")
numbers = one_of("?n", "?n", "?n", "?m", "2.5")
texts = one_of("?t", "?t", "?t", "?u", '"a"')
# Of a negated set by itself Oxigraph forgets how many links there are (see `test_negated`).
paths = one_of(
    "<urn:r>",
    "<urn:r>+",
    "<urn:r>/<urn:q>",
    "^<urn:r>",
    "(<urn:r>|<urn:q>)+",
    "<urn:r>*",
    "<urn:q>?",
    "(!<urn:r>)+",
    "(!(<urn:n>|^<urn:r>)|<urn:r>)",
    "<urn:r>/<urn:q>*",
    "(<urn:r>|^<urn:q>)",
    "(<urn:r>/<urn:q>)*",
)
triples = st.one_of(
    filled("$ <urn:r> $ . ", starts, ends),
    filled("$ <urn:n> $ . ", starts, numbers),
    filled("$ <urn:t> $ . ", starts, texts),
    filled("$ $ $ . ", starts, paths, ends),
    filled("$ ?p ?z . ", starts),
    filled("$ <urn:any> ?z . ", starts),
    filled("$ <urn:r> [ <urn:n> $ ] . ", starts, numbers),
    filled("$ <urn:n> $ ; <urn:t> $ . ", starts, numbers, texts),
)
basic = st.one_of(triples, filled("$$", triples, triples))


# --- expressions

ANY = one_of("?a", "?b", "?n", "?m", "?t", "?z", "?p")
EXISTING = filled("EXISTS { $ }", basic)
tests = st.one_of(
    filled("?n $ ?m", one_of("=", "!=", "<", ">=")),
    filled("?n > $", one_of("1", "2.0", "2e0")),
    filled("bound($)", ANY),
    filled("isBlank($)", ANY),
    filled("isLiteral($)", ANY),
    filled("sameTerm($, $)", ANY, ANY),
    filled('regex(str($), "[ab]")', ANY),
    filled('$ IN (1, 2.0, "a", <urn:b>)', ANY),
    filled('lang(?t) = "$"', one_of("", "en")),
    filled(f"datatype($) = <{XSD}integer>", ANY),
    filled("$ != <urn:a>", ANY),
    filled('?t = "$"', one_of("a", "1")),
    filled("$ = $", ANY, ANY),
    EXISTING,
    filled("NOT $", EXISTING),
    filled("!(?n > 1) $ bound(?b)", one_of("&&", "||")),
    filled('contains(?t, "a") $ ?n < 2', one_of("&&", "||")),
)
values = st.one_of(
    ANY,
    filled("str($)", ANY),
    filled("?n $ ?m", one_of("+", "-", "*")),
    filled("?n + $", one_of("1", "0.5", "1e0")),
    filled('concat(str($), "-", str($))', ANY, ANY),
    filled("if($, $, $)", tests, ANY, ANY),
    filled("coalesce($, $)", ANY, ANY),
    filled("coalesce($, 7)", ANY),
    one_of("7", '"a"@en', "<urn:a>", '"a"', "true"),
    filled("datatype($)", ANY),
    filled("strlen(?t)"),
    filled("ucase(?t)"),
    filled("isNumeric($)", ANY),
    filled("abs(?n)"),
    filled("($)", tests),
    filled(f"<{XSD}string>($)", ANY),
    filled(f"<{XSD}integer>($)", ANY),
)
aggregates = st.one_of(
    one_of(
        "COUNT(*)",
        "SUM(?n)",
        "AVG(?n)",
        "MIN(?n)",
        "MAX(?m)",
        "MIN(str(?t))",
        "MAX(str(?t))",
        "SUM(DISTINCT ?n)",
        "AVG(?n + 1)",
        "MAX(?a)",
        "MIN(?a)",
        "SUM(?n) + COUNT(?a)",
        'strlen(GROUP_CONCAT(?t ; SEPARATOR = ", "))',
        "strlen(GROUP_CONCAT(DISTINCT ?t))",
        "SUM(?n) / 2",
    ),
    filled("COUNT($)", ANY),
    filled("COUNT(DISTINCT $)", ANY),
)


# --- groups and queries


def groups(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        filled("$ OPTIONAL { $ }", inner, inner),
        filled("$ OPTIONAL { $ FILTER($) }", inner, basic, tests),
        filled("{ $ } UNION { $ }", inner, inner),
        filled("$ MINUS { $ }", inner, inner),
        filled("$ FILTER($)", inner, tests),
        filled("$ { $ }", basic, inner),
        filled("$ { SELECT $ { $ } }", basic, one_of("*", "?a ?n", "DISTINCT ?a"), inner),
        filled("$ { SELECT ?a ($ AS ?l) { $ } GROUP BY ?a }", basic, aggregates, basic),
        filled("$ VALUES $", inner, one_of("?a { <urn:a> <urn:b> }", '(?t ?n) { ("a" 2) (UNDEF 2.5) ("a"@en UNDEF) }')),
        filled("GRAPH $ { $ }", one_of("<urn:g>", "?g"), basic),
        filled("$ GRAPH ?g { $ }", basic, basic),
    )


patterns = st.recursive(basic, groups, max_leaves=4)
wholes = st.one_of(
    patterns, filled("$ BIND($ AS ?v)", patterns, values), filled("$ BIND($ AS ?v) FILTER($)", patterns, values, tests)
)
keys = one_of("?a", "?a ?t", "?z", "?b", "?n")
queries = st.one_of(
    filled("SELECT $ { $ }", one_of("*", "?a ?n", "DISTINCT ?a ?z", "DISTINCT *", "?v ?t"), wholes),
    filled("SELECT ?a ($ AS ?w) { $ }", values, patterns),
    filled("SELECT DISTINCT ($ AS ?w) { $ }", values, patterns),
    filled("SELECT ($ AS ?k) { $ }", aggregates, wholes),
    keys.flatmap(lambda key: filled(f"SELECT {key} ($ AS ?k) {{ $ }} GROUP BY {key}", aggregates, wholes)),
    keys.flatmap(
        lambda key: filled(
            f"SELECT {key} ($ AS ?k) {{ $ }} GROUP BY {key} HAVING ($ $)",
            aggregates,
            wholes,
            aggregates,
            one_of("> 1", "< 3", "= 2"),
        )
    ),
    filled("SELECT ?w ($ AS ?k) { $ } GROUP BY ($ AS ?w)", aggregates, patterns, values),
    filled("SELECT ?a ?n { $ } ORDER BY $", wholes, one_of("?n", "DESC(?n)", "?a ?n")),
    filled("ASK { $ }", wholes),
)

# What has an answer of its own choice: rows of no order, chance.
slices = st.one_of(
    filled("SELECT * { $ } LIMIT 2", wholes),
    filled("SELECT ?a ?t { $ } ORDER BY $ LIMIT 3", wholes, ANY),
    filled("SELECT DISTINCT ?z { $ } ORDER BY ?n OFFSET 1", wholes),
    filled("SELECT ?z { $ } ORDER BY DESC(?z)", wholes),
    filled("SELECT * { { SELECT ?z { $ } ORDER BY ?z LIMIT 2 } $ }", wholes, basic),
)
chances = st.one_of(
    filled("SELECT * { $ BIND($ AS ?v) }", patterns, one_of("rand()", "uuid()", "bnode()", "bnode(str(?t))", "now()")),
    filled("SELECT ?a (SAMPLE(?z) AS ?x) (GROUP_CONCAT(?t) AS ?y) (SUM(RAND()) AS ?w) { $ } GROUP BY ?a", patterns),
    filled("SELECT (MIN(?z) AS ?x) (MAX(?z) AS ?y) (SUM(?z) AS ?w) { $ }", patterns),
    filled("CONSTRUCT { ?a <urn:x> [ <urn:y> ?z ] . ?z <urn:w> ?a } { $ }", patterns),
    filled("DESCRIBE ?a ?z { $ }", patterns),
)
