r"""The nodes of rules: from words to variables and terms, and the directives that give names their meaning.

IRIs come as `<…>`, as prefixed names and bare; literals as strings, numbers and `true` or `false`, with the lexical
form as it was written. Jena reads `28` as an xsd:int and `2.5` as an xsd:float; here they are xsd:integer and
xsd:decimal, as in SPARQL. What cannot be read is a problem, and the node that is given back then stands for nothing.

    terms.prefix(name, reference)     @prefix ex: <http://ex.org/>
    terms.iri(token)                  ex:a                   ->  '<http://ex.org/a>'
    terms.number(token)               28                     ->  '"28"^^<http://www.w3.org/2001/XMLSchema#integer>'
    terms.string(token)               'it\'s'                ->  '"it\'s"'
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.errors import LanguageError, Lines
from csparql_spark.language.queries.expectations import found_words
from csparql_spark.language.queries.prologue import WELL_KNOWN, NameProblem, Names, expand_code_points
from csparql_spark.language.tokens import Token
from csparql_spark.rdf.terms import RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD, iri, literal

PREDECLARED = {
    **WELL_KNOWN,
    "rb": "urn:x-hp-jena:rubrik/",
    "jr": "http://jena.hpl.hp.com/2003/JenaReasoner#",
    "eg": "urn:x-hp:eg/",
}
# What a rule set is called, and which of ours is meant: those of Jena stand for the nearest one.
RULE_SETS = {
    "rho-df": "rho-df",
    "rdf-full": "rdf-full",
    "rdfs": "rdfs",
    "rdfs-full": "rdfs-full",
    "owl-horst": "owl-horst",
    "RDFS": "rdfs-full",
    "OWL": "owl-horst",
    "OWLMicro": "owl-horst",
    "OWLMini": "owl-horst",
}
NUMBERS = (
    (re.compile(r"[+-]?[0-9]+"), XSD + "integer"),
    (re.compile(r"[+-]?[0-9]*\.[0-9]+"), XSD + "decimal"),
    (re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+"), XSD + "double"),
)
_NOTHING = "!"  # neither a variable nor a term
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[^\r\n])")
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_SCHEMES = ("http", "https", "urn", "file", "ftp", "mailto")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class RuleTerms:
    """The names that hold at a place of a rule file, and the terms that are made of them."""

    def __init__(self, base: str | None, tokens: list[Token], diagnostics: Diagnostics) -> None:
        try:
            self._names = Names(base)
        except NameProblem as problem:
            raise LanguageError("bad-base", f"The base IRI is not usable: {problem.message}") from problem
        self._names.prefixes.update(PREDECLARED)
        self._own: set[str] = set()
        self._tokens = tokens
        self._diagnostics = diagnostics
        self.includes: dict[str, None] = {}

    def prefix(self, name: Token, reference: Token) -> None:
        """Take note of `@prefix`."""
        prefix, before = name.text[:-1], self._names.prefixes.get(name.text[:-1])
        try:
            self._names.declare(prefix, self._reference(reference))
        except NameProblem as problem:
            self._refuse(reference, problem)
            return
        if prefix in self._own and self._names.prefixes[prefix] != before:
            self._diagnostics.warn(
                name.start, f"From here on {name.text} stands for another IRI; Jena would use it in the whole file."
            )
        self._own.add(prefix)

    def include(self, reference: Token) -> None:
        """Take note of `@include`."""
        name = self._reference(reference)
        if name in RULE_SETS:
            self.includes[name] = None
            if name.startswith("OWL"):
                self._diagnostics.warn(
                    reference.start, f"<{name}> stands for the rule set {RULE_SETS[name]}, which derives less."
                )
            return
        spellings = {known.lower(): known for known in reversed(RULE_SETS)}
        if ":" in name or "/" in name or "." in name:
            message = f"<{name}> is a place, and rules are not fetched."
            hint = f"Copy its rules into this text, or include one of {', '.join(RULE_SETS)}."
        else:
            message = f"There is no rule set <{name}>."
            close = get_close_matches(name[:40].lower(), spellings, n=1, cutoff=0.7)
            hint = f"Did you mean <{spellings[close[0]]}>?" if close else f"There are {', '.join(RULE_SETS)}."
        self._diagnostics.add(
            reference.start, reference.end, "unknown-rule-set", message, expected="the name of a rule set", hint=hint
        )

    def iri(self, token: Token) -> str:
        """The term of `<…>`, a prefixed name or a bare IRI."""
        try:
            return iri(self._iri(token))
        except NameProblem as problem:
            self._refuse(token, problem)
            return _NOTHING

    def number(self, token: Token) -> str:
        """The term of a number."""
        for shape, datatype in NUMBERS:
            if shape.fullmatch(token.text):
                return literal(token.text, datatype)
        hint = "Numbers are written 28, 2.5 or 1e3."
        if token.text.endswith(".") and NUMBERS[0][0].fullmatch(token.text[:-1]):
            hint = f"Write {token.text}0."
        elif _DAY.fullmatch(token.text):
            hint = f"Write '{token.text}'^^xsd:date."
        message = f"{found_words(token)} is not a number."
        self._diagnostics.add(token.start, token.end, "bad-number", message, hint=hint)
        return _NOTHING

    def truth(self, token: Token) -> str:
        """The term of `true` or `false`."""
        return literal(token.text, XSD + "boolean")

    def string(self, token: Token, datatype: Token | None = None, language: Token | None = None) -> str:
        """The term of a string, with its datatype or its language."""
        lexical = self._unescaped(token)
        if lexical is None:
            return _NOTHING
        if language is not None:
            try:
                return literal(lexical, language=language.text[1:])
            except ValueError:
                message = f"{language.text} is not a language tag."
                self._diagnostics.add(
                    language.start, language.end, "bad-language", message, hint="Write @en or @en-GB."
                )
                return _NOTHING
        if datatype is None:
            return literal(lexical)
        try:
            name = self._iri(datatype)
        except NameProblem as problem:
            self._refuse(datatype, problem)
            return _NOTHING
        if name in (RDF_LANG_STRING, RDF_DIR_LANG_STRING):
            message = "A string of this datatype has a language."
            self._diagnostics.add(datatype.start, datatype.end, "bad-literal", message, hint="Write 'text'@en.")
            return _NOTHING
        return literal(lexical, name)

    def _reference(self, token: Token) -> str:
        return token.text[1:-1] if token.kind == "IRIREF" else token.text

    def _iri(self, token: Token) -> str:
        if token.kind == "IRIREF":
            return self._names.resolve(token.text[1:-1])
        prefix, _, local = token.text.partition(":")
        if local.startswith("//"):
            return self._names.resolve(token.text)
        if prefix in self._names.prefixes:
            return self._names.expand(token.text)
        if prefix.lower() in _SCHEMES and local:
            return self._names.resolve(token.text)
        raise NameProblem("undeclared-prefix", f'The prefix "{prefix}:" is not declared.', self._advice(prefix, token))

    def _advice(self, prefix: str, token: Token) -> str:
        for before, name in zip(self._tokens, self._tokens[1:], strict=False):
            if before.text == "@prefix" and name.text == f"{prefix}:" and name.start > token.start:
                line, _ = Lines(self._diagnostics.text).locate(name.start)
                return f"It is declared below, in line {line}: move that up."
        known = list(self._names.prefixes)
        close = get_close_matches(prefix[:40], known, n=1, cutoff=0.7)
        swapped = [name for name in known if prefix and sorted(name) == sorted(prefix)]
        if prefix and (swapped or close):
            return f"Did you mean {(swapped or close)[0]}:?"
        listed = ", ".join(f"{name}:" for name in known[-20:])
        return f"Write @prefix {prefix}: <...>. before. Known are {listed}."

    def _refuse(self, token: Token, problem: NameProblem) -> None:
        message, hint = problem.message, problem.hint
        if problem.code == "relative-iri":
            message, hint = f"{token.text} is relative, and rule files have no base.", "Write the whole IRI."
        self._diagnostics.add(token.start, token.end, problem.code, message, hint=hint)

    def _unescaped(self, token: Token) -> str | None:
        for match in _ESCAPE.finditer(token.text, 1, len(token.text) - 1):
            start = token.start + match.start()
            if match[1][0] in "uU" and len(match[1]) > 1:
                try:
                    expand_code_points(match[0])
                except NameProblem as problem:
                    self._diagnostics.add(start, start + len(match[0]), problem.code, problem.message)
                    return None
            elif match[1] not in _ESCAPED:
                self._diagnostics.add(
                    start, start + 2, "bad-escape", f"{match[0]} stands for nothing.", hint=f"Write \\{match[0]}."
                )
                return None

        def character(match: re.Match[str]) -> str:
            return _ESCAPED.get(match[1]) or expand_code_points(match[0])

        return _ESCAPE.sub(character, token.text[1:-1])
