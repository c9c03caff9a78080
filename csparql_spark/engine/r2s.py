"""R2S: what members say that tell what is new (ISTREAM) or has ceased (DSTREAM) since their instant before.

    rows that have come  ──┐
                           ├─▶ ISTREAM: those, DSTREAM: these, but for rows that only hold longer, or shorter
    rows that have gone  ──┘

Where answers are maintained, the view tells what has come and gone (see `view_rows`), and nothing else is looked at.
The others are compared as they would be told. Both say the same. A member's `before` is what is kept of it: what it
would have said last, as an earlier whole and what has changed since. Of rows that go, those whose time is over need
not even be kept.

    stepped(member, step, whole)            # the answer to be told; `whole` makes a whole one, if need be
    compared(member, payload)               # from the bytes of a whole answer
"""

from __future__ import annotations

from collections.abc import Callable

from csparql_spark.answers.bag_difference import difference
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.last_answer import LastAnswer
from csparql_spark.engine.member import Member
from csparql_spark.engine.view_rows import RowStep


def stepped(member: Member, step: RowStep, whole: Callable[[], Result]) -> Result:
    """What a member tells where its view has made a step from the instant that the member has told last."""
    before = member.before
    assert before is not None  # it has told something
    come, gone = step.come, step.gone
    if not step.empty:
        lasting = gone if gone.until is None else gone.take(gone.until > step.instant)
        before.change(step.instant, lasting, come)
        if before.worn:
            now = whole()
            member.before = LastAnswer(now.to_bytes(), length=len(now))
    mine, others = (come, gone) if member.query.output == "ISTREAM" else (gone, come)
    # Some hold longer, or shorter, than before: that is no change.
    return difference(mine, others) if len(others) and len(mine) else mine


def compared(member: Member, payload: bytes) -> Result:
    """What a member tells whose whole answer is this."""
    before, member.before = member.before, LastAnswer(payload)
    now = Result.from_bytes(payload)
    then = before.answer() if before is not None else difference(now, now)  # nothing, of its kind
    return difference(now, then) if member.query.output == "ISTREAM" else difference(then, now)
