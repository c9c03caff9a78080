"""Derivations: why a triple holds as long as it does, down to what was given.

A fact has a tag, the instant at which it stops holding. A derived fact holds as long as all its premises do, and
thanks to the derivation that holds longest: its tag is the maximum over its derivations of the minimum over the
premises of each. A rule with an empty body holds always.

    isin = Rule((Atom("?a", "<urn:isIn>", "?c"),), (Atom("?a", "<urn:isIn>", "?b"), Atom("?b", "<urn:isIn>", "?c")))
    facts = {("<urn:a>", "<urn:isIn>", "<urn:b>"): 11, ("<urn:b>", "<urn:isIn>", "<urn:c>"): 12}
    print(why([isin], facts, ("<urn:a>", "<urn:isIn>", "<urn:c>")))               # from which facts, by which rules

Every rule is applied to everything, again and again, until nothing becomes better, and each improvement is noted with
its reason: a thousand facts are fine, a million are not. Rules must have a closure (see `safety`).

A head that would have a literal as subject, or anything but an IRI as predicate, is no triple, and is not produced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from csparql_spark.entailment.evaluate.builtins import Binding
from csparql_spark.entailment.evaluate.lookup import Lookup, Triple, is_triple, matches
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.relations.tags import ALWAYS, NEVER


@dataclass(frozen=True, slots=True)
class Derivation:
    """Why a triple holds until its tag: it was given (no rule), or a rule made it from its premises."""

    triple: Triple
    tag: int
    rule: Rule | None = None
    premises: tuple[Derivation, ...] = ()

    def __str__(self) -> str:
        """One line for each step, premises below what they prove; what was shown before is not shown again."""
        lines, shown, waiting = [], set(), [(self, 0)]
        while waiting:
            step, depth = waiting.pop()
            known = bool(step.premises) and step.triple in shown
            shown.add(step.triple)
            reason = "given" if step.rule is None else f"by {step.rule.name or step.rule}"
            until = "always" if step.tag == ALWAYS else f"until {step.tag}"
            lines.append(f"{'  ' * depth}{' '.join(step.triple)}  {until}, {reason}{', as above' if known else ''}")
            if not known:
                waiting.extend((premise, depth + 1) for premise in reversed(step.premises))
        return "\n".join(lines)


def why(rules: Iterable[Rule], facts: Mapping[Triple, int], triple: Triple) -> Derivation | None:
    """A derivation that gives the triple its tag, or None when it does not hold.

    A step is noted when it improves a tag. Its premises end with a greater tag, or had the same tag in an earlier
    round: in that order what a step rests on comes before it, and no derivation leads back to itself.
    """
    closed, steps = _closed(rules, facts)
    if triple not in closed:
        return None
    needed, waiting = {triple}, [triple]
    while waiting:
        _, _, premises = steps.get(waiting.pop(), (0, None, ()))
        new = set(premises) - needed
        needed |= new
        waiting.extend(new)
    made: dict[Triple, Derivation] = {}
    for part in sorted(needed, key=lambda part: (-closed[part], steps[part][0] if part in steps else 0)):
        _, rule, premises = steps.get(part, (0, None, ()))
        made[part] = Derivation(part, closed[part], rule, tuple(made[premise] for premise in premises))
    return made[triple]


DerivationStep = tuple[int, Rule, tuple[Triple, ...]]  # the round, the rule and the premises that gave a triple its tag


def _closed(
    rules: Iterable[Rule], facts: Mapping[Triple, int]
) -> tuple[dict[Triple, int], dict[Triple, DerivationStep]]:
    rules, closed, steps, round_ = tuple(rules), dict(facts), {}, 0
    while True:
        round_ += 1
        better: dict[Triple, int] = {}
        known = Lookup(closed)
        for rule in rules:
            for binding in matches(rule, known):
                premises = tuple(_filled(atom, binding, rule) for atom in rule.body)
                tag = min((closed[premise] for premise in premises), default=ALWAYS)
                for atom in rule.head:
                    triple = _filled(atom, binding, rule)
                    if is_triple(triple) and tag > max(closed.get(triple, NEVER), better.get(triple, NEVER)):
                        better[triple] = tag
                        steps[triple] = (round_, rule, premises)
        if not better:
            return closed, steps
        closed.update(better)


def _filled(atom: Atom, binding: Binding, rule: Rule) -> Triple:
    for node in atom.variables:
        if node not in binding:
            raise ValueError(f"The head of {rule} uses {node}, which its body does not bind: use it in the body too.")
    subject, predicate, object_ = (binding.get(node, node) for node in atom.nodes)
    return subject, predicate, object_
