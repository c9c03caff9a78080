"""Queries: a crowd as users write it, ten shapes in ever new variants, each text there once.

For example:

    shape                                          streams             background   rules     output
    0  readings of a kind above a value            readings                                   RSTREAM
    1  fast moves                                  moves                                      ISTREAM
    2  readings with the room of their sensor      readings            kb                     RSTREAM
    3  a mean for each room                        readings            kb                     GROUP BY
    4  readings of a kind, with all kinds below    readings            kb           rho-df    RSTREAM
    5  fast moves counted by district              moves               kb                     GROUP BY
    6  readings and moves at the same place        readings, moves     kb                     RSTREAM
    7  who came near a place                       moves               kb           rho-df    ISTREAM, RSTREAM
    8  the twenty fastest                          moves                                      ORDER BY, LIMIT
    9  cars seen twice in a district               moves               kb                     HAVING

    crowd(100)      # [Asked(name="q0", text="REGISTER QUERY q0 AS …", step=1000), …]
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.load.traffic import DISTRICTS, KB, KINDS, MOVES, PLACES, READINGS, V

SHAPES = 10
RANGES = (2, 3, 5, 10)  # seconds


@dataclass(frozen=True)
class Asked:
    name: str
    text: str
    step: int  # ms


def crowd(count: int) -> list[Asked]:
    return [asked(number) for number in range(count)]


def asked(number: int) -> Asked:
    shape, variant = number % SHAPES, number // SHAPES
    reach, step = RANGES[variant % len(RANGES)], 2 if variant % 3 == 2 else 1
    window = f"[RANGE {reach}s STEP {step}s]"
    of = {stream: f"FROM STREAM <streams/{stream}> {window}" for stream in (READINGS, MOVES)}
    kind, high, fast = (7 * variant + shape) % KINDS, 600 + variant * 37 % 390, 150 + variant * 13 % 48
    place, district = variant * 17 % PLACES, variant % DISTRICTS
    kb, rules = f"FROM <{KB}>", "USING ENTAILMENT rho-df"
    reading = f"?reading a v:Kind{kind} ; v:madeBy ?sensor ; v:value ?value"
    match shape:
        case 0:
            text = f"SELECT ?reading ?sensor ?value {of[READINGS]} WHERE {{ {reading} FILTER(?value > {high}) }}"
        case 1:
            text = (
                f"SELECT ISTREAM ?move ?car ?speed {of[MOVES]} "
                f"WHERE {{ ?move v:car ?car ; v:speed ?speed FILTER(?speed > {fast + variant // 48 % 3}) }}"
            )
        case 2:
            text = (
                f"SELECT ?reading ?room ?value {kb} {of[READINGS]} "
                f"WHERE {{ {reading} . ?sensor v:in ?room FILTER(?value > {high}) }}"
            )
        case 3:
            text = (
                f"SELECT ?room (AVG(?value) AS ?mean) (COUNT(*) AS ?n) {kb} {of[READINGS]} "
                f"WHERE {{ {reading} . ?sensor v:in ?room FILTER(?value > {variant}) }} GROUP BY ?room"
            )
        case 4:
            text = (
                f"SELECT ?reading ?value {kb} {of[READINGS]} {rules} WHERE {{ ?reading a v:Kind{4 + variant % 9} ; "
                f"v:value ?value FILTER(?value > {850 + variant * 7 % 140}) }}"
            )
        case 5:
            text = (
                f"SELECT ?district (COUNT(?move) AS ?n) (MAX(?speed) AS ?most) {kb} {of[MOVES]} "
                f"WHERE {{ ?move v:at ?place ; v:speed ?speed . ?place v:district ?district "
                f"FILTER(?speed > {fast}) }} GROUP BY ?district HAVING(COUNT(?move) > {variant // 48})"
            )
        case 6:
            text = (
                f"SELECT ?reading ?move ?place {kb} {of[READINGS]} {of[MOVES]} "
                f"WHERE {{ {reading} . ?sensor v:standsAt ?place . ?move v:at ?place ; v:speed ?speed "
                f"FILTER(?value > {high}) FILTER(?speed > {fast}) }}"
            )
        case 7:
            output = "ISTREAM " if variant % 2 else ""
            text = (
                f"SELECT {output}?move ?car {kb} {of[MOVES]} {rules} "
                f"WHERE {{ ?move v:near <urn:place{place}> ; v:car ?car }}"
            )
        case 8:
            text = (
                f"SELECT ?car ?speed {of[MOVES]} WHERE {{ ?move v:car ?car ; v:speed ?speed "
                f"FILTER(?speed > {fast}) }} ORDER BY DESC(?speed) ?car LIMIT {20 + variant // 48}"
            )
        case _:
            text = (
                f"SELECT ?car (COUNT(?move) AS ?times) {kb} {of[MOVES]} WHERE {{ ?move v:car ?car ; v:at ?place . "
                f"?place v:district <urn:district{district}> }} GROUP BY ?car "
                f"HAVING(COUNT(?move) > {variant // DISTRICTS % 5})"
            )
    return Asked(f"q{number}", f"PREFIX v: <{V}> REGISTER QUERY q{number} AS {text}", 1000 * step)
