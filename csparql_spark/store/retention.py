"""What may be forgotten.

The log keeps an entry while the engine has not read past it, and for `keep_log` ms of arrival time after that, and
while some registered window may still reach back to it (`reach`: the largest RANGE + delay, on the stream's own clock,
which stands still when nothing comes, and ends when the stream is deleted).
Entries that make the registry are kept while what they made exists; those that pause a query, as long as the query and
what came while it was paused; the one that says that it has failed, as long as the query. The newest entry always
stays, and the newest with an arrival stamp: it holds the clock.

Answers are kept for the newest `keep_answers` instants of each query, whichever version said them (see `versions`), and
go with their query, as its measures do. They go in whole chains (see `keyframes`), since others are put together of
them: some hundred more may be there.
Those of a query that makes a stream are kept, besides, until they are in the log (`log.sqlite.relays`): whoever puts
them there may have been away for longer than `keep_answers` instants, and must not lose one.

    Retention(database).forget(keep_log=600_000, reach=30_000, keep_answers=1000)
"""

from __future__ import annotations

import sqlite3
from itertools import accumulate

from csparql_spark.disk import damage
from csparql_spark.disk.database import Database
from csparql_spark.log.sqlite import forgotten
from csparql_spark.log.sqlite.reader import stamp_before
from csparql_spark.log.sqlite.relays import NEWEST, forget_relays
from csparql_spark.store import measures, order, progress, versions
from csparql_spark.store.registry import Registry
from csparql_spark.store.waiting_groups import WaitingGroups

STEP_ENTRIES, STEP_BYTES = 5000, 8 << 20  # that are deleted while pushes wait, but for one entry that is larger
END_OF_TIME = (1 << 63) - 1  # later than any stamp

# Older than the newest entry that holds the clock (a tick of an event clock does not).
_OLDER = "seq < (SELECT max(seq) FROM log AS newest WHERE newest.kind != 'tick' OR newest.subject IS NULL)"

# What was undone, and the undoing: neither says anything about the registry as it is now. The conditions on `kind` are
# those of the index, without which each registration would be compared with all of the log, while everybody waits.
_LATER = (
    "SELECT max(seq) FROM log AS later INDEXED BY log_registry WHERE later.kind NOT IN ('chunk', 'tick') "
    "AND later.subject = made.subject AND later.seq <= :position"
)
_UNDONE = f"""
    SELECT seq FROM log AS made INDEXED BY log_registry WHERE kind NOT IN ('chunk', 'tick') AND (
        kind IN ('register', 'unregister', 'pause', 'resume', 'fail')
        AND seq <= ({_LATER} AND later.kind = 'unregister')
     OR kind IN ('stream', 'drop') AND seq <= ({_LATER} AND later.kind = 'drop')
     OR kind IN ('pause', 'resume')
        AND seq < ({_LATER} AND later.kind IN ('pause', 'resume') AND later.at < :horizon)
     OR kind IN ('background', 'rules')
        AND (payload IS NULL AND seq <= :position OR seq < ({_LATER} AND later.kind = made.kind)))
"""

# Those that were there where the engine has read: it may still have somebody who reads a stream that is deleted later.
_STREAMS = """
    SELECT DISTINCT subject FROM log AS made INDEXED BY log_registry
    WHERE kind NOT IN ('chunk', 'tick') AND kind = 'stream' AND NOT EXISTS (
        SELECT 1 FROM log AS gone INDEXED BY log_registry WHERE gone.kind NOT IN ('chunk', 'tick')
        AND gone.kind = 'drop' AND gone.subject = made.subject AND gone.seq > made.seq AND gone.seq <= ?)
"""

# The newest answer that is neither among the newest instants of a query, nor still to be relayed.
_OLD_ANSWERS = f"""
    SELECT max(instant) FROM answers WHERE query = :query
    AND instant <= (SELECT instant FROM answers WHERE query = :query GROUP BY instant
                    ORDER BY instant DESC LIMIT 1 OFFSET :keep)
    AND (NOT EXISTS (SELECT 1 FROM streams JOIN versions ON json_extract(streams.payload, '$.producer') = versions.name
                     WHERE versions.id = :query)
         OR instant <= {NEWEST})
"""
# The instant of the first answer that those after it are put together of: of each part, the keyframe of the first.
_NEEDED = """
    SELECT min(coalesce(kept.frame, kept.instant)) FROM answers AS kept JOIN (
        SELECT part, min(instant) AS instant FROM answers WHERE query = :query AND instant > :old GROUP BY part
    ) AS first ON kept.query = :query AND kept.instant = first.instant AND kept.part = first.part
"""


