"""Triple patterns, one by one, from the tree of a body; and which triples of a graph they can match.

Lists and bracketed blank nodes are short for several triples, with blank nodes of their own:

    ?s :p [ :q 1 ] , ( 2 )        ?s :p _:g1 . _:g1 :q 1 .
                                  ?s :p _:g2 . _:g2 rdf:first 2 . _:g2 rdf:rest rdf:nil

A node is a variable `?x`, a blank node `_:b` (in a pattern: a variable that cannot be shown), or a term in N-Triples
syntax. In the place of the predicate may be a property path, as the tree that the grammar made of it.

    reading = Reading(constant_of, labels=set())
    triples = reading.triples(tree)
    reading.read(triples)
    reading.reads()                 # the basic graph patterns that can be matched, or None: all triples may matter
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from csparql_spark.language.queries.syntax import Node as Tree
from csparql_spark.language.tokens import Token
from csparql_spark.rdf.terms import RDF, XSD, iri, literal


class Constant(str):
    """A term in a text that is being written, to be replaced by the name of its id."""

    __slots__ = ()


Piece = str | Constant
Node = str
Pattern = tuple[Node, Node, Node]
TriplePath = tuple[Node, Node | Tree, Node]

FIRST, REST, NIL, TYPE = (f"<{RDF}{name}>" for name in ("first", "rest", "nil", "type"))
_NUMBERS = {"INTEGER": "integer", "DECIMAL": "decimal", "DOUBLE": "double"}


@dataclass(frozen=True)
class Walk:
    """A path between two nodes, as far as it matters for how long it takes: the links that it goes along (None: any),
    how many steps it has, whether each of them may be many, and whether one may take a link in both directions."""

    start: Node
    end: Node
    links: tuple[Pattern, ...] | None
    steps: int
    far: bool
    both: bool = False


Block = tuple[Pattern | Walk, ...]


def is_variable(node: Node) -> bool:
    """Whether a node stands for any term: a variable, or a blank node of a pattern."""
    return node[0] in "?_"


def iris_of(tree: Tree) -> Callable[[Tree], str]:
    """How `Iri` trees of a body are read, with the prefixes that it declares."""
    prefixes = {prefix.leaf("PNAME_NS").text: prefix.leaf("IRIREF").text[1:-1] for prefix in tree.walk("Prefix")}

    def iri_of(node: Tree) -> str:
        token = node.tokens()[0]
        if token.kind == "IRIREF":
            return token.text[1:-1]
        prefix, _, local = token.text.partition(":")
        return prefixes[f"{prefix}:"] + local

    return iri_of


class Reading:
    """What has been read of one body."""

    def __init__(self, iri_of: Callable[[Tree], str], labels: set[str]) -> None:
        """`iri_of` gives the IRI of an `Iri` tree; `labels` are the blank node labels that the body uses."""
        self._iri_of = iri_of
        self._labels = labels
        self._made = 0
        self._groups: dict[tuple[Pattern, ...], None] = {}
        self._everything = False
        self.blocks: list[Block] = []  # all that was read, in its order and as often as it stands there

    # --- triples

    def triples(self, block: Tree) -> list[TriplePath]:
        """The triples of a TriplesPath, or of a Triple of a template."""
        found: list[TriplePath] = []
        first, *rest = block.nodes()
        subject = self._node(first, found)
        for properties in rest:
            self._properties(subject, properties, found)
        return found

    def template(self, shape: Tree) -> list[Pattern]:
        """The triples of a template; it has no paths."""
        return [
            (subject, verb, object)
            for block in shape.walk("Triple")
            for subject, verb, object in self.triples(block)
            if isinstance(verb, str)
        ]

    def _properties(self, subject: Node, properties: Tree, found: list[TriplePath]) -> None:
        verb: Node | Tree = ""
        for child in properties.children:
            if isinstance(child, Token):
                verb = child.text if child.key == "VAR" else verb
            elif child.rule in ("Path", "Verb"):
                verb = self._verb(child)
            else:
                for item in child.nodes():
                    place = len(found)
                    object = self._node(item, found)
                    found.insert(place, (subject, verb, object))

    def _node(self, node: Tree, found: list[TriplePath]) -> Node:
        """A subject or object; what it is short for is added to `found`."""
        match node.rule:
            case "BlankPath" | "Blank":
                made = self._blank()
                for properties in node.nodes():
                    self._properties(made, properties, found)
                return made
            case "CollectionPath" | "Collection":
                cells = [self._blank() for _ in node.nodes()] + [NIL]
                for cell, item, rest in zip(cells, node.nodes(), cells[1:], strict=False):
                    found.append((cell, FIRST, self._node(item, found)))
                    found.append((cell, REST, rest))
                return cells[0]
            case "VarOrTerm" | "VarOrPlainTerm":
                return self._leaf(node)
        return self._node(node.nodes()[0], found)  # ObjectPath, ListItem and their like hold one node

    def _leaf(self, node: Tree) -> Node:
        if (token := node.token("VAR", "BLANK")) is not None:
            return token.text
        if node.token("ANON") is not None:
            return self._blank()
        return NIL if node.token("NIL") is not None else self.constant(node)

    def _blank(self) -> Node:
        self._made += 1
        while (label := f"_:g{self._made}") in self._labels:
            self._made += 1
        return label

    def _verb(self, verb: Tree) -> Node | Tree:
        tokens = list(verb.all_tokens())
        if len(tokens) > 1:
            return verb
        if tokens[0].key in ("VAR", "a"):
            return TYPE if tokens[0].key == "a" else tokens[0].text
        return iri(self._iri_of(next(verb.walk("Iri"))))

    def constant(self, node: Tree) -> str:
        """The term of a node that is, or has in it, an IRI, a literal, a number or a truth value."""
        if node.rule not in ("Iri", "Literal", "PlainLiteral", "Number", "Boolean") and node.nodes():
            return self.constant(node.nodes()[0])
        first = node.tokens()[0]
        match node.rule:
            case "Iri":
                return iri(self._iri_of(node))
            case "Number":
                kind = first.kind
                if kind == "SIGNED":
                    kind = "DOUBLE" if "e" in first.text.lower() else "DECIMAL" if "." in first.text else "INTEGER"
                return literal(first.text, datatype=XSD + _NUMBERS[kind])
            case "Boolean":
                return literal(first.text.lower(), datatype=f"{XSD}boolean")
        value = _unescaped(first.text[1:-1])
        if (language := node.token("LANGTAG")) is not None:
            return literal(value, language=language.text[1:])
        datatype = node.node("Iri")
        return literal(value, datatype=None if datatype is None else self._iri_of(datatype))

    # --- what can be matched

    def read(self, triples: Iterable[TriplePath]) -> None:
        """Take one basic graph pattern, with what is a path in it."""
        joined: list[Pattern] = []
        block: list[Pattern | Walk] = []
        for subject, verb, object in triples:
            if isinstance(verb, str):
                joined.append((subject, verb, object))
                block.append((subject, verb, object))
            else:
                self._read_path(subject, verb, object)
                block.append(self._walk(subject, verb, object))
        if joined:
            self._groups[tuple(joined)] = None
        if block:
            self.blocks.append(tuple(block))

    def _walk(self, subject: Node, path: Tree, object: Node) -> Walk:
        links = None
        if not any(path.walk("PathNegated")):
            verbs = [iri(self._iri_of(found)) for found in path.walk("Iri")] + [TYPE] * any(path.all_tokens("a"))
            links = tuple(("?s", verb, "?o") for verb in dict.fromkeys(verbs))
        steps = sum(1 for _ in path.walk("PathPrimary"))
        both = any(
            len({one.token("^") is None for one in found.nodes("PathOne")}) > 1 for found in path.walk("PathNegated")
        )
        return Walk(subject, object, links, steps, any(path.all_tokens("*", "+", "?")), both)

    def _read_path(self, subject: Node, path: Tree, object: Node) -> None:
        if any(path.walk("PathNegated")):
            self._everything = True
        # A path of no length leads from each node to itself; which nodes there are, all triples say.
        if may_be_empty(path) and is_variable(subject) and is_variable(object):
            self._everything = True
        for found in path.walk("Iri"):
            self._groups[(("?s", iri(self._iri_of(found)), "?o"),)] = None
        if any(path.all_tokens("a")):
            self._groups[(("?s", TYPE, "?o"),)] = None

    def reads(self) -> tuple[tuple[Pattern, ...], ...] | None:
        return None if self._everything else tuple(self._groups)


def may_be_empty(path: Tree) -> bool:
    match path.rule:
        case "Path":
            return any(may_be_empty(part) for part in path.nodes())
        case "PathSequence":
            return all(may_be_empty(part) for part in path.nodes())
        case "PathStep":
            return bool(path.tokens("?", "*")) or may_be_empty(path.nodes()[0])
    return any(may_be_empty(part) for part in path.nodes("Path"))


_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def _unescaped(text: str) -> str:
    """A string of a body, between its quotes: there are no code point escapes in it (see
    `language.queries.standard`)."""
    pieces = text.split("\\\\")
    for escaped, character in _ESCAPES.items():
        pieces = [piece.replace(f"\\{escaped}", character) for piece in pieces]
    return "\\".join(piece.replace('\\"', '"') for piece in pieces)
