"""Random bodies, and random streams to ask them over; and a graph with its queries, moved from instant to instant.

For example:

    stage = Stage([(body, 5), (body, 9)])
    stage.move(7, [("<urn:a>", "<urn:p>", '"1"')])
    stage.check()                     # each query says what the snapshot evaluator says of what it can see
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from random import Random
from unittest import mock

import numpy as np

from csparql_spark.answers import snapshot as snapshots
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.incremental import Incremental, Shared, why_not
from csparql_spark.answers.over_ids import Plan, over_ids
from csparql_spark.answers.snapshot import Dataset, Snapshot
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.language.rules.rule import Rule
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.windows.content import Content

Triple = tuple[str, str, str]
XSD = "http://www.w3.org/2001/XMLSchema#"
LIMIT = 100_000


def integer(text: object) -> str:
    return f'"{text}"^^<{XSD}integer>'


@functools.lru_cache(maxsize=64)
def plan_of(body: str) -> Plan:
    """A body over ids, read once however often it is asked."""
    return over_ids(body)


@functools.lru_cache(maxsize=64)
def taken(body: str, graphs: tuple[str, ...] = ()) -> bool:
    """Whether a body is maintained."""
    return why_not(plan_of(body), body, graphs) is None


def said_here(snapshot: Snapshot) -> Result:
    """What the snapshot evaluator says. These graphs are small: nobody has to be able to end it (see
    `test_snapshot`)."""
    with mock.patch.object(snapshots, "MOST_HERE", 1_000_000):
        return snapshot.answer(limit=LIMIT)


class Stage:
    """A graph that moves, and queries that see it: each a body and the RANGE of its window."""

    def __init__(self, asked: Iterable[tuple[str, int]], rules: Iterable[Rule] = ()) -> None:
        self.content = Content()
        self.facts = Expiration(self.content.dictionary, rules)
        self.shared = Shared(self.facts.moving, self.content)
        self.now = 0
        self.queries: list[tuple[str, int, Plan, Incremental]] = []
        for body, range_ in asked:
            self.ask(body, range_)

    def ask(self, body: str, range_: int) -> Incremental:
        plan = plan_of(body)
        assert taken(body), body
        self.queries.append((body, range_, plan, Incremental(plan, body, self.shared)))
        return self.queries[-1][-1]

    @property
    def widest(self) -> int:
        return max((range_ for _, range_, _, _ in self.queries), default=10)

    def move(self, now: int, triples: Iterable[Triple], stamp: int | None = None) -> None:
        """Move to an instant, at which these triples come."""
        self.now = now
        self.facts.expire(now - self.widest)
        ids = self.content.dictionary.encode([term for triple in triples for term in triple]).reshape(-1, 3)
        s, p, o = (np.ascontiguousarray(column) for column in ids.T)
        self.facts.insert(s, p, o, np.full(len(ids), now if stamp is None else stamp))

    def snapshot(self, plan: Plan, after: int) -> Result:
        snapshot = Snapshot(plan, self.content)
        facts = self.facts.visible(after)
        snapshot.move(Dataset((facts.s, facts.p, facts.o)))
        return said_here(snapshot)

    def check(self) -> None:
        told = {}
        for body, range_, plan, query in self.queries:
            query.move(after=self.now - range_)
            answer, wanted = query.answer(limit=LIMIT), self.snapshot(plan, self.now - range_)
            assert answer == wanted, (body, shown(answer), shown(wanted))
            assert answer.to_bytes() == wanted.to_bytes(), body
            self.check_until(body, plan, query, answer)
            told[query] = answer.to_bytes(), query.until()
        # And those with narrower windows once more, after the others: they may cut theirs out of what these have made.
        for body, _, _, query in sorted(self.queries, key=lambda asked: -asked[1]):
            answer, until = query.answer(limit=LIMIT), query.until()
            assert answer.to_bytes() == told[query][0], (body, shown(answer))
            assert (until is None) == (told[query][1] is None) and (until is None or (until == told[query][1]).all())

    def check_until(self, body: str, plan: Plan, query: Incremental, answer: Result) -> None:
        """Rows hold until their tags say: at any later instant, those that are left are all the answer."""
        until = query.until()
        if until is None or answer.table is None:
            return
        assert len(until) == len(answer.table)
        for cut in np.unique(until[until < ALWAYS])[:3].tolist():
            left = Result.from_table(answer.table.take(until > cut))
            wanted = self.snapshot(plan, cut)
            assert sorted(map(str, left.table.rows())) == sorted(map(str, wanted.table.rows())), (body, cut)


def shown(answer: Result) -> object:
    return answer.table.rows() if answer.table is not None else answer.ntriples or answer.truth


# --- random bodies and streams

VARIABLES = ("?x", "?y", "?z", "?w")
NODES = ("<urn:a>", "<urn:b>", "<urn:c>")
LITERALS = (
    integer(1),
    integer(2),
    integer("01"),
    integer(10),
    f'"1.5"^^<{XSD}decimal>',
    f'"1.0"^^<{XSD}double>',
    f'"2"^^<{XSD}byte>',
    '"a"',
    '"b"@en',
    '"x"^^<urn:t>',
)
PREDICATES = ("<urn:p>", "<urn:q>")
SIGNS = ("=", "!=", "<", ">", "<=", ">=")


def stream(random: Random) -> Iterator[tuple[int, list[Triple]]]:
    """Some instants, and what comes at each."""
    now = 0
    for _ in range(random.randint(1, 5)):
        now += random.randint(1, 3)
        yield (
            now,
            [
                (random.choice(NODES), random.choice(PREDICATES), random.choice((*NODES, *LITERALS)))
                for _ in range(random.randint(0, 6))
            ],
        )


class Writer:
    """A random body, piece by piece."""

    def __init__(self, random: Random) -> None:
        self.one = lambda *choices: random.choice(choices)
        self._random = random
        self._names = itertools.count()

    def some(self, least: int, most: int) -> range:
        return range(self._random.randint(least, most))

    def variable(self) -> str:
        return self.one(*VARIABLES)

    def node(self) -> str:
        return self.one(self.variable(), self.variable(), self.one(*NODES))

    def object(self) -> str:
        return self.one(self.variable(), self.variable(), self.variable(), self.one(*NODES), self.one(*LITERALS))

    def verb(self, paths: bool) -> str:
        verb = self.one(*PREDICATES, *PREDICATES, self.variable())
        if paths and verb[0] == "<" and self.one(0, 0, 0, 1):
            other = self.one(*PREDICATES)
            return self.one(
                f"{verb}/{other}",
                f"^{verb}",
                f"{verb}|{other}",
                f"^({verb}/{other})",
                f"({verb}|^{other})/{verb}",
                f"{verb}+",
                f"{verb}*",
                f"{verb}?",
                f"({verb}|^{other})+",
                f"({verb}/{other}?)*",
                f"{verb}*/{other}",
                f"^({verb}+|{other})",
                f"!{verb}",
                f"!^{verb}",
                f"!({verb}|^{other})",
                "!()",
                f"(!{verb})+",
                f"({verb}?)*/{other}+",
            )
        return verb

    def triples(self, paths: bool = True) -> str:
        label = f"_:b{next(self._names)}"
        lines = []
        for _ in self.some(1, 3):
            subject, object = self.node(), self.object()
            if self.one(0, 0, 0, 1):
                object = label
            elif self.one(0, 0, 0, 0, 1):
                subject = label
            lines.append(f"{subject} {self.verb(paths)} {object} .")
        return " ".join(lines)

    def number(self) -> str:
        return self.one(self.variable(), self.variable(), "-1", "0", "1", "2", "3", "1.5")

    def test(self) -> str:
        x, y = self.variable(), self.variable()
        return self.one(
            f"{self.number()} {self.one(*SIGNS)} {self.number()}",
            f"{x} {self.one(*SIGNS)} {y}",
            f"{x} > 1",
            f"bound({x})",
            f"!bound({x})",
            f"isIRI({x})",
            f"{x} = <urn:a>",
            f"{x} + 1 < {self.number()}",
            f"{x} IN (<urn:a>, 1)",
            f"sameTerm({x}, {y})",
            f'str({x}) < "b"',
            f"{x} > 0 && {y} < 3",
            f"{x} > 1 || {y} = 1",
            "1 < 2",
            "(1 > 2)",
        )

    def term(self) -> str:
        x, y = self.variable(), self.variable()
        return self.one(
            x,
            f"{x} + 1",
            f"{x} * {y}",
            f"str({x})",
            f"COALESCE({x}, {y}, 3)",
            f"IF({x} > 1, {y}, 0)",
            "2",
            f"datatype({x})",
            f'concat(str({x}), "!")',
        )

    def fresh(self) -> str:
        return f"?n{next(self._names)}"

    def data(self) -> str:
        x, y = self.one(("?x", "?y"), ("?y", "?z"), ("?x", "?w"))
        rows = " ".join(
            f"({self.one('UNDEF', '<urn:a>', '<urn:b>', '1')} {self.one('UNDEF', '<urn:a>', '1', '2')})"
            for _ in self.some(0, 3)
        )
        return f"VALUES ({x} {y}) {{ {rows} }}"

    def group(self, depth: int = 2) -> str:
        parts = [self.triples()] if self.one(1, 1, 1, 0) else []
        for _ in self.some(0, 2):
            parts.append(self.part(depth))
        if self.one(0, 0, 1):
            parts.append(f"FILTER({self.test()})")
        return f"{{ {' '.join(parts)} }}"

    def part(self, depth: int) -> str:
        kinds = ["triples", "filter", "bind", "values"]
        if depth:
            kinds += ["optional", "optional", "union", "minus", "exists", "group", "select"]
        match self.one(*kinds):
            case "triples":
                return self.triples()
            case "filter":
                return f"FILTER({self.test()})"
            case "bind":
                return f"BIND({self.term()} AS {self.fresh()})"
            case "values":
                return self.data()
            case "optional":
                return f"OPTIONAL {self.group(depth - 1)}"
            case "union":
                return f"{self.group(depth - 1)} UNION {self.group(depth - 1)}"
            case "minus":
                return f"MINUS {self.group(depth - 1)}"
            case "exists":
                tests = f" FILTER({self.test()})" if self.one(0, 1) else ""
                return f"FILTER {self.one('', 'NOT ')}EXISTS {{ {self.triples()}{tests} }}"
            case "select":
                return f"{{ {self.select(depth - 1)} }}"
        return self.group(depth - 1)

    def modifiers(self, names: list[str]) -> str:
        text = ""
        if self.one(0, 0, 1):
            text += f" ORDER BY {self.one('', 'DESC')}({self.one(*names, '?x + 1')})"
        return text + self.one("", "", "", " LIMIT 3", " LIMIT 2 OFFSET 1", " OFFSET 2")

    def select(self, depth: int = 2) -> str:
        where = self.group(depth)
        if self.one(0, 0, 0, 1):
            key = self.variable()
            sets = [f"({self.aggregate()} AS {self.fresh()})" for _ in self.some(1, 2)]
            having = f" HAVING({self.aggregate()} > 1)" if self.one(0, 0, 1) else ""
            if self.one(0, 0, 0, 1):
                having = f"{having or ' HAVING'}({self.one('', 'NOT ')}EXISTS {{ {self.triples()} }})"
            if self.one(0, 0, 1):
                return f"SELECT {' '.join(sets)} WHERE {where}{having}"
            if self.one(0, 0, 1):
                return f"SELECT {' '.join(sets)} WHERE {where} GROUP BY ({self.term()} AS {self.fresh()}){having}"
            if self.one(0, 0, 1):
                other = self.one(*(name for name in VARIABLES if name != key))
                order = f" ORDER BY {self.one('ASC', 'DESC')}({self.aggregate()}) {other}"
                return f"SELECT {other} {' '.join(sets)} WHERE {where} GROUP BY {key} {other}{having}{order}"
            return f"SELECT {key} {' '.join(sets)} WHERE {where} GROUP BY {key}{having}{self.modifiers([key])}"
        if self.one(0, 0, 1):
            return f"SELECT {self.one('', 'DISTINCT ')}* WHERE {where}{self.modifiers(['?x', '?y'])}"
        names = self._random.sample(VARIABLES, self._random.randint(1, 3))
        made = f" ({self.term()} AS {self.fresh()})" if self.one(0, 0, 0, 1) else ""
        return f"SELECT {self.one('', 'DISTINCT ')}{' '.join(names)}{made} WHERE {where}{self.modifiers(names)}"

    def aggregate(self) -> str:
        name = self.one("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")
        x = self.variable()
        return self.one(
            f"{name}({x})",
            f"{name}({x})",
            f"{name}(DISTINCT {x})",
            f"{name}({x} + 1)",
            "COUNT(*)",
            f'GROUP_CONCAT({x}; SEPARATOR = "-")',
            f"COUNT(*) + {name}({x})",
        )

    def body(self) -> str:
        match self.one("select", "select", "select", "select", "ask", "construct"):
            case "ask":
                return f"ASK {self.group()}"
            case "construct":
                template = "?x <urn:r> ?y . _:t <urn:s> ?z ."
                return f"CONSTRUCT {{ {template} }} WHERE {self.group()}{self.modifiers(['?x'])}"
        return f"{self.select()} {self.one('', '', '', '', self.data())}"
