r"""The patterns of the rule builtin `regex`: what may be written, and what RE2 is given to match it in linear time.

RE2 never goes back in a text: the time that it takes is at most the size of the pattern times that of the text. What
cannot be matched in this way (a group's text once more, a look ahead or behind) is refused, and so is a pattern that
becomes too large when its repetitions are written out. All else means what it means to people: `\d`, `\w` and `\s` know
the letters of all languages.

    read_pattern(r"\w+-(\d{4})")     # Regex(ascii=r"[0-9A-Za-z_]+\x{2d}(?:[0-9]{4})", wide=r"[\p{L}\p{N}_]+…", …)
    read_pattern(r"(a)\1")            # raises PatternError: \1 stands for what a group has matched …

`ascii` does for texts of ASCII alone, and is smaller; `wide` for all. Groups only hold together, since nothing asks for
what they have matched. The whole text has to match: that is up to who matches.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.language.rules.bounds import LONGEST_PATTERN, MOST_REPEATED, MOST_STATES
from csparql_spark.language.rules.classes import ANY, HEAVY, LETTERS, NOT_WORD, Members, class_of, written
from csparql_spark.remembering import bounded

SLOW, WRONG, LARGE = "slow-pattern", "bad-pattern", "too-large"

_QUANTIFIER = re.compile(r"\{(?:([0-9]+)(,?)([0-9]*)|,([0-9]*))\}")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_GROUP_NAME = re.compile(r"\(\?P<(\w+)>")
_PROPERTY = re.compile(r"\\[pP](?:[A-Z]|\{\^?[A-Za-z_]+\})")
_CODE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})"
    r"|(0[0-7]{0,2}|[1-3][0-7]{2})|N\{([^{}]+)\})"
)
_CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class PatternError(Exception):
    """A pattern that is not to be: its code, a sentence, and what to write instead."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern as RE2 reads it, the number of its states, and sentences about what may surprise."""

    ascii: str
    wide: str
    states: int
    surprises: tuple[str, ...] = ()


@dataclass(slots=True)
class _Group:
    """What is open: where it began, what was read of it, and of its last atom how often that may be repeated."""

    start: int
    multiline: bool
    states: int = 1
    repeated: int = 1  # the most that a repetition in it is repeated
    atom: tuple[int, int, bool] | None = None  # states, repetitions and an end of the atom just read
    ends: bool = False  # the branch that is read ends with $
    ended: bool = False  # a branch before it did


@dataclass(slots=True)
class _Reading:
    """A pattern on its way to RE2: pieces for both kinds of text."""

    text: str
    place: int = 0
    pieces: list[tuple[str, str]] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    surprises: dict[str, None] = field(default_factory=dict)

    def put(self, ascii: str, wide: str | None = None) -> None:
        self.pieces.append((ascii, ascii if wide is None else wide))

    @property
    def group(self) -> _Group:
        return self.groups[-1]

    def atom(self, states: int, repeated: int = 1, ends: bool = False) -> None:
        """Something that takes characters was read."""
        group = self.group
        if group.ends:
            self.surprises[_INNER_END] = None
        group.states += states
        group.repeated = max(group.repeated, repeated)
        group.atom, group.ends = (states, repeated, ends), ends


_INNER_END = "$ is the end of the whole text alone, and not the place before a line end that is its last character."
_WORD_ENDS = r"\b and \B take no letters for parts of a word but those of English: write (^|\W) and (\W|$) for others."


@bounded(most=256, longest=LONGEST_PATTERN)
def read_pattern(text: str) -> Regex:
    """What RE2 is given for a pattern. Raises `PatternError`."""
    if len(text) > LONGEST_PATTERN:
        raise PatternError(LARGE, f"The pattern has more than {LONGEST_PATTERN} characters.")
    reading = _Reading(text)
    reading.groups.append(_Group(0, multiline=False))
    while reading.place < len(text):
        _READERS.get(text[reading.place], _read_character)(reading)
    if len(reading.groups) > 1:
        raise PatternError(
            WRONG,
            f"The bracket ( at character {reading.group.start + 1} of the pattern is open.",
            r"Close it, or write \(.",
        )
    if reading.group.states > MOST_STATES:
        raise PatternError(
            LARGE,
            f"The pattern has {reading.group.states} states when its repetitions are written "
            f"out; {MOST_STATES} are the most.",
            "Repeat less, or write * or +.",
        )
    ascii, wide = ("".join(parts) for parts in zip(("", ""), *reading.pieces))
    return Regex(ascii, wide, reading.group.states, tuple(reading.surprises))


