"""Breaking: when a server does not keep up any more, and when it does again.

It is broken when, over the last seconds, answers come later than five seconds after their instants and ever later; when
pushes are refused or not answered; or when the pushes that it takes are less than nine tenths of what is offered.

    broken(points, pushes, offered=40_000, seconds=20)      # None, or a sentence
    recovered(points, normal=310.0)                         # whether they are as they were
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from bench.load.pushing import Push

LATE_MS = 5000.0
GROWING = 1.05  # by so much later in the second half of the time than in the first
KEPT_RATE = 0.9
ROOM = 2.0  # as long as normal, and not more, is normal again
LEAST_MS = 250.0  # as much later than normal is, too


def broken(
    latencies: Sequence[float], lag: float, pushes: Sequence[Push], *, offered: float, seconds: float
) -> str | None:
    """`latencies`: in the order in which answers came; `lag`: ms since the newest instant that was told."""
    refused = Counter(push.status for push in pushes if push.status != 200)
    if refused:
        status, count = refused.most_common(1)[0]
        said = next(push.said for push in pushes if push.status == status)
        return f"{count} pushes of {len(pushes)} were told {status or 'nothing'}: {said}"
    taken = sum(push.rows for push in pushes) / seconds
    if taken < KEPT_RATE * offered:
        return f"the server takes {taken:,.0f} of {offered:,.0f} triples a second: producers wait"
    half = len(latencies) // 2
    if half:
        early, late = statistics.median(latencies[:half]), statistics.median(latencies[half:])
        if statistics.median(latencies) > LATE_MS and late > GROWING * early:
            return (
                f"answers come {late / 1000:.1f} s after their instants, and ever later ({early / 1000:.1f} s before)"
            )
    elif lag > max(LATE_MS, 1000 * seconds):
        return f"no answer has come for {seconds:.0f} s; the newest is {lag / 1000:.1f} s old"
    return None


def recovered(latencies: Sequence[float], normal: float) -> bool:
    """`latencies`: of the last seconds; `normal`: the median before."""
    return bool(latencies) and statistics.median(latencies) <= max(ROOM * normal, normal + LEAST_MS)
