"""Translation: the algebra of a body (see `algebra`), from its tree; or why it is left to the snapshot evaluator.

    why_not(plan, "SELECT ?s { ?s <urn:p>/<urn:q> ?o }")       # None: paths of links are joins
    why_not(plan, "SELECT ?s { ?s ?p ?o FILTER(?o < NOW()) }")  # 'NOW, RAND, … say something else at each instant'

A GRAPH block is translated once, and asked of each of the `graphs` that there are, by their IRIs: those of a query are
in its text (see `graph_blocks` for what a block means).

Expressions are written by `expressions`, as for the snapshot evaluator, and paths by `steps`. An aggregate becomes a
variable of its group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from csparql_spark.answers.algebra import (
    Aggregate,
    Data,
    Exists,
    Extend,
    Filter,
    GraphBlock,
    GroupBy,
    Join,
    LeftJoin,
    Minus,
    NotMaintainable,
    Operator,
    OrderBy,
    Project,
    Reach,
    Scan,
    Slice,
    Union,
    Unit,
    all_of,
    asked_of,
    bound,
    filtered,
    join,
    named,
    scans,
)
from csparql_spark.answers.computing import COMPARISONS, Comparison, Expression
from csparql_spark.answers.expressions import Expressions, Unsupported, variable_of
from csparql_spark.answers.functions import FUNCTION
from csparql_spark.answers.over_ids import Plan
from csparql_spark.answers.patterns import Node, Piece, Reading, iris_of, is_variable
from csparql_spark.answers.steps import Block, Steps
from csparql_spark.language.queries.scope import is_grouped, projected
from csparql_spark.language.queries.syntax import Node as Tree
from csparql_spark.language.queries.syntax import read_tree
from csparql_spark.language.tokens import tokenize
from csparql_spark.rdf.terms import parse

MOST_VARIABLES = 60
MOST_PARTS = 1_000  # operators that a GRAPH block becomes: so many take some ten milliseconds at each answer


def why_not(plan: Plan, body: str, graphs: Sequence[str] = ()) -> str | None:
    """Why a body is not answered incrementally over a dataset with these named graphs; None if it is."""
    try:
        translated(plan, body, graphs)
    except NotMaintainable as reason:
        return str(reason)
    return None


def translated(plan: Plan, body: str, graphs: Sequence[str] = ()) -> Operator:
    """The algebra of a body, up to the rows that become its answer. Raises `NotMaintainable`."""
    if plan.form == "DESCRIBE":
        raise NotMaintainable("DESCRIBE looks at all triples of what it describes")
    if plan.stamps:
        raise NotMaintainable("f:timestamp asks when a triple came, which changes although the triple does not")
    if plan.volatile:
        raise NotMaintainable("NOW, RAND, UUID, STRUUID and BNODE say something else at each instant")
    return _Translator(body, graphs).translated(plan)


class _Grouping(Expressions):
    """Expressions over the solutions of a group, for which aggregates are variables."""

    def __init__(
        self,
        reading: Reading,
        refuse: Callable[[Tree], list[Piece]],
        fresh: Callable[[str], str],
        base: str | None,
        source: Callable[[Tree], str],
    ) -> None:
        super().__init__(reading, refuse)
        self._fresh, self.base, self._source = fresh, base, source
        self.aggregates: dict[tuple[object, ...], Aggregate] = {}

    def as_id(self, expression: Tree) -> list[Piece]:
        core = core_of(expression)
        return [f"COALESCE({self.named(core)})"] if core.rule == "Set" else super().as_id(expression)

    def value(self, node: Tree) -> list[Piece]:
        return [f"{FUNCTION}term>({self.named(node)})"] if node.rule == "Set" else super().value(node)

    def named(self, node: Tree) -> str:
        """The variable that an aggregate becomes."""
        function, expression = node.tokens()[0].key.lower(), node.node("Expression")
        distinct = node.token("DISTINCT") is not None
        if distinct and expression is None:
            raise NotMaintainable("COUNT(DISTINCT *) compares whole solutions")
        inner = (
            None
            if expression is None
            else Expression(
                tuple(super().as_id(expression)), names_in(expression), base=self.base, written=self._source(expression)
            )
        )
        separator = node.token("STRING")
        between = " " if separator is None else parse(separator.text).value
        key = function, inner, distinct, between
        if key not in self.aggregates:
            self.aggregates[key] = Aggregate(
                self._fresh("set"), function, inner, distinct, between, written=self._source(node)
            )
        return self.aggregates[key].name


class _Translator:
    def __init__(self, text: str, graphs: Sequence[str]) -> None:
        self._text, self._graphs = text, tuple(dict.fromkeys(graphs))
        self._tree = read_tree(tokenize(text))
        self._iri = iris_of(self._tree)
        self._base = next((node.leaf("IRIREF").text[1:-1] for node in self._tree.walk("Base")), None)
        self._reading = Reading(self._iri, {token.text for token in self._tree.all_tokens("BLANK")})
        self._expressions = Expressions(self._reading, _no_exists)
        self._uses = Counter(token.text for token in self._tree.all_tokens("VAR"))
        self._star = any(node.token("*") is not None for node in self._tree.walk("Projection"))
        self._made = 0
        self._steps = Steps(self._iri, self._fresh, self._source)

    def translated(self, plan: Plan) -> Operator:
        form = self._tree.child("Query").nodes()[0]
        names = tuple(f"?{name}" for name in plan.variables)
        where = form.node("Where")
        if where is not None:
            pattern = self._group(where.child("Group"))
        else:  # CONSTRUCT WHERE: its template is its pattern
            self._uses.update(name for name in names for _ in range(2))
            block = Block()
            block.triples += plan.template
            pattern = self._joined(block)
        made = self._selected(form, pattern, names, self._tree.nodes("Values"))
        if any(len(named(part)) > MOST_VARIABLES for part in all_of(made)):
            raise NotMaintainable(f"there are more than {MOST_VARIABLES} variables")
        return made

    # --- groups

    def _group(self, group: Tree) -> Operator:
        """A group with its filters."""
        pattern, tests, exists = self._parts(group)
        return self._existing(filtered(pattern, tests), exists)

    def _parts(self, group: Tree) -> tuple[Operator, list[Expression], list[tuple[Tree, bool]]]:
        """A group without its filters, and these."""
        inner = group.nodes()[0] if group.nodes() else None
        if inner is None:
            return Unit(), [], []
        if inner.rule == "SubSelect":
            where = self._group(inner.child("Where").child("Group"))
            names = tuple(f"?{name}" for name in projected(inner))
            return self._selected(inner, where, names, inner.nodes("Values")), [], []
        made: Operator = Unit()
        tests: list[Expression] = []
        exists: list[tuple[Tree, bool]] = []
        block = Block()
        for part in inner.nodes():
            if part.rule == "TriplesPath":
                block.uses.update(token.text for token in part.all_tokens("VAR"))
                for subject, verb, object in self._reading.triples(part):
                    if isinstance(verb, str):
                        block.triples.append((subject, verb, object))
                    else:
                        self._steps.add(subject, verb, object, block)
            elif part.rule == "Filter":
                self._split(part.child("Constraint").nodes()[0], self._expressions, tests, exists)
            else:
                made, block = self._part(join(made, self._joined(block)), part), Block()
        return join(made, self._joined(block)), tests, exists

    def _part(self, made: Operator, part: Tree) -> Operator:
        groups = part.nodes("Group")
        match part.rule:
            case "Union":
                parts = tuple(map(self._group, groups))
                return join(made, parts[0] if len(parts) == 1 else Union(parts))
            case "Optional":
                pattern, tests, exists = self._parts(groups[0])
                if exists:
                    raise NotMaintainable("EXISTS in a filter of an OPTIONAL group looks at both sides")
                outer = [test for test in tests if not _moves(pattern, test)]
                return LeftJoin(made, filtered(pattern, [test for test in tests if test not in outer]), tuple(outer))
            case "Minus":
                return Minus(made, self._group(groups[0]))
            case "Bind":
                return Extend(
                    made, part.tokens("VAR")[-1].text, self._term(part.child("Expression"), self._expressions)
                )
            case "Values":
                return join(made, self._data(part))
            case "GraphBlock":
                return join(made, self._graph_block(part, made))
        raise NotMaintainable(f"{part.rule.upper()} is not answered incrementally")

    def _graph_block(self, part: Tree, made: Operator) -> Operator:
        """What each of the graphs says that a GRAPH block names. It is joined to what is `made` before: where that is
        data with names of graphs, as WINDOW ?w has them, others need not be asked."""
        node, inner = part.child("VarOrIri"), self._group(part.child("Group"))
        variable = node.token("VAR")
        name = None if variable is None else variable.text
        only = None if variable is not None else self._iri(node.child("Iri"))
        graphs = [graph for graph in self._graphs if only in (None, graph)]
        if isinstance(made, Data) and name is not None and name in bound(made):
            given = {row[made.names.index(name)] for row in made.rows}
            graphs = [graph for graph in graphs if f"<{graph}>" in given]
        if len(graphs) > 1 and len(graphs) * sum(1 for _ in all_of(inner)) > MOST_PARTS:
            raise NotMaintainable(
                f"GRAPH {name} asks each of {len(graphs):,} graphs by itself, in more than {MOST_PARTS:,} parts"
            )
        blocks = tuple(GraphBlock(graph, asked_of(inner, graph), name) for graph in graphs)
        if not blocks:
            return Data(() if name is None else (name,), ())
        return blocks[0] if len(blocks) == 1 else Union(blocks)

    def _existing(self, inner: Operator, exists: Iterable[tuple[Tree, bool]]) -> Operator:
        for group, denied in exists:
            if any(True for _ in group.walk("SubSelect")):
                raise NotMaintainable("a sub-SELECT within EXISTS")
            pattern, tests, nested = self._parts(group)
            found = all_of(pattern)
            strange = next(
                (
                    part
                    for part in found
                    if not isinstance(part, (Unit, Scan, Reach, GraphBlock, Data, Join, Union, Filter, Project))
                ),
                None,
            )
            if nested or strange is not None:
                what = (
                    "EXISTS"
                    if nested or isinstance(strange, Exists)
                    else {LeftJoin: "OPTIONAL", Minus: "MINUS", Extend: "BIND"}[type(strange)]
                )
                raise NotMaintainable(f"{what} within EXISTS")
            for part in all_of(pattern):
                # There a term of the solution around it leads to itself, whether or not it is in the graph.
                if isinstance(part, Reach) and part.zero:
                    raise NotMaintainable("a path that may have no length within EXISTS")
                # What a filter further inside sees of the solution around it, a join does not.
                if isinstance(part, Filter) and any(not set(test.names) <= bound(part.inner) for test in part.tests):
                    raise NotMaintainable(
                        "a filter in a group within EXISTS looks at what that group may leave unbound"
                    )
            inner = Exists(inner, pattern, tuple(tests), denied)
        return inner

    def _joined(self, block: Block) -> Operator:
        inside = frozenset().union(*map(named, block.others))
        nodes = dict.fromkeys(node for triple in block.triples for node in triple if is_variable(node))
        shown = [
            node
            for node in (*nodes, *inside)
            if node[0] == "?" and (self._star or self._uses[node] > block.uses[node]) and self._uses[node]
        ]
        made = scans(block.triples, {*shown, *inside})
        for other in block.others:
            made = join(made, other)
        hidden = named(made) - set(shown)
        return Project(made, tuple(name for name in dict.fromkeys(shown) if name in named(made))) if hidden else made

    # --- SELECT

    def _selected(self, select: Tree, pattern: Operator, names: tuple[str, ...], values: Iterable[Tree]) -> Operator:
        modifiers = select.node("Modifiers") or select.node("SubModifiers")
        projection = select.node("Projection")
        grouped = projection is not None and is_grouped(select)
        grouping = _Grouping(self._reading, _no_exists, self._fresh, self._base, self._source)
        expressions = grouping if grouped else self._expressions
        keys: list[str] = []
        for condition in (key for node in self._nodes(modifiers, "GroupBy") for key in node.nodes("GroupCondition")):
            key = variable_of(condition) if condition.token("AS") is None else None
            if key is None:
                alias = condition.token("VAR")
                key = self._fresh("key") if alias is None else alias.text
                pattern = Extend(pattern, key, self._term(condition.node("Expression") or condition, self._expressions))
            keys.append(key)
        tests: list[Expression] = []
        exists: list[tuple[Tree, bool]] = []
        for constraint in (found for node in self._nodes(modifiers, "Having") for found in node.nodes("Constraint")):
            self._split(constraint.nodes()[0], expressions, tests, exists)
        shown = [
            (item.tokens("VAR")[-1].text, self._term(item.child("Expression"), expressions))
            for item in (projection.nodes("ProjectionItem") if projection is not None else ())
            if item.node("Expression") is not None
        ]
        conditions = tuple(
            (self._term(condition, expressions), bool(condition.tokens("DESC")))
            for node in self._nodes(modifiers, "OrderBy")
            for condition in node.nodes("OrderCondition")
        )
        if grouped:
            pattern = GroupBy(pattern, tuple(dict.fromkeys(keys)), tuple(grouping.aggregates.values()))
        if tests:
            pattern = Filter(pattern, tuple(tests))
        pattern = self._existing(pattern, exists)
        for data in values:  # behind the query: they are joined with its groups, if it forms any
            pattern = join(pattern, self._data(data))
        for name, expression in shown:
            pattern = Extend(pattern, name, expression)
        numbers = {
            node.rule: int(node.leaf("INTEGER").text)
            for node in (modifiers.walk("Limit", "Offset", outside=("Group",)) if modifiers is not None else ())
        }
        limit, offset = numbers.get("Limit"), numbers.get("Offset", 0)
        if conditions or limit is not None or offset:
            pattern = OrderBy(pattern, conditions, names)
        distinct = projection is not None and any(
            True for node in select.nodes("Distinct") for _ in node.tokens("DISTINCT")
        )
        pattern = Project(pattern, names, distinct)
        return pattern if limit is None and not offset else Slice(pattern, offset, limit)

    @staticmethod
    def _nodes(modifiers: Tree | None, rule: str) -> list[Tree]:
        return [] if modifiers is None else modifiers.nodes(rule)

    def _data(self, values: Tree) -> Data:
        block = values.child("DataBlock")
        names = tuple(token.text for token in block.tokens("VAR"))
        rows: list[tuple[Node | None, ...]] = []
        row: list[Node | None] = []
        alone = block.tokens()[0].key == "VAR"
        opened = block.children.index(block.leaf("{"))
        for child in block.children[opened + 1 :]:
            if isinstance(child, Tree):
                cell = None if child.tokens("UNDEF") else self._reading.constant(child)
                if alone:
                    rows.append((cell,))
                else:
                    row.append(cell)
            elif child.key == "(":
                row = []
            elif child.key in (")", "NIL"):
                rows.append(tuple(row) if child.key == ")" else ())
        return Data(names, tuple(rows))

    # --- expressions

    def _split(
        self, tree: Tree, expressions: Expressions, tests: list[Expression], exists: list[tuple[Tree, bool]]
    ) -> None:
        """A condition as conditions that all have to be true."""
        core = core_of(tree)
        if core.rule == "And":
            for part in core.nodes():
                self._split(part, expressions, tests, exists)
        elif core.rule == "BuiltIn" and (group := core.node("Group")) is not None:
            exists.append((group, core.tokens("NOT") != []))
        else:
            with expressions.row(()):
                pieces = ("(", *self._written(lambda: expressions.value(core)), ")")
            tests.append(
                Expression(
                    pieces, self._names(core, expressions), self._comparison(core), self._base, self._source(core)
                )
            )

    def _term(self, tree: Tree, expressions: Expressions) -> Expression:
        with expressions.row(()):
            return Expression(
                tuple(self._written(lambda: expressions.as_id(tree))),
                self._names(tree, expressions),
                base=self._base,
                written=self._source(core_of(tree)),
            )

    def _source(self, tree: Tree) -> str:
        """As it stands in the text, on one line."""
        return " ".join(self._text[tree.start : tree.end].split())

    @staticmethod
    def _written(write: Callable[[], list[Piece]]) -> list[Piece]:
        try:
            return write()
        except Unsupported as reason:
            raise NotMaintainable(str(reason)) from reason

    @staticmethod
    def _names(tree: Tree, expressions: Expressions) -> tuple[str, ...]:
        sets = [tree] if tree.rule == "Set" else list(tree.walk("Set"))
        made = [expressions.named(node) for node in sets] if isinstance(expressions, _Grouping) else []
        return tuple(dict.fromkeys([*names_in(tree), *made]))

    def _comparison(self, core: Tree) -> Comparison | None:
        if core.rule != "Relation" or len(signs := core.tokens(*COMPARISONS)) != 1:
            return None
        left, right = (self._operand(side) for side in core.nodes())
        if left is None or right is None or "?" not in (left[0], right[0]):
            return None
        return Comparison(signs[0].text, left, right)

    def _operand(self, side: Tree) -> str | None:
        core = core_of(side)
        if core.rule in ("Number", "Literal"):
            return self._reading.constant(core)
        return variable_of(core)

    def _fresh(self, name: str) -> str:
        self._made += 1
        while (made := f"?{name}_{self._made}") in self._uses:
            self._made += 1
        return made


def names_in(tree: Tree) -> tuple[str, ...]:
    """The variables of an expression, but for those that its aggregates look at."""
    return tuple(dict.fromkeys(token.text for token in tree.all_tokens("VAR", outside=("Set",))))


def core_of(tree: Tree) -> Tree:
    """An expression without the brackets around it, and without the rules that say nothing."""
    while (
        len(inner := tree.nodes()) == 1
        and tree.rule not in ("Literal", "Set")
        and (not tree.tokens() or tree.rule in ("Bracketed", "GroupCondition", "OrderCondition"))
    ):
        tree = inner[0]
    return tree


def _moves(pattern: Operator, test: Expression) -> bool:
    """Whether a test looks only at what one scan of a pattern binds."""
    return filtered(pattern, [test]) != Filter(pattern, (test,))


def _no_exists(group: Tree) -> list[Piece]:
    raise NotMaintainable("EXISTS within a greater expression")
