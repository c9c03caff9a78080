"""A rule file as a text that `parse_rules` reads back.

One rule on a line, in brackets, its triple patterns before its guards. Names are short where that is shorter: by the
prefixes that are always known, and by `n1:`, `n2:`, ... for namespaces that occur several times.

    parse_rules(show_rules(file)) == file         for every file that parse_rules gave
"""

from __future__ import annotations

import re
from collections import Counter

from csparql_spark.language.rules.rule import Rule, RuleFile, is_variable
from csparql_spark.language.rules.terms import NUMBERS, PREDECLARED
from csparql_spark.language.rules.tokens import NODE_NAME, RULE_NAME
from csparql_spark.rdf.terms import XSD, XSD_STRING, iri, literal, parse

_NAMESPACE = re.compile(r"<(.*[/#:])([A-Za-z_][A-Za-z0-9_\-]*)>")
_NOT_IN_NAMES = re.compile(r"[^0-9A-Za-z_.\-]+")


def show_rules(file: RuleFile) -> str:
    """The text of a rule file, written anew from what it means."""
    prefixes = _prefixes(file)
    lines = [f"@include <{name}>." for name in file.includes]
    lines += [
        f"@prefix {name}: <{namespace}>." for namespace, name in prefixes.items() if PREDECLARED.get(name) != namespace
    ]
    lines += [show_rule(rule, prefixes) for rule in file.rules]
    return "".join(f"{line}\n" for line in lines)


def show_rule(rule: Rule, prefixes: dict[str, str] | None = None) -> str:
    """The text of one rule, with the prefixes (namespace to name) that are given."""
    names = prefixes or {}
    name = ""
    if rule.name:
        name = f"{rule.name}: "
        if RULE_NAME.fullmatch(name[:-1]) is None:
            name = f"_{_NOT_IN_NAMES.sub('_', rule.name)[:200]}: "
    body = [f"({' '.join(show_node(node, names) for node in atom.nodes)})" for atom in rule.body]
    body += [f"{guard.name}({', '.join(show_node(node, names) for node in guard.arguments)})" for guard in rule.guards]
    head = [f"({' '.join(show_node(node, names) for node in atom.nodes)})" for atom in rule.head]
    return f"[{name}{' '.join([*body, '->', *head])}]"


def show_node(node: str, prefixes: dict[str, str]) -> str:
    """A variable or a term as rule files write it."""
    if is_variable(node):
        return node
    if node[0] == "<":
        match = _NAMESPACE.fullmatch(node)
        if match is not None and match[1] in prefixes:
            short = f"{prefixes[match[1]]}:{match[2]}"
            return short if NODE_NAME.fullmatch(short) else node
        return node
    if node[0] != '"':
        return node
    term = parse(node)
    for shape, datatype in NUMBERS:
        if term.datatype == datatype and shape.fullmatch(term.value):
            return term.value
    if term.datatype == XSD + "boolean" and term.value in ("true", "false"):
        return term.value
    if term.language is not None or term.datatype in (None, XSD_STRING):
        return node
    return f"{literal(term.value)}^^{show_node(iri(term.datatype), prefixes)}"


def _prefixes(file: RuleFile) -> dict[str, str]:
    """Names for the namespaces that are worth one, most often used first."""
    known = {namespace: name for name, namespace in PREDECLARED.items()}
    counts: Counter[str] = Counter()
    for rule in file.rules:
        for nodes in (*(atom.nodes for atom in (*rule.body, *rule.head)), *(guard.arguments for guard in rule.guards)):
            for node in nodes:
                match = _NAMESPACE.fullmatch(_name_in(node))
                if match is not None:
                    counts[match[1]] += 1
    own = [namespace for namespace, count in counts.most_common() if count > 1 and namespace not in known]
    return known | {namespace: f"n{number}" for number, namespace in enumerate(own, 1)}


def _name_in(node: str) -> str:
    """The IRI of a node: itself, or the datatype of a literal."""
    if node[0] != '"':
        return node
    datatype = parse(node).datatype
    return "" if datatype is None else iri(datatype)
