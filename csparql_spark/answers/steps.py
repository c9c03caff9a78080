"""Steps: what property paths become, in the algebra of a body (see `algebra`).

A path of links is a join, alternatives are a union; what repeats its steps is reached (see `paths`). The links that a
negated set leaves are all but those that it names (see `negated`).

    ?s :p/^:q ?o        ?s :p ?step . ?o :q ?step
    ?s (:p|:q) ?o       { ?s :p ?o } UNION { ?s :q ?o }, each pair once
    ?s :p+ ?o           Reach(?before :p ?after, …)
    ?s !(:p|^:q) ?o     { ?s ?verb ?o, but :p } UNION { ?o ?verb ?s, but :q }: once for each link

Alternatives are told once for each pair of nodes, as Oxigraph tells them.

    block = Block()
    Steps(iri_of, fresh).add("?s", tree, "?o", block)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from csparql_spark.answers.algebra import Operator, Project, Reach, Scan, Union, filtered, join, named, scans
from csparql_spark.answers.computing import Expression
from csparql_spark.answers.negated import links_but
from csparql_spark.answers.patterns import TYPE, Constant, Node, Pattern, is_variable
from csparql_spark.language.queries.syntax import Node as Tree
from csparql_spark.rdf.terms import iri


class Block:
    """Triples that are joined, with what paths among them become."""

    def __init__(self) -> None:
        self.triples: list[Pattern] = []
        self.others: list[Operator] = []
        self.uses: Counter[str] = Counter()  # how often the text names a variable in it


class Steps:
    """The paths of one body."""

    def __init__(
        self, iri_of: Callable[[Tree], str], fresh: Callable[[str], str], source: Callable[[Tree], str]
    ) -> None:
        """`fresh` makes a variable of its argument that there is not yet; `source` tells how something is written."""
        self._iri, self._fresh, self._source = iri_of, fresh, source

    def add(self, subject: Node, path: Tree, object: Node, block: Block) -> None:
        """Add what a path says to a block."""
        match path.rule:
            case "Path" if len(path.nodes()) > 1:
                self._either([self._between(subject, way, object) for way in path.nodes()], subject, object, block)
            case "Path" | "PathSequence":
                steps = path.nodes()
                nodes = [subject, *(self._fresh("step") for _ in steps[1:]), object]
                for before, step, after in zip(nodes, steps, nodes[1:]):
                    self.add(before, step, after, block)
            case "PathStep":
                ends = (object, subject) if path.token("^") is not None else (subject, object)
                primary, sign = path.child("PathPrimary"), path.token("?", "*", "+")
                if sign is None:
                    self.add(ends[0], primary, ends[1], block)
                else:
                    block.others.append(self._reach(*ends, primary, sign.text))
            case "PathPrimary":
                if (negated := path.node("PathNegated")) is not None:
                    self._negated(subject, negated, object, block)
                elif (inner := path.node("Path")) is not None:
                    self.add(subject, inner, object, block)
                else:
                    link = path.node("Iri")
                    block.triples.append((subject, TYPE if link is None else iri(self._iri(link)), object))

    def _between(self, subject: Node, path: Tree, object: Node) -> Operator:
        """What a path says, by itself."""
        inner = Block()
        self.add(subject, path, object, inner)
        made = scans(inner.triples, {subject, object, *frozenset().union(*map(named, inner.others))})
        for other in inner.others:
            made = join(made, other)
        return made

    @staticmethod
    def _either(ways: list[Operator], subject: Node, object: Node, block: Block) -> None:
        ends = tuple(dict.fromkeys(node for node in (subject, object) if is_variable(node)))
        block.others.append(Project(Union(tuple(ways)), ends, distinct=True))

    def _reach(self, start: Node, end: Node, step: Tree, sign: str) -> Reach:
        before, after = self._fresh("before"), self._fresh("after")
        steps = Project(self._between(before, step, after), (before, after), distinct=True)
        nodes = None
        if sign != "+" and is_variable(start) and is_variable(end):
            node, verb, other = (self._fresh("node") for _ in range(3))
            nodes = Project(
                Union((Scan(((node, verb, other),), (node,)), Scan(((other, verb, node),), (node,)))),
                (node,),
                distinct=True,
            )
        return Reach(steps, nodes, start, end, zero=sign != "+", far=sign != "?", written=f"{self._source(step)}{sign}")

    def _negated(self, subject: Node, negated: Tree, object: Node, block: Block) -> None:
        there, back = links_but(negated, self._iri)
        ways = []
        if there is not None:
            ways.append(self._other_than(there, subject, object))
        if back is not None:
            ways.append(self._other_than(back, object, subject))
        block.others.append(ways[0] if len(ways) == 1 else Union(tuple(ways)))

    def _other_than(self, links: list[Node], subject: Node, object: Node) -> Operator:
        verb = self._fresh("verb")
        made = scans([(subject, verb, object)], {subject, object})
        tests = [
            Expression(
                ("(", f"!sameTerm(COALESCE({verb}),", Constant(link), ")", ")"), (verb,), written=f"{verb} != {link}"
            )
            for link in links
        ]
        return filtered(made, tests)
