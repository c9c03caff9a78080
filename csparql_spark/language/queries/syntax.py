"""A text as a tree: the grammar walked over the tokens, from left to right, without going back.

The walk keeps its own stack, so no text is nested too deeply for it, and it remembers what it would have taken at the
token where it stopped: those are the words an error may name as expected.

    tree = read_tree(tokenize("SELECT * { ?s ?p ?o }"))
    where = next(tree.walk("Where"))
    where.start, where.end           ->  (9, 21)

A node's span runs from its first token to its last. Rules whose name begins with `_` leave no node: their children
belong to the rule above.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from csparql_spark.language.queries.grammar import RULES, Part
from csparql_spark.language.tokens import Token, parted


@dataclass(slots=True, eq=False)
class Node:
    """A rule that was applied: its children are nodes and tokens, in the order of the text."""

    rule: str
    children: list[Node | Token] = field(default_factory=list)
    start: int = 0
    end: int = -1

    def nodes(self, *rules: str) -> list[Node]:
        """The child nodes with one of these rules (all child nodes when none is named)."""
        return [child for child in self.children if isinstance(child, Node) and (not rules or child.rule in rules)]

    def node(self, rule: str) -> Node | None:
        """The first child node with this rule."""
        return next(iter(self.nodes(rule)), None)

    def child(self, rule: str) -> Node:
        """The first child node with this rule, where the grammar says that there is one."""
        return self.nodes(rule)[0]

    def tokens(self, *keys: str) -> list[Token]:
        """The child tokens with one of these keys (all child tokens when none is named)."""
        return [child for child in self.children if isinstance(child, Token) and (not keys or child.key in keys)]

    def token(self, *keys: str) -> Token | None:
        """The first child token with one of these keys."""
        return next(iter(self.tokens(*keys)), None)

    def leaf(self, *keys: str) -> Token:
        """The first child token with one of these keys, where the grammar says that there is one."""
        return self.tokens(*keys)[0]

    def walk(self, *rules: str, outside: tuple[str, ...] = ()) -> Iterator[Node]:
        """All nodes below this one that have one of these rules, in the order of the text.

        With `outside`, nodes of those rules are passed over, with all that is in them.
        """
        stack = list(reversed(self.children))
        while stack:
            item = stack.pop()
            if isinstance(item, Node) and item.rule not in outside:
                if not rules or item.rule in rules:
                    yield item
                stack.extend(reversed(item.children))

    def all_tokens(self, *keys: str, outside: tuple[str, ...] = ()) -> Iterator[Token]:
        """The tokens below this node (with one of these keys), in the order of the text; `outside` as in `walk`."""
        stack = list(reversed(self.children))
        while stack:
            item = stack.pop()
            if isinstance(item, Token):
                if not keys or item.key in keys:
                    yield item
            elif item.rule not in outside:
                stack.extend(reversed(item.children))


class Unexpected(Exception):
    """The first token that fits nowhere.

    Its index, the keys that would have fitted, the rules that were open, outermost first, and the tree so far, in
    which the open nodes end at -1.
    """

    def __init__(self, index: int, expected: frozenset[str], open_rules: tuple[str, ...], tree: Node) -> None:
        super().__init__(index, expected, open_rules)
        self.index = index
        self.expected = expected
        self.open_rules = open_rules
        self.tree = tree


_CLOSE = Part("close")  # of no rule: what is read belongs to the node around, from here on


def read_tree(tokens: list[Token], root: str = "Unit") -> Node:
    """The tree of a token list; raises `Unexpected` at the first token that fits nowhere. A word that fits nowhere, and
    is made of keywords the first of which does fit, is parted, in the list, too."""
    index = 0
    tried: list[frozenset[str]] = []
    top = Node("")
    open_nodes = [top]
    stack = [Part("rule", root, first=RULES[root].first, nullable=RULES[root].nullable)]
    token = _next(tokens, index, stack)
    while stack:
        part = stack.pop()
        if part is _CLOSE:
            _close(open_nodes.pop(), tokens, index)
            continue
        kind = part.kind
        if kind == "token":
            if part.name != token.key and not (part.name == "WORD" and token.kind == "WORD"):
                tried.append(frozenset((part.name,)))
                raise _unexpected(index, tried, open_nodes)
            open_nodes[-1].children.append(token)
            if token.key != "END":
                index += 1
                token = _next(tokens, index, stack)
                tried.clear()
        elif kind == "rule":
            if part.name[0] != "_":
                node = Node(part.name, start=token.start)
                open_nodes[-1].children.append(node)
                open_nodes.append(node)
                stack.append(_CLOSE)
            stack.append(RULES[part.name])
        elif kind == "sequence":
            stack.extend(reversed(part.parts))
        elif kind == "choice":
            option = part.choices.get(token.key)
            if option is None and token.kind == "WORD":
                option = part.choices.get("WORD")
            if option is None:
                tried.append(part.first)
                if not part.nullable:
                    raise _unexpected(index, tried, open_nodes)
            else:
                stack.append(option)
        else:
            first = part.first
            if token.key in first or ("WORD" in first and token.kind == "WORD"):
                if kind == "repeat":
                    stack.append(part)
                stack.append(part.parts[0])
            else:
                tried.append(first)
    return top.nodes()[0]


def _next(tokens: list[Token], index: int, stack: list[Part]) -> Token:
    """The token that the walk comes to, with these parts of the grammar still to be read."""
    token = tokens[index]
    if token.key == "WORD" and (parts := parted(token)) and not _fits("WORD", stack) and _fits(parts[0].key, stack):
        tokens[index : index + 1] = parts
    return tokens[index]


def _fits(key: str, stack: list[Part]) -> bool:
    """Whether a token with this key can come next."""
    for part in reversed(stack):
        if part is not _CLOSE:
            if key in part.first:
                return True
            if not part.nullable:
                return False
    return False


def _unexpected(index: int, tried: list[frozenset[str]], open_nodes: list[Node]) -> Unexpected:
    rules = tuple(node.rule for node in open_nodes[1:])
    return Unexpected(index, frozenset().union(*tried), rules, open_nodes[0].nodes()[0])


def _close(node: Node, tokens: list[Token], index: int) -> None:
    node.end = max(tokens[index - 1].end, node.start) if index and node.children else node.start
