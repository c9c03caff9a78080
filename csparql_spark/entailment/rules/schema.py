"""Partial evaluation: rules in which the schema is already worked out.

Most rules of RDFS and OWL ask the schema what to do: `(?p domain ?c) (?x ?p ?y) -> (?x type ?c)`. Once the schema is
known, such a rule falls apart into rules about data only, one for each way to match its schema atoms:

    special = specialise(rule_set("rho-df"), [("<urn:drives>", RDFS_DOMAIN, "<urn:Driver>")])
    special.rules              # (?x <urn:drives> ?y) -> (?x rdf:type <urn:Driver>), and nothing more
    special.assumed            # domain, range, subClassOf, subPropertyOf: what else is said with these is not seen

Under that assumption the new rules and the old ones give the same closure, tags included, of all facts that contain
the schema. The schema itself holds always. It need not be closed, but what it is known to entail makes for fewer rules.

How. An atom is *of the schema* when its predicate is a word of the schema, or when it gives something a class that is
one (`?p rdf:type owl:TransitiveProperty`). What can be known about such an atom is a set of *clauses*: the triples of
the schema, and conditional ones, such as `(?a subPropertyOf ?a)` if `(?a type Property)`: some rules derive schema
triples from data. The clauses are found by resolving the schema atoms of the rules that derive schema triples with the
clauses that are there, until there is nothing new; clauses that say less than another are dropped. Then the schema
atoms of all rules are resolved with the clauses. Where either gets too many, there is no specialising: a word whose
clauses do not come to an end, or get long, is given up, and a rule that would become more than `limit` rules stays as
it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from csparql_spark.entailment.evaluate.builtins import MAKERS, passed
from csparql_spark.entailment.evaluate.lookup import Lookup, Triple
from csparql_spark.entailment.rules.pruning import Substitution, final, may_match, unified
from csparql_spark.language.rules.rule import Atom, Guard, Rule, is_variable
from csparql_spark.rdf.terms import RDF, iri

RDFS, OWL = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2002/07/owl#"
TYPE = iri(RDF + "type")
WORDS = frozenset(
    [
        iri(RDFS + name)
        for name in ("subClassOf", "subPropertyOf", "domain", "range", "Datatype", "ContainerMembershipProperty")
    ]
    + [
        iri(OWL + name)
        for name in (
            "inverseOf",
            "equivalentClass",
            "equivalentProperty",
            "onProperty",
            "hasValue",
            "someValuesFrom",
            "allValuesFrom",
            "FunctionalProperty",
            "InverseFunctionalProperty",
            "SymmetricProperty",
            "TransitiveProperty",
        )
    ]
)  # predicates and classes

LONGEST = 4  # atoms in the body of a clause, and in rules that are compared
MOST_WAYS = 20_000  # to resolve one rule, those included that lead to nothing


@dataclass(frozen=True, slots=True)
class Specialised:
    """Rules that presume a schema."""

    rules: tuple[Rule, ...]  # all rules to evaluate
    assumed: frozenset[str]  # predicates of which everything that is given is in the schema
    assumed_classes: frozenset[str]  # classes of which the same is presumed


def specialise(
    rules: Iterable[Rule], schema: Iterable[Triple], *, limit: int = 200, words: Iterable[str] = WORDS
) -> Specialised:
    """The rules with the schema worked out, as far as no rule becomes more than `limit` rules.

    `words` are the predicates, and the classes, that nothing but the schema is expected to use.
    """
    rules, schema, words = tuple(rules), frozenset(schema), frozenset(words)
    topics = frozenset(topic for rule in rules for atom in rule.body if (topic := _topic(atom, words)) is not None)
    while True:
        known = SchemaClauses(rules, schema, topics, limit)
        if not known.endless:
            return _specialised(rules, schema, known, limit)
        topics -= known.endless


def _topic(atom: Atom, words: frozenset[str]) -> Atom | None:
    """What an atom of the schema is about, as a pattern; None for other atoms."""
    if atom.predicate in words:
        return _all_with(atom.predicate)
    return _all_with(TYPE, atom.object) if atom.predicate == TYPE and atom.object in words else None


def _all_with(predicate: str, object_: str = "?object") -> Atom:
    return Atom("?subject", predicate, object_)


def _specialised(rules: tuple[Rule, ...], schema: frozenset[Triple], known: SchemaClauses, limit: int) -> Specialised:
    plain, general, used = Shelf(rule for rule in rules if not known.asked(rule)), [], set()
    for rule in rules:
        if not known.asked(rule):
            continue
        new = Shelf()
        try:
            for special in known.resolved(rule):
                heads = tuple(
                    atom
                    for atom in special.head
                    if atom.nodes not in schema
                    and not any(shelf.subsumes(replace(special, head=(atom,))) for shelf in (plain, new))
                )
                if heads:
                    new.put(replace(special, head=heads))
                if len(new.rules) > limit:
                    raise TooManyWays
        except TooManyWays:
            general.append(rule)
            continue
        used |= known.behind(known.asked(rule))
        for special in new.rules:
            plain.put(special)
    return Specialised(
        (*plain.rules, *general),
        frozenset(topic.predicate for topic in used if is_variable(topic.object)),
        frozenset(topic.object for topic in used if not is_variable(topic.object)),
    )


class TooManyWays(Exception):
    """There are more ways to resolve a rule than anybody wants."""


class Shelf:
    """Rules, to be asked whether one of them subsumes another."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules: list[Rule] = []
        self._by_predicate: dict[str, list[Rule]] = defaultdict(list)  # of a head's atom; "?" for all variables
        for rule in rules:
            self.put(rule)

    def put(self, rule: Rule) -> None:
        self.rules.append(rule)
        for predicate in {_constant(atom.predicate) for atom in rule.head}:
            self._by_predicate[predicate].append(rule)

    def subsumes(self, special: Rule) -> bool:
        predicates = {"?", _constant(special.head[0].predicate)}
        return any(subsumes(rule, special) for key in predicates for rule in self._by_predicate.get(key, ()))


