"""How many examples a property test tries: all of them in continuous integration and in `make test`, a part of them in
`make check`, which somebody waits for.

    @settings(max_examples=examples(200))

`EXAMPLES=4` in the environment means a quarter of them.
"""

from __future__ import annotations

import os

LEAST = 5
_PART = int(os.environ.get("EXAMPLES", "1"))


def examples(number: int) -> int:
    return max(number // _PART, min(number, LEAST))
