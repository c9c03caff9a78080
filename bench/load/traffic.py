"""Traffic: what is pushed, each piece a function of its number, so that it can be made again when the log is checked.

Two streams, on the arrival clock. A reading and a move are three triples each, about a thing that was never named
before; sensors, kinds, cars and places are always the same ones:

    readings   <urn:reading/7> a v:Kind3 ; v:madeBy <urn:sensor43> ; v:value 871 .
    moves      <urn:move/7> v:car <urn:car9> ; v:at <urn:place12> ; v:speed 113 .

    body("readings", 7000, 100)       # N-Triples of the readings 7000 to 7099
    shares(10_000)                    # {"readings": 2000, "moves": 1333}: things a second
"""

from __future__ import annotations

V = "urn:v:"
KB = "urn:kb"
READINGS, MOVES = "readings", "moves"
STREAMS = (READINGS, MOVES)
TRIPLES = 3  # of a reading, of a move
KINDS, SENSORS, ROOMS = 40, 2000, 100
CARS, PLACES, DISTRICTS = 5000, 500, 20
MOST_VALUE, MOST_SPEED = 1000, 200
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"


def shares(rate: float) -> dict[str, float]:
    """How many things of each stream make so many triples a second."""
    return {READINGS: 0.6 * rate / TRIPLES, MOVES: 0.4 * rate / TRIPLES}


def body(stream: str, first: int, count: int) -> bytes:
    write = _reading if stream == READINGS else _move
    return "".join(map(write, range(first, first + count))).encode()


def _mixed(number: int) -> int:
    """Digits without a pattern: the finalizer of MurmurHash3."""
    number = (number ^ number >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    number = (number ^ number >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return number ^ number >> 16


def _reading(number: int) -> str:
    mixed = _mixed(number)
    sensor, value = mixed % SENSORS, (mixed >> 11) % MOST_VALUE
    thing = f"<urn:reading/{number}>"
    return (
        f"{thing} <{TYPE}> <{V}Kind{sensor % KINDS}> .\n{thing} <{V}madeBy> <urn:sensor{sensor}> .\n"
        f'{thing} <{V}value> "{value}"^^<{INTEGER}> .\n'
    )


def _move(number: int) -> str:
    mixed = _mixed(number + 0x5BD1E995)
    car, place, speed = mixed % CARS, (mixed >> 9) % PLACES, (mixed >> 19) % MOST_SPEED
    thing = f"<urn:move/{number}>"
    return (
        f"{thing} <{V}car> <urn:car{car}> .\n{thing} <{V}at> <urn:place{place}> .\n"
        f'{thing} <{V}speed> "{speed}"^^<{INTEGER}> .\n'
    )


def background() -> bytes:
    """A tree of kinds, a property with another above it, and where sensors and places are: N-Triples."""
    lines = [f"<{V}Kind{kind}> <{RDFS}subClassOf> <{V}Kind{kind // 3}> ." for kind in range(1, KINDS)]
    lines.append(f"<{V}at> <{RDFS}subPropertyOf> <{V}near> .")
    for sensor in range(SENSORS):
        lines.append(f"<urn:sensor{sensor}> <{V}in> <urn:room{sensor % ROOMS}> .")
        lines.append(f"<urn:sensor{sensor}> <{V}standsAt> <urn:place{sensor % PLACES}> .")
    lines += [f"<urn:place{place}> <{V}district> <urn:district{place % DISTRICTS}> ." for place in range(PLACES)]
    return "\n".join(lines).encode()
