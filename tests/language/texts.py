"""Texts for the tests of the language: the twelve queries of the language reference, and a benchmark's.

The twelve are written out here, so that the tests do not depend on the reference; the benchmark's queries are read
where they lie beside the repository.
"""

from __future__ import annotations

from pathlib import Path

SHARED = Path(__file__).resolve().parents[3] / "shared"
CITYBENCH = SHARED / "citybench" / "queries"
W3C = SHARED / "w3c"

HOT_ROOMS = """\
REGISTER QUERY HotRooms AS PREFIX s: <http://ex.org/iot#>
SELECT DISTINCT ?room ?t FROM STREAM <http://ex.org/streams/temp> [RANGE 30s STEP 5s]
WHERE { ?obs s:madeIn ?room ; s:celsius ?t . FILTER(?t >= 28) }
"""

FLOOR_LOAD = """\
REGISTER QUERY FloorLoad AS PREFIX s: <http://ex.org/iot#>
SELECT ?floor (AVG(?w) AS ?mean) (COUNT(?w) AS ?n)
FROM <http://ex.org/kb/building> FROM STREAM <http://ex.org/streams/power> [RANGE 1m TUMBLING]
WHERE { ?meter s:watt ?w . ?meter s:mountedOn/s:partOf ?floor }
GROUP BY ?floor HAVING (AVG(?w) > 900) ORDER BY DESC(?mean) LIMIT 3
"""

FREE_SPOTS = """\
REGISTER STREAM FreeSpots AS PREFIX p: <http://ex.org/park#>
CONSTRUCT { ?lot p:free ?n } FROM <http://ex.org/kb/lots>
FROM STREAM <http://ex.org/streams/gates> [RANGE 10m STEP 30s]
WHERE { ?lot p:capacity ?cap .
  { SELECT ?lot (COUNT(?car) AS ?taken) WHERE { ?car p:entered ?lot } GROUP BY ?lot } BIND(?cap - ?taken AS ?n) }
"""

LOT_FULL = """\
REGISTER QUERY LotFull AS PREFIX p: <http://ex.org/park#> ASK
FROM STREAM <http://ex.org/streams/FreeSpots> [RANGE 1m STEP 1m] WHERE { ?lot p:free ?n . FILTER(?n < 5) }
"""

NEARBY_SPOT = """\
REGISTER QUERY NearbySpot COMPUTED EVERY 10s AS PREFIX p: <http://ex.org/park#>
SELECT ?driver ?lot
FROM NAMED STREAM <http://ex.org/streams/cars> [RANGE 5s STEP 1s]
FROM STREAM <http://ex.org/streams/FreeSpots> [RANGE 2m STEP 1m]
WHERE { ?driver p:inZone ?z . ?lot p:zone ?z ; p:free ?n . FILTER(?n > 0) }
"""

LAST_TRADES = """\
REGISTER QUERY LastTrades AS PREFIX m: <http://ex.org/mkt#>
SELECT ?sym (MAX(?px) AS ?high) (MIN(?px) AS ?low) FROM STREAM <http://ex.org/streams/trades> [RANGE TRIPLES 100]
WHERE { ?sym m:price ?px } GROUP BY ?sym
"""

RISE_AFTER_NEWS = """\
REGISTER QUERY RiseAfterNews AS PREFIX m: <http://ex.org/mkt#> PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>
SELECT ?sym ?news (f:timestamp(?news, m:about, ?sym) AS ?when)
FROM STREAM <http://ex.org/streams/news> [RANGE 15m STEP 1m]
FROM STREAM <http://ex.org/streams/trend> [RANGE 15m STEP 1m]
WHERE { ?news m:about ?sym . ?sym m:moved m:Up .
  FILTER(f:timestamp(?sym, m:moved, m:Up) > f:timestamp(?news, m:about, ?sym)) }
"""

INFLUENCERS = """\
REGISTER QUERY Influencers AS PREFIX k: <http://ex.org/social#>
SELECT ?who ?topic (COUNT(DISTINCT ?fan) AS ?fans)
FROM <http://ex.org/kb/follows> FROM STREAM <http://ex.org/streams/likes> [RANGE 1h STEP 10m]
WHERE { ?fan k:likes ?post . ?post k:topic ?topic . ?fan k:follows ?who .
  { ?who a k:Journalist } UNION { ?who a k:Politician }
  OPTIONAL { ?who k:region ?r } FILTER(!BOUND(?r) || ?r != k:North) }
GROUP BY ?who ?topic HAVING (COUNT(DISTINCT ?fan) > 3)
"""

BROKER_TOTALS = """\
REGISTER QUERY BrokerTotals COMPUTED EVERY 10m AS PREFIX m: <http://ex.org/mkt#>
SELECT ?broker ?tx ?total FROM STREAM <http://ex.org/streams/orders> [RANGE 1h STEP 10m]
WHERE { ?broker m:placed ?tx . ?tx m:amount ?a }
AGGREGATE { (?total, SUM(?a), {?broker}) FILTER(?total > 100000) }
"""

