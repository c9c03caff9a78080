"""A SPARQL body, written again over ids.

The store of the snapshot evaluator holds names of ids, `<i:7>`, instead of terms (see `snapshot`). A body says the same
over it when three things are kept apart:

    in a pattern      every constant is the id of its term, every variable is bound to ids
    in an expression  a variable stands for its term: `?t > 28` becomes `<f:term>(?t) > 28`
    what is computed  goes back to ids before it is bound: `(?x + 1 AS ?y)` becomes `(<f:id>(<f:term>(?x) + 1) AS ?y)`

So joins compare terms and not values, no lexical form is lost, and all functions and operators are Oxigraph's. What
Oxigraph cannot answer as a function of the data alone is given to functions of ours: aggregates over numbers and text
(whose results would hang on the order of rows), NOW, RAND and their like, and timestamps.

    plan = over_ids("SELECT ?s { ?s <urn:p> ?n FILTER(?n > 1) }")
    plan.text(dictionary, limit=10)   # SELECT ?s WHERE { ?s <i:0> ?n . FILTER ( ( <f:term>(?n) > 1 ) ) } LIMIT 11
    plan.reads                        # ((('?s', '<urn:p>', '?n'),),)

Triple patterns are written one by one: lists and bracketed blank nodes become the triples that they stand for, and
negated property sets patterns with a variable of their own (see `negated`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from csparql_spark.answers.expressions import Expressions, Unsupported, variable_of
from csparql_spark.answers.functions import AGGREGATE, FUNCTION, NONE
from csparql_spark.answers.graph_blocks import END, Each, unfolded, with_names
from csparql_spark.answers.negated import is_counted, links_but, parts_of
from csparql_spark.answers.patterns import (
    Block,
    Constant,
    Node,
    Pattern,
    Piece,
    Reading,
    TriplePath,
    iris_of,
    is_variable,
    may_be_empty,
)
from csparql_spark.language.queries.scope import grouped_variables, is_grouped, projected, visible
from csparql_spark.language.queries.syntax import Node as Tree
from csparql_spark.language.queries.syntax import read_tree
from csparql_spark.language.tokens import Token, tokenize
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.rdf.terms import RDF


@dataclass(frozen=True)
class Plan:
    """What is asked of the store, and what becomes of the rows.

    `variables` are the columns that are asked for: those of the answer, or those of the template or of DESCRIBE.
    `reads` are the basic graph patterns that the body looks for, or None if it may look at every triple; `blocks` the
    same with paths, and as often as they stand there; `rows` how many rows its VALUES make, multiplied. `asks_named`:
    whether it looks into named graphs at all.
    """

    form: str
    variables: tuple[str, ...]
    distinct: bool
    ordered: bool
    volatile: bool  # what it says may change although the graph does not
    stamps: bool  # it asks for timestamps
    reads: tuple[tuple[Pattern, ...], ...] | None
    template: tuple[Pattern, ...]
    described: tuple[Node, ...]
    pieces: tuple[Piece, ...]
    tail: tuple[Piece, ...]
    limit: int | None
    offset: int
    blocks: tuple[Block, ...]
    rows: int
    asks_named: bool

    @property
    def aggregates(self) -> tuple[str, ...]:
        """The names of the aggregates that the text calls."""
        return tuple(
            dict.fromkeys(
                piece[len(AGGREGATE) : -2]
                for piece in self.pieces
                if piece.startswith(AGGREGATE) and piece.endswith(">(")
            )
        )

    @property
    def graph_blocks(self) -> tuple[str, ...]:
        """What its GRAPH blocks name that each graph answers by itself, as often as they stand there."""
        return tuple(piece for piece in self.pieces if type(piece) is Each)

    def text(self, dictionary: TermDictionary, *, limit: int, graphs: Sequence[str] = ()) -> str:
        """The text for a store of these ids, with named graphs of these IRIs, which gives `limit` + 1 rows at most."""
        most = limit + 1 if self.limit is None else min(limit + 1, self.limit)
        offset = f" OFFSET {self.offset}" if self.offset else ""
        pieces = unfolded(self.pieces, [f"<{graph}>" for graph in graphs]) if self.graph_blocks else self.pieces
        return f"{_filled(pieces, dictionary)} LIMIT {most}{offset}{_filled(self.tail, dictionary)}"


def _filled(pieces: Sequence[Piece], dictionary: TermDictionary) -> str:
    constants = [piece for piece in pieces if type(piece) is Constant]
    ids = iter(dictionary.encode(constants).tolist())
    return " ".join(f"<i:{next(ids)}>" if type(piece) is Constant else piece for piece in pieces)


def over_ids(body: str) -> Plan:
    """The body over ids. Raises `Unsupported`."""
    return _Writer(body).plan()


class _Writer:
    def __init__(self, text: str) -> None:
        self._tree = read_tree(tokenize(text))
        self._iri = iris_of(self._tree)
        labels = {token.text for token in self._tree.all_tokens("BLANK")}
        self._reading = Reading(self._iri, labels)
        self._expressions = Expressions(self._reading, self._group)
        self._taken = {token.text[1:] for token in self._tree.all_tokens("VAR")}
        self._made: Counter[str] = Counter()
        self._hidden: dict[Node, str] = {}
        self._rows = 1

    def plan(self) -> Plan:
        form = self._tree.child("Query").nodes()[0]
        template: tuple[Pattern, ...] = ()
        described: tuple[Node, ...] = ()
        where = form.node("Where")
        if form.rule == "Select":
            names = tuple(projected(form)) if form.child("Projection").token("*") is None else self._star(form)
            projection = self._projection(form)
        elif form.rule == "Construct":
            short = form.node("ShortWhere")
            shape = short or form.child("Template")
            template = tuple(self._reading.template(shape))
            names = tuple(dict.fromkeys(node[1:] for triple in template for node in triple if node[0] == "?"))
            projection = [f"?{name}" for name in names]
        elif form.rule == "Describe":
            described = tuple(self._var_or_iri(node) for node in form.nodes("VarOrIri"))
            names = tuple(dict.fromkeys(node[1:] for node in described if node[0] == "?"))
            projection = [f"?{name}" for name in names]
        else:
            names, projection = (), []
        if where is not None:
            pattern = self._group(where.child("Group"))
        elif form.rule == "Construct":
            self._reading.read(template)
            pattern = ["{", *self._triples(template), "}"]
        else:
            pattern = ["{", "}"]
        distinct = form.rule == "Select" and self._is_distinct(form)
        modifiers, ordered, limit, offset = self._modifiers(form.node("Modifiers"), names, form)
        base = [f"BASE <{node.leaf('IRIREF').text[1:-1]}>" for node in self._tree.walk("Base")]
        head = [
            *base,
            "SELECT",
            *(["DISTINCT"] if distinct else []),
            *(projection or [f"(<i:0> AS ?{self._fresh('one')})"]),
            "WHERE",
        ]
        reads = None if form.rule == "Describe" else self._reading.reads()
        tail = [piece for values in self._tree.nodes("Values") for piece in self._values(values)]
        met = self._expressions
        return Plan(
            form.rule.upper(),
            names,
            distinct,
            ordered,
            met.volatile,
            met.stamps,
            reads,
            template,
            described,
            (*head, *pattern, *modifiers),
            (" ", *tail) if tail else (),
            limit,
            offset,
            tuple(self._reading.blocks),
            self._rows,
            next(self._tree.walk("GraphBlock", "WindowBlock"), None) is not None,
        )

    def _star(self, form: Tree) -> tuple[str, ...]:
        names = projected(form)
        for values in self._tree.nodes("Values"):
            names.update(visible(values))
        return tuple(names)

    # --- patterns

    def _group(self, group: Tree) -> list[Piece]:
        pieces: list[Piece] = []
        for inner in group.nodes():
            # What BIND gives follows from the rest of the row, and is not there before it.
            bound = {bind.tokens("VAR")[-1].text[1:] for bind in inner.nodes("Bind")}
            with self._expressions.row(name for name in visible(group) if name not in bound):
                pieces += self._sub_select(inner) if inner.rule == "SubSelect" else self._group_body(inner)
        return ["{", *pieces, "}"]

    def _group_body(self, body: Tree) -> list[Piece]:
        pieces: list[Piece] = []
        filters: list[Piece] = []
        joined: list[TriplePath] = []  # the triple patterns of one basic graph pattern
        for part in body.nodes():
            if part.rule == "TriplesPath":
                triples = self._reading.triples(part)
                joined += triples
                pieces += self._triples(triples)
                continue
            if part.rule == "Filter":  # it holds for the whole group, and does not part what is around it
                filters += ["FILTER", *self._expressions.constraint(part.child("Constraint"))]
                continue
            self._reading.read(joined)
            joined = []
            pieces += self._part(part)
        self._reading.read(joined)
        return pieces + filters

    def _part(self, part: Tree) -> list[Piece]:
        groups = [piece for group in part.nodes("Group") for piece in ("UNION", *self._group(group))][1:]
        match part.rule:
            case "Union":
                return groups
            case "Optional" | "Minus":
                return [part.rule.upper(), *groups]
            case "GraphBlock":
                node = self._var_or_iri(part.child("VarOrIri"))
                if with_names(part.child("Group"), node):
                    return ["GRAPH", self._piece(node), *groups]
                return [Each(node), *groups, END]
            case "Bind":
                variable = part.tokens("VAR")[-1].text
                return ["BIND", "(", *self._expressions.as_id(part.child("Expression")), "AS", variable, ")"]
            case "Values":
                return self._values(part)
        raise Unsupported(
            "SERVICE is not supported: the server sends no requests on behalf of a query. "
            "Load what the other endpoint knows as a background graph"
        )

    def _triples(self, triples: Iterable[TriplePath]) -> list[Piece]:
        return [piece for triple in triples for piece in self._triple(*triple)]

    def _triple(self, subject: Node, verb: Node | Tree, object: Node) -> list[Piece]:
        if isinstance(verb, str):
            return [self._piece(subject), self._piece(verb), self._piece(object), "."]
        if is_counted(verb):
            parts = parts_of(subject, verb, object, lambda name: f"?{self._fresh(name)}")
            return [
                piece
                for start, part, end in parts
                for piece in (
                    self._negated(start, part, end) if part.rule == "PathNegated" else self._triple(start, part, end)
                )
            ]
        triple = [self._piece(subject), *self._path(verb), self._piece(object), "."]
        return self._with_itself(triple) if may_be_empty(verb) else triple

    def _negated(self, subject: Node, negated: Tree, object: Node) -> list[Piece]:
        """A negated set by its links: of a path between nodes that it knows, Oxigraph only tells that there is one."""
        there, back = links_but(negated, self._iri)
        ways = []
        if there is not None:
            ways.append(self._other_than(there, subject, object))
        if back is not None:
            ways.append(self._other_than(back, object, subject))
        return ways[0] if len(ways) == 1 else ["{", *ways[0], "} UNION {", *ways[1], "}"]

    def _other_than(self, links: list[Node], subject: Node, object: Node) -> list[Piece]:
        verb = f"?{self._fresh('verb')}"
        named: list[Piece] = [piece for link in links for piece in (",", Constant(link))][1:]
        test = ["FILTER (", verb, "NOT IN (", *named, ") )"] if named else []
        return [self._piece(subject), verb, self._piece(object), ".", *test]

    def _with_itself(self, triple: list[Piece]) -> list[Piece]:
        """A path that may have no length, from or to a term: it leads from the term to itself, and Oxigraph forgets
        that when the term is not a node of the graph."""
        ends = [triple[0], triple[-2]]
        terms = [end for end in ends if type(end) is Constant]
        if not terms or len(terms) == 2 and terms[0] != terms[1]:
            return triple
        term, one, other = terms[0], *(f"?{self._fresh('any')}" for _ in range(2))
        itself = [piece for end in ends if end != term for piece in ("BIND(", term, "AS", end, ")")]
        return [
            "{",
            *triple,
            "} UNION {",
            *itself,
            "FILTER NOT EXISTS {",
            term,
            one,
            other,
            "} FILTER NOT EXISTS {",
            one,
            other,
            term,
            "} }",
        ]

    def _piece(self, node: Node) -> Piece:
        if node.startswith("_:"):  # a variable of another name, which may stand on both sides of a UNION
            if node not in self._hidden:
                self._hidden[node] = f"?{self._fresh('blank')}"
            return self._hidden[node]
        return node if is_variable(node) else Constant(node)

    def _path(self, path: Tree) -> list[Piece]:
        pieces: list[Piece] = []
        for child in path.children:
            if isinstance(child, Token):
                # Oxigraph does not read !(): all links but one that there is not.
                pieces.append(
                    Constant(f"<{RDF}type>")
                    if child.key == "a"
                    else f"(<{NONE}>)"
                    if child.key == "NIL"
                    else child.text
                )
            elif child.rule == "Iri":
                pieces.append(Constant(f"<{self._iri(child)}>"))
            else:
                pieces += self._path(child)
        return pieces

    def _values(self, values: Tree) -> list[Piece]:
        pieces: list[Piece] = ["VALUES"]
        self._rows *= max(1, len(values.child("DataBlock").nodes()))
        for child in values.child("DataBlock").children:
            if isinstance(child, Token):
                pieces.append(child.text)
            elif child.tokens("UNDEF"):
                pieces.append("UNDEF")
            else:
                pieces.append(Constant(self._reading.constant(child)))
        return pieces

    # --- SELECT and its modifiers

    def _sub_select(self, select: Tree) -> list[Piece]:
        names = tuple(projected(select))
        projection = self._projection(select) or [f"(<i:0> AS ?{self._fresh('none')})"]
        modifiers, _, limit, offset = self._modifiers(select.node("SubModifiers"), names, select)
        pieces = [
            "SELECT",
            *(["DISTINCT"] if self._is_distinct(select) else []),
            *projection,
            "WHERE",
            *self._group(select.child("Where").child("Group")),
            *modifiers,
        ]
        if limit is not None:
            pieces.append(f"LIMIT {limit}")
        if offset:
            pieces.append(f"OFFSET {offset}")
        return pieces + [piece for values in select.nodes("Values") for piece in self._values(values)]

    @staticmethod
    def _is_distinct(select: Tree) -> bool:
        # REDUCED allows to drop repetitions, and an answer that sometimes does is of no use to anybody.
        return any(True for node in select.nodes("Distinct") for _ in node.tokens("DISTINCT"))

    def _projection(self, select: Tree) -> list[Piece]:
        projection = select.child("Projection")
        if projection.token("*") is not None:
            names = self._star(select) if select.rule == "Select" else tuple(projected(select))
            return [f"?{name}" for name in names]
        pieces: list[Piece] = []
        with self._row(select):
            for item in projection.nodes("ProjectionItem"):
                expression, variable = item.node("Expression"), item.tokens("VAR")[-1].text
                pieces += (
                    [variable]
                    if expression is None
                    else ["(", *self._expressions.as_id(expression), "AS", variable, ")"]
                )
        return pieces

    def _row(self, select: Tree) -> AbstractContextManager[None]:
        """The rows that the projection and the modifiers of a SELECT see: those of its pattern, or of its groups."""
        where, modifiers = select.node("Where"), select.node("Modifiers") or select.node("SubModifiers")
        inside = visible(where) if where is not None else {}
        if select.rule in ("Select", "SubSelect") and is_grouped(select):
            return self._expressions.row(grouped_variables(modifiers) if modifiers is not None else (), inside)
        return self._expressions.row(inside)

    def _modifiers(
        self, modifiers: Tree | None, names: tuple[str, ...], select: Tree
    ) -> tuple[list[Piece], bool, int | None, int]:
        """The modifiers but for the slice, whether rows are in an order, and the slice."""
        if modifiers is None:
            return [], False, None, 0
        where = select.node("Where")
        pieces: list[Piece] = []
        with self._expressions.row(visible(where) if where is not None else ()):
            for node in modifiers.nodes("GroupBy"):
                pieces += ["GROUP BY", *(piece for key in node.nodes("GroupCondition") for piece in self._key(key))]
        with self._row(select):
            for node in modifiers.nodes("Having"):
                pieces += [
                    "HAVING",
                    *(piece for test in node.nodes("Constraint") for piece in self._expressions.constraint(test)),
                ]
            conditions = [
                piece
                for node in modifiers.nodes("OrderBy")
                for condition in node.nodes("OrderCondition")
                for piece in self._condition(condition)
            ]
        numbers = {
            node.rule: int(node.leaf("INTEGER").text) for node in modifiers.walk("Limit", "Offset", outside=("Group",))
        }
        limit, offset = numbers.get("Limit"), numbers.get("Offset", 0)
        if conditions or limit is not None or offset:
            # Of rows that are equal in order, the same come first every time.
            ties = [f"{FUNCTION}key>(?{name})" for name in names]
            if conditions or ties:
                pieces += ["ORDER BY", *conditions, *ties]
        return pieces, bool(conditions), limit, offset

    def _key(self, condition: Tree) -> list[Piece]:
        if condition.token("AS") is None and (variable := variable_of(condition)) is not None:
            return [variable]
        name = condition.token("VAR")
        computed = condition.node("Expression") or condition
        return ["(", *self._expressions.as_id(computed), *(["AS", name.text] if name is not None else []), ")"]

    def _condition(self, condition: Tree) -> list[Piece]:
        direction = "DESC" if condition.tokens("DESC") else "ASC"
        return [direction, "(", *self._expressions.order(condition), ")"]

    # --- terms

    def _var_or_iri(self, node: Tree) -> Node:
        variable = node.token("VAR")
        return variable.text if variable is not None else f"<{self._iri(node.child('Iri'))}>"

    def _fresh(self, name: str) -> str:
        made = name
        while made in self._taken:
            self._made[name] += 1
            made = f"{name}_{self._made[name]}"
        self._taken.add(made)
        return made
