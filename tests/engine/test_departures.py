"""Which slides go is found without a look at those that stay: it is what such a look would find."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.engine.departures import Departures
from csparql_spark.engine.state_keys import StateKey
from csparql_spark.windows.rule import BEGINNING_OF_TIME, END_OF_TIME
from tests.examples import examples

times = st.integers(0, 40)


@given(
    st.lists(
        max_size=30,
        elements=st.one_of(
            st.tuples(st.just("add"), st.integers(0, 1), times),
            st.tuples(st.just("horizon"), st.integers(0, 1), times),
            st.tuples(st.just("place"), st.integers(0, 1), st.one_of(st.none(), st.integers(0, 30))),
        ),
    )
)
@settings(max_examples=examples(200), deadline=None)
def test_those_go_that_a_look_at_all_of_them_would_find(moves: list[tuple]) -> None:
    """Horizons and places move on, and who counted may stop to."""
    departures, stored = Departures(), dict[StateKey, int]()
    horizons, places = dict[int, int](), dict[int, int]()
    for seq, (what, stream, value) in enumerate(moves, 1):
        if what == "add":
            stored[StateKey(seq, stream)] = value
            departures.add(StateKey(seq, stream), value)
        elif what == "horizon":
            horizons[stream] = max(value, horizons.get(stream, 0))
        elif value is None:
            places.pop(stream, None)
        elif stream in places or not seq - 1:
            places[stream] = max(value, places.get(stream, 0))
        gone = {
            key
            for key, newest in stored.items()
            if newest <= horizons.get(key.stream, BEGINNING_OF_TIME) and key.seq < places.get(key.stream, END_OF_TIME)
        }
        due = list(departures.due(horizons, places))
        assert len(due) == len(gone) and set(due) == gone
        for key in gone:
            del stored[key]