def check_pattern(text: str) -> Regex:
    """The pattern, if it can be matched. Raises `PatternError`."""
    pattern = read_pattern(text)
    for shape in {pattern.ascii, pattern.wide}:
        try:
            pc.match_substring_regex(pa.array([""]), whole(shape))
        except pa.ArrowInvalid as error:
            raise PatternError(WRONG, f"This is no regular expression: {str(error).partition(': ')[2]}.") from error
    return pattern


def whole(shape: str) -> str:
    """What matches the whole text, for a pattern as RE2 reads it."""
    return rf"\A(?:{shape})\z"


# --- one reader for each character that means something; each takes at least that character


def _read_character(reading: _Reading) -> None:
    reading.put(written(reading.text[reading.place]))
    reading.place += 1
    reading.atom(1)


def _read_dot(reading: _Reading) -> None:
    reading.put(".")
    reading.place += 1
    reading.atom(4)


def _read_start(reading: _Reading) -> None:
    reading.put("^")
    reading.place += 1
    reading.group.atom = None


def _read_end(reading: _Reading) -> None:
    reading.put("$")
    reading.place += 1
    reading.group.atom = None
    reading.group.ends |= not reading.group.multiline


def _read_bar(reading: _Reading) -> None:
    reading.put("|")
    reading.place += 1
    group = reading.group
    group.states, group.atom = group.states + 1, None
    group.ends, group.ended = False, group.ended or group.ends


def _read_quantifier(reading: _Reading) -> None:
    text, place = reading.text, reading.place
    sign, match = text[place], _QUANTIFIER.match(text, place)
    if sign == "{" and match is None:
        return _read_character(reading)
    shown = match[0] if match else sign
    if match is None:
        least, most, shape = 0 if sign in "*?" else 1, 1 if sign == "?" else None, sign
    else:
        least, upto = int(match[1] or 0), match[3] or match[4]
        most = int(upto) if upto else least if match[1] and not match[2] else None
        shape = f"{{{least}}}" if most == least else f"{{{least},{'' if most is None else most}}}"
    if reading.group.atom is None:
        raise PatternError(
            WRONG,
            f"There is nothing before the {shown} at character {place + 1} of the pattern that could be repeated.",
            rf"Write \{sign} for the character itself.",
        )
    states, repeated, ends = reading.group.atom
    if most is not None and most < least:
        raise PatternError(WRONG, f"{shown} asks for at least {least} and at most {most}.")
    times = max(most if most is not None else least, 1)
    if times * repeated > MOST_REPEATED:
        inner = f", and what it repeats is repeated {repeated} times" if repeated > 1 else ""
        raise PatternError(
            LARGE, f"{shown} repeats more than {MOST_REPEATED} times{inner}.", "Repeat less, or write * or +."
        )
    reading.place += len(shown)
    after = text[reading.place : reading.place + 1]
    if after == "+":
        raise PatternError(
            SLOW,
            f"{shown}+ keeps what it has taken, which takes more than one look at the text.",
            "Leave the + out, and say what may follow.",
        )
    if after == "?":  # as few as possible: the whole text matches in either way
        reading.place += 1
    reading.put(shape)
    group = reading.group
    group.states += states * (times - 1) + 1
    group.repeated = max(group.repeated, times * repeated)
    if ends and (most is None or most > 1):
        reading.surprises[_INNER_END] = None
    group.atom = None


