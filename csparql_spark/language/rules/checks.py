"""Whether a rule makes sense: each clause by itself, and what is bound where.

All triple patterns of a body are matched before its guards. A guard may use what patterns and makers before it have
bound, and guards are put into an order in which that is so; where there are several, the one of the text. A rule is
*safe* when each variable of its head is bound.

    rule = RuleChecks(diagnostics).rule(draft)
    rule.guards         # sum(?x, ?y, ?z) lessThan(?z, 9)      however they were written

A maker binds a variable that nothing else binds. Where its last argument is a term, or bound already, a fresh variable
stands there and `equal` compares: `sum(?x, 1, 5)` is `sum(?x, 1, ?_1) equal(?_1, 5)`. The wildcard `*` becomes such a
variable, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.errors import Lines
from csparql_spark.language.rules.bounds import MOST_ATOMS, MOST_GUARDS, MOST_HEADS
from csparql_spark.language.rules.builtins import BUILTINS, DIRECTIVES, REFUSED, Builtin, nearest
from csparql_spark.language.rules.patterns import PatternError, check_pattern
from csparql_spark.language.rules.reading import WILDCARD, Call, Clause, ClauseNode, RuleDraft
from csparql_spark.language.rules.rule import Atom, Guard, Rule, is_variable
from csparql_spark.rdf.terms import parse

_FORWARD = "Write body -> head."


class RuleChecks:
    """Turns drafts into rules; what is wrong becomes a problem."""

    def __init__(self, diagnostics: Diagnostics, *, stored: bool = False) -> None:
        self._diagnostics, self._stored = diagnostics, stored
        self.patterns: list[str] = []  # warnings about patterns of `regex`
        self._lines = Lines(diagnostics.text)
        self._names: dict[str, int] = {}

    def part(self, draft: RuleDraft, clause: Clause | None) -> None:
        """Judge what was read of a rule before the text went wrong."""
        for side in (draft.left, draft.right):
            self._check_size(side, draft)
        if draft.arrow is None:
            self._check_clauses([*draft.left, *([clause] if clause else [])], head=False, backward=False)
            return
        if clause is not None:
            draft.right.append(clause)
        self._check_clauses(draft.body, head=False, backward=draft.backward)
        self._check_clauses(draft.head, head=True, backward=draft.backward)
        if not draft.backward:
            self._check_body(draft)
            self._bound_in(draft)

    def rule(self, draft: RuleDraft) -> Rule | None:
        """The rule of a draft; nothing for one that only holds directives, or is wrong."""
        for side in (draft.left, draft.right):
            self._check_size(side, draft)
        self._check_arrow(draft)
        self._check_clauses(draft.body, head=False, backward=draft.backward)
        self._check_clauses(draft.head, head=True, backward=draft.backward)
        self._check_body(draft)
        guards = self._bound_in(draft)
        self._diagnostics.raise_first()
        atoms = _atoms(draft.head)
        if not atoms:
            return None
        fresh = _fresh(draft)
        body = tuple(_atom(clause, fresh) for clause in _atoms(draft.body))
        guards = _compared(guards, {node for atom in body for node in atom.variables}, fresh)
        if len(guards) > MOST_GUARDS:
            self._too_many(draft.start, draft.end, f"more than {MOST_GUARDS} guards, with those that compare")
            self._diagnostics.raise_first()
        line, _ = self._lines.locate(draft.start)
        return Rule(tuple(_atom(clause, fresh) for clause in atoms), body, tuple(guards), self._name(draft), line)

    def _name(self, draft: RuleDraft) -> str | None:
        token = draft.name
        name = "" if token is None else token.text.removesuffix(":")
        if token is None or not name:
            return None
        if name in self._names:
            self._diagnostics.warn(token.start, f'The rule of line {self._names[name]} is called "{name}", too.')
        self._names.setdefault(name, self._lines.locate(token.start)[0])
        return name

    def _check_size(self, clauses: list[Clause], draft: RuleDraft) -> None:
        atoms, guards = _atoms(clauses), _calls(clauses)
        if len(guards) > MOST_GUARDS:
            self._too_many(guards[MOST_GUARDS].start, guards[MOST_GUARDS].end, f"more than {MOST_GUARDS} guards")
        if len(atoms) > MOST_ATOMS:
            self._too_many(atoms[MOST_ATOMS].start, atoms[MOST_ATOMS].end, f"more than {MOST_ATOMS} triple patterns")
        if draft.arrow is not None and clauses is draft.head and len(atoms) > MOST_HEADS:
            place = atoms[MOST_HEADS]
            self._too_many(place.start, place.end, f"more than {MOST_HEADS} triple patterns in its head")

    def _too_many(self, start: int, end: int, what: str) -> None:
        self._diagnostics.add(start, end, "too-large", f"The rule has {what}.", hint="Write several rules.")

    def _check_arrow(self, draft: RuleDraft) -> None:
        add, arrow = self._diagnostics.add, draft.arrow
        assert arrow is not None  # the draft is whole
        if not draft.backward:
            if not draft.head:
                add(
                    arrow.start,
                    arrow.end,
                    "empty-head",
                    "Nothing stands behind the arrow.",
                    expected="a triple pattern",
                    hint="Write what follows from the body.",
                )
        elif not draft.head:
            add(
                arrow.start,
                arrow.end,
                "backward-rule",
                "Nothing stands before the arrow of this backward rule.",
                expected="a triple pattern",
                hint=_FORWARD,
            )
        elif len(draft.head) > 1:
            second = draft.head[1]
            message = "A backward rule has one triple pattern before its arrow."
            add(second.start, second.end, "backward-rule", message, hint=f"The arrow points to the head. {_FORWARD}")
        else:
            self._diagnostics.warn(arrow.start, f"The backward rule is read as a forward one. {_FORWARD}")

    def _check_clauses(self, clauses: list[Clause], *, head: bool, backward: bool) -> None:
        for clause in clauses:
            if not isinstance(clause, Call):
                self._check_atom(clause, head)
            elif head:
                self._check_head_call(clause, backward)
            else:
                self._check_call(clause)

    def _check_body(self, draft: RuleDraft) -> None:
        if draft.body and not _atoms(draft.body):
            first = draft.body[0]
            self._diagnostics.add(
                first.start,
                first.end,
                "no-pattern",
                "Guards alone match nothing.",
                expected="a triple pattern",
                hint="Add a triple pattern to the body.",
            )

    def _check_atom(self, clause: Clause, head: bool) -> None:
        for node, place in zip(clause.nodes, ("subject", "predicate"), strict=False):
            if node.value[0] == '"':
                why = "so this is never derived" if head else "so this never matches"
                self._diagnostics.add(
                    node.start,
                    node.end,
                    "literal-place",
                    f"A literal is no {place}, {why}.",
                    expected="a variable or an IRI",
                    hint="Only objects are literals.",
                )
        for node in clause.nodes:
            if head and node.value == WILDCARD:
                self._diagnostics.add(
                    node.start,
                    node.end,
                    "wildcard",
                    "A head says what holds, and * says nothing.",
                    expected="a variable or a term",
                    hint="Write a variable that the body binds.",
                )

    def _check_head_call(self, clause: Call, backward: bool) -> None:
        name = clause.name.text
        if name in DIRECTIVES and not backward:
            self._diagnostics.warn(clause.start, f"{name}(...) has no effect: forward rules always come to an end.")
        elif name in REFUSED and name not in DIRECTIVES:
            self._refused(clause)
        elif name in BUILTINS or name in DIRECTIVES:
            hint = "Move it to the body." if name in BUILTINS else f"Write -> {name}(...)."
            self._diagnostics.add(
                clause.start,
                clause.name.end,
                "builtin-in-head",
                f"{name} stands in the head, and a head has only triple patterns.",
                hint=hint,
            )
        else:
            self._unknown(clause)

    def _check_call(self, clause: Call) -> None:
        name = clause.name.text
        builtin = BUILTINS.get(name)
        if builtin is None:
            if name in REFUSED:
                self._refused(clause)
            else:
                self._unknown(clause)
            return
        for node in clause.nodes:
            if node.value == WILDCARD:
                message = f"* is not bound, and {name} needs values."
                self._diagnostics.add(node.start, node.end, "wildcard", message, hint="Write a variable.")
        if clause.end < 0:
            return
        number = len(clause.nodes)
        if name == "regex" and number > 2:
            third = clause.nodes[2]
            message = "regex binds no captures: it takes a text and a pattern."
            self._diagnostics.add(
                third.start, third.end, "wrong-arity", message, expected='")"', hint=f"Write {builtin.shape}."
            )
        elif not builtin.takes(number):
            message = f"{name} has {builtin.arity} argument{'s' * (builtin.arity != '1')}; this one has {number}."
            self._diagnostics.add(clause.start, clause.end, "wrong-arity", message, hint=f"Write {builtin.shape}.")
        else:
            self._check_values(builtin, clause.nodes)

    def _check_values(self, builtin: Builtin, nodes: list[ClauseNode]) -> None:
        for place, node in enumerate(nodes):
            if place in builtin.literals and node.value[0] == "<":
                message = f"An IRI has no value, so {builtin.name} never holds of it."
                self._diagnostics.add(node.start, node.end, "never-holds", message, expected="a variable or a literal")
            if place in builtin.iris and node.value[0] == '"':
                self._diagnostics.add(
                    node.start,
                    node.end,
                    "never-holds",
                    "A datatype is an IRI.",
                    expected="an IRI",
                    hint="Write xsd:integer.",
                )
        if builtin.name == "regex" and nodes[1].value[0] == '"':
            self._check_pattern(nodes[1])

    def _check_pattern(self, node: ClauseNode) -> None:
        try:
            pattern = check_pattern(parse(node.value).value)
        except PatternError as error:
            if self._stored:
                self._warn_of_pattern(node, f"{error.message} So this regex holds of nothing.")
                return
            # What is to be typed stands in a string, in which a backslash is written twice.
            hint = error.hint and error.hint.replace("\\", "\\\\")
            self._diagnostics.add(node.start, node.end, error.code, error.message, hint=hint)
            return
        for surprise in pattern.surprises:
            self._warn_of_pattern(node, surprise)

    def _warn_of_pattern(self, node: ClauseNode, message: str) -> None:
        self.patterns.append(self._diagnostics.warn(node.start, message))

    def _refused(self, clause: Call) -> None:
        refusal = REFUSED[clause.name.text]
        self._diagnostics.add(clause.start, clause.name.end, "refused-builtin", refusal.reason, hint=refusal.hint)

    def _unknown(self, clause: Call) -> None:
        name = clause.name.text
        shown = name if len(name) <= 40 else f"{name[:37]}..."
        close = nearest(name)
        hint = f"Did you mean {close}?" if close else f"There are {', '.join(BUILTINS)}."
        self._diagnostics.add(
            clause.start, clause.name.end, "unknown-builtin", f"There is no builtin {shown}.", hint=hint
        )

    def _bound_in(self, draft: RuleDraft) -> list[Guard]:
        """The guards in their order; variables that nothing binds are diagnostics."""
        bound = {node.value for clause in _atoms(draft.body) for node in clause.nodes}
        calls = _calls(draft.body)
        waiting = [clause for clause in calls if _is_right(clause)]
        guards: list[Guard] = []
        while ready := next((clause for clause in waiting if not any(_unbound(clause, bound))), None):
            waiting.remove(ready)
            bound.update(node.value for node in ready.nodes)
            guards.append(Guard(ready.name.text, tuple(node.value for node in ready.nodes)))
        made = {clause.nodes[-1].value for clause in waiting if BUILTINS[clause.name.text].makes}
        # A call that is wrong by itself may have been meant to bind any of its variables.
        wrong = {node.value for clause in calls if not _is_right(clause) for node in clause.nodes}
        missing = [node for clause in waiting for node in _unbound(clause, bound | made | wrong)]
        for node in missing:
            self._unbound(node, "to a value", bound)
        circular = [] if missing else [next(_unbound(clause, bound | wrong), None) for clause in waiting]
        for place in circular:
            if place is not None:
                message = f"{_shown(place)} is made from itself, in a circle."
                self._diagnostics.add(
                    place.start,
                    place.end,
                    "circular-guards",
                    message,
                    hint="Bind one of the variables in a triple pattern.",
                )
        for clause in _atoms(draft.head):
            for node in clause.nodes:
                if is_variable(node.value) and node.value not in bound | made | wrong:
                    self._unbound(node, "in the body", bound)
        self._warn_of_literals(draft, {node.value for clause in _atoms(draft.body) for node in clause.nodes}, guards)
        return guards

    def _warn_of_literals(self, draft: RuleDraft, matched: set[str], guards: list[Guard]) -> None:
        made = {guard.arguments[-1] for guard in guards if BUILTINS[guard.name].makes and guard.name != "uriConcat"}
        for clause in _atoms(draft.head):
            for node in clause.nodes[:2]:
                if node.value in made - matched:
                    self._diagnostics.warn(node.start, f"{node.value} is always a literal, so this is never derived.")

    def _unbound(self, node: ClauseNode, where: str, bound: set[str]) -> None:
        variables = sorted(value for value in bound if is_variable(value))
        close = get_close_matches(node.value[:40], variables, n=1, cutoff=0.7)
        hint = f"Did you mean {close[0]}?" if close else "Add a triple pattern with it to the body."
        message = f"Nothing binds {_shown(node)} {where}."
        self._diagnostics.add(node.start, node.end, "unbound-variable", message, hint=hint)


def _atoms(clauses: list[Clause]) -> list[Clause]:
    """The triple patterns among clauses."""
    return [clause for clause in clauses if not isinstance(clause, Call)]


def _calls(clauses: list[Clause]) -> list[Call]:
    return [clause for clause in clauses if isinstance(clause, Call)]


def _is_right(clause: Call) -> bool:
    builtin = BUILTINS.get(clause.name.text)
    return builtin is not None and builtin.takes(len(clause.nodes))


def _shown(node: ClauseNode) -> str:
    return node.value if len(node.value) <= 40 else f"{node.value[:37]}..."


def _unbound(clause: Call, bound: set[str]) -> Iterator[ClauseNode]:
    """The nodes that must be bound before a guard is called, and are not."""
    inputs = clause.nodes[:-1] if BUILTINS[clause.name.text].makes else clause.nodes
    return (node for node in inputs if is_variable(node.value) and node.value not in bound)


def _fresh(draft: RuleDraft) -> Iterator[str]:
    """Variables that the rule does not use."""
    used = {node.value for side in (draft.left, draft.right) for clause in side for node in clause.nodes}
    number = 0
    while True:
        number += 1
        if f"?_{number}" not in used:
            yield f"?_{number}"


def _atom(clause: Clause, fresh: Iterator[str]) -> Atom:
    return Atom(*(next(fresh) if node.value == WILDCARD else node.value for node in clause.nodes))


def _compared(guards: list[Guard], bound: set[str], fresh: Iterator[str]) -> list[Guard]:
    """Guards in which each maker binds a variable that nothing else binds."""
    written: list[Guard] = []
    for guard in guards:
        last = guard.arguments[-1]
        if BUILTINS[guard.name].makes and (not is_variable(last) or last in bound):
            result = next(fresh)
            written.append(Guard(guard.name, (*guard.arguments[:-1], result)))
            written.append(Guard("equal", (result, last)))
            bound.add(result)
        else:
            written.append(guard)
            bound.update(guard.variables)
    return written
