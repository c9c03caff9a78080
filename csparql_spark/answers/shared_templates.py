"""Shared templates: patterns that differ in their constants only, whose matches are kept, and moved, together.

A crowd asks the same of different things: `?s :in :room7 ; :value ?v`, `?s :in :room8 ; :value ?v`, … What a move adds
to all of their matches, and what it takes from them, is looked for once, with variables in the place of the constants,
and then parted; so whom it gives nothing is not asked.

    :room7 ─┐                              ┌─▶ new matches of the member with :room7
    :room8 ─┼─▶ ?s :in ?0 ; :value ?v ─────┤
     …     ─┘   (?0: a constant of some    └─▶ … with :room8
                 member)

    general = generalized(patterns)
    family  = TemplateFamily(moving, dictionary, general.template)
    slot    = family.join(member)                              # until nobody holds the member any more
    family.move()                                              # those who go together have followed the graph
    family.take(member)                                        # who has seen the graph as it is now goes with them
    family.rows                                                # the matches of all members (see `match_rows`)

Invariant: what a member gets is what it would have found. It has to look for itself (it is not `together` with others)
where the members are few, and where more rows than all of them would come across on their own have to be gone through:
where constants are what makes a pattern cheap. Who cannot be followed any more begins anew: it has no mark then.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from csparql_spark.answers.match_rows import MatchRows
from csparql_spark.answers.patterns import Pattern, is_variable
from csparql_spark.answers.row_filters import FilteredMember, RowFilter, Sieve
from csparql_spark.kernel.join import pairs
from csparql_spark.kernel.limits import TooMuchAtOnce
from csparql_spark.kernel.sort import distinct, order_of, ordered
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.changes import ADDED, REMOVED, Changes
from csparql_spark.relations.graph import Facts, TaggedGraph
from csparql_spark.relations.joins import Node, Plan, Relation, Shape, matched, plan, run
from csparql_spark.relations.joins import Pattern as Triple
from csparql_spark.relations.moving import Mark, Moving
from csparql_spark.relations.tags import NEVER
from csparql_spark.relations.union import GraphUnion

MANY = 8  # members that are worth it
MOST = 5_000_000  # matches that are kept of one pattern
FEW = 1_000  # so many matches are looked at, rather than to join what was taken back with the graph
MOST_CONSTANTS = 2  # of a member: as many ids as fit into one number
ID_BITS = 31
PASSED_OVER = 50  # moves for which nothing is tried again after it was too much
LEAST_ROWS = 1_000  # so many are gone through, however little has come
MOST_PAIRS = 2_000_000  # of rows and the members that get them


class TemplateMember(Protocol):
    """Who keeps the matches of a pattern of the family."""

    slot: int  # the number that its rows have
    names: dict[str, str]  # the variable in the template for each of its variables
    keep: tuple[RowFilter, ...]
    constants_apart: tuple[int, ...]  # the ids of its constants, in the order of the template
    constants: np.ndarray  # the ids of these, and of its predicates
    mark: Mark | None  # how far it has followed the graph by itself; None: it has to begin anew

    def restart(self) -> None: ...  # ids mean other terms now


class Generalized(NamedTuple):
    template: tuple[Pattern, ...]  # with `?=0`, … for constants, and other names for variables
    names: dict[str, str]  # the variable in the template for each variable
    constants: tuple[str, ...]


def generalized(patterns: tuple[Pattern, ...]) -> Generalized:
    """What patterns have in common that differ in constants only; of those with more constants than can be told apart,
    and of those without a variable, the patterns themselves."""
    names: dict[str, str] = {}
    constants: dict[str, str] = {}

    def general(node: str, place: int) -> str:
        if is_variable(node):
            return names.setdefault(node, f"?{len(names)}")
        return node if place == 1 else constants.setdefault(node, f"?={len(constants)}")

    template = tuple((general(s, 0), general(p, 1), general(o, 2)) for s, p, o in patterns)
    if len(constants) > MOST_CONSTANTS or not names:
        back = {name: constant for constant, name in constants.items()}
        template = tuple((back.get(s, s), p, back.get(o, o)) for s, p, o in template)
        constants = {}
    return Generalized(template, names, tuple(constants))


class MemberMatches(NamedTuple):
    """Rows that members get: of each the slot of who gets it."""

    slots: np.ndarray
    columns: list[np.ndarray]
    tags: np.ndarray


class TemplateRoster:
    """Those who go together: whom a row is for, by the constants in it."""

    def __init__(self, members: Sequence[TemplateMember], constants: Sequence[str], dictionary: TermDictionary) -> None:
        ids = np.array([member.constants_apart for member in members], dtype=np.int64).reshape(len(members), -1)
        numbers = _numbers(list(ids.T), len(members))
        order = order_of(numbers)
        self.numbers = numbers[order]
        self.slots = np.array([member.slot for member in members])[order]
        sifted = [FilteredMember(members[place].keep, members[place].names) for place in order.tolist()]
        self.sieve = Sieve(sifted, dictionary)
        wanted = {name: distinct(ordered(column)) for name, column in zip(constants, ids.T, strict=True)}
        # Constants that all have: whoever has no other is not asked for any.
        self.alike = {name: int(column[0]) for name, column in wanted.items() if len(column) == 1}
        self.some = {name: _mask(column) for name, column in wanted.items() if name not in self.alike}
        self.by_slot = {}  # the constants of members
        for name, column in zip(constants, ids.T, strict=True):
            self.by_slot[name] = np.zeros(int(self.slots.max()) + 1, dtype=np.int64)
            self.by_slot[name][self.slots] = column[order]

    def parted(self, rows: Relation, constants: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The rows that members get, and who gets them. `TooMuchAtOnce` if they are too many."""
        sought = _numbers([self._column(rows, name) for name in constants], len(rows.tag))
        index, places = pairs(self.numbers, sought, MOST_PAIRS)
        if not self.sieve.everything and len(index):
            kept = self.sieve.passing(rows.columns, index, places)
            index, places = index[kept], places[kept]
        return index, self.slots[places]

    def _column(self, rows: Relation, name: str) -> np.ndarray:
        return np.full(len(rows.tag), self.alike[name]) if name in self.alike else rows.columns[name]