def _constant(node: str) -> str:
    return "?" if is_variable(node) else node


class SchemaClauses:
    """What is known about the topics of the schema: triples that hold always, and rules for more of them whose bodies
    do not ask the schema again."""

    def __init__(self, rules: tuple[Rule, ...], schema: frozenset[Triple], topics: frozenset[Atom], limit: int) -> None:
        self.facts = set(schema)  # what holds always
        self.lookup = Lookup(sorted(self.facts))
        self.conditional: dict[Atom, list[Rule]] = {topic: [] for topic in topics}
        self.endless: frozenset[Atom] = frozenset()  # topics whose clauses are too many
        self.makers = [maker for rule in rules for maker in self._makers(rule)]
        self._saturate(limit)

    def topic(self, atom: Atom) -> Atom | None:
        return next(
            (
                topic
                for topic in (_all_with(atom.predicate), _all_with(atom.predicate, atom.object))
                if topic in self.conditional
            ),
            None,
        )

    def asked(self, rule: Rule) -> set[Atom]:
        """The topics that a rule's body asks about."""
        return {topic for atom in rule.body if (topic := self.topic(atom)) is not None}

    def given(self, atom: Atom) -> bool:
        return atom.nodes in self.facts

    def behind(self, topics: set[Atom]) -> set[Atom]:
        """These topics, and those that were asked about to know of them."""
        found = set(topics)
        while (
            more := {
                topic for maker in self.makers if self.topic(maker.head[0]) in found for topic in self.asked(maker)
            }
            - found
        ):
            found |= more
        return found

    def resolved(self, rule: Rule) -> Iterator[Rule]:
        """The rule with its schema atoms replaced by what makes them true, in every way; without those that would
        conclude what they start from, or no triple at all. Raises `TooManyWays` after `MOST_WAYS`."""
        for number, found in enumerate(self._resolved(rule)):
            if number == MOST_WAYS:
                raise TooManyWays
            if found is not None:
                yield found

    def _resolved(self, rule: Rule) -> Iterator[Rule | None]:
        first = next(
            ((place, topic) for place, atom in enumerate(rule.body) if (topic := self.topic(atom)) is not None), None
        )
        if first is None:
            yield _simplified(replace(rule, body=tuple(atom for atom in rule.body if not self.given(atom))))
            return
        place, topic = first
        atom, rest = rule.body[place], replace(rule, body=rule.body[:place] + rule.body[place + 1 :])
        taken = mentioned(rule)
        clauses = self.conditional[topic]
        for clause in [
            *(Rule((Atom(*fact),), ()) for fact in self.lookup.candidates(atom.nodes)),
            *(renamed_apart(clause, taken) for clause in clauses if may_match(clause.head[0], atom)),
        ]:
            found = resolved_with(rest, atom, clause)
            if found is None:
                yield None
            else:
                yield from self._resolved(found)

    def _makers(self, rule: Rule) -> Iterator[Rule]:
        """The rule as one that makes triples of the schema, for each of its head's atoms and each topic it may have."""
        for atom in rule.head:
            for topic in sorted(self.conditional, key=str):
                found = resolved_with(
                    replace(rule, head=(atom,)), atom, renamed_apart(Rule((topic,), ()), mentioned(rule))
                )
                if found is not None:
                    yield found

    def _saturate(self, limit: int) -> None:
        shelf = Shelf()
        while True:
            facts, conditional = set(), []
            for maker, clause in self._round():
                if clause is None:
                    self.endless = frozenset({self._topic_of(maker)})
                    break
                if self.given(clause.head[0]) or clause.head[0].nodes in facts:
                    continue
                if not clause.body and not clause.guards:
                    facts.add(clause.head[0].nodes)
                    continue
                clause = _with_subject(clause)
                if shelf.subsumes(clause):
                    continue
                shelf.put(clause)
                conditional.append(clause)
                if len(shelf.rules) > limit or len(clause.body) > LONGEST:
                    self.endless = frozenset(self._topic_of(clause) for clause in conditional)
                    break
            for clause in conditional:
                self.conditional[self._topic_of(clause)].append(clause)
            if not facts and not conditional or self.endless:
                return
            self.facts |= facts
            self.lookup = Lookup(sorted(self.facts))

    def _topic_of(self, clause: Rule) -> Atom:
        """What a clause or a maker is about: its head is a triple of the schema."""
        topic = self.topic(clause.head[0])
        assert topic is not None
        return topic

    def _round(self) -> Iterator[tuple[Rule, Rule | None]]:
        """What the makers become with the clauses that are there, and None for one that becomes too many."""
        for maker in self.makers:
            try:
                for clause in self.resolved(maker):
                    yield maker, clause
            except TooManyWays:
                yield maker, None