def _read_group(reading: _Reading) -> None:
    text, place = reading.text, reading.place
    rest = text[place : place + 4]
    multiline = reading.group.multiline
    if text.startswith("(?#", place):
        end = text.find(")", place)
        if end < 0:
            raise PatternError(WRONG, "The comment (?# has no end.", "Close it with ).")
        reading.place = end + 1
        return
    for sign, (does, hint) in _REFUSED_GROUPS.items():
        if rest.startswith(sign):
            raise PatternError(SLOW, f"{sign} {does}, which takes more than one look at the text.", hint)
    if rest.startswith(("(?P<", "(?<")):
        match = _GROUP_NAME.match(text, place)
        if match is None or not match[1].isidentifier():
            raise PatternError(WRONG, "A group has no such name.", "Write (?P<name>…), or leave the name out.")
        if match[1] in reading.names:
            raise PatternError(WRONG, f"Two groups are called {match[1]}.", "Leave the names out.")
        reading.names.add(match[1])
        opening, reading.place = "(?:", match.end()
    elif rest.startswith("(?"):
        match = _FLAGS.match(text, place)
        if match is None:
            raise PatternError(WRONG, f"{rest[:3]} begins nothing.", r"Write \( for the character itself.")
        on, off = match[1].replace("u", ""), match[2] or ""
        unknown = [flag for flag in (*on, *off) if flag not in "ims"]
        if unknown:
            raise PatternError(
                SLOW,
                f"{match[0]} sets a flag that there is not: there are i "
                "(capitals do not matter), m (^ and $ stand at lines, too) and s (a dot is a line end, "
                "too).",
                _FLAG_HINTS.get(unknown[0]),
            )
        reading.place = match.end()
        multiline = ("m" in on or multiline) and "m" not in off
        flags = f"{on}-{off}" if off else on
        if match[3] == ")":  # from here to the end of the group that is open
            reading.group.multiline, reading.group.atom = multiline, None
            if flags:
                reading.put(f"(?{flags})")
            return
        opening = f"(?{flags}:"
    else:
        opening, reading.place = "(?:", place + 1
    reading.put(opening)
    reading.groups.append(_Group(place, multiline))


def _read_close(reading: _Reading) -> None:
    if len(reading.groups) == 1:
        raise PatternError(
            WRONG,
            f"The bracket ) at character {reading.place + 1} of the pattern closes nothing.",
            r"Open it with (, or write \).",
        )
    reading.put(")")
    reading.place += 1
    group = reading.groups.pop()
    reading.atom(group.states, group.repeated, group.ends or group.ended)


def _read_escape(reading: _Reading) -> None:
    text, place = reading.text, reading.place
    letter = text[place + 1 : place + 2]
    if letter in _ASSERTIONS and letter:
        if letter in "bB":
            reading.surprises[_WORD_ENDS] = None
        reading.put(_ASSERTIONS[letter])
        reading.place += 2
        reading.group.atom = None
    elif letter and letter in "123456789" and _CODE.match(text, place) is None:
        digits = re.match(r"[0-9]{1,2}", text[place + 1 :])
        number = letter if digits is None else digits[0]
        raise PatternError(
            SLOW,
            rf"\{number} stands for what a group has matched, which takes more than one look at "
            "the text.",
            "Write out what may stand there.",
        )
    elif letter and letter in LETTERS:
        members = class_of(letter)
        reading.put(f"[{members.ascii}]", f"[{members.wide}]" if letter != "W" else NOT_WORD)
        reading.place += 2
        reading.atom(members.weight if letter != "W" else HEAVY)
    elif (match := _PROPERTY.match(text, place)) is not None:
        reading.put(match[0])
        reading.place = match.end()
        reading.atom(HEAVY)
    else:
        reading.put(written(_escaped(reading)))
        reading.atom(1)


def _read_class(reading: _Reading) -> None:
    """A class of characters, [a-z]. In it are characters, ranges, and letters with a backslash."""
    text, start = reading.text, reading.place
    reading.place += 1
    denied = text.startswith("^", reading.place)
    reading.place += denied
    members: list[Members] = []
    letters: set[str] = set()
    first = reading.place
    while True:
        if reading.place >= len(text):
            raise PatternError(
                WRONG, f"The class [ at character {start + 1} of the pattern is open.", r"Close it with ], or write \[."
            )
        if text[reading.place] == "]" and reading.place > first:
            reading.place += 1
            break
        members.append(_member(reading, letters))
    if any(letter.swapcase() in letters for letter in letters):  # [\s\S]: any character at all
        members = [Members(ANY, ANY, 4)]
    sign = "^" if denied else ""
    reading.put(f"[{sign}{''.join(one.ascii for one in members)}]", f"[{sign}{''.join(one.wide for one in members)}]")
    reading.atom(1 + sum(one.weight for one in members))


