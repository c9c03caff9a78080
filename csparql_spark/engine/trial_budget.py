"""A trial budget: the processor time that queries which need too much may take of all others in one batch.

    who is tried                 10 s    5 s     0.5 s   0.5 s   …
    what it has come to          ended   ended   ended   has come through

Each that is tried has its whole limit until one is ended, in a worker or in a child; then what is left of one and a
half limits, together. Whoever is tried after it has a twentieth of its own, enough for most that are healthy, and who
does not come through with that fails by name. So the others wait for the batch for one and a half limits and a
twentieth for each that fails, and not for as many limits as there are such queries. Who comes through costs nothing:
that time is what an answer takes.

    budget = TrialBudget(limits, most=17.25)
    seconds = budget.share(11.5)                # 11.5, as long as nobody has been ended
    budget.charge(11.5)                         # it was ended
    budget.too_long(seconds, on_the_clock=False)        # why, as a `TooMuch`
    budget.renew()                              # the next batch
    budget.renew([11.5])                        # a worker has ended in it, of somebody's time
"""

from __future__ import annotations

from collections.abc import Sequence

from csparql_spark.answers.excess import OF_ANSWERS
from csparql_spark.answers.limits import PATIENCE, Limits, TooMuch

SHARE = 1 / 20  # of its limit, for who is tried when the budget is used up
LEAST = 0.1  # seconds that everybody has


class TrialBudget:
    def __init__(self, limits: Limits, most: float) -> None:
        """`most`: seconds of the processor."""
        self._limits, self._most = limits, most
        self._left, self._ended = most, 0

    def renew(self, ended: Sequence[float] = ()) -> None:
        self._left, self._ended = self._most, 0
        for seconds in ended:
            self.charge(seconds)

    def share(self, seconds: float) -> float:
        """What somebody has who may have so many seconds."""
        if not self._ended:
            return seconds
        return min(seconds, max(self._left, SHARE * seconds, LEAST))

    def charge(self, seconds: float) -> None:
        """Somebody was ended, after so many seconds."""
        self._ended += 1
        self._left = max(0.0, self._left - seconds)

    def too_long(self, share: float, *, on_the_clock: bool) -> TooMuch:
        """Why somebody fails who did not come through with its share; it is not charged yet."""
        if share >= self._limits.seconds:
            return OF_ANSWERS.of_time(self._limits.seconds, on_the_clock=on_the_clock)
        took = f"{PATIENCE * share:.2g} s on the clock" if on_the_clock else f"{share:.2g} s of processor time"
        others = "1 other that needs" if self._ended == 1 else f"{self._ended:,} others that need"
        return TooMuch(
            f"its answer takes longer than {took}, and the server had just ended {others} too much, for which all "
            "wait: register it again"
        )