class Retention:
    def __init__(self, database: Database) -> None:
        self._database = database

    def position(self) -> int:
        """How far the engine has read, durably."""
        return progress.read(self._database.connection)

    def batch_end(self) -> int:
        """Up to where everything is answered. Spark says that a batch has ended when it begins the next one: whoever
        wants to know how things stand looks here. Such a batch may be taken again."""
        return progress.answered(self._database.connection)

    def advance(self, seq: int) -> None:
        """Note how far the engine has read. It can be derived again, so nobody waits for the disk."""
        with self._database.transaction(durable=False) as connection:
            progress.advance(connection, read=seq)

    def forget(self, *, keep_log: int, reach: int, keep_answers: int) -> int:
        """Delete what may go, in small transactions; return how many entries and answers went."""
        gone = self._forget_entries(keep_log, reach) + self._forget_answers(keep_answers)
        return gone + self._forget_versions()

    def _forget_entries(self, keep_log: int, reach: int) -> int:
        connection, position = self._database.connection, self.position()
        # A stamp that is damaged may be one of the far future, where all that there is is long over.
        read = stamp_before(connection, position + 1)
        if read is None:
            return 0
        horizon = read - keep_log - reach
        with self._database.transaction(durable=False) as connection:
            forgotten.begin(connection)
        gone = self._delete("kind = 'tick' AND (at < ? OR subject IS NOT NULL) AND seq < ?", horizon, position)
        gone += self._delete("kind IN ('damaged', 'skipped') AND at < ? AND seq < ?", horizon, position)
        newest = connection.execute(
            "SELECT subject, max(last) FROM log WHERE kind = 'chunk' AND seq <= ? AND seq NOT IN "
            "(SELECT place FROM damages WHERE what = 'entry') GROUP BY subject",
            (position,),
        ).fetchall()
        there = {stream for (stream,) in connection.execute(_STREAMS, (position,))}
        for stream, last in newest:
            # A stamp of the producer may be old while the chunk is new, or the other way round: both must be past.
            # That of a stream that was deleted is never past: its clock stands still for ever.
            gone += self._delete(
                "kind = 'chunk' AND subject = ? AND at < ? AND (last IS NULL OR last < ?) AND seq < ?",
                stream,
                horizon,
                (last or 0) - reach if stream in there else END_OF_TIME,
                position,
                chunks_of=stream,
            )
        with self._database.transaction(durable=False) as connection:
            gone += connection.execute(
                f"DELETE FROM log WHERE {_OLDER} AND seq IN ({_UNDONE})", {"position": position, "horizon": horizon}
            ).rowcount
            damage.forget(connection)
            forgotten.keep(connection, there | {stream for stream, _ in newest})
        return gone

    def _delete(self, condition: str, *values: object, chunks_of: str | None = None) -> int:
        gone, there = 0, f"{condition} AND seq < (SELECT max(seq) FROM log)"
        while True:
            # What a step deletes is looked for beforehand: nothing comes into the midst of what is old.
            found = self._database.connection.execute(
                f"SELECT seq, coalesce(length(payload), 0) FROM log WHERE {there} ORDER BY seq LIMIT ?",
                (*values, STEP_ENTRIES),
            ).fetchall()
            if not found:
                return gone
            sizes = accumulate(size for _, size in found)
            last = max(
                (seq for (seq, _), size in zip(found, sizes, strict=True) if size <= STEP_BYTES), default=found[0][0]
            )
            with self._database.transaction(durable=False) as connection:
                gone += connection.execute(
                    f"DELETE FROM log WHERE seq IN (SELECT seq FROM log WHERE {there} AND seq <= ?)", (*values, last)
                ).rowcount
                if chunks_of is not None:
                    forgotten.note(connection, chunks_of, last)

    def _forget_answers(self, keep: int) -> int:
        gone = 0
        connection = self._database.connection
        queries = connection.execute(
            "SELECT query FROM answers UNION SELECT query FROM failures UNION SELECT query FROM measures "
            "UNION SELECT query FROM forgotten"
        ).fetchall()
        live = {row[0] for row in connection.execute("SELECT id FROM versions")}
        replaced = versions.instants(connection, self._engine_place(), keep)
        origins = {query.origin for query in Registry(self._database).queries()}
        for (query,) in queries:
            with self._database.transaction(durable=False) as transaction:
                if query in live:
                    gone += _forget_old(transaction, query, replaced.get(query, keep))
                elif query not in origins:  # under which it is known up to where answers are gone
                    gone += order.forget_query(transaction, query)
                    transaction.execute("DELETE FROM failures WHERE query = ?", (query,))
                    measures.forget(transaction, query)
        with self._database.transaction(durable=False) as transaction:
            forget_relays(transaction)
        return gone

    def _forget_versions(self) -> int:
        """Let go of versions that were replaced, and of which nothing is kept; how many entries went."""
        gone, connection = 0, self._database.connection
        for stale in versions.stale(connection, self._engine_place()):
            with self._database.transaction(durable=False) as transaction:
                gone += versions.forget(transaction, stale)
        return gone

    def _engine_place(self) -> versions.EnginePlace:
        read = self.position()  # first: that a group waits is noted before its batch has ended
        groups = WaitingGroups(self._database).groups().values()
        return versions.EnginePlace(read, {query for group in groups for query in group.queries})


def _forget_old(connection: sqlite3.Connection, query: int, keep: int) -> int:
    """Delete the answers of a query that nobody needs, chain by chain."""
    (old,) = connection.execute(_OLD_ANSWERS, {"query": query, "keep": keep}).fetchone()
    if old is None:
        return 0
    (needed,) = connection.execute(_NEEDED, {"query": query, "old": old}).fetchone()
    before = old + 1 if needed is None else min(old + 1, needed)
    return order.forget(connection, query, "query = :query AND instant < :before", {"query": query, "before": before})