def _member(reading: _Reading, letters: set[str]) -> Members:
    text, place = reading.text, reading.place
    letter = text[place + 1 : place + 2] if text[place] == "\\" else ""
    if letter and letter in LETTERS:
        reading.place += 2
        letters.add(letter)
        found = class_of(letter)
    elif (match := _PROPERTY.match(text, place)) is not None:
        reading.place = match.end()
        found = Members(match[0], match[0], HEAVY)
    else:
        found = None
    low = "" if found else _escaped(reading, in_class=True) if letter else _taken(reading)
    if not text.startswith("-", reading.place) or text[reading.place + 1 : reading.place + 2] in ("]", ""):
        return found or Members(written(low), written(low), 1)
    reading.place += 1
    high = text[reading.place]
    if found or high == "\\" and text[reading.place + 1 : reading.place + 2] in (*LETTERS, "p", "P"):
        raise PatternError(
            WRONG,
            f"The range at character {place + 1} of the pattern has no ends.",
            r"Write \- for the character itself.",
        )
    high = _escaped(reading, in_class=True) if high == "\\" else _taken(reading)
    if high < low:
        raise PatternError(WRONG, f"The range {low}-{high} ends before it begins.", rf"Write {high}-{low}.")
    return Members(f"{written(low)}-{written(high)}", f"{written(low)}-{written(high)}", 4 if high > "\x7f" else 1)


def _taken(reading: _Reading) -> str:
    reading.place += 1
    return reading.text[reading.place - 1]


def _escaped(reading: _Reading, in_class: bool = False) -> str:
    """The character that a backslash and what follows stand for."""
    text, place = reading.text, reading.place
    letter = text[place + 1 : place + 2]
    match = _CODE.match(text, place)
    if match is not None:
        reading.place = match.end()
        *codes, octal, name = match.groups()
        try:
            if name is not None:
                return unicodedata.lookup(name)
            code = int(octal, 8) if octal is not None else int(next(code for code in codes if code is not None), 16)
            if not 0xD800 <= code <= 0xDFFF and code <= sys.maxunicode:
                return chr(code)
        except KeyError:
            pass
        raise PatternError(WRONG, f"There is no character {match[0]}.")
    if not letter:
        raise PatternError(WRONG, "The pattern ends with a backslash.", r"Write \\ for the character itself.")
    reading.place += 2
    if letter in _CONTROLS:
        return chr(_CONTROLS[letter])
    if in_class and letter == "b":
        return "\b"
    if letter.isascii() and letter.isalnum():
        raise PatternError(
            WRONG, rf"\{letter} means nothing in a pattern.", f"Write {letter} for the character itself."
        )
    return letter


_ASSERTIONS = {"A": r"\A", "Z": r"\z", "z": r"\z", "b": r"\b", "B": r"\B"}
_BEFORE = "Write what stands before it as a part of the pattern."
_REFUSED_GROUPS = {
    "(?=": ("looks ahead", "Call regex once more, with the other pattern: both have to hold."),
    "(?!": ("looks ahead", "Write which characters may stand there, as in [^b]."),
    "(?<=": ("looks behind", _BEFORE),
    "(?<!": ("looks behind", _BEFORE),
    "(?P=": ("stands for what a group has matched", "Write out what may stand there."),
    "(?>": ("keeps what it has taken", "Write (?:, and say what may follow."),
    "(?(": ("asks whether a group has matched", "Write the two cases as a|b."),
}
_FLAG_HINTS = {"a": r"Write [0-9] for \d and [0-9A-Za-z_] for \w.", "x": "Write the pattern without blanks and notes."}
_READERS = {
    ".": _read_dot,
    "^": _read_start,
    "$": _read_end,
    "|": _read_bar,
    "(": _read_group,
    ")": _read_close,
    "[": _read_class,
    "\\": _read_escape,
    **dict.fromkeys("*+?{", _read_quantifier),
}
