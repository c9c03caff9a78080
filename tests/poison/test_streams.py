"""Poisons over streams: each beside healthy queries of one server, one after the other.

`streams.json` has them (`poison.py` says how), and what is expected of each. The healthy queries'
answers stay right, and come at most twice the limit and ten seconds late, once, on a machine that has nothing else to do; all
processes of the server together take at most 3 GB more; the poison has failed or was refused, with a sentence that names the
limit, or is answered; deleted, it leaves nothing. Afterwards the server starts on the same directory, and answers. `make faults` writes what was seen into `docs/reliability.md`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.poison import ALL, table
from tests.poison.healthy import Healthy
from tests.poison.poison import EXPECTATIONS, LIMITS, POISONS, Poison
from tests.poison.server import WatchedServer
from tests.poison.trial import Seen, Trial

START_SECONDS = 180.0

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="looks at memory in Linux's /proc")


@dataclass
class House:
    """One server for many poisons; another one where one has broken it."""

    data: Path
    server: WatchedServer
    healthy: Healthy
    seen: list[Seen] = field(default_factory=list)

    @classmethod
    def opened(cls, data: Path) -> House:
        server = WatchedServer(data / "data", data / "server.log")
        healthy = Healthy(server.url)
        try:
            healthy.begin()
        except BaseException:
            server.__exit__()
            raise
        return cls(data, server, healthy)

    def close(self) -> None:
        self.healthy.end()
        self.server.__exit__()

    def trial(self, poison: Poison, directories: pytest.TempPathFactory) -> Seen:
        """The next one finds a server that nothing has happened to."""
        seen = Trial(self.server, self.healthy, poison).made()
        print(table.line_of(seen), flush=True)
        if seen.broken:
            self.renewed(directories.mktemp("poison"))
        return seen

    def renewed(self, data: Path) -> None:
        self.close()
        fresh = self.opened(data)
        self.data, self.server, self.healthy = fresh.data, fresh.server, fresh.healthy


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    house = House.opened(tmp_path_factory.mktemp("poison"))
    yield house
    house.close()
    if ALL and house.seen:
        table.write(house.seen, POISONS)


@pytest.mark.parametrize("poison", [one for one in POISONS if ALL or one.quick], ids=lambda poison: poison.name)
def test_a_poison_beside_healthy_queries(
    house: House, poison: Poison, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if poison.open:
        pytest.skip(f"it does not hold yet: {poison.open}")
    seen = house.trial(poison, tmp_path_factory)
    if seen.broken and not ALL:  # once more with a fresh server: a busy machine is no fault of the first
        seen = house.trial(poison, tmp_path_factory)
    house.seen.append(seen)
    assert (seen.unexpected, seen.broken) == ("", []), seen


@pytest.mark.skipif(not ALL, reason="only after the whole list: starting a server is what takes the time")
def test_the_server_comes_up_again_on_the_same_directory(house: House) -> None:
    house.server.again()
    assert house.healthy.reached(int(time.time() * 1000), START_SECONDS)
    assert house.healthy.since(0).broken == []


def test_the_list() -> None:
    names = [poison.name for poison in POISONS]
    assert len(names) == len(set(names)) >= 40
    for poison in POISONS:
        assert poison.expected <= EXPECTATIONS and poison.limits <= LIMITS.keys(), poison.name
        assert bool(poison.limits) == (poison.expected != {"answers"}), poison.name
    assert list(table.rows(POISONS)) == names  # what became of each is written down
    assert sum(poison.quick for poison in POISONS) >= len(POISONS) // 10
