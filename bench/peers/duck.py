"""DuckDB: the window is a table of numbers; each slide asks it anew, and fetches the answer as an Arrow table."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from bench.peers.job import Job
from bench.peers.rows import gathered
from bench.peers.tabular import Window, ready
from bench.peers.workloads import ROOMS

READ = (
    "FROM w AS a JOIN w AS b ON a.s = b.s AND a.p = {of} AND b.p = {value} JOIN tenths AS t ON t.id = b.o "
    "JOIN rooms AS r ON r.sensor = a.o "
)
TEXTS = {
    "single": "SELECT s, o FROM w",
    "self": "SELECT a.s, b.o FROM w AS a JOIN w AS b ON a.o = b.s",
    "analytic": "SELECT r.room, avg(t.v / 10), max(t.v), count(*) " + READ + "WHERE t.v > 200 GROUP BY r.room",
    "closure": "WITH RECURSIVE e AS (SELECT s, o FROM w UNION ALL SELECT s, o FROM fixed), "
    "c(s, o) AS (SELECT s, o FROM e UNION SELECT c.s, e.o FROM c JOIN e ON c.o = e.s) SELECT s, o FROM c",
    "rdfs": "SELECT s, p, o FROM w UNION ALL SELECT DISTINCT s, q, o FROM w JOIN supers USING (p) UNION ALL "
    "SELECT DISTINCT * FROM (SELECT s, {type} AS p, c FROM w JOIN domains USING (p) UNION ALL "
    "SELECT w.o, {type} AS p, c FROM w JOIN ranges USING (p))",
    "many": "SELECT a.s, a.o, t.v " + READ + "WHERE r.room = {room} AND t.v > {least}",
}


class Duck:
    version = duckdb.__version__

    def prepare(self, job: Job) -> None:
        self._job, self._window, self._db = job, Window(job), duckdb.connect()
        fixed = job.background.astype(np.int32)
        self._table("fixed", s=fixed[:, 0], p=fixed[:, 1], o=fixed[:, 2])
        self._table("rooms", sensor=fixed[:, 0], room=fixed[:, 2])
        self._table(
            "tenths", id=np.arange(len(job.tenths), dtype=np.int32)[job.tenths >= 0], v=job.tenths[job.tenths >= 0]
        )
        for name in ("supers", "domains", "ranges"):
            low, high = getattr(job, name).T
            self._table(name, p=low, **{"q" if name == "supers" else "c": high})
        count = len(job.queries) if job.kind == "many" else 1
        self._texts = [
            TEXTS[job.kind].format(
                **{**job.names, "room": job.names.get("room", 0) + n % ROOMS}, least=10 * (n // ROOMS)
            )
            for n in range(count)
        ]

    def _table(self, name: str, **columns: np.ndarray) -> None:
        self._db.register("given", pa.table({key: np.ascontiguousarray(column) for key, column in columns.items()}))
        self._db.execute(f"CREATE TABLE {name} AS SELECT * FROM given")

    def ready(self, added: np.ndarray, removed: np.ndarray) -> np.ndarray:
        return ready(added, removed)

    def slide(self, given: np.ndarray) -> list[pa.Table]:
        s, p, o = self._window.moved(given)
        self._db.register("w", pa.table({"s": s, "p": p, "o": o}))
        return [self._db.sql(text).to_arrow_table() for text in self._texts]

    def rows(self, answer: list[pa.Table]) -> np.ndarray:
        tables = [[column.to_numpy() for column in table.columns] for table in answer]
        if self._job.kind == "analytic":
            room, mean, most, number = tables[0]
            return gathered([room, np.rint(mean * 10 * number), most, number])
        if self._job.kind == "many":
            return np.concatenate(
                [gathered([np.full(len(table[0]), number), *table]) for number, table in enumerate(tables)]
            )
        return gathered(tables[0])

    def close(self) -> None:
        self._db.close()
