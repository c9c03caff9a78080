"""Shares: places are counted, in total and by client, whatever becomes of them."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.server.http.shares import Places

TOTAL, EACH = 5, 2


@given(
    st.lists(
        st.tuples(st.sampled_from(["enter", "belong", "leave"]), st.integers(0, 7), st.sampled_from(["a", "b", None]))
    )
)
def test_places_are_as_many_as_a_list_of_them_says(steps: list[tuple[str, int, str | None]]) -> None:
    places, taken = Places(TOTAL, EACH), []  # [place, client]
    for step, number, client in steps:
        if step == "enter":
            place = places.enter()
            assert (place is None) == (len(taken) >= TOTAL)
            if place is not None:
                taken.append([place, None])
        elif taken:
            one = taken[number % len(taken)]
            if step == "leave":
                taken.remove(one)
                one[0].leave()
                one[0].leave()
            else:
                others = sum(other[1] == client for other in taken if other is not one)
                free = client is None or others < EACH
                assert one[0].belong(client) == free
                one[1] = client if free else None
        held = Counter(client for _, client in taken if client is not None)
        assert places.taken == len(taken)
        assert {name: places.count(name) for name in ("a", "b")} == {name: held[name] for name in ("a", "b")}
