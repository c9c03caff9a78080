"""A city that never was: what its sensors would say, at any instant, by chance that a seed decides.

Six districts lie on a map, each with traffic sensors and a car park, some with a weather station. Traffic slows down in
the rush hours and in the rain, and in the middle first; car parks fill in the morning. One camera has a bad connection:
its readings come late now and then. What is said at an instant depends on the seed and the instant alone, so that a
replay may stop and go on, and is the same everywhere.

    city = City(seed=1)
    city.background()                       # Turtle: the districts, the sensors, and what kinds of sensors there are
    city.readings("traffic", 1767595500000)     # TriG: the readings of that instant
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from importlib import resources

GRAPH = "http://example.org/city"
STREAMS = ("traffic", "parking", "weather")
QUERIES = {"Speeds": "speeds", "Reporting": "reporting", "Jams": "jams", "ParkInstead": "park-instead"}
STEP = 5_000  # between two readings of a sensor, in ms
BEGIN = 1_767_595_500_000  # Monday, 2026-01-05, 06:45 UTC: before the rush
DELAY = 5_000  # how late the streams take readings for granted
TARDY = 20_000  # how late those of the camera with the bad connection are, now and then

_HOUR, _DAY = 3_600_000, 86_400_000
_PREFIXES = (
    "@prefix c: <http://example.org/city#> . @prefix s: <http://example.org/city/sensors/> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
)
_CLASSES = (
    ("Device", "device", None),
    ("Sensor", "sensor", "Device"),
    ("RoadSensor", "road sensor", "Sensor"),
    ("Camera", "camera", "RoadSensor"),
    ("Loop", "induction loop", "RoadSensor"),
    ("ParkingSensor", "parking sensor", "Sensor"),
    ("Barrier", "barrier", "ParkingSensor"),
    ("WeatherStation", "weather station", "Sensor"),
)


@dataclass(frozen=True)
class District:
    name: str
    x: int  # on the map, in units of 100 m; the middle is at 0, 0
    y: int
    free_flow: float  # km/h, when nobody is there
    places: int  # of its car park

    @property
    def key(self) -> str:
        return self.name.replace(" ", "")

    @property
    def far(self) -> float:
        """From the middle of the city, 0 to 1."""
        return min(1.0, math.hypot(self.x, self.y) / 40)


DISTRICTS = (
    District("Old Town", 0, 0, 38, 320),
    District("Harbour", 14, -12, 52, 540),
    District("Market", -8, 9, 42, 260),
    District("University", 10, 16, 46, 410),
    District("Station", -18, -6, 44, 680),
    District("Hillside", -24, 26, 56, 150),
)
_ROADS = 4  # traffic sensors of a district
_STATIONS = (DISTRICTS[1], DISTRICTS[3], DISTRICTS[5])
_TARDY = f"{DISTRICTS[2].key}-0"


class City:
    def __init__(self, seed: int = 1) -> None:
        self.seed = seed

    def background(self) -> str:
        """What is known of the city, as Turtle."""
        lines = [_PREFIXES]
        for name, label, above in _CLASSES:
            lines.append(f'c:{name} rdfs:label "{label}"{f" ; rdfs:subClassOf c:{above}" if above else ""} .')
        for district in DISTRICTS:
            near = sorted(
                (other for other in DISTRICTS if other != district),
                key=lambda other: math.hypot(other.x - district.x, other.y - district.y),
            )[:2]
            lines.append(
                f'c:{district.key} a c:District ; rdfs:label "{district.name}" ; c:x {district.x} ; '
                f"c:y {district.y} ; c:nextTo {', '.join(f'c:{other.key}' for other in near)} ."
            )
            for number in range(_ROADS):
                kind = "Loop" if number % 2 else "Camera"
                lines.append(f"s:{district.key}-{number} a c:{kind} ; c:in c:{district.key} .")
            lines.append(f"s:{district.key}-park a c:Barrier ; c:in c:{district.key} ; c:places {district.places} .")
        lines += [f"s:{district.key}-sky a c:WeatherStation ; c:in c:{district.key} ." for district in _STATIONS]
        return "\n".join(lines) + "\n"

    def readings(self, stream: str, at: int) -> str:
        """What comes in at an instant that is a multiple of `STEP`, as TriG; readings have their times as graphs."""
        dice = random.Random(f"{self.seed}/{stream}/{at}")
        readings = {"traffic": self._traffic, "parking": self._parking, "weather": self._weather}[stream](at, dice)
        graphs: dict[int, list[str]] = {}
        for stamp, reading in readings:
            graphs.setdefault(stamp, []).append(f"[] {reading} .")
        return (
            _PREFIXES + "\n".join(f"<urn:t:{stamp}> {{ {' '.join(nodes)} }}" for stamp, nodes in graphs.items()) + "\n"
        )

    def _traffic(self, at: int, dice: random.Random) -> list[tuple[int, str]]:
        readings = []
        for district in DISTRICTS:
            speed, crowd = self.speed(district, at), self.crowd(district, at)
            for number in range(_ROADS):
                kmh = max(3.0, speed * (0.9 + 0.07 * number) + dice.gauss(0, 2.5))
                cars = max(0, round(12 * crowd + dice.gauss(0, 1.5)))
                name = f"{district.key}-{number}"
                late = TARDY if name == _TARDY and dice.random() < 0.04 else 0
                readings.append((at - late, f"c:by s:{name} ; c:kmh {kmh:.1f} ; c:cars {cars}"))
        return readings

    def _parking(self, at: int, dice: random.Random) -> list[tuple[int, str]]:
        return [
            (at, f"c:by s:{district.key}-park ; c:free {max(0, round(free))}")
            for district in DISTRICTS
            for free in [district.places * (1 - self.full(district, at)) + dice.gauss(0, 3)]
        ]

    def _weather(self, at: int, dice: random.Random) -> list[tuple[int, str]]:
        hour = at % _DAY / _HOUR
        celsius = 4 + 5 * math.sin((hour - 9) / 24 * 2 * math.pi)
        return [
            (
                at,
                f"c:by s:{district.key}-sky ; c:celsius {celsius + dice.gauss(0, 0.2):.1f} ; "
                f"c:rain {self.rain(at):.2f}",
            )
            for district in _STATIONS
        ]

    def crowd(self, district: District, at: int) -> float:
        """How many are on the way, 0 to about 1: twice a day nearly all, in the middle first."""
        hour = at % _DAY / _HOUR - 0.4 * district.far
        rush = 0.85 * math.exp(-(((hour - 8.0) / 0.9) ** 2)) + 0.8 * math.exp(-(((hour - 17.3) / 1.2) ** 2))
        day = 0.35 / (1 + math.exp(-(hour - 6.5) * 3)) / (1 + math.exp((hour - 20.5) * 1.5))
        return (0.05 + day + rush) * (1 - 0.35 * district.far)

    def rain(self, at: int) -> float:
        """Showers, 0 to 1: waves of two lengths that the seed shifts."""
        shift = random.Random(f"{self.seed}/rain").random() * 2 * math.pi
        return max(0.0, math.sin(at / 2_700_000 + shift) + math.sin(at / 1_100_000 + 2 * shift) - 0.6) / 1.4

    def speed(self, district: District, at: int) -> float:
        """How fast traffic flows: it gives way to the crowd and to the rain, and breathes with the traffic lights."""
        waves = math.sin(at / 45_000 + district.x) + 0.6 * math.sin(at / 110_000 + district.y)
        slowed = 1 - 0.55 * min(1.0, self.crowd(district, at)) - 0.15 * self.rain(at)
        return district.free_flow * slowed + 2.5 * waves

    def full(self, district: District, at: int) -> float:
        """How full its car park is, 0 to 1."""
        hour = at % _DAY / _HOUR
        day = 1 / (1 + math.exp(-(hour - 8.3) * 1.6)) / (1 + math.exp((hour - 18.0) * 1.2))
        return min(1.0, 0.12 + (0.9 - 0.4 * district.far) * day)


def query(name: str) -> str:
    """The text of one of the `QUERIES`."""
    return (resources.files(__package__) / "city_files" / f"{QUERIES[name]}.csparql").read_text(encoding="utf-8")
