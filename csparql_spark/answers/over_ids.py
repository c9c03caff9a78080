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
    plan.text(dictionary, limit=10)   # SELECT ?s WHERE { ?s <i:0> ?n . FILTER ( <f:term>(?n) > 1 ) } LIMIT 11
    plan.reads                        # ((('?s', '<urn:p>', '?n'),),)

Triple patterns are written one by one: lists and bracketed blank nodes become the triples that they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from csparql_spark.answers.functions import AGGREGATE, FUNCTION
from csparql_spark.answers.patterns import Node, Pattern, Reading, TriplePath, is_path, is_variable, may_be_empty
from csparql_spark.language.scope import grouped_variables, is_grouped, projected, visible
from csparql_spark.language.syntax import Node as Tree
from csparql_spark.language.syntax import read_tree
from csparql_spark.language.timestamps import FUNCTION as TIMESTAMP
from csparql_spark.language.tokens import Token, tokenize
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.rdf.terms import RDF, XSD

CASTS = frozenset(XSD + name for name in (
    "boolean", "double", "float", "decimal", "integer", "dateTime", "string", "date", "time", "duration",
    "dayTimeDuration", "yearMonthDuration", "gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay", "byte", "short", "int",
    "long", "unsignedByte", "unsignedShort", "unsignedInt", "unsignedLong", "nonNegativeInteger", "positiveInteger",
    "nonPositiveInteger", "negativeInteger"))
_VOLATILE = {"NOW": "now", "RAND": "rand", "UUID": "uuid", "STRUUID": "struuid", "BNODE": "bnode"}


class Unsupported(Exception):
    """The query is well formed, and there is no way to answer it here. The text says which part, and what there is."""


class Constant(str):
    """A term in the text, to be replaced by the name of its id."""

    __slots__ = ()


Piece = str | Constant


@dataclass(frozen=True)
class Plan:
    """What is asked of the store, and what becomes of the rows.

    `variables` are the columns that are asked for: those of the answer, or those of the template or of DESCRIBE.
    `reads` are the basic graph patterns that the body looks for, or None if it may look at every triple.
    """

    form: str
    variables: tuple[str, ...]
    distinct: bool
    ordered: bool
    volatile: bool                     # what it says may change although the graph does not
    stamps: bool                       # it asks for timestamps
    reads: tuple[tuple[Pattern, ...], ...] | None
    template: tuple[Pattern, ...]
    described: tuple[Node, ...]
    pieces: tuple[Piece, ...]
    tail: tuple[Piece, ...]
    limit: int | None
    offset: int

    @property
    def aggregates(self) -> tuple[str, ...]:
        """The names of the aggregates that the text calls."""
        return tuple(dict.fromkeys(piece[len(AGGREGATE):-2] for piece in self.pieces if piece.startswith(AGGREGATE)))

    def text(self, dictionary: TermDictionary, *, limit: int) -> str:
        """The text for a store of these ids, which gives `limit` + 1 rows at most."""
        most = limit + 1 if self.limit is None else min(limit + 1, self.limit)
        offset = f" OFFSET {self.offset}" if self.offset else ""
        return f"{_filled(self.pieces, dictionary)} LIMIT {most}{offset}{_filled(self.tail, dictionary)}"


def _filled(pieces: tuple[Piece, ...], dictionary: TermDictionary) -> str:
    constants = [piece for piece in pieces if type(piece) is Constant]
    ids = iter(dictionary.encode(constants).tolist())
    return " ".join(f"<i:{next(ids)}>" if type(piece) is Constant else piece for piece in pieces)


def over_ids(body: str) -> Plan:
    """The body over ids. Raises `Unsupported`."""
    return _Writer(body).plan()