class TemplateFamily:
    def __init__(self, moving: Moving, dictionary: TermDictionary, template: tuple[Pattern, ...]) -> None:
        self._moving, self._dictionary, self._template = moving, dictionary, template
        nodes = dict.fromkeys(node for pattern in template for node in pattern if is_variable(node))
        self._constants = sorted(node for node in nodes if node.startswith("?="))
        self._variables = [node for node in nodes if not node.startswith("?=")]
        self._used = tuple(nodes)
        self._members: dict[int, weakref.ref[TemplateMember]] = {}
        self._left: list[int] = []  # the slots of those whom nobody holds any more
        self._together: dict[int, weakref.ref[TemplateMember]] = {}  # by slot
        self._mark: Mark | None = None  # how far these have followed the graph
        self._place = -1  # where they were asked to follow it last
        self.rows = MatchRows(len(self._variables), dictionary)
        self._restart()

    def _restart(self) -> None:
        """Ids mean other terms now."""
        terms = [node for pattern in self._template for node in pattern if not is_variable(node)]
        ids = dict(zip(terms, self._dictionary.encode(terms).tolist(), strict=True))
        self._body = tuple((ids.get(s, s), ids.get(p, p), ids.get(o, o)) for s, p, o in self._template)
        self._plans: dict[tuple[int, int, tuple[tuple[str, int], ...]], Plan] = {}
        self._passes = 0
        self._roster: TemplateRoster | None = None  # made when it is asked for

    # --- members

    def join(self, member: TemplateMember) -> int:
        """The slot of a new member."""
        self._forget()
        slot = self.rows.open()
        left = self._left
        self._members[slot] = weakref.ref(member, lambda _: left.append(slot))
        return slot

    def _forget(self) -> None:
        """Nothing is held any more for those whom nobody holds."""
        if not self._left:
            return
        left = self._left[:]
        del self._left[: len(left)]
        for slot in left:
            del self._members[slot]
            if self._together.pop(slot, None) is not None:
                self._roster = None
        self.rows.close(left)

    def is_together(self, member: TemplateMember) -> bool:
        return member.slot in self._together

    def take(self, member: TemplateMember) -> None:
        """Who has seen the graph as it is now may go with the others from now on."""
        if len(self._members) < MANY or self._passes or member.mark is None:
            return
        if self._mark is None or not self._together:
            self._mark = self._moving.beside(member.mark)
        if self._mark.place == member.mark.place:
            member.mark = None
            self._together[member.slot] = self._members[member.slot]
            self._roster = None

    # --- moving

    def move(self) -> None:
        """Those who go together follow the graph. It costs what was added to it since."""
        graph = self._moving.graph
        if self._left:
            self._forget()
        if graph.now > self.rows.now:
            self.rows.expire(graph.now)
        place = self._moving.place
        if place == self._place:
            return
        self._place = place
        if self._passes:
            self._passes -= 1
        if self._together and self._mark is not None:
            # Should one of the next steps fail, all begin anew.
            mark, together = self._mark, self._together
            self._mark, self._together = None, {}
            self._follow(mark, together)

    def _follow(self, mark: Mark, together: dict[int, weakref.ref[TemplateMember]]) -> None:
        members = [member for ref in together.values() if (member := ref()) is not None]
        ahead = self._moving.beside(mark)
        changes = self._moving.since(ahead)
        if changes is not None and len(self._members) >= MANY:
            if self._roster is None:
                self._roster = TemplateRoster(members, self._constants, self._dictionary)
            if self._changed(changes, self._roster):
                full = [slot for slot in self.rows.largest(MOST) if slot in together]
                for slot in full:  # it says so itself when it is asked
                    del together[slot]
                    self._roster = None
                self.rows.clear(full)
                self._mark, self._together = ahead, together
                return
        self._roster = None
        if changes is None:
            self.rows.clear(list(together))
            return
        for member in members:  # each for itself
            member.mark = self._moving.beside(mark)

    def _changed(self, changes: Changes, roster: TemplateRoster) -> bool:
        """Whether what has changed was found for all of them. If not, nothing is different."""
        removed, added = changes.removed, changes.added
        few = self.rows.total <= max(FEW, removed.size)
        gone = self._look(REMOVED, changes, roster) if removed.size and not few else None
        came = self._look(ADDED, changes, roster) if added.size else None
        if (removed.size and not few and gone is None) or (added.size and came is None):
            self._passes = PASSED_OVER
            return False
        if gone is not None:
            self.rows.drop(gone.slots, self.rows.keys(gone.slots, gone.columns, len(gone.slots)))
        elif removed.size:
            self._sort_out(removed, roster)
        if came is not None:
            self.rows.add(*came)
        return True

    def _sort_out(self, removed: Facts, roster: TemplateRoster) -> None:
        """Drop the rows that were made from any of these facts. It costs as much as rows are kept."""
        keys, slots = self.rows.holding()
        if len(roster.slots) < self.rows.slots:
            mine = np.isin(slots, roster.slots)
            keys, slots = keys[mine], slots[mine]
        columns = dict(zip(self._variables, self.rows.columns(keys)))
        columns.update((name, column[slots]) for name, column in roster.by_slot.items())
        gone = made_of(self._body, columns, len(keys), removed)
        self.rows.drop(slots, keys[gone])

    def _look(self, sign: int, changes: Changes, roster: TemplateRoster) -> MemberMatches | None:
        """What members get that is made with these facts; some may be there more than once, and of those that go some
        may never have been. None if there is too much to go through."""

        def ground(node: Node) -> Node:
            return roster.alike.get(node, node) if isinstance(node, str) else node

        body = tuple((ground(s), ground(p), ground(o)) for s, p, o in self._body)
        shape = Shape(body, tuple(name for name in self._used if name not in roster.alike))
        graph: TaggedGraph | GraphUnion = self._moving.graph
        if sign == REMOVED:
            gone = TaggedGraph()
            gone.add([changes.removed])
            graph = GraphUnion(self._moving.graph, gone)
        facts, size = (changes.went, changes.removed.size) if sign == REMOVED else (changes.came, changes.added.size)
        most = max(LEAST_ROWS, size * len(roster.slots) // 4)
        found = []
        try:
            for place, pattern in enumerate(body):
                start = matched(pattern, facts.of(pattern[1]), known=True)
                rows = self._joined(shape, place, start, graph, (roster, most))
                if len(rows.tag):
                    found.append(rows)
            whole = together(found, shape.used)
            index, slots = roster.parted(whole, self._constants)
        except TooMuchAtOnce:
            return None
        return MemberMatches(slots, [whole.columns[name][index] for name in self._variables], whole.tag[index])

    def _joined(
        self,
        shape: Shape,
        place: int,
        rows: Relation,
        graph: TaggedGraph | GraphUnion,
        given: tuple[TemplateRoster, int],
    ) -> Relation:
        """The matches that begin with these of one of the patterns. `TooMuchAtOnce` if there is too much to go
        through."""
        roster, most = given
        rows = _wanted(rows, shape.body[place], roster.some)
        if not len(rows.tag):
            return rows
        for step in self._steps(shape, place, tuple(sorted(roster.alike.items()))):
            rows = _wanted(run((step,), graph, rows, most), step.new, roster.some)
            if not len(rows.tag):
                break
        return rows

    def _steps(self, shape: Shape, place: int, alike: tuple[tuple[str, int], ...]) -> Plan:
        key = place, self._moving.graph.rows.bit_length() // 2, alike
        if key not in self._plans:
            if len(self._plans) > 100:
                self._plans.clear()
            known = [node for node in shape.body[place] if isinstance(node, str)]
            self._plans[key] = plan(shape, self._moving.graph, known, place, all_fresh=True)
        return self._plans[key]

    # --- ids

    def terms(self) -> np.ndarray:
        """The ids that are kept."""
        keys, _ = self.rows.holding()
        constants = [member.constants for ref in self._members.values() if (member := ref()) is not None]
        return np.concatenate([np.empty(0, dtype=np.int64), *constants, *self.rows.columns(keys)])

    def renumber(self, table: np.ndarray) -> None:
        self._forget()
        self._restart()
        for ref in self._members.values():
            if (member := ref()) is not None:
                member.restart()
        self.rows.renumber(table)


def made_of(body: Sequence[Triple], columns: dict[str, np.ndarray], length: int, facts: Facts) -> np.ndarray:
    """Which rows, so many, any of these facts is in."""
    graph = TaggedGraph()
    graph.add([facts])
    made = np.zeros(length, dtype=bool)
    for pattern in body:
        s, p, o = (columns[node] if isinstance(node, str) else np.full(length, node) for node in pattern)
        made |= graph.tags_of(s, p, o) > NEVER
    return made


def together(found: list[Relation], names: Sequence[str]) -> Relation:
    """All of these rows."""
    if len(found) == 1:
        return found[0]
    if not found:
        nothing = np.empty(0, dtype=np.int64)
        return Relation(dict.fromkeys(names, nothing), nothing)
    return Relation(
        {name: np.concatenate([rows.columns[name] for rows in found]) for name in names},
        np.concatenate([rows.tag for rows in found]),
    )


def _numbers(columns: Sequence[np.ndarray], length: int) -> np.ndarray:
    """One number for some ids."""
    numbers = np.zeros(length, dtype=np.int64)
    for column in columns:
        numbers = (numbers << ID_BITS) | column
    return numbers


def _mask(ids: np.ndarray) -> np.ndarray:
    """Whether an id is one of these, which are sorted; what is beyond the mask is at its end."""
    mask = np.zeros(int(ids[-1]) + 2, dtype=bool)
    mask[ids] = True
    return mask


def _wanted(rows: Relation, new: Sequence[object] | dict[str, str], some: dict[str, np.ndarray]) -> Relation:
    """The rows in which what stands for constants is a constant of some member."""
    for name, mask in some.items():
        if name in new and len(rows.tag):
            inside = mask.take(rows.columns[name], mode="clip")
            if not inside.all():
                rows = Relation({one: column[inside] for one, column in rows.columns.items()}, rows.tag[inside])
    return rows
