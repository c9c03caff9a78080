"""Cases: a function of the kernel in C, what does the same, and what both are called with.

Case("sort 100,000 keys", "sort.ordered", twin.ordered, lambda random: (random.permutation(100_000),))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


def called(function: Callable[..., object], *arguments: object) -> Callable[[], object]:
    return lambda: function(*arguments)


def all_of_it(result: Any) -> Any:
    return result


class Case(NamedTuple):
    """`told`: what is compared of a result, where not all of it can be."""

    what: str
    ours: str  # the module of `compiled`, and its function or class
    numpy: Callable[..., object]
    arguments: Callable[[np.random.Generator], tuple[object, ...]]
    ready: Callable[..., Callable[[], object]] = called  # what is measured, of the function or class and the arguments
    told: Callable[[Any], Any] = all_of_it