def _simplified(rule: Rule) -> Rule | None:
    """The rule without what is known of it: guards that hold anyway, conclusions that are premises or no triples. None
    when nothing is left of it."""
    for place, guard in enumerate(rule.guards):
        if not any(map(is_variable, guard.arguments[:-1] if guard.name in MAKERS else guard.arguments)):
            found = passed(guard, {})
            if found is None:
                return None
            others = rule.guards[:place] + rule.guards[place + 1 :]
            return _simplified(applied(replace(rule, guards=others), found))
    heads = tuple(
        atom
        for atom in dict.fromkeys(rule.head)
        if atom not in rule.body and not atom.subject.startswith('"') and not atom.predicate.startswith(('"', "_:"))
    )
    if not heads:
        return None
    return replace(rule, head=heads, body=tuple(dict.fromkeys(rule.body)), guards=tuple(dict.fromkeys(rule.guards)))


def mentioned(rule: Rule) -> set[str]:
    """All variables of a rule, those of its guards and its head too."""
    return {
        *(node for atom in (*rule.head, *rule.body) for node in atom.variables),
        *(node for guard in rule.guards for node in guard.variables),
    }


def applied(rule: Rule, found: Substitution) -> Rule:
    """The rule with nodes in the place of variables."""

    def atoms(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
        return tuple(Atom(*(final(node, found) for node in atom.nodes)) for atom in atoms)

    guards = tuple(Guard(guard.name, tuple(final(node, found) for node in guard.arguments)) for guard in rule.guards)
    return replace(rule, head=atoms(rule.head), body=atoms(rule.body), guards=guards)


def renamed_apart(rule: Rule, taken: set[str]) -> Rule:
    """The rule with none of these variables."""
    own = mentioned(rule)
    fresh: dict[str, str] = {}
    for node in sorted(own & taken):
        number = 1
        while (new := f"{node}{number}") in taken or new in own or new in fresh.values():
            number += 1
        fresh[node] = new
    return applied(rule, fresh)


def resolved_with(rest: Rule, atom: Atom, clause: Rule) -> Rule | None:
    """What becomes of a rule when an atom of its body, which `rest` has no more, is proved by a clause, or None when
    the two do not fit. The clause's guards come first: the rule's own may use what they bind."""
    found = unified(atom, clause.head[0])
    if found is None:
        return None
    return applied(replace(rest, body=(*rest.body, *clause.body), guards=(*clause.guards, *rest.guards)), found)


def subsumes(general: Rule, special: Rule) -> bool:
    """Whether the general rule concludes all that the special one does, which has one atom in its head, from some of
    the same premises: then its conclusions have at least the same tags. Of long rules, only equal ones are found: the
    ways to lay one rule onto another are as many as the assignments of its atoms."""
    if len(general.body) > LONGEST:
        return general == special
    wanted = [
        *(("atom", *atom.nodes) for atom in general.body),
        *((guard.name, *guard.arguments) for guard in general.guards),
    ]
    there = [
        *(("atom", *atom.nodes) for atom in special.body),
        *((guard.name, *guard.arguments) for guard in special.guards),
    ]
    target = ("atom", *special.head[0].nodes)

    def embedded(place: int, found: Substitution) -> bool:
        return place == len(wanted) or any(
            (more := _instance(wanted[place], part, found)) is not None and embedded(place + 1, more) for part in there
        )

    return any(
        (found := _instance(("atom", *atom.nodes), target, {})) is not None and embedded(0, found)
        for atom in general.head
    )


def _instance(general: tuple[str, ...], special: tuple[str, ...], found: Substitution) -> Substitution | None:
    """What the variables of the general one stand for in the special one, beyond what was found, or None."""
    if len(general) != len(special):
        return None
    found = dict(found)
    fits = all(
        found.setdefault(one, other) == other if is_variable(one) else one == other
        for one, other in zip(general, special)
    )
    return found if fits else None


def _with_subject(clause: Rule) -> Rule:
    """The clause with the condition that its subject is none of the literals, where its body leaves that open."""
    subject = clause.head[0].subject
    sure = {node for atom in clause.body for node in (atom.subject, atom.predicate)}
    guard = Guard("notLiteral", (subject,))
    if not is_variable(subject) or subject in sure or guard in clause.guards:
        return clause
    return replace(clause, guards=(*clause.guards, guard))
