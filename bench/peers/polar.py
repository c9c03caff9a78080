"""Polars: the window is a frame of numbers, and each slide asks it anew."""

from __future__ import annotations

import numpy as np
import polars as pl

from bench.peers.job import Job
from bench.peers.rows import gathered
from bench.peers.tabular import Window, ready
from bench.peers.workloads import ROOMS


class Polars:
    version = pl.__version__

    def prepare(self, job: Job) -> None:
        self._job, self._window = job, Window(job)
        s, _, o = job.background.astype(np.int32).T
        self._fixed = pl.DataFrame({"s": s, "o": o})
        self._rooms = pl.DataFrame({"sensor": s, "room": o})
        said = np.flatnonzero(job.tenths >= 0).astype(np.int32)
        self._tenths = pl.DataFrame({"o": said, "v": job.tenths[said]})
        self._supers, self._domains, self._ranges = (
            pl.DataFrame({"p": getattr(job, name)[:, 0], high: getattr(job, name)[:, 1]})
            for name, high in (("supers", "q"), ("domains", "c"), ("ranges", "c"))
        )

    def ready(self, added: np.ndarray, removed: np.ndarray) -> np.ndarray:
        return ready(added, removed)

    def slide(self, given: np.ndarray) -> list[pl.DataFrame]:
        s, p, o = self._window.moved(given)
        window = pl.DataFrame({"s": s, "p": p, "o": o})
        return getattr(self, f"_{self._job.kind}")(window)

    def _single(self, window: pl.DataFrame) -> list[pl.DataFrame]:
        return [window.select("s", "o")]

    def _self(self, window: pl.DataFrame) -> list[pl.DataFrame]:
        left = window.select(pl.col("s").alias("a"), pl.col("o").alias("b"))
        right = window.select(pl.col("s").alias("b"), pl.col("o").alias("c"))
        return [left.join(right, on="b").select("a", "c")]

    def _readings(self, window: pl.DataFrame, least: int) -> pl.LazyFrame:
        lazy, names = window.lazy(), self._job.names
        of = lazy.filter(pl.col("p") == names["of"]).select("s", pl.col("o").alias("sensor"))
        said = (
            lazy.filter(pl.col("p") == names["value"])
            .join(self._tenths.lazy(), on="o")
            .filter(pl.col("v") > least)
            .select("s", "v")
        )
        return of.join(said, on="s")

    def _analytic(self, window: pl.DataFrame) -> list[pl.DataFrame]:
        read = self._readings(window, 200).join(self._rooms.lazy(), on="sensor")
        grouped = read.group_by("room").agg(
            (pl.col("v") / 10).mean().alias("mean"), pl.col("v").max().alias("most"), pl.len().alias("n")
        )
        return [grouped.collect()]

    def _many(self, window: pl.DataFrame) -> list[pl.DataFrame]:
        room = self._job.names["room"]
        return pl.collect_all(
            [
                self._readings(window, 10 * (n // ROOMS))
                .join(self._rooms.lazy().filter(pl.col("room") == room + n % ROOMS), on="sensor")
                .select("s", "sensor", "v")
                for n in range(len(self._job.queries))
            ]
        )

    def _closure(self, window: pl.DataFrame) -> list[pl.DataFrame]:
        edges = pl.concat([window.select("s", "o"), self._fixed])
        found = new = edges
        step = edges.rename({"s": "o", "o": "far"})
        while True:
            further = new.join(step, on="o").select("s", pl.col("far").alias("o")).unique()
            new = further.join(found, on=["s", "o"], how="anti")
            if new.is_empty():
                return [found]
            found = pl.concat([found, new])

    def _rdfs(self, window: pl.DataFrame) -> list[pl.DataFrame]:
        type_ = pl.lit(self._job.names["type"], dtype=pl.Int32).alias("p")
        above = window.join(self._supers, on="p").select("s", pl.col("q").alias("p"), "o").unique()
        typed = pl.concat(
            [
                window.join(self._domains, on="p").select("s", type_, pl.col("c").alias("o")),
                window.join(self._ranges, on="p").select(pl.col("o").alias("s"), type_, pl.col("c").alias("o")),
            ]
        ).unique()
        return [pl.concat([window, above, typed])]

    def rows(self, answer: list[pl.DataFrame]) -> np.ndarray:
        if self._job.kind == "analytic":
            room, mean, most, number = (answer[0][name].to_numpy() for name in ("room", "mean", "most", "n"))
            return gathered([room, np.rint(mean * 10 * number), most, number])
        if self._job.kind == "many":
            return np.concatenate(
                [gathered([np.full(len(frame), number), *frame.to_numpy().T]) for number, frame in enumerate(answer)]
            )
        return answer[0].to_numpy()

    def close(self) -> None:
        self._window = None