class _Writer:
    def __init__(self, text: str) -> None:
        self._tree = read_tree(tokenize(text))
        self._prefixes = {prefix.token("PNAME_NS").text: prefix.token("IRIREF").text[1:-1]
                          for prefix in self._tree.walk("Prefix")}
        labels = {token.text for token in self._tree.all_tokens("BLANK")}
        self._reading = Reading(self._iri, labels)
        self._taken = {token.text[1:] for token in self._tree.all_tokens("VAR")}
        self._scopes: list[tuple[str, ...]] = []
        self._calls = 0
        self._volatile = self._stamps = False

    def plan(self) -> Plan:
        form = self._tree.node("Query").nodes()[0]
        template: tuple[Pattern, ...] = ()
        described: tuple[Node, ...] = ()
        where = form.node("Where")
        if form.rule == "Select":
            names = tuple(projected(form)) if form.node("Projection").token("*") is None else self._star(form)
            projection = self._projection(form)
        elif form.rule == "Construct":
            short = form.node("ShortWhere")
            shape = short or form.node("Template")
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
            pattern = self._group(where.node("Group"))
        elif form.rule == "Construct":
            self._reading.read(template)
            pattern = ["{", *self._triples(template), "}"]
        else:
            pattern = ["{", "}"]
        distinct = form.rule == "Select" and self._is_distinct(form)
        modifiers, ordered, limit, offset = self._modifiers(form.node("Modifiers"), names, form)
        base = [f"BASE <{node.token('IRIREF').text[1:-1]}>" for node in self._tree.walk("Base")]
        head = [*base, "SELECT", *(["DISTINCT"] if distinct else []), *(projection or [f"(<i:0> AS ?{self._fresh('one')})"]), "WHERE"]
        reads = None if form.rule == "Describe" else self._reading.reads()
        tail = [piece for values in self._tree.nodes("Values") for piece in self._values(values)]
        return Plan(form.rule.upper(), names, distinct, ordered, self._volatile, self._stamps, reads, template,
                    described, tuple([*head, *pattern, *modifiers]), tuple([" ", *tail] if tail else []), limit, offset)

    def _star(self, form: Tree) -> tuple[str, ...]:
        names = projected(form)
        for values in self._tree.nodes("Values"):
            names.update(visible(values))
        return tuple(names)

    # --- patterns

    def _group(self, group: Tree) -> list[Piece]:
        self._scopes.append(tuple(visible(group)))
        pieces: list[Piece] = []
        for inner in group.nodes():
            pieces += self._sub_select(inner) if inner.rule == "SubSelect" else self._group_body(inner)
        self._scopes.pop()
        return ["{", *pieces, "}"]

    def _group_body(self, body: Tree) -> list[Piece]:
        pieces: list[Piece] = []
        filters: list[Piece] = []
        joined: list[TriplePath] = []        # the triple patterns of one basic graph pattern
        for part in body.nodes():
            if part.rule == "TriplesPath":
                triples = self._reading.triples(part)
                joined += triples
                pieces += self._triples(triples)
                continue
            if part.rule == "Filter":        # it holds for the whole group, and does not part what is around it
                filters += ["FILTER", *self._constraint(part.node("Constraint"))]
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
                node = self._var_or_iri(part.node("VarOrIri"))
                return ["GRAPH", _piece(node), *groups]
            case "Bind":
                variable = part.tokens("VAR")[-1].text
                return ["BIND", "(", *self._as_id(part.node("Expression")), "AS", variable, ")"]
            case "Values":
                return self._values(part)
        raise Unsupported("SERVICE is not supported: the server sends no requests on behalf of a query. "
                          "Load what the other endpoint knows as a background graph")

    def _triples(self, triples: Iterable[TriplePath]) -> list[Piece]:
        pieces: list[Piece] = []
        for subject, verb, object in triples:
            path = self._path(verb) if is_path(verb) else [_piece(verb)]
            triple = [_piece(subject), *path, _piece(object), "."]
            ends = sorted((subject, object), key=is_variable)
            if is_path(verb) and may_be_empty(verb) and not is_variable(ends[0]) and ends[1][0] == "?":
                triple = self._with_itself(triple, Constant(ends[0]), ends[1])
            pieces += triple
        return pieces

    def _with_itself(self, triple: list[Piece], term: Constant, variable: str) -> list[Piece]:
        """A path that may have no length, from a term: it leads to the term itself, and Oxigraph forgets that when the
        term is not a node of the graph."""
        one, other = (f"?{self._fresh('any')}" for _ in range(2))
        return ["{", *triple, "} UNION { BIND(", term, "AS", variable, ") FILTER NOT EXISTS {", term, one, other,
                "} FILTER NOT EXISTS {", one, other, term, "} }"]

    def _path(self, path: Tree) -> list[Piece]:
        pieces: list[Piece] = []
        for child in path.children:
            if isinstance(child, Token):
                pieces.append(Constant(f"<{RDF}type>") if child.key == "a" else "()" if child.key == "NIL"
                              else child.text)
            elif child.rule == "Iri":
                pieces.append(Constant(f"<{self._iri(child)}>"))
            else:
                pieces += self._path(child)
        return pieces

    def _values(self, values: Tree) -> list[Piece]:
        pieces: list[Piece] = ["VALUES"]
        for child in values.node("DataBlock").children:
            if isinstance(child, Token):
                pieces.append(child.text)
            elif child.tokens("UNDEF"):
                pieces.append("UNDEF")
            else:
                pieces.append(Constant(self._term(child)))
        return pieces

    # --- SELECT and its modifiers

    def _sub_select(self, select: Tree) -> list[Piece]:
        names = tuple(projected(select))
        projection = self._projection(select) or [f"(<i:0> AS ?{self._fresh('none')})"]
        modifiers, _, limit, offset = self._modifiers(select.node("SubModifiers"), names, select)
        pieces = ["SELECT", *(["DISTINCT"] if self._is_distinct(select) else []), *projection, "WHERE",
                  *self._group(select.node("Where").node("Group")), *modifiers]
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
        projection = select.node("Projection")
        if projection.token("*") is not None:
            names = self._star(select) if select.rule == "Select" else tuple(projected(select))
            return [f"?{name}" for name in names]
        where = visible(select.node("Where"))
        self._scopes.append(() if is_grouped(select) else tuple(where))
        pieces: list[Piece] = []
        for item in projection.nodes("ProjectionItem"):
            expression, variable = item.node("Expression"), item.tokens("VAR")[-1].text
            pieces += [variable] if expression is None else ["(", *self._as_id(expression), "AS", variable, ")"]
        self._scopes.pop()
        return pieces

    def _modifiers(self, modifiers: Tree | None, names: tuple[str, ...],
                   select: Tree) -> tuple[list[Piece], bool, int | None, int]:
        """The modifiers but for the slice, whether rows are in an order, and the slice."""
        if modifiers is None:
            return [], False, None, 0
        pieces: list[Piece] = []
        keys = grouped_variables(modifiers)
        grouped = select.rule in ("Select", "SubSelect") and is_grouped(select)
        for node in modifiers.nodes("GroupBy"):
            pieces += ["GROUP BY", *(piece for key in node.nodes("GroupCondition") for piece in self._key(key))]
        self._scopes.append(tuple(keys) if grouped else tuple(visible(select.node("Where")))
                            if select.node("Where") is not None else ())
        for node in modifiers.nodes("Having"):
            pieces += ["HAVING", *(piece for test in node.nodes("Constraint") for piece in self._constraint(test))]
        conditions = [piece for node in modifiers.nodes("OrderBy") for condition in node.nodes("OrderCondition")
                      for piece in self._condition(condition)]
        self._scopes.pop()
        numbers = {node.rule: int(node.token("INTEGER").text) for node in modifiers.walk("Limit", "Offset",
                                                                                        outside=("Group",))}
        limit, offset = numbers.get("Limit"), numbers.get("Offset", 0)
        if conditions or limit is not None or offset:
            # Of rows that are equal in order, the same come first every time.
            ties = [f"{FUNCTION}key>(?{name})" for name in names]
            if conditions or ties:
                pieces += ["ORDER BY", *conditions, *ties]
        return pieces, bool(conditions), limit, offset

    def _key(self, condition: Tree) -> list[Piece]:
        inner = list(condition.all_tokens())
        variables = [token for token in inner if token.key == "VAR"]
        if len(variables) == 1 and all(token.key in ("(", ")", "VAR") for token in inner):
            return [variables[0].text]
        name = condition.token("VAR")
        computed = condition.node("Expression") or condition
        return ["(", *self._as_id(computed), *(["AS", name.text] if name is not None else []), ")"]

    def _condition(self, condition: Tree) -> list[Piece]:
        direction = [token.text for token in condition.tokens("ASC", "DESC")]
        if (variable := condition.token("VAR")) is not None:
            return [f"{FUNCTION}term>({variable.text})"]
        bracketed = condition.node("Bracketed")
        return direction + (self._expression(bracketed) if bracketed is not None
                            else self._constraint(condition.node("Constraint")))

    # --- expressions

    def _constraint(self, constraint: Tree) -> list[Piece]:
        return ["(", *self._expression(constraint.nodes()[0]), ")"]

    def _as_id(self, expression: Tree) -> list[Piece]:
        """The id of what an expression says."""
        if (variable := _variable(expression)) is not None:
            return [f"COALESCE({variable})"]
        if (aggregate := _only(expression, "Set")) is not None and aggregate.tokens()[0].key != "COUNT":
            return self._aggregate(aggregate)
        return [f"{FUNCTION}id>(", *self._expression(expression), ")"]

    def _expression(self, node: Tree) -> list[Piece]:
        match node.rule:
            case "BuiltIn":
                return self._built_in(node)
            case "Set":
                counts = node.tokens()[0].key == "COUNT"
                return self._aggregate(node) if counts else [f"{FUNCTION}term>(", *self._aggregate(node), ")"]
            case "FunctionCall" | "IriOrFunction" if node.node("Arguments") is not None:
                return self._call(node)
            case "Iri":
                return [f"<{self._iri(node)}>"]
            case "Literal":
                return [self._term(node)]
            case "Primary" if (variable := node.token("VAR")) is not None:
                return [f"{FUNCTION}term>({variable.text})"]
        pieces: list[Piece] = []
        for child in node.children:
            pieces += [child.text] if isinstance(child, Token) else self._expression(child)
        return pieces

    def _built_in(self, node: Tree) -> list[Piece]:
        first = node.children[0]
        key = first.key if isinstance(first, Token) else next(node.all_tokens()).key
        expressions = node.nodes("Expression")
        if key in ("EXISTS", "NOT"):
            return ["NOT EXISTS" if key == "NOT" else "EXISTS", *self._group(node.node("Group"))]
        if key == "BOUND":
            return [f"BOUND({node.token('VAR').text})"]
        if key in ("STR", "DATATYPE") and (variable := _variable(expressions[0])) is not None:
            return [f"{FUNCTION}{key.lower()}>({variable})"]
        if key == "SAMETERM":
            return ["sameTerm(", *self._as_id(expressions[0]), ",", *self._as_id(expressions[1]), ")"]
        if key in _VOLATILE:
            return self._volatile_call(_VOLATILE[key], expressions)
        name, *rest = node.children
        pieces = [name.text] if isinstance(name, Token) else self._expression(name)
        for child in rest:
            pieces += [child.text] if isinstance(child, Token) else self._expression(child)
        if len(pieces) > 1 and pieces[1] in ("(", "()"):
            pieces[:2] = [pieces[0] + pieces[1]]             # a name and its bracket touch
        return pieces

    def _volatile_call(self, name: str, expressions: list[Tree]) -> list[Piece]:
        """A call whose value is a function of the instant, the place in the text, and the row."""
        self._volatile = True
        if name == "now":
            return [f"{FUNCTION}now>()"]
        self._calls += 1
        pieces: list[Piece] = [f'{FUNCTION}{name}>({self._calls}']
        for expression in expressions:                       # BNODE("x") is the same in a row, wherever it stands
            pieces[0] = f"{FUNCTION}{name}>(0"
            pieces += [",", *self._expression(expression)]
        seen = self._scopes[-1] if self._scopes else ()
        return [*pieces, *(f", COALESCE(?{variable}, <i:none>)" for variable in seen), ")"]

    def _call(self, node: Tree) -> list[Piece]:
        name, given = self._iri(node.node("Iri")), node.node("Arguments").nodes("Expression")
        if name == TIMESTAMP:
            self._stamps = True
            arguments = [self._as_id(argument) for argument in given]
        elif name in CASTS:
            arguments = [self._expression(argument) for argument in given]
        else:
            raise Unsupported(f"the function <{name}> is not known: what can be called are SPARQL 1.1's functions, "
                              "casts to XSD datatypes, and f:timestamp")
        called = f"{FUNCTION}timestamp>" if name == TIMESTAMP else f"<{name}>"
        pieces = [piece for argument in arguments for piece in (",", *argument)][1:]
        return [f"{called}(", *pieces, ")"]

    def _aggregate(self, node: Tree) -> list[Piece]:
        """An aggregate: a number for COUNT, an id for the others."""
        key, expression = node.tokens()[0].key, node.node("Expression")
        distinct = node.token("DISTINCT") is not None
        if key == "COUNT":
            counted = ["*"] if expression is None else self._as_id(expression)
            return ["COUNT(", *(["DISTINCT"] if distinct else []), *counted, ")"]
        name = f"{key.lower()}{'-distinct' if distinct else ''}"
        if (separator := node.token("STRING")) is not None:
            name += f":{separator.text.encode().hex()}"
        return [f"{AGGREGATE}{name}>(", *self._as_id(expression), ")"]

    # --- terms

    def _var_or_iri(self, node: Tree) -> Node:
        variable = node.token("VAR")
        return variable.text if variable is not None else f"<{self._iri(node.node('Iri'))}>"

    def _iri(self, node: Tree) -> str:
        token = node.tokens()[0]
        if token.kind == "IRIREF":
            return token.text[1:-1]
        prefix, _, local = token.text.partition(":")
        return self._prefixes[f"{prefix}:"] + local

    def _term(self, node: Tree) -> str:
        return self._reading.constant(node)

    def _fresh(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _piece(node: Node) -> Piece:
    return node if node[0] == "?" or node.startswith("_:") else Constant(node)


def _variable(expression: Tree) -> str | None:
    """The variable that an expression is, if it is nothing else."""
    tokens = list(expression.all_tokens())
    variables = [token for token in tokens if token.key == "VAR"]
    if len(variables) == 1 and all(token.key in ("(", ")", "VAR") for token in tokens):
        return variables[0].text
    return None


def _only(expression: Tree, rule: str) -> Tree | None:
    """The node with this rule that an expression is, if it is nothing else."""
    node = expression
    while node.rule != rule:
        if len(node.children) != 1 or isinstance(node.children[0], Token):
            return None
        node = node.children[0]
    return node
