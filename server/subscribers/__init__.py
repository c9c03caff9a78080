"""Subscribers: who hears answers as they become true.

- `fanout`        looks for what is new, and spells each answer once for all
- `event_cache`   what was spelled lately
- `instants`      what a query said at one instant, put together
- `changes`       what changes from one of them to a later one
- `whole_readers` what was put together last, to go on from
- `roster`        which queries there are, and how they stand
- `event_ids`     where a client is in the order of all answers, and in which past of the log
- `voices`        in what form a subscriber is told answers
- `subscription`  one subscriber: a cursor, and the events that follow it
- `delivery`      one thread that writes to the connections of all
"""
