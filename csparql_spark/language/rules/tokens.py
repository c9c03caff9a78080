r"""A rule file as words, each with its span.

What lies between two neighbours is white space, a comma (which is white space here, as in Jena) or a comment: `#` or
`//`, up to the end of the line. Neither begins a comment inside a string, in `<…>` or in a bare `http://…`. Right
behind a name it begins nothing: `ex:a#b` may mean a name or a comment, so it becomes a `TOUCHING` token, which fits
nowhere. Characters that begin no word become a token of kind `BAD`; the reader, which goes from left to right, reports
the first thing that is wrong.

    [token.key for token in rule_tokens("[r: (?x ex:p 5) -> print('a')]")]
    # ['[', 'PREFIX', '(', 'VAR', 'PNAME', 'NUMBER', ')', '->', 'WORD', '(', 'STRING', ')', ']', 'END']
"""

from __future__ import annotations

import re

from csparql_spark.language.tokens import Token

_WORD = (
    "0-9A-Za-z_\u00b7\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u200c-\u200d\u203f-\u2040\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufefe\uff00-\ufffd\U00010000-\U000effff"
)
# The bounds keep "a.a.a.a..." and "-----" linear: without them each sign would look up to the end of the text.
_PREFIX = rf"(?:[{_WORD}][{_WORD}.\-]{{0,99}})?:"
_LOCAL_SIGN = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]|/(?!/)"
_LOCAL = rf"(?:[{_WORD}:]|{_LOCAL_SIGN})(?:(?:[{_WORD}:.]|-(?!>)|{_LOCAL_SIGN})*(?:[{_WORD}:]|-(?!>)|{_LOCAL_SIGN}))?"
_BARE = r"""[^\s()\[\],'"<>\\{}|^`]"""
_BARE_IRI = rf"(?:[A-Za-z][A-Za-z0-9+\-]{{0,30}}://|(?:urn|file|mailto):(?!-)){_BARE}*(?<![.:])"

# First match wins, so the order is part of the meaning.
_KINDS = (
    ("SPACE", "\\A\ufeff|[ \\t\\r\\n\\f,]+"),
    ("COMMENT", r"(?:#|//)[^\r\n]*"),
    ("WRONG_ARROW", r"[-=]{2,5}>|=>|:-(?!>)|<[-=]{2,5}|<=|[\u2190\u2192\u21d0\u21d2]"),
    ("ARROW", r"->|<-"),
    ("IRIREF", r'<(?:[^<>"{}|^`\\\x00-\x20]|\\[uU][0-9A-Fa-f]{4,8})*+>'),
    ("BAD_IRI", r"<[^<>()\[\]\r\n]*>"),
    ("BLANK", rf"_:[{_WORD}](?:[{_WORD}.\-]*[{_WORD}])?"),
    ("IRI", _BARE_IRI),
    ("PNAME", _PREFIX + _LOCAL),
    ("PREFIX", _PREFIX),
    ("VAR", rf"\?[{_WORD}]+"),
    ("LONG_STRING", r"\"\"\"|'''"),
    ("STRING", r'"(?:[^"\\\r\n]|\\[^\r\n])*+"' + r"|'(?:[^'\\\r\n]|\\[^\r\n])*+'"),
    ("OPEN_STRING", r"[\"'][^\r\n]*"),
    ("AT", r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*"),
    ("NUMBER", rf"[+\-]?\.?[0-9](?:[{_WORD}.+]|-(?!>))*"),
    ("WORD", rf"[{_WORD}](?:[{_WORD}]|-(?=[{_WORD}]))*"),
    ("SIGN", r"\^\^|[()\[\].*]"),
    ("BAD", r"/\*|[\s\S]"),
)
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS))
_BY_TEXT = ("SIGN", "ARROW")
_NAMES = ("PNAME", "PREFIX", "WORD", "VAR", "NUMBER", "BLANK")

RULE_NAME = re.compile(_PREFIX)
NODE_NAME = re.compile(_PREFIX + _LOCAL)


def rule_tokens(text: str) -> list[Token]:
    """The tokens of a rule file, without what stands between them; the last one is `END`, an empty one."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind, word, start = match.lastgroup or "BAD", match[0], match.start()  # all that matches has a name
        if kind == "COMMENT" and tokens and tokens[-1].end == start and tokens[-1].kind in _NAMES:
            kind = "TOUCHING"
        if kind not in ("SPACE", "COMMENT"):
            tokens.append(Token(kind, word if kind in _BY_TEXT else kind, word, start, match.end()))
    stop = tokens[-1].end if tokens else 0
    tokens.append(Token("END", "END", "", stop, stop))
    return tokens
