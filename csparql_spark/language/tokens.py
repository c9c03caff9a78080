"""A text as words: SPARQL's terminals, and ours, each with its span.

The tokens of a text tile it: what lies between two neighbours is white space or comment. Nothing is an error here;
characters that begin no token become a token of kind `BAD`, so that the grammar, which reads left to right, reports
the first thing that is wrong and not the first thing that looks strange.

    [token.key for token in tokenize('?x ex:p "a" .')]      ->  ['VAR', 'PNAME_LN', 'STRING', '.', 'END']

A token's `kind` is its lexical class. Its `key` is what the grammar asks for: for keywords the word in upper case
(`a` stays `a`: SPARQL's only keyword with a case), for punctuation the sign itself, for all others the kind.
Between a string and an IRI that touch each other stands an empty token `MISSING_CARETS`: the papers' typo.

SPARQL knows no words but its keywords, so these may touch: `FILTERsameTerm(?a, ?b)`, `LIMIT10`. Here there are names,
and `REGISTER QUERY LimitOrder` has one; so touching keywords are one word until the grammar has no place for it
(`parted`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlparse.lexer import Lexer
from sqlparse.tokens import Token as TokenTypes

from csparql_spark.language.queries.grammar import KEYWORDS

_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_WORD = f"_{_BASE}0-9\u00b7\u0300-\u036f\u203f-\u2040"
_NAME = rf"\-{_WORD}"
_ESCAPED = r"\\[uU][0-9A-Fa-f]{4,8}"
_LOCAL_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
# The bound keeps "a.a.a.a..." linear: without it each "a" would look for a colon up to the end of the text.
_PREFIX = f"(?:[{_BASE}](?:[{_NAME}.]{{0,255}}[{_NAME}])?)?:"
_LOCAL = f"(?:[_{_BASE}:0-9]|{_LOCAL_ESCAPED})(?:(?:[{_NAME}.:]|{_LOCAL_ESCAPED})*(?:[{_NAME}:]|{_LOCAL_ESCAPED}))?"
_EXPONENT = "[eE][+-]?[0-9]+"

# First match wins, so the order is part of the meaning.
_RULES = (
    ("SPACE", "\\A\ufeff|[ \\t\\r\\n]+"),
    ("COMMENT", r"#[^\r\n]*"),
    ("IRIREF", rf'<(?:[^<>"{{}}|^`\\\x00-\x20]|{_ESCAPED})*+>'),
    ("BAD_IRI", r"<(?:https?|urn|file):[^<>\r\n]*>"),
    ("BLANK", f"_:[_{_BASE}0-9](?:[{_NAME}.]*[{_NAME}])?"),
    ("PNAME_LN", _PREFIX + _LOCAL),
    ("PNAME_NS", _PREFIX),
    ("VAR", f"[?$][{_WORD}]+"),
    ("STRING", r'"""(?:"{0,2}(?:[^"\\]|\\[\s\S]))*+"""' + r"|'''(?:'{0,2}(?:[^'\\]|\\[\s\S]))*+'''"),
    ("OPEN_STRING", r'"""[\s\S]*' + r"|'''[\s\S]*"),
    ("STRING", r'"(?:[^"\\\r\n]|\\[^\r\n])*+"' + r"|'(?:[^'\\\r\n]|\\[^\r\n])*+'"),
    ("OPEN_STRING", r"[\"'][^\r\n]*"),
    ("LANGTAG", r"@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*"),
    ("DOUBLE", rf"(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+){_EXPONENT}"),
    ("DECIMAL", r"[0-9]*\.[0-9]+"),
    ("INTEGER", r"[0-9]+"),
    ("SIGNED", rf"[+-](?:(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+){_EXPONENT}|[0-9]*\.[0-9]+|[0-9]+)"),
    ("WORD", rf"[Pp][Tt]?[0-9][0-9A-Za-z.]*(?<!\.)(?![{_WORD}])"),
    ("WORD", rf"(?:true|false|undef|TRUE|FALSE|UNDEF)(?![{_WORD}])"),
    ("WORD", f"[_{_BASE}][{_WORD}]*(?:-[_{_BASE}0-9][{_WORD}]*)*"),
    ("NIL", r"\([ \t\r\n]*\)"),
    ("ANON", r"\[[ \t\r\n]*\]"),
    ("SIGN", r"\^\^|&&|\|\||!=|<=|>=|[{}()\[\],;.*/|^?+\-!=<>]"),
)

_PARTS = re.compile(rf"(?:{'|'.join(sorted(KEYWORDS, key=len, reverse=True))}|[0-9]+)", re.ASCII | re.IGNORECASE)
_TERMINALS = TokenTypes.Sparql
_CASED = {"a"}
_IRI_KINDS = {"IRIREF", "PNAME_LN", "PNAME_NS"}


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a text: `text[start:end]`."""

    kind: str
    key: str
    text: str
    start: int
    end: int


def _lexer() -> Lexer:
    lexer = Lexer()
    lexer.clear()
    # The library compiles with IGNORECASE, which would let a Kelvin sign pass for a "k".
    lexer.set_SQL_REGEX([(f"(?-i:{rule})", getattr(_TERMINALS, kind)) for kind, rule in _RULES])
    return lexer


_LEXER = _lexer()
_KINDS = {kind for kind, _ in _RULES}


def tokenize(text: str, most: int | None = None) -> list[Token]:
    """The tokens of a text (at most so many), without white space and comments; the last one is `END`, an empty one."""
    tokens: list[Token] = []
    start = 0
    # The library reads $a$ as the quote of another language; SPARQL's $a is ?a, and only the spans are taken from here.
    for kind, value in _LEXER.get_tokens(text.replace("$", "?")):
        end = start + len(value)
        name = kind[-1]
        if name not in ("SPACE", "COMMENT"):
            token = _token(name, text[start:end], start, end)
            if _ends_name(token, tokens):
                first = tokens.pop().start
                token = Token("WORD", "WORD", text[first:end], first, end)
            if token.kind in _IRI_KINDS and tokens and tokens[-1].kind == "STRING" and tokens[-1].end == start:
                tokens.append(Token("MISSING_CARETS", "MISSING_CARETS", "", start, start))
            tokens.append(token)
            if most is not None and len(tokens) >= most:
                break
        start = end
    stop = tokens[-1].end if tokens else 0
    tokens.append(Token("END", "END", "", stop, stop))
    return tokens


def parted(word: Token) -> list[Token]:
    """The keywords and numbers that a word consists of, each as long as it can be; empty if it does not."""
    parts: list[Token] = []
    end = 0
    while end < len(word.text):
        match = _PARTS.match(word.text, end)
        if match is None:
            return []
        kind = "INTEGER" if match[0].isdigit() else "WORD"
        parts.append(_token(kind, match[0], word.start + end, word.start + match.end()))
        end = match.end()
    return parts


def _ends_name(token: Token, before: list[Token]) -> bool:
    """Whether a word and the number it touches are the name in `REGISTER QUERY 4ever`; elsewhere they are `4 s`."""
    if token.kind != "WORD" or len(before) < 2 or before[-1].kind != "INTEGER" or before[-1].end != token.start:
        return False
    return before[-2].key in ("QUERY", "STREAM")


def _token(kind: str, text: str, start: int, end: int) -> Token:
    if kind == "WORD":
        key = text.upper() if text.isascii() and text not in _CASED else text
        return Token(kind, key if key in KEYWORDS or key in _CASED else kind, text, start, end)
    if kind == "SIGN":
        return Token(kind, text, text, start, end)
    if kind not in _KINDS:
        kind = "BAD"
    return Token(kind, kind, text, start, end)
