"""Rule sets by name: those that come with the house, and those that users bring, put together from what they include.

    rule_set("rdfs")                                           # the rules of sets/rdfs.rules
    rule_set("mine", {"mine": parse_rules("@include <rdfs>. [(?a g:isIn ?b) (?b g:isIn ?c) -> (?a g:isIn ?c)]")})
    resolved(parse_rules(text), files)                         # of a text that has no name

The names in `NAMES` are taken, and so are Jena's for the same, which stand for one of ours. A user's file may include
them, and the user's other files. A set is there once, however many ways lead to it, and so is a rule. What is included
comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

from csparql_spark.language import parse_rules
from csparql_spark.language.rules.rule import Rule, RuleFile
from csparql_spark.language.rules.terms import RULE_SETS

SUFFIX = ".rules"
DIRECTORY = resources.files(__package__) / "sets"
NAMES = tuple(sorted(entry.name.removesuffix(SUFFIX) for entry in DIRECTORY.iterdir() if entry.name.endswith(SUFFIX)))
Files = Mapping[str, RuleFile]  # users' rule files, by name
NO_FILES: Files = MappingProxyType({})


class RuleSetError(ValueError):
    """A rule set that is not there, or that includes itself."""


def rule_set(name: str, files: Files = NO_FILES) -> tuple[Rule, ...]:
    """The rules of a set and of all that it includes. Raises `RuleSetError` for an unknown name and for a cycle."""
    return _distinct(_gathered(_known(name, files), files, (), set()))


def resolved(file: RuleFile, files: Files = NO_FILES) -> tuple[Rule, ...]:
    """The rules of a rule file that has no name, and of all that it includes."""
    visited: set[str] = set()
    included = [rule for name in file.includes for rule in _gathered(_known(name, files), files, (), visited)]
    return _distinct([*included, *file.rules])


@lru_cache(maxsize=len(NAMES))
def text_of(name: str) -> str:
    """The text of a set of the house."""
    return (DIRECTORY / f"{name}{SUFFIX}").read_text(encoding="utf-8")


def _gathered(name: str, files: Files, above: tuple[str, ...], visited: set[str]) -> list[Rule]:
    if name in above:
        path = " includes ".join([*above[above.index(name) :], name])
        raise RuleSetError(f"The rule set {name!r} includes itself: {path}. Take one of these @include lines out.")
    if name in visited:
        return []
    visited.add(name)
    file = _house(name) if name in NAMES else files[name]
    below = [
        rule
        for other in file.includes
        for rule in _gathered(_known(other, files, name), files, (*above, name), visited)
    ]
    return [*below, *file.rules]


@lru_cache(maxsize=len(NAMES))
def _house(name: str) -> RuleFile:
    return parse_rules(text_of(name))


def _known(name: str, files: Files, within: str | None = None) -> str:
    """The name under which a set is known: its own, or ours for a name of Jena's."""
    taken = sorted({*NAMES, *RULE_SETS} & set(files))
    if taken:
        raise RuleSetError(f"{taken[0]!r} is a rule set of the house: give the file another name.")
    name = RULE_SETS.get(name, name)
    if name in NAMES or name in files:
        return name
    known = ", ".join([*NAMES, *sorted(files)])
    raise RuleSetError(
        f"There is no rule set {name!r}{f', which {within!r} includes' if within else ''}. Known are {known}."
    )


def _distinct(rules: list[Rule]) -> tuple[Rule, ...]:
    return tuple(dict.fromkeys(rules))
