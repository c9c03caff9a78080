"""Updates: from a text of SPARQL 1.1 Update to its operations.

    text = "INSERT { GRAPH <urn:g> { ?s <urn:q> ?o } } WHERE { GRAPH <urn:h> { ?s <urn:p> ?o } }"
    (insert,) = operations = parse_update(text, None)
    insert.pattern                     # a query: SELECT * … { GRAPH <urn:h> { ?s <urn:p> ?o } }
    insert.inserts                     # (Template("urn:g", "CONSTRUCT … { ?s <urn:q> ?o } WHERE {}"),)
    graphs_read(operations, None)      # {'urn:g', 'urn:h'}; None: it may look at any graph

The parts of an operation are written as queries, and as TriG where it is data, that have the same words in the same
lines and columns, one line further down: those are read as any other, and what is wrong with them is said where it
stands.
Nothing is ever fetched: LOAD is refused here, and SERVICE by whoever evaluates the pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from csparql_spark.language.errors import LanguageError, Lines, error_at
from csparql_spark.language.queries.parser import parse
from csparql_spark.language.queries.query import ContinuousQuery
from csparql_spark.language.tokens import Token, tokenize

_NAMES = ("VAR", "IRIREF", "PNAME_LN", "PNAME_NS")
MANAGING = ("CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")


@dataclass(frozen=True)
class Template:
    """Triples of a graph: an IRI, a variable (`?g`), or None, which is the graph that the operation is about."""

    graph: str | None
    text: str


@dataclass(frozen=True)
class DataChange:
    """INSERT DATA or DELETE DATA; the texts of its templates are TriG."""

    adds: bool
    templates: tuple[Template, ...]


@dataclass(frozen=True)
class Modification:
    """DELETE and INSERT where a pattern holds. The texts of its templates are CONSTRUCT queries. `using` and
    `using_named` are None where no USING stands."""

    pattern: str
    deletes: tuple[Template, ...]
    inserts: tuple[Template, ...]
    graph: str | None  # of WITH
    using: tuple[str, ...] | None
    using_named: tuple[str, ...] | None
    mentions: tuple[str, ...]  # what GRAPH names in it: IRIs, and variables


@dataclass(frozen=True)
class Management:
    """CLEAR, DROP and CREATE of graphs; ADD, MOVE and COPY from one to another. Graphs are IRIs, DEFAULT, NAMED or
    ALL."""

    verb: str
    silent: bool
    source: str
    target: str | None = None


Piece: TypeAlias = tuple[int, int] | str  # of a text: a span, or what is put in
Block: TypeAlias = tuple[str | None, list[Piece]]  # a graph, and what is said of it
Operation: TypeAlias = DataChange | Modification | Management


def parse_update(text: str, base: str | None) -> list[Operation]:
    """The operations of an update. Raises `LanguageError`."""
    return list(_Reader(text, base).operations())


def graphs_read(operations: Iterable[Operation], default: str | None) -> set[str] | None:
    """The graphs that an update can look at or change; None if that is known only when it is done."""
    found = {default} if default is not None else set()
    for operation in operations:
        match operation:
            case DataChange():
                found.update(template.graph for template in operation.templates if template.graph is not None)
            case Management():
                if operation.source in ("NAMED", "ALL"):
                    return None
                found.update(graph for graph in (operation.source, operation.target) if graph not in (None, "DEFAULT"))
            case Modification():
                if any(name[0] == "?" for name in operation.mentions):
                    return None
                found.update(operation.mentions, operation.using or (), operation.using_named or ())
                found.update(graph for graph in [operation.graph] if graph is not None)
    return found


class _Reader:
    def __init__(self, text: str, base: str | None) -> None:
        self._text, self._base = text, base
        self._tokens = tokenize(text)
        self._lines = Lines(text)
        self._at = 0
        self._prologue: list[str] = []

    # --- words

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._token
        self._at += token.key != "END"
        return token

    def _word(self, *words: str) -> str | None:
        """One of these words, if it comes next."""
        if self._token.text.upper() in words and self._token.kind not in ("STRING", "VAR"):
            return self._take().text.upper()
        return None

    def _fail(self, expected: str) -> NoReturn:
        token = self._token
        found = f"“{token.text[:40]}” stands here" if token.text else "The text ends here"
        raise error_at(self._text, token.start, token.end, "bad-update", f"{found}, where {expected} should stand.")

    def _sign(self, sign: str) -> Token:
        if self._token.key != sign:
            self._fail(f"“{sign}”")
        return self._take()

    def _graph(self, *, variable: bool = False) -> str:
        """The IRI that a word stands for, or a variable."""
        token = self._token
        if token.kind not in _NAMES or token.kind == "VAR" and not variable:
            self._fail("the IRI of a graph")
        self._take()
        if token.kind == "VAR":
            return f"?{token.text[1:]}"
        return self._read(self._kept("ASK FROM", [(token.start, token.end)], " {}")).graphs[0]

    def _read(self, text: str) -> ContinuousQuery:
        try:
            return parse(text, base=self._base)
        except LanguageError as error:
            raise moved(error) from None

    def _kept(self, head: str, pieces: Sequence[Piece], tail: str = "") -> str:
        """A text of the prologue, a head, and these pieces, which stand where they stood, but a line below."""
        parts, last = [" ".join((*self._prologue, head)), "\n"], 0
        for piece in pieces:
            if isinstance(piece, str):
                parts.append(piece)
                continue
            start, end = piece
            parts += [self._blank(last, start), self._text[start:end]]
            last = end
        return "".join((*parts, tail))

    def _blank(self, start: int, end: int) -> str:
        """What leads from one place of the text to another: line feeds, and blanks in the last line. An update may
        have thousands of operations, before each of which this stands."""
        (first, _), (last, column) = self._lines.locate(start), self._lines.locate(end)
        return "\n" * (last - first) + " " * (end - start if first == last else column - 1)

    # --- operations

    def operations(self) -> Iterator[Operation]:
        while True:
            self._declare()
            if self._token.key == "END":
                return
            yield self._operation()
            if self._token.key != "END":
                self._sign(";")

    def _declare(self) -> None:
        known = len(self._prologue)
        while (word := self._word("BASE", "PREFIX")) is not None:
            count = 1 if word == "BASE" else 2
            self._prologue += [word, *(self._take().text for _ in range(count))]
        if len(self._prologue) > known:
            self._read(" ".join((*self._prologue, "ASK {}")))

    def _operation(self) -> Operation:
        if self._word("LOAD"):
            self._at -= 1
            token = self._token
            message = "LOAD is not followed here, as nothing is ever fetched: send the data with action=put."
            raise error_at(self._text, token.start, token.end, "bad-update", message)
        if (verb := self._word(*MANAGING)) is not None:
            return self._management(verb)
        graph = self._graph() if self._word("WITH") else None
        verb = self._word("INSERT", "DELETE")
        if verb is None:
            self._fail("INSERT, DELETE, WITH, CLEAR, DROP, CREATE, ADD, MOVE or COPY")
        if graph is None and self._word("DATA"):
            return DataChange(verb == "INSERT", self._templates("", self._quads()))
        return self._modification(verb, graph)

    def _management(self, verb: str) -> Management:
        silent = self._word("SILENT") is not None
        if verb in ("CLEAR", "DROP") and (kind := self._word("DEFAULT", "NAMED", "ALL")) is not None:
            return Management(verb, silent, kind)
        if verb in ("CLEAR", "DROP", "CREATE"):
            if self._word("GRAPH") is None:
                self._fail("GRAPH")
            return Management(verb, silent, self._graph())
        source = self._graph_or_default()
        if self._word("TO") is None:
            self._fail("TO")
        return Management(verb, silent, source, self._graph_or_default())

    def _graph_or_default(self) -> str:
        if self._word("DEFAULT"):
            return "DEFAULT"
        self._word("GRAPH")
        return self._graph()

    def _modification(self, verb: str, graph: str | None) -> Modification:
        first = self._at
        deletes: list[Block] = []
        inserts: list[Block] = []
        using: list[str] = []
        using_named: list[str] = []
        if verb == "DELETE" and self._word("WHERE"):
            begin = self._token.start
            deletes = self._quads()
            group = (begin, self._tokens[self._at - 1].end)
        else:
            if verb == "DELETE":
                deletes = self._quads()
                if self._word("INSERT"):
                    inserts = self._quads()
            else:
                inserts = self._quads()
            while self._word("USING"):
                (using_named if self._word("NAMED") else using).append(self._graph())
            if self._word("WHERE") is None:
                self._fail("WHERE, and the pattern to look for")
            group = self._braces()
        used = using or using_named
        return Modification(
            self._kept("SELECT *", [group]),
            self._templates("CONSTRUCT", deletes, " WHERE {}"),
            self._templates("CONSTRUCT", inserts, " WHERE {}"),
            graph,
            tuple(using) if used else None,
            tuple(using_named) if used else None,
            tuple(self._mentioned(first)),
        )

    def _templates(self, head: str, blocks: list[Block], tail: str = "") -> tuple[Template, ...]:
        return tuple(Template(name, self._kept(head, pieces, tail)) for name, pieces in blocks)

    def _mentioned(self, first: int) -> Iterator[str]:
        """What GRAPH names, from a token on."""
        last, self._at = self._at, first
        while self._at < last:
            if self._take().key == "GRAPH" and self._token.kind in _NAMES:
                yield self._graph(variable=True)
        self._at = last

    def _braces(self) -> tuple[int, int]:
        """What stands in braces, with them."""
        start, depth = self._sign("{").start, 1
        while depth:
            token = self._take()
            if token.key == "END":
                self._fail("“}”")
            depth += (token.key == "{") - (token.key == "}")
        return start, token.end

    def _quads(self) -> list[Block]:
        """What stands in braces, as the blocks of its graphs; what names no graph is one block."""
        opened = self._sign("{")
        own: list[Piece] = [(opened.start, opened.end)]
        found: list[Block] = []
        begin: int | None = None  # of triples that stand in no graph's braces
        before = opened
        while (token := self._token).key != "}":
            if token.key == "GRAPH":
                if begin is not None:
                    own += [(begin, token.start), "" if before.key == "." else "."]
                    begin = None
                self._take()
                found.append((self._graph(variable=True), [self._braces()]))
                if self._token.key == ".":
                    self._take()
                continue
            if token.key in ("{", "END"):
                self._fail("a triple or “}”")
            begin = token.start if begin is None else begin
            before = self._take()
        closed = self._take()
        if begin is not None:
            own.append((begin, closed.start))
        return found if len(own) == 1 else [(None, [*own, (closed.start, closed.end)]), *found]


def moved(error: LanguageError) -> LanguageError:
    """The error, in the text whose lines stand one further up."""
    return LanguageError(
        error.code,
        error.message,
        line=max(1, error.line - 1),
        column=error.column,
        end_column=error.end_column,
        offending=error.offending,
        expected=error.expected,
        hint=error.hint,
    )
