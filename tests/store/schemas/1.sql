-- What version 1 made.
CREATE TABLE log (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    kind      TEXT    NOT NULL,
    at        INTEGER NOT NULL,   -- arrival clock, epoch ms; of a tick: the instant that has passed
    subject   TEXT,               -- IRI of a stream or graph, name of a query
    rows      INTEGER NOT NULL DEFAULT 0,
    first     INTEGER,            -- smallest and largest stamp that the producer gave
    last      INTEGER,
    unstamped INTEGER NOT NULL DEFAULT 0,
    payload   BLOB
);

CREATE INDEX log_registry ON log (subject, kind, seq) WHERE kind NOT IN ('chunk', 'tick');

CREATE INDEX log_chunks ON log (subject, seq) WHERE kind = 'chunk';

CREATE VIEW streams AS
    SELECT seq AS id, subject AS iri, at AS created, payload FROM log AS made INDEXED BY log_registry
    WHERE kind NOT IN ('chunk', 'tick') AND kind = 'stream' AND NOT EXISTS (
        SELECT 1 FROM log AS gone INDEXED BY log_registry WHERE gone.kind NOT IN ('chunk', 'tick')
        AND gone.kind = 'drop' AND gone.subject = made.subject AND gone.seq > made.seq);

CREATE VIEW queries AS
    SELECT seq AS id, subject AS name, at AS registered, payload FROM log AS made INDEXED BY log_registry
    WHERE kind NOT IN ('chunk', 'tick') AND kind = 'register' AND NOT EXISTS (
        SELECT 1 FROM log AS gone INDEXED BY log_registry WHERE gone.kind NOT IN ('chunk', 'tick')
        AND gone.kind = 'unregister' AND gone.subject = made.subject AND gone.seq > made.seq);

CREATE TABLE answers (
    position  INTEGER PRIMARY KEY AUTOINCREMENT,
    query     INTEGER NOT NULL,   -- seq of the registration: a name used again is another query
    instant   INTEGER NOT NULL,
    part      INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    payload   BLOB    NOT NULL,
    UNIQUE (query, instant, part)
);

CREATE TABLE failures (
    query     INTEGER PRIMARY KEY,
    instant   INTEGER NOT NULL,
    reason    TEXT    NOT NULL
);

CREATE TABLE positions (
    reader    TEXT    PRIMARY KEY,
    seq       INTEGER NOT NULL
);

CREATE TABLE status (
    name      TEXT    PRIMARY KEY,
    payload   TEXT    NOT NULL
);

PRAGMA user_version = 1;