LONG_RIDE = """\
REGISTER QUERY LongRide COMPUTE EVERY 1sec AS PREFIX g: <http://ex.org/geo#>
SELECT DISTINCT ?user ?place FROM <http://ex.org/kb/network.rdf>
FROM STREAM <http://ex.org/streams/positions> [RANGE 10sec STEP 1sec]
WHERE { ?user g:isIn ?place ; a g:Commuter ; g:remaining ?t . FILTER(?t >= "PT30M"xsd:duration) }
"""

SPIKES = """\
PREFIX s: <http://ex.org/iot#> REGISTER ISTREAM <http://ex.org/streams/spikes> AS
SELECT ?room ?now ?base
FROM NAMED WINDOW <http://ex.org/w/short> ON <http://ex.org/streams/temp> [RANGE PT10S STEP PT5S]
FROM NAMED WINDOW <http://ex.org/w/long> ON <http://ex.org/streams/temp> [RANGE PT10M STEP PT5S]
WHERE { WINDOW <http://ex.org/w/short> { ?room s:celsius ?now }
  { SELECT ?room (AVG(?t) AS ?base) WHERE { WINDOW <http://ex.org/w/long> { ?room s:celsius ?t } } GROUP BY ?room }
  FILTER(?now > ?base + 5) }
"""

SILENT = """\
REGISTER QUERY Silent AS PREFIX s: <http://ex.org/iot#>
DESCRIBE ?meter  FROM <http://ex.org/kb/building> FROM STREAM <http://ex.org/streams/power> [RANGE 2m STEP 5m]
WHERE { ?meter a s:Meter . FILTER NOT EXISTS { ?meter s:watt ?w } }
"""

LEAVERS = """\
PREFIX p: <http://ex.org/park#> REGISTER DSTREAM <http://ex.org/streams/leavers> AS
CONSTRUCT { ?car p:left ?lot } FROM <http://ex.org/kb/lots>
FROM NAMED WINDOW <http://ex.org/w/last> ON <http://ex.org/streams/gates> [ELEMENTS 50 STEP 10]
WHERE { ?lot a p:Lot . WINDOW <http://ex.org/w/last> { ?car p:entered ?lot } }
"""

TWELVE = {
    "HotRooms": HOT_ROOMS,
    "FloorLoad": FLOOR_LOAD,
    "FreeSpots": FREE_SPOTS,
    "LotFull": LOT_FULL,
    "NearbySpot": NEARBY_SPOT,
    "LastTrades": LAST_TRADES,
    "RiseAfterNews": RISE_AFTER_NEWS,
    "Influencers": INFLUENCERS,
    "BrokerTotals": BROKER_TOTALS,
    "LongRide": LONG_RIDE,
    "spikes": SPIKES,
    "Silent": SILENT,
    "leavers": LEAVERS,
}

# Texts with the rarer things of the language, for round trips and mutations.
RARE = (
    "SELECT * FROM NAMED <http://ex.org/g> FROM NAMED WINDOW <http://ex.org/w> ON <http://ex.org/s> [ELEMENTS 3] "
    "FROM NAMED WINDOW <http://ex.org/v> ON STREAM <http://ex.org/s> [RANGE P1DT2H STEP 5 min] "
    'USING ENTAILMENT rdfs, <http://ex.org/e> { WINDOW ?w { ?s ?p -1.5 } GRAPH ?g { ?s ?p "a\\u00e9"@en } }',
    "BASE <http://ex.org/> REGISTER STREAM q COMPUTE EVERY 5s AS CONSTRUCT ISTREAM { ?a ?b _:x } "
    "FROM STREAM <s> [RANGE TRIPLES 5 STEP 2] { ?a ?b ?c . _:z ?p [ ?d (1 2 _:k) ] "
    'FILTER(timestamp(?a) > timestamp(?c { ?a ?b ?c })) OPTIONAL { ?a <p> "x"xsd:string } } '
    "GROUP BY ?a ?b HAVING (COUNT(*) > 1)",
    "SELECT ?a ?n ?m FROM STREAM <http://ex.org/s> [RANGE 5s] { ?a ?b ?c . _:z ?b ?c } "
    "AGGREGATE { (?n, COUNT, ?a) FILTER(?n > 1) (?m, MAX(?c), {?a, ?b}) } ORDER BY ?m LIMIT 5",
    "PREFIX : <http://ex.org/> REGISTER QUERY :q AS PREFIX b: <http://ex.org/> ASK DSTREAM FROM STREAM b:s "
    "[RANGE 5 TRIPLES] FROM NAMED STREAM :s [RANGE 1 h SLIDE 1 m] { ?x (:a|^b:c)*/!(:d|a)? ?y; a :T,:U } "
    "GROUP BY ?x HAVING (SUM(?y) > 2)",
    "DESCRIBE * FROM STREAM <http://ex.org/s> [RANGE PT0.5S TUMBLING] UNDER ENTAILMENT REGIME rho-df "
    '{ ?x ?y \'it\\\'s\', """a\n\tb""", .5e1, +3, true MINUS { ?x ?y $z } } VALUES (?x ?y) { (UNDEF 1) }',
    "CONSTRUCT FROM STREAM <http://ex.org/s> [RANGE 5s] WHERE { ?s ?p ?o , [] , () }",
)


def citybench() -> dict[str, str]:
    """The benchmark's queries by file name; empty where they are not at hand."""
    return {path.name: path.read_text() for path in sorted(CITYBENCH.glob("*.csparql"))}
