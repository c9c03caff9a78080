"""Which variables are visible where, and the rules of SPARQL that hang on it.

The grammar cannot say that a grouped query shows only what it groups, that BIND and AS name new variables, or that a
blank node label belongs to one basic graph pattern. These checks say it, each at the variable it is about.

    SELECT ?room (AVG(?t) AS ?mean) { ?obs :in ?room ; :celsius ?t }
           ^^^^^  The variable ?room is neither grouped nor aggregated.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.queries.syntax import Node
from csparql_spark.language.tokens import Token

_SELECTS = ("Select", "SubSelect")


def visible(node: Node) -> dict[str, None]:
    """The variables that a Where, a Group, or a part of a group can bind, in the order of the text."""
    names: dict[str, None] = {}
    for child in node.nodes():
        names.update(_visible_in(child))
    return names


def _visible_in(node: Node) -> dict[str, None]:
    rule = node.rule
    if rule == "TriplesPath":
        return {token.text[1:]: None for token in node.all_tokens("VAR")}
    if rule == "SubSelect":
        return projected(node)
    if rule in ("GraphBlock", "WindowBlock", "Service"):
        names = {token.text[1:]: None for target in node.nodes("VarOrIri") for token in target.tokens("VAR")}
        return {**names, **visible(node)}
    if rule == "Bind":
        return {node.tokens("VAR")[-1].text[1:]: None}
    if rule == "DataBlock":
        return {token.text[1:]: None for token in node.tokens("VAR")}
    if rule in ("Group", "GroupBody", "Union", "Optional", "Values"):
        return visible(node)
    return {}


def projected(select: Node) -> dict[str, None]:
    """The variables a SELECT or sub-SELECT shows."""
    projection = select.child("Projection")
    if projection.token("*") is None:
        return {item.tokens("VAR")[-1].text[1:]: None for item in projection.nodes("ProjectionItem")}
    names = visible(select.child("Where"))
    for values in select.nodes("Values"):
        names.update(visible(values))
    return names


def grouped_variables(modifiers: Node) -> dict[str, None]:
    """The variables a GROUP BY leaves visible: bare ones, bracketed ones, and those after AS."""
    grouped: dict[str, None] = {}
    for group_by in modifiers.nodes("GroupBy"):
        for condition in group_by.nodes("GroupCondition"):
            variable = condition.token("VAR")
            if variable is not None:
                grouped[variable.text[1:]] = None
                continue
            inner = list(condition.all_tokens())
            names = [token for token in inner if token.key == "VAR"]
            if len(names) == 1 and all(token.key in ("(", ")", "VAR") for token in inner):
                grouped[names[0].text[1:]] = None
    return grouped


def check_projections(unit: Node, diagnostics: Diagnostics) -> None:
    """What a SELECT or a template may show, over the tree of a whole text."""
    query = unit.child("Query")
    form = query.nodes()[0]
    for select in query.walk(*_SELECTS):
        _check_projection(select, unit.nodes("Values") if select is form else select.nodes("Values"), diagnostics)
    if form.rule == "Construct":
        _check_template(form, diagnostics)
    where = form.node("Where")
    if where is not None:
        computed = {token.text[1:] for clause in form.walk("Aggregate") for token in _aggregated(clause)}
        _check_filters(where.child("Group"), unit, set(), computed, diagnostics)


def check_patterns(unit: Node, diagnostics: Diagnostics) -> None:
    """What is wrong with patterns whatever follows them: the tree may be that of a text with an error further on."""
    for body in unit.walk("GroupBody"):
        _check_binds(body, diagnostics)
    _check_sets(unit, diagnostics)
    _check_labels(unit, diagnostics)
    for block in unit.walk("DataBlock"):
        if block.end >= 0:
            _check_data(block, diagnostics)


def is_grouped(select: Node) -> bool:
    """Whether a query forms groups: it says so, or it uses a set function outside of its patterns."""
    modifiers = select.node("Modifiers") or select.node("SubModifiers")
    parts = [part for part in (select.node("Projection"), modifiers) if part is not None]
    if modifiers is not None and modifiers.node("GroupBy") is not None:
        return True
    return any(True for part in parts for _ in part.walk("Set", outside=("Group", "Aggregate")))


def _check_projection(select: Node, trailing: list[Node], diagnostics: Diagnostics) -> None:
    projection = select.child("Projection")
    modifiers = select.node("Modifiers") or select.child("SubModifiers")
    where = visible(select.child("Where"))
    for values in trailing:
        where.update(visible(values))
    grouped = is_grouped(select)
    keys = grouped_variables(modifiers)
    star = projection.token("*")
    if star is not None:
        if grouped:
            diagnostics.add(
                star.start,
                star.end,
                "not-grouped",
                "A query that forms groups cannot show all variables.",
                hint="Name the grouped variables instead of *.",
            )
        return
    bound = {token.text[1:] for part in modifiers.nodes("Aggregate") for token in _aggregated(part)}
    _warn_of_groups(modifiers, projection, where, {*keys, *bound} if grouped else {*where, *bound}, diagnostics)
    projected: dict[str, None] = {}
    for item in projection.nodes("ProjectionItem"):
        variable = item.tokens("VAR")[-1]
        name = variable.text[1:]
        expression = item.node("Expression")
        if name in projected:
            diagnostics.add(
                variable.start, variable.end, "duplicate-variable", f"The variable ?{name} is already shown."
            )
        elif expression is not None and (name in where or name in keys):
            place = "in WHERE" if name in where else "by GROUP BY"
            diagnostics.add(
                variable.start,
                variable.end,
                "variable-in-use",
                f"AS names a new variable, and ?{name} is already bound {place}.",
                hint="Choose another name.",
            )
        if expression is None and grouped and name not in keys:
            _not_grouped(variable, name, diagnostics)
        elif expression is None and name not in where and name not in bound and name not in keys:
            diagnostics.warn(variable.start, f"the variable ?{name} is bound nowhere.")
        if expression is not None and grouped:
            for used in expression.all_tokens("VAR", outside=("Set", "Group")):
                if used.text[1:] in projected and used.text[1:] not in keys:
                    diagnostics.add(
                        used.start,
                        used.end,
                        "unsupported-alias",
                        f"{used.text} is computed from groups in this same SELECT, and cannot be used in it.",
                        hint="Repeat its expression, or compute it in a sub-SELECT.",
                    )
                elif used.text[1:] not in keys:
                    _not_grouped(used, used.text[1:], diagnostics)
        projected[name] = None


def _warn_of_groups(
    modifiers: Node, projection: Node, where: dict[str, None], there: set[str], diagnostics: Diagnostics
) -> None:
    """GROUP BY and HAVING may name what is not bound there: nothing is wrong with that, and nothing comes of it."""
    for condition in (found for node in modifiers.nodes("GroupBy") for found in node.nodes("GroupCondition")):
        variable = condition.token("VAR") if condition.token("AS") is None else None
        if variable is not None and variable.text[1:] not in where:
            diagnostics.warn(variable.start, f"the variable {variable.text} is bound nowhere, so this forms one group.")
    computed = {
        item.tokens("VAR")[-1].text: item.node("Expression")
        for item in projection.nodes("ProjectionItem")
        if item.node("Expression") is not None
    }
    for having in modifiers.nodes("Having"):
        for variable in having.all_tokens("VAR", outside=("Set", "Group")):
            expression = computed.get(variable.text)
            if variable.text[1:] in there:
                continue
            if expression is not None:
                written = " ".join(diagnostics.text[expression.start : expression.end].split())
                diagnostics.warn(
                    variable.start,
                    f"{variable.text} is computed by SELECT, after HAVING: it is unbound here. "
                    f"Write {written} instead.",
                )
            else:
                diagnostics.warn(
                    variable.start,
                    f"{variable.text} is not grouped by, so it is unbound in HAVING. "
                    "Add it to GROUP BY, or aggregate it.",
                )


def _aggregated(clause: Node) -> list[Token]:
    return [node.tokens("VAR")[0] for node in clause.nodes("AggregateTuple")]


def _not_grouped(variable: Token, name: str, diagnostics: Diagnostics) -> None:
    diagnostics.add(
        variable.start,
        variable.end,
        "not-grouped",
        f"The variable ?{name} is neither grouped nor aggregated.",
        hint=f"Add GROUP BY ?{name}, or write (SAMPLE(?{name}) AS ?one).",
    )


def _check_filters(group: Node, unit: Node, around: set[str], outer: set[str], diagnostics: Diagnostics) -> None:
    """A FILTER sees what its own group binds, one in OPTIONAL what the group around binds besides (`around`), and one
    in EXISTS whatever is bound where that stands (`outer`): the rest is unbound in it, which nobody means."""
    below = group.node("SubSelect")
    if below is not None:
        _check_filters(below.child("Where").child("Group"), unit, set(), outer, diagnostics)
    body = group.node("GroupBody")
    if body is None:
        return
    bound = set(visible(body))
    here = bound | around | outer
    for part in body.nodes():
        if part.rule in ("Filter", "Bind"):
            for inner in _outermost(part):
                _check_filters(inner, unit, set(), here, diagnostics)
        if part.rule == "Filter":
            for variable in part.all_tokens("VAR", outside=("Group",)):
                if variable.text[1:] not in here:
                    _warn_of_unbound(variable, here, unit, diagnostics)
            continue
        # What is said of a graph's name says the check of its block.
        names = {token.text[1:] for target in part.nodes("VarOrIri") for token in target.tokens("VAR")}
        for inner in part.nodes("Group"):
            _check_filters(inner, unit, bound if part.rule == "Optional" else set(), outer | names, diagnostics)


def _outermost(node: Node) -> Iterator[Node]:
    """The groups below a node that are in no other one."""
    for child in node.nodes():
        if child.rule == "Group":
            yield child
        else:
            yield from _outermost(child)


def _warn_of_unbound(variable: Token, here: set[str], unit: Node, diagnostics: Diagnostics) -> None:
    name = variable.text[1:]
    if any(name in visible(body) for body in unit.walk("GroupBody")):
        fault = (
            f"is bound in other braces only, so it is unbound in this FILTER. Write the FILTER where ?{name} is bound."
        )
    else:
        near = get_close_matches(name, sorted(here), n=1)
        fault = f"is bound nowhere, so it is unbound in this FILTER.{f' Did you mean ?{near[0]}?' if near else ''}"
    diagnostics.warn(variable.start, f"the variable {variable.text} {fault}")


def _check_binds(body: Node, diagnostics: Diagnostics) -> None:
    names: dict[str, None] = {}
    for part in body.nodes():
        if part.end < 0:
            break
        if part.rule == "Bind":
            variable = part.tokens("VAR")[-1]
            if variable.text[1:] in names:
                diagnostics.add(
                    variable.start,
                    variable.end,
                    "variable-in-use",
                    f"BIND names a new variable, and {variable.text} is already bound before it.",
                    hint="Choose another name.",
                )
        names.update(_visible_in(part))


def _check_sets(unit: Node, diagnostics: Diagnostics) -> None:
    def refuse(node: Node, message: str, hint: str) -> None:
        diagnostics.add(node.start, node.end, "misplaced-aggregate", message, hint=hint)

    for place in unit.walk("Filter", "Bind", "AggregateTuple"):
        for found in place.walk("Set", outside=("Group",)):
            refuse(
                found,
                f"{found.tokens()[0].text} has no group to count here.",
                "Use HAVING, or compute it in a sub-SELECT.",
            )
    for place in unit.walk("GroupBy"):
        for found in place.walk("Set", outside=("Group",)):
            refuse(found, "Groups cannot be formed by what is computed from groups.", "Use a sub-SELECT.")
    for outer in unit.walk("Set"):
        for found in outer.walk("Set", outside=("Group",)):
            refuse(found, "An aggregate cannot be aggregated again.", "Use a sub-SELECT for the inner one.")


def _check_labels(unit: Node, diagnostics: Diagnostics) -> None:
    owner: dict[str, tuple[int, int]] = {}
    for body in unit.walk("GroupBody"):
        pattern = 0
        for part in body.nodes():
            if part.rule != "TriplesPath":
                pattern += part.rule != "Filter"
                continue
            for token in part.all_tokens("BLANK"):
                place = (body.start, pattern)
                if owner.setdefault(token.text, place) != place:
                    diagnostics.add(
                        token.start,
                        token.end,
                        "blank-node-scope",
                        f"The label {token.text} already stands in another part of the pattern.",
                        hint="Use a variable: a blank node label belongs to one group of triple patterns.",
                    )


def _check_data(block: Node, diagnostics: Diagnostics) -> None:
    names: dict[str, None] = {}
    for variable in block.tokens("VAR"):
        if variable.text[1:] in names:
            diagnostics.add(
                variable.start, variable.end, "duplicate-variable", f"{variable.text} stands twice in this VALUES."
            )
        names[variable.text[1:]] = None
    if block.tokens()[0].key == "VAR":
        return
    width = len(block.tokens("VAR"))
    rows = block.children[block.children.index(block.leaf("{")) + 1 :]
    count, opening = 0, None
    for child in rows:
        if isinstance(child, Node):
            count += 1
        elif child.key == "(":
            count, opening = 0, child
        elif child.key in (")", "NIL"):
            found, first = (0, child) if child.key == "NIL" or opening is None else (count, opening)
            if found != width:
                diagnostics.add(
                    first.start,
                    child.end,
                    "values-width",
                    f"This row has {found} value{'s' * (found != 1)} for {width} variable{'s' * (width != 1)}.",
                    hint="UNDEF stands for no value.",
                )


def _check_template(form: Node, diagnostics: Diagnostics) -> None:
    template = form.node("Template")
    short = form.node("ShortWhere")
    if short is not None and not short.nodes():
        diagnostics.add(
            short.start,
            short.end,
            "nothing-to-construct",
            "There are no triples between the brackets that could be constructed.",
            hint="Write them, or give CONSTRUCT a template of its own.",
        )
    if template is None:
        return
    bound = visible(form.child("Where"))
    bound.update((token.text[1:], None) for clause in form.walk("Aggregate") for token in _aggregated(clause))
    if is_grouped(form):
        keys = grouped_variables(form.child("Modifiers"))
        for token in template.all_tokens("VAR"):
            if token.text[1:] not in keys:
                _not_grouped(token, token.text[1:], diagnostics)
        return
    for token in template.all_tokens("VAR"):
        if token.text[1:] not in bound:
            diagnostics.warn(token.start, f"the variable {token.text} is bound nowhere.")
