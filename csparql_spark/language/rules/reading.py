"""The shape of a rule file: from words to directives and rules, of which nothing is known yet but their parts.

    item = reader.item()          the next rule as a `RuleDraft`; a directive gives nothing, the end raises nothing
    item.body, item.head          clauses: triple patterns, and calls of builtins
    item.arrow                    "->" or "<-"

Recursive descent over the tokens. The first token that fits nowhere ends the reading: it raises `Unfit`, which keeps
what was read of the rule so far, since something further left in it may be wrong too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from csparql_spark.language.rules.bounds import MOST_ARGUMENTS, MOST_ATOMS, MOST_GUARDS
from csparql_spark.language.rules.terms import RuleTerms
from csparql_spark.language.tokens import Token

IRIS = ("IRIREF", "IRI", "PNAME", "PREFIX")
WILDCARD = "*"
CLOSING = {"(": ")", "[": "]"}


@dataclass(slots=True)
class ClauseNode:
    """A node of a clause: its words, and what it stands for (`*` for a wildcard)."""

    value: str
    start: int
    end: int


@dataclass(slots=True)
class Clause:
    """A triple pattern, or else a `Call`."""

    start: int
    nodes: list[ClauseNode] = field(default_factory=list)
    end: int = -1  # not known while the clause is open


@dataclass(slots=True)
class Call(Clause):
    """A call of a builtin."""

    name: Token = field(kw_only=True)


@dataclass(slots=True)
class RuleDraft:
    """A rule as it is written: what stands left of the arrow, and right of it."""

    start: int
    name: Token | None = None
    arrow: Token | None = None
    left: list[Clause] = field(default_factory=list)
    right: list[Clause] = field(default_factory=list)
    end: int = -1  # not known while the rule is open

    @property
    def backward(self) -> bool:
        return self.arrow is not None and self.arrow.key == "<-"

    @property
    def body(self) -> list[Clause]:
        return self.right if self.backward else self.left

    @property
    def head(self) -> list[Clause]:
        return self.left if self.backward else self.right


class Unfit(Exception):
    """The token that fits nowhere, the part of the file that is open there, and what would have fitted."""

    def __init__(self, index: int, part: str, expected: str, draft: RuleDraft | None, clause: Clause | None) -> None:
        super().__init__(index, part, expected)
        self.index = index
        self.part = part
        self.expected = expected
        self.draft = draft
        self.clause = clause


class Reader:
    """Reads the tokens of a rule file from left to right."""

    def __init__(self, tokens: list[Token], terms: RuleTerms) -> None:
        self._tokens = tokens
        self._terms = terms
        self._index = 0
        self._draft: RuleDraft | None = None
        self._clause: Clause | None = None

    @property
    def ended(self) -> bool:
        return self._token.key == "END"

    def item(self) -> RuleDraft | None:
        """Read a directive, or a rule, which is given back."""
        self._draft = self._clause = None
        if self._token.kind == "AT":
            self._directive()
            return None
        return self._rule()

    @property
    def _token(self) -> Token:
        return self._tokens[self._index]

    def _next(self) -> Token:
        """The token after this one."""
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._token
        self._index += 1
        return token

    def _expect(self, keys: tuple[str, ...], part: str, expected: str) -> Token:
        if self._token.key not in keys:
            raise self._unfit(part, expected)
        return self._take()

    def _unfit(self, part: str, expected: str) -> Unfit:
        return Unfit(self._index, part, expected, self._draft, self._clause)

    def _directive(self) -> None:
        if self._token.text == "@prefix":
            self._take()
            name = self._expect(("PREFIX",), "prefix", "a prefix, such as ex:,")
            self._terms.prefix(name, self._expect(("IRIREF", "IRI"), "prefix", "an <IRI>"))
        elif self._token.text == "@include":
            self._take()
            self._terms.include(self._expect(("IRIREF", "IRI"), "include", "the name of a rule set in <>"))
        else:
            raise self._unfit("file", "@prefix, @include or a rule")
        if self._token.key == ".":
            self._take()

    def _rule(self) -> RuleDraft:
        draft = self._draft = RuleDraft(self._token.start)
        bracket = self._take() if self._token.key == "[" else None
        if bracket is None and not (self._token.key in ("PREFIX", "->", "<-") or self._at_clause() or self._at_name()):
            raise self._unfit("file", "a rule, @prefix or @include")
        draft.name = self._rule_name()
        self._clauses(draft.left)
        draft.arrow = self._expect(("->", "<-"), "left", "a clause or ->" if draft.left else "a clause, -> or a name")
        self._clauses(draft.right)
        end = "]" if bracket is not None else "."
        draft.end = self._expect((end,), "right", f'a clause or "{end}"').end
        if bracket is not None and self._token.key == ".":
            self._take()
        return draft

    def _at_clause(self) -> bool:
        return self._token.key == "(" or (self._token.kind == "WORD" and self._next().key == "(")

    def _at_name(self) -> bool:
        return self._token.kind in ("WORD", "NUMBER") and self._next().text == ":"

    def _rule_name(self) -> Token | None:
        if self._token.kind == "PREFIX":
            return self._take()
        if self._at_name():
            name = self._take()
            self._take()
            return name
        return None

    def _clauses(self, clauses: list[Clause]) -> None:
        while self._at_clause():
            clauses.append(self._read_clause())
            if len(clauses) > MOST_ATOMS + MOST_GUARDS:
                raise self._unfit("many", "the end of the rule")

    def _read_clause(self) -> Clause:
        name = self._take() if self._token.kind == "WORD" else None
        clause = self._clause = Clause(self._token.start) if name is None else Call(name.start, name=name)
        self._take()
        if name is None:
            for place in ("a subject", "a predicate", "an object"):
                clause.nodes.append(self._node("triple", place))
            clause.end = self._expect((")",), "triple", '")"').end
        else:
            while self._token.key != ")":
                clause.nodes.append(self._node("call", 'an argument or ")"'))
                if len(clause.nodes) > MOST_ARGUMENTS:
                    raise self._unfit("many", '")"')
            clause.end = self._take().end
        self._clause = None
        return clause

    def _node(self, part: str, expected: str) -> ClauseNode:
        token = self._token
        if token.kind == "VAR":
            value = token.text
        elif token.key == WILDCARD:
            value = WILDCARD
        elif token.kind in IRIS:
            value = self._terms.iri(token)
        elif token.kind == "NUMBER":
            value = self._terms.number(token)
        elif token.kind == "WORD" and token.text in ("true", "false") and self._next().key != "(":
            value = self._terms.truth(token)
        elif token.kind == "STRING":
            return self._string()
        else:
            raise self._unfit(part, expected)
        self._take()
        return ClauseNode(value, token.start, token.end)

    def _string(self) -> ClauseNode:
        token = last = self._take()
        datatype = language = None
        if self._token.key == "^^":
            self._take()
            datatype = last = self._expect(IRIS, "type", "a datatype")
        elif self._token.kind == "AT" and self._token.start == token.end:
            language = last = self._take()
        elif self._token.kind in IRIS and self._token.start == token.end:
            raise self._unfit("type", "^^")
        return ClauseNode(self._terms.string(token, datatype, language), token.start, last.end)
