"""Facts: ever new terms, so many at each time that one knows beforehand what must be counted.

Every quarter of a second has a body of its own, stamped by the producer: its subjects and objects were never seen
before. How many there are follows from the number of the quarter alone, so the count in any window does, too:

    quarter    …  6879999999   6880000000   6880000001  …
    triples    …     480          500          520      …            a tenth of them says what a subject is

    facts = Facts(2000, begun=6880000000)
    facts.body(6880000000)                    # N-Quads
    facts.count(1720000005000, 5000)          # of all elements stamped t − 5 s < ts <= t
    facts.classed(1720000005000, 5000)        # of subjects that the schema gives a class
"""

from __future__ import annotations

QUARTER = 250  # ms
SLOTS = 5  # stamps in a quarter
PROPERTIES, CLASSED = 50, 10  # of the elements of a quarter, each tenth has a property with a domain
DEPTH, BRANCHES = 4, 5
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TOP = "<urn:c0>"


class Facts:
    def __init__(self, rate: int, begun: int) -> None:
        """So many triples a second, about, from the quarter `begun` on."""
        self._least = max(1, rate * QUARTER // 1000 - 30)
        self.begun = begun

    def size(self, quarter: int) -> int:
        """How many elements it has: seven sizes take turns."""
        return self._least + 10 * (quarter % 7) if quarter >= self.begun else 0

    def body(self, quarter: int) -> bytes:
        size = self.size(quarter)
        return "".join(
            f"<urn:s/{quarter}/{n}> <urn:p{n % PROPERTIES}> <urn:o/{quarter}/{n}> <urn:t:{stamp(quarter, n, size)}> .\n"
            for n in range(size)
        ).encode()

    def count(self, instant: int, reach: int) -> int:
        return self._seen(instant, reach, 1)

    def classed(self, instant: int, reach: int) -> int:
        return self._seen(instant, reach, CLASSED)

    def _seen(self, instant: int, reach: int, every: int) -> int:
        total = 0
        for quarter in range((instant - reach) // QUARTER, instant // QUARTER + 1):
            size = self.size(quarter)
            total += sum(instant - reach < stamp(quarter, n, size) <= instant for n in range(0, size, every))
        return total


def stamp(quarter: int, number: int, size: int) -> int:
    """Of one of the elements of a quarter: they are spread over it."""
    return quarter * QUARTER + (number * SLOTS // size) * (QUARTER // SLOTS)


def schema() -> bytes:
    """A tree of classes, and a domain in its lowest level for each tenth property."""
    classes = [(depth, n) for depth in range(DEPTH) for n in range(BRANCHES**depth)]
    names = {key: f"<urn:c{number}>" for number, key in enumerate(classes)}
    lines = [
        f"{names[depth, n]} <{RDFS}subClassOf> {names[depth - 1, n // BRANCHES]} ." for depth, n in classes if depth
    ]
    lines += [f"<urn:p{n}> <{RDFS}domain> {names[DEPTH - 1, n]} ." for n in range(0, PROPERTIES, CLASSED)]
    return "\n".join(lines).encode()
