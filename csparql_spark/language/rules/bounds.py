"""How large a rule file may be.

Each rule costs memory and time in every tick, and rules that a program wrote without end should fail where they are
written. The size of a text is bounded as that of a query is.

    check_written(file)      a file whose names, written out, make it too large to be read again
"""

from __future__ import annotations

from csparql_spark.language.errors import LanguageError
from csparql_spark.language.queries.bounds import LONGEST_TEXT
from csparql_spark.language.rules.printing import show_rules
from csparql_spark.language.rules.rule import RuleFile

MOST_RULES = 2_000
MOST_ATOMS = 50
MOST_GUARDS = 50
MOST_HEADS = 20
MOST_ARGUMENTS = 50
LONGEST_PATTERN = 1_000  # characters
MOST_STATES = 2_000  # of a pattern, when its repetitions are written out
LONGEST_MADE = 100_000  # characters of what strConcat and uriConcat make: texts may grow from rule to rule
MOST_REPEATED = 1_000  # times, also where one repetition stands in another: more is too much for RE2


def check_written(file: RuleFile) -> None:
    """Refuse rules that become too long when they are printed: what is accepted can be printed and read again."""
    size = len(show_rules(file).encode())
    if size > LONGEST_TEXT:
        message = f"The rules have {size} bytes when their names are written out; {LONGEST_TEXT} are the most."
        raise LanguageError("too-large", message, hint="Write several files.")
