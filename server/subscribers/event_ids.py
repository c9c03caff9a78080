"""Event ids: where a client is in the order of all answers, and in which past of the log.

    48213-qkzwmtbrfd        everything up to the position 48213 was told, in the incarnation qkzwmtbrfd
    48213                   the same, given before there were incarnations

A client keeps an id as it is, and gives it back. When a copy of the database was put back meanwhile, what was told
after the copy was taken is not so any more, and positions are given again, to other answers: the incarnation tells the
two apart (see `log.sqlite.incarnations`).

    event_id(lineage, 48213)                            # "48213-qkzwmtbrfd"
    seen = read_id("48213-qkzwmtbrfd", lineage, head)   # SeenId(48213, restored=False)
"""

from __future__ import annotations

import re
from typing import NamedTuple

from csparql_spark.log.sqlite.incarnations import FIRST, LETTERS, NAME_LENGTH, Lineage

_ID = re.compile(rf"([0-9]{{1,18}})(?:-([{LETTERS}]{{{NAME_LENGTH}}}))?")


class SeenId(NamedTuple):
    """Up to where a client has seen what this log tells. `restored`: it has seen something else, too, or nobody knows;
    position 0 then, if it is not known since when."""

    position: int
    restored: bool = False


def event_id(lineage: Lineage, position: int) -> str:
    name = lineage.of(position)
    return f"{position}-{name}" if name else str(position)


def read_id(text: str, lineage: Lineage, head: int) -> SeenId | None:
    """None: it is no id. `head`: the newest position that was given."""
    match = _ID.fullmatch(text)
    if match is None:
        return None
    position, name = int(match[1]), match[2] or FIRST
    stands = lineage.stands(name, position)
    if stands == position <= head:
        return SeenId(position)
    if stands is None and position <= lineage.oldest.position:
        return SeenId(position)  # of an incarnation that is forgotten, with all that was told in it
    # Before there were names, any log's positions looked like this.
    if stands is None or stands > head or name == FIRST:
        return SeenId(0, restored=True)
    return SeenId(stands, restored=True)
