"""Why: the derivation of a triple that a query's graph holds at an instant, from what its windows see.

A tag is the instant at which a triple stops to hold: for an element of a window its stamp + RANGE, for what follows the
earliest of its premises' tags, for what rests on background alone `ALWAYS`. Elements of windows that count have no such
instant: they are said to hold until the next one (instant + 1).

    facts = facts_of(query, instant, elements, background)
    derivation = why(rules, facts, ("<urn:a>", "<urn:isIn>", "<urn:c>"))
    str(derivation)                   # one line for each step, premises below what they prove

It is the naive twin that answers here, over the facts that can have a part in it: it is asked seldom, and believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyoxigraph as ox

from csparql_spark.entailment.naive import ALWAYS, Derivation, Triple
from csparql_spark.entailment.naive import why as derived
from csparql_spark.entailment.pruning import may_match, prune
from csparql_spark.language import ContinuousQuery
from csparql_spark.language.rules import Atom, Rule
from csparql_spark.pipeline.admission import Refusal
from csparql_spark.pipeline.instants import seen_by
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import TermError
from csparql_spark.rdf.terms import from_oxigraph

MOST_FACTS = 50_000


def triple_of(text: str) -> Triple:
    """The triple of a text: three terms in N-Triples syntax. Raises `Refusal`."""
    written = text.strip().removesuffix(".").strip()
    try:
        quads = ox.parse(f"{written} .", format=ox.RdfFormat.TURTLE)
        triples = [tuple(map(from_oxigraph, quad.triple)) for quad in quads]
    except (SyntaxError, TermError) as error:
        raise Refusal("bad-triple", f"{text!r} is not a triple: write its subject, predicate and object as in "
                      f'<urn:a> <urn:p> "1" ({error})') from error
    if len(triples) != 1:
        raise Refusal("bad-triple", f"{text!r} holds {len(triples)} triples: ask for one")
    return triples[0]


def facts_of(query: ContinuousQuery, instant: int, elements: Mapping[str, Iterable[Chunk]],
             background: Mapping[str, Chunk]) -> dict[Triple, int]:
    """What the windows of a query see at an instant, and its background, with tags. `elements`: the stamped chunks of
    each stream, in the order of the log, up to the instant."""
    facts: dict[Triple, int] = {}
    for window in query.windows:
        chunk = Chunk.concat(list(elements.get(window.stream, ())))
        seen = chunk.take(seen_by(window, chunk.t, instant))
        until = seen.t + window.range if window.range is not None else np.full(len(seen), instant + 1)
        for triple, tag in zip(seen.triples(), until.tolist(), strict=True):
            facts[triple] = max(tag, facts.get(triple, tag))
    for graph in query.graphs:
        facts.update(dict.fromkeys(background[graph].triples(), ALWAYS))
    return facts


def why(rules: Sequence[Rule], facts: Mapping[Triple, int], triple: Triple) -> Derivation | None:
    """A derivation that gives the triple its tag; None if it does not hold. Raises `Refusal` if there is too much to
    look at."""
    needed = prune(rules, [Atom(*triple)])
    wanted = list({atom for rule in needed for atom in rule.body})
    seen = {fact: tag for fact, tag in facts.items()
            if fact == triple or any(may_match(Atom(*fact), atom) for atom in wanted)}
    if len(seen) > MOST_FACTS and needed:
        raise Refusal("not-supported", f"{len(seen):,} triples can have a part in this, and at most {MOST_FACTS:,} are "
                      "looked at to explain one: ask about a query with a narrower window")
    return derived(needed, seen, triple)


def as_tree(derivation: Derivation) -> dict[str, object]:
    """The derivation as JSON: `until` is missing where the triple holds for ever."""
    told: dict[str, object] = {"triple": list(derivation.triple)}
    if derivation.tag != ALWAYS:
        told["until"] = derivation.tag
    if derivation.rule is None:
        return told | {"given": True}
    rule = derivation.rule
    return told | {"rule": rule.name or str(rule), "text": str(rule),
                   "premises": [as_tree(premise) for premise in derivation.premises]}

