"""Random rule programs and random histories of what is stated and taken back, for all strategies, and what each
history leads to according to the naive twin."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from csparql_spark.entailment.maintain.counting import RecursiveRules
from csparql_spark.entailment.maintain.strategy import Materialization
from csparql_spark.entailment.rules.safety import recursive
from csparql_spark.language.rules.rule import Atom, Guard, Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.tags import ALWAYS
from tests.entailment.twin import closure, is_triple

Triple = tuple[str, str, str]

RESOURCES = ["<urn:a>", "<urn:b>", "_:c"]
PROPERTIES = ["<urn:p>", "<urn:p>", "<urn:q>", "<urn:a>"]  # the last is a resource, too
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
LITERALS = ['"1"', f'"01"^^{INTEGER}', f'"1"^^{INTEGER}']
VARIABLES = ["?x", "?y", "?z", "?v"]

subjects = st.sampled_from(RESOURCES)
predicates = st.sampled_from(PROPERTIES)
objects = st.sampled_from(RESOURCES * 2 + LITERALS)
variables = st.sampled_from(VARIABLES)
atoms = st.builds(
    Atom, variables | variables | subjects, predicates | predicates | variables, variables | variables | objects
)
triples = st.tuples(subjects, predicates, objects)
facts = st.dictionaries(triples, st.integers(1, 9) | st.just(ALWAYS), max_size=6)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    body = tuple(draw(st.lists(atoms, max_size=3)))
    known = list(dict.fromkeys(node for atom in body for node in atom.variables))
    # Constants are rare: rules should meet.
    bound = st.sampled_from(known) if known else st.nothing()
    head = st.builds(Atom, bound | bound | subjects, predicates | predicates | bound, bound | bound | objects)
    guards = st.builds(Guard, st.sampled_from(["equal", "notEqual"]), st.tuples(bound, bound | objects))
    return Rule(
        tuple(draw(st.lists(head, min_size=1, max_size=2))),
        body,
        tuple(draw(st.lists(guards, max_size=1))) if known else (),
    )


@st.composite
def layered_rules(draw: st.DrawFn) -> Rule:
    """Rules that read <urn:p> and write <urn:q>, or read that and write <urn:r>: never recursive."""
    read, write = draw(st.sampled_from([("<urn:p>", "<urn:q>"), ("<urn:p>", "<urn:r>"), ("<urn:q>", "<urn:r>")]))
    body = tuple(draw(st.lists(st.builds(Atom, variables, st.just(read), variables | objects), min_size=1, max_size=3)))
    known = list(dict.fromkeys(node for atom in body for node in atom.variables))
    bound = st.sampled_from(known)
    head = st.builds(Atom, bound, st.just(write), bound | objects)
    return Rule(tuple(draw(st.lists(head, min_size=1, max_size=2))), body)


def histories(rules: st.SearchStrategy[Rule]) -> st.SearchStrategy[list[tuple[str, object]]]:
    """Each step says what to do, and with what."""
    few = st.lists(rules, min_size=1, max_size=3)
    step = st.one_of(
        st.tuples(st.just("insert"), facts),
        st.tuples(st.just("insert"), facts),
        st.tuples(st.just("expire"), st.integers(1, 3)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 9), max_size=4)),
        st.tuples(st.just("add_rules"), few),
        st.tuples(st.just("remove_rules"), st.integers(0, 3)),
        st.tuples(st.just("load_closed"), facts),
        st.tuples(st.just("compact"), st.none()),
    )
    begin = st.tuples(st.tuples(st.just("add_rules"), few), st.tuples(st.just("insert"), facts)).map(list)
    return st.builds(list.__add__, begin, st.lists(step, max_size=6))


@dataclass
class Story:
    """What was stated and not taken back, and the rules: from these follows what a strategy has to show."""

    stated: dict[Triple, int] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    refused: list[list[Rule]] = field(default_factory=list)  # what a strategy would not take up, and nothing changed
    now: int = 0

    def content(self) -> dict[Triple, int]:
        return {triple: tag for triple, tag in closure(self.rules, self.stated).items() if tag > self.now}

    def state(self, facts: dict[Triple, int]) -> None:
        for triple, tag in facts.items():
            if tag > self.now:
                self.stated[triple] = max(tag, self.stated.get(triple, tag))

    def expire(self, upto: int) -> None:
        self.now = upto
        self.stated = {triple: tag for triple, tag in self.stated.items() if tag > upto}


def told(history: list[tuple[str, object]], facts: Materialization, dictionary: TermDictionary) -> Story:
    """Let a strategy and the naive twin live through a history, and compare the whole content after each step."""
    story = Story()
    for what, argument in history:
        if what == "insert":
            given = {triple: tag if tag == ALWAYS else tag + story.now - 1 for triple, tag in argument.items()}
            story.state(given)
            facts.insert(*columns(given, dictionary))
        elif what == "load_closed":
            given = {triple: tag if tag == ALWAYS else tag + story.now for triple, tag in argument.items()}
            given = {triple: tag for triple, tag in closure(story.rules, given).items() if is_triple(triple)}
            story.state(given)
            facts.load_closed(*columns(given, dictionary))
        elif what == "expire":
            story.expire(story.now + argument)
            facts.expire(story.now)
        elif what == "remove":
            known = [*sorted(story.content()), ("<urn:never>", "<urn:p>", "<urn:stated>")]
            chosen = [known[place % len(known)] for place in argument]
            for triple in chosen:
                story.stated.pop(triple, None)
            facts.remove(*columns(dict.fromkeys(chosen, 0), dictionary)[:3])
        elif what == "add_rules":
            more = list(dict.fromkeys([*story.rules, *argument]))
            try:
                facts.add_rules(argument)
            except RecursiveRules:
                assert next(recursive(more, more), None) is not None
                story.refused.append(more)
            else:
                story.rules = more
        elif what == "remove_rules":
            gone, story.rules = story.rules[:argument], story.rules[argument:]
            facts.remove_rules(gone)
        elif what == "compact":
            facts.renumber(dictionary.compact(facts.terms()))
        content = story.content()
        assert decoded(facts.visible(story.now), dictionary) == content, (what, argument)
        narrower = {triple: tag for triple, tag in content.items() if tag > story.now + 3}
        assert decoded(facts.visible(story.now + 3), dictionary) == narrower
    return story


def columns(facts: dict[Triple, int], dictionary: TermDictionary) -> Facts:
    s, p, o = (dictionary.encode([triple[place] for triple in facts]) for place in range(3))
    return Facts(s, p, o, np.array(list(facts.values()), dtype=np.int64))


def decoded(facts: Facts, dictionary: TermDictionary) -> dict[Triple, int]:
    rows = list(zip(*(dictionary.decode(column) for column in (facts.s, facts.p, facts.o))))
    assert len(set(rows)) == len(rows), "a fact is there twice"
    return dict(zip(rows, facts.tag.tolist()))
