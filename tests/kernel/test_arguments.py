"""Wrong arguments are told, and never followed beyond the end of a column.

Each function is called with what is right, and then with one argument at a time that is not. Built with sanitizers
(`test_sanitizers`), this says that what is not refused stays within its columns, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from csparql_spark.kernel import native

if native.library is None:
    pytest.skip(f"nobody to call: {native.missing}", allow_module_level=True)

BODY = b'<urn:a> <urn:p> "x"@en <urn:g> .\n' * 3
OTHERS = {
    1: (np.int16, np.int64),
    4: (np.int8, np.float64),
    8: (np.int32, np.float32),
}  # types, by bytes of the right one
REFUSED = (TypeError, ValueError, OverflowError, BufferError)


def ints(size: int) -> np.ndarray:
    return np.arange(size, dtype=np.int64)


def zeros(size: int) -> np.ndarray:
    return np.zeros(size, dtype=np.int64)


def ids(size: int) -> np.ndarray:
    return np.arange(size, dtype=np.int32)


def text(body: bytes) -> np.ndarray:
    return np.frombuffer(body, dtype=np.uint8).copy()


def doubles(size: int) -> np.ndarray:
    return ints(size) / 4


def flags(size: int) -> np.ndarray:
    return np.zeros(size, dtype=np.bool_)


class Right(NamedTuple):
    """What a function takes. `written`: which of it is written to; `runs`: it takes any number of runs at the end;
    `cells`: the columns at the end, of which it takes any number, and of int32, too."""

    arguments: Callable[[], list[object]]
    written: tuple[int, ...]
    runs: bool = False
    cells: tuple[int, ...] = ()


RIGHT = {
    "merge": Right(lambda: [ints(30), ints(30), ints(4) + 40, ints(4), 2, ints(34), ints(34)], (5, 6)),
    "held": Right(lambda: [ints(9), ints(9), 3, ints(9), ints(9)], (3, 4)),
    "found": Right(lambda: [ints(20), ints(12), ints(12), ints(12)], (2, 3)),
    "slices": Right(lambda: [ints(5), 3, 0, 99, ints(40), ints(40), ints(40), ints(20), ints(20)], (4, 5, 6), True),
    "tags_of": Right(lambda: [ints(9), 0, ints(9), ints(20), ints(20)], (2,), True),
    "absorb": Right(
        lambda: [ints(9), ints(9), 1, 0, flags(9), flags(9), ints(1), ints(20), ints(20)], (1, 4, 5, 6, 8), True
    ),
    "drop": Right(lambda: [ints(9), 0, ints(1), ints(20), ints(20)], (2, 4), True),
    "join": Right(
        lambda: [ints(5), 3, ints(5), ints(5) + 9, 0, 99, 4, 15, 8, ints(40), ints(40), ints(20), ints(20)],
        (9, 10),
        True,
    ),
    "pairs": Right(lambda: [ints(20), ints(9), 99, ints(12), ints(12)], (3, 4)),
    "reduce": Right(lambda: [ints(20) % 5, ints(20), ints(5), ints(5), ints(5)], (2, 3, 4)),
    "reduce_doubles": Right(lambda: [ints(20) % 5, doubles(20), ints(5), doubles(5), doubles(5)], (2, 3, 4)),
    "total": Right(lambda: [zeros(10), zeros(5), ints(20) % 5, ints(20), ints(20)], (0, 1)),
    "accumulate": Right(lambda: [zeros(20), 15, 4, zeros(5), ints(20) % 5, doubles(20), ints(20)], (0, 3)),
    "combine": Right(lambda: [zeros(20), 15, 4, ints(6), 16, 2, ints(3), 0], (0,)),
    "rounded": Right(lambda: [ints(20), 15, 4, ints(5), doubles(5)], (4,)),
    "dense_rows": Right(lambda: [2, 5, 7, zeros(10), zeros(10), ints(10) % 3, ints(10) % 2], (3, 4), cells=(5, 6)),
    "count_rows": Right(
        lambda: [
            *(zeros(64), zeros(20), zeros(10), 0, 2, 5, 7),  # no row, and room for ten
            *(ints(10), zeros(10), zeros(10), zeros(10), ints(10) % 3, ints(10) % 2),
        ],
        (0, 1, 2, 8, 9, 10),
        cells=(11, 12),
    ),
    "find_rows": Right(
        lambda: [zeros(64), zeros(20), zeros(10), 0, 2, 5, 7, zeros(10), ints(10), ints(10)], (7,), cells=(8, 9)
    ),
    "unpaired": Right(lambda: [ints(10) % 4, 5, 4, zeros(10)], (3,)),
    "ordered": Right(lambda: [ints(60)[::-1].copy(), ints(60)], (1,)),
    "order": Right(lambda: [ints(60)[::-1].copy(), ints(60)], (1,)),
    "unite": Right(lambda: [ints(60) % 7, ints(60), 0, 5, ints(60), ints(60)], (4, 5)),
    "turn": Right(
        lambda: [ints(60), ints(60), flags(60), ints(3), ints(3), ints(3), 0, ints(60), ints(60), flags(60)], (7, 8, 9)
    ),
    "distinct": Right(lambda: [ints(9), ints(9)], (1,)),
    "dense_ranks": Right(lambda: [ints(60) % 7, ints(60), ints(60)], (1, 2)),
    "lines": Right(
        lambda: [
            *(text(BODY), 1, 5, 7),
            *(ids(3), ids(3), ids(3), ids(3)),
            *(text(BODY), ids(10), text(BODY), ids(4), ints(2)),
        ],
        (4, 5, 6, 7, 8, 9, 10, 11, 12),
    ),
    "encode": Right(
        lambda: [
            *(zeros(4), zeros(3), text(BODY[:12]), 0, 5, 7),  # no term, and room for two
            *(ints(3) * 6, text(BODY[:12]), zeros(2)),
        ],
        (0, 1, 2, 8),
    ),
    "find": Right(lambda: [zeros(4), zeros(1), text(BODY[:6]), 0, 5, 7, text(BODY[:6])], ()),
    "spread": Right(lambda: [zeros(4), zeros(8)], (1,)),
    "texts": Right(lambda: [ints(3) * 6, text(BODY[:12]), ints(2)], ()),
    "sorted_texts": Right(lambda: [ints(3) * 6, text(BODY[:12]), ints(2), ints(2), ids(3)], (3, 4)),
    "spell": Right(
        lambda: [ids(3) * 7, text(b'<urn:a>"b c"@en'), 0, flags(14 + 2 * 40).view(np.uint8), ints(3), ints(2)],
        (3, 4, 5),
    ),
    "table_body": Right(lambda: [ids(4), text(b"abc"), ints(2), ints(5) % 4 - 1, ints(5) % 3], (2,), cells=(3, 4)),
    "row_text": Right(
        lambda: [
            *(ints(4) * 2, text(b"aabbcc"), ids(6) // 2, 1),  # three rows of two cells each: the last two are asked for
            *(ints(7), text(b"1234te"), 1, 99, ints(1)),
        ],
        (8,),
    ),
}
WITHOUT = {"version"}
ANY_COLUMNS = {"table_body"}  # one column is right, too
WITHOUT_RUNS = {"slices", "join", "tags_of"}  # no run at all is right, too


def call(name: str, arguments: list[object]) -> object:
    return getattr(native.library, name)(*arguments)


def others(name: str) -> list[tuple[int, object]]:
    return list(enumerate(RIGHT[name].arguments()))


def put(name: str, place: int, other: object) -> list[object]:
    arguments = RIGHT[name].arguments()
    arguments[place] = other
    return arguments


def test_each_function_is_tried() -> None:
    assert {name for name in dir(native.library) if name[0] != "_"} == {*RIGHT, *WITHOUT}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_taken(name: str) -> None:
    assert call(name, RIGHT[name].arguments()) is not None


@pytest.mark.parametrize("name", RIGHT)
def test_too_few_and_too_many(name: str) -> None:
    arguments = RIGHT[name].arguments()
    for count in range(len(arguments)):
        if RIGHT[name].runs and count == len(arguments) - 2 and name in WITHOUT_RUNS:
            call(name, arguments[:count])
            continue
        if name in ANY_COLUMNS and count == len(arguments) - 1:
            call(name, arguments[:count])
            continue
        with pytest.raises(REFUSED):
            call(name, arguments[:count])
    with pytest.raises(TypeError, match="too many arguments"):
        call(name, arguments + [ints(2)] * 144)
    if not RIGHT[name].runs and not RIGHT[name].cells:
        with pytest.raises(TypeError, match="too many arguments"):
            call(name, [*arguments, 1])


@pytest.mark.parametrize("name", RIGHT)
def test_other_types(name: str) -> None:
    for place, right in others(name):
        wrong: list[object] = [None, "columns", [1, 2], 1.5]
        if isinstance(right, np.ndarray):
            others_ = (np.int16, np.complex128) if place in RIGHT[name].cells else OTHERS[right.itemsize]
            wrong += [7, *(right.astype(other) for other in others_)]
            wrong += [right.astype(np.int64)] if right.dtype == np.float64 else []
            wrong += [np.repeat(right, 2)[::2]] if len(right) > 1 else []  # one row is no stride
        else:
            wrong += [1 << 63, -(1 << 63) - 1, ints(3)]
        for other in wrong:
            with pytest.raises(REFUSED):
                call(name, put(name, place, other))


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_written_to_is_writable_and_has_room(name: str) -> None:
    for place in RIGHT[name].written:
        right = RIGHT[name].arguments()[place]
        closed = right.copy()
        closed.flags.writeable = False
        for other in (closed, right[:-1].copy(), right[:0].copy(), bytes(right)):
            with pytest.raises(REFUSED):
                call(name, put(name, place, other))


@pytest.mark.parametrize("name", RIGHT)
def test_lengths_that_do_not_fit_stay_within_the_columns(name: str) -> None:
    for place, right in others(name):
        if isinstance(right, np.ndarray):
            for size in (0, 1, len(right) - 1, len(right) + 1, 3 * len(right)):
                other = np.resize(right, max(size, 0)).astype(right.dtype)
                try:
                    call(name, put(name, place, other))
                except REFUSED as refused:
                    assert str(refused)


@pytest.mark.parametrize(
    "name, place", [("merge", 1), ("merge", 3), ("held", 1), ("unite", 1), ("turn", 1), ("turn", 2), ("turn", 4)]
)
def test_columns_of_one_map_are_of_one_length(name: str, place: int) -> None:
    right = RIGHT[name].arguments()[place]
    for other in (right[:-1].copy(), np.concatenate((right, right))):
        with pytest.raises(TypeError, match="lengths that do not fit"):
            call(name, put(name, place, other))


@pytest.mark.parametrize(
    "name, place, wrong, told",
    [
        ("slices", 1, -1, "a span that is less than nothing"),
        ("join", 1, -1, "a span that is less than nothing"),
        ("join", 6, 64, "bits that a key does not have"),
        ("join", 8, -1, "bits that a key does not have"),
        ("turn", 3, ints(3) - 1, "bits that a key does not have"),
        ("turn", 5, ints(3) + 62, "bits that a key does not have"),
        ("turn", 6, -1, "bits that a key does not have"),
        ("turn", 6, 64, "bits that a key does not have"),
        ("reduce", 0, ints(20) - 1, "a group that there is not"),
        ("reduce", 0, ints(20), "a group that there is not"),
        ("reduce_doubles", 0, ints(20) - 1, "a group that there is not"),
        ("total", 2, ints(20), "a group that there is not"),
        ("accumulate", 4, ints(20), "a group that there is not"),
        ("combine", 6, ints(3) + 3, "a group that there is not"),
        ("rounded", 3, ints(5) + 1, "a group that there is not"),
        ("accumulate", 1, -1, "lengths that do not fit"),
        ("accumulate", 1, 40, "lengths that do not fit"),
        ("accumulate", 2, 37, "lengths that do not fit"),
        ("combine", 1, 17, "lengths that do not fit"),
        ("combine", 4, 18, "lengths that do not fit"),
        ("rounded", 2, -4, "lengths that do not fit"),
        ("dense_rows", 0, 0, "columns that are no rows"),
        ("dense_rows", 0, 3, "columns that are no rows"),
        ("count_rows", 3, 1, "no room for so many rows"),
        ("count_rows", 3, -1, "lengths that do not fit"),
        ("count_rows", 4, 3, "lengths that do not fit"),
        ("find_rows", 3, 11, "lengths that do not fit"),
        ("find_rows", 4, 1 << 62, "lengths that do not fit"),
        ("unpaired", 0, ints(10), "a number that no row has"),
        ("unpaired", 0, ints(10) % 4 - 1, "a number that no row has"),
        ("unpaired", 1, 11, "lengths that do not fit"),
        ("unpaired", 2, 1 << 62, "lengths that do not fit"),
        ("encode", 1, ints(3) - 9, "lengths that do not fit"),
        ("find", 1, ints(1) - 9, "lengths that do not fit"),
        ("texts", 2, ints(2) + ((1 << 63) - 2), "an id that stands for no term"),
        ("sorted_texts", 0, ints(3) * 7, "an id that stands for no term"),
        ("sorted_texts", 0, ints(3)[::-1].copy(), "an id that stands for no term"),
        ("sorted_texts", 2, ints(2) + 1, "an id that stands for no term"),
        ("sorted_texts", 3, ints(3), "lengths that do not fit"),
        ("sorted_texts", 4, ids(2), "lengths that do not fit"),
        ("spell", 0, ids(3)[::-1].copy(), "not where they are said to be"),
        ("spell", 0, ids(3) * 9, "not where they are said to be"),
        ("spell", 0, ids(3) - 1, "lengths that do not fit"),
        ("spell", 2, 2, "a format that nothing is spelled for"),
        ("spell", 3, text(bytes(14 + 2 * 40 - 1)), "no room for so many spellings"),
        ("table_body", 0, ids(4) * 2, "not where they are said to be"),
        ("table_body", 0, ids(4)[::-1].copy(), "not where they are said to be"),
        ("table_body", 0, ids(4) - 2, "not where they are said to be"),
        ("table_body", 2, ints(3), "lengths that do not fit"),
        ("table_body", 3, ints(5) - 2, "a place that no term has"),
        ("table_body", 4, ints(5), "a place that no term has"),
        ("table_body", 4, ints(4) % 3, "lengths that do not fit"),
        ("row_text", 0, ints(4) * 3, "a place that no text has"),
        ("row_text", 0, ints(4)[::-1].copy(), "a place that no text has"),
        ("row_text", 0, ints(4) - 9, "a place that no text has"),
        ("row_text", 2, ids(6) + (1 << 30), "a place that no text has"),
        ("row_text", 2, ids(6) - 5, "a place that no text has"),
        ("row_text", 2, ids(5), "lengths that do not fit"),
        ("row_text", 3, -1, "a row that is not there"),
        ("row_text", 3, 4, "a row that is not there"),
        ("row_text", 4, ints(7)[::-1].copy(), "not where they are said to be"),
        ("row_text", 4, ints(7) * 2, "not where they are said to be"),
        ("row_text", 4, ints(7) - 1, "not where they are said to be"),
        ("row_text", 7, -1, "less room than none"),
    ],
)
def test_numbers_that_lead_out_of_a_column_or_a_key(name: str, place: int, wrong: object, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        call(name, put(name, place, wrong))


@pytest.mark.parametrize("name", [name for name, right in RIGHT.items() if right.runs])
def test_runs_are_pairs_of_one_length(name: str) -> None:
    arguments = RIGHT[name].arguments()
    with pytest.raises(TypeError, match="lengths that do not fit"):
        call(name, [*arguments[:-1], ints(19)])
    with pytest.raises(TypeError, match="too few arguments"):
        call(name, [*arguments, ints(20)])
