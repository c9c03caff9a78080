-- What version 7 made.
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
, head_sum INTEGER, payload_sum INTEGER);
CREATE INDEX log_registry ON log (subject, kind, seq) WHERE kind NOT IN ('chunk', 'tick');
CREATE INDEX log_chunks ON log (subject, seq) WHERE kind = 'chunk';
CREATE TABLE answers (
    position  INTEGER PRIMARY KEY AUTOINCREMENT,
    query     INTEGER NOT NULL,   -- seq of the registration: a name used again is another query
    instant   INTEGER NOT NULL,
    part      INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    payload   BLOB    NOT NULL, checksum INTEGER, since INTEGER, frame INTEGER, weight INTEGER, size INTEGER,
    UNIQUE (query, instant, part)
);
CREATE TABLE failures (
    query     INTEGER PRIMARY KEY,
    instant   INTEGER NOT NULL,
    reason    TEXT    NOT NULL
);
CREATE TABLE status (
    name      TEXT    PRIMARY KEY,
    payload   TEXT    NOT NULL
);
CREATE VIEW settings AS
    SELECT seq AS id, kind, subject AS name, at AS changed, rows FROM log AS made INDEXED BY log_registry
    WHERE kind NOT IN ('chunk', 'tick') AND kind IN ('background', 'rules') AND payload IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM log AS newer INDEXED BY log_registry WHERE newer.kind NOT IN ('chunk', 'tick')
        AND newer.kind = made.kind AND newer.subject = made.subject AND newer.seq > made.seq);
CREATE TABLE measures (
    query     INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    at        INTEGER NOT NULL,   -- when it was written, epoch ms
    instant   INTEGER NOT NULL,
    latency   REAL,               -- ms from what made the newest instant due to `at`
    micros    INTEGER NOT NULL,
    instants  INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    elements  INTEGER NOT NULL,
    late      INTEGER NOT NULL,
    state     INTEGER NOT NULL,   -- bytes
    totals    TEXT    NOT NULL,
    PRIMARY KEY (query, number)
) WITHOUT ROWID
;
CREATE TABLE repeats (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    stream    INTEGER NOT NULL,   -- the entry that made the stream
    key       TEXT    NOT NULL,
    digest    BLOB    NOT NULL,   -- of what was sent
    at        INTEGER NOT NULL,
    told      TEXT    NOT NULL,   -- JSON
    UNIQUE (stream, key)
);
CREATE INDEX repeats_of_stream ON repeats (stream, id);
CREATE TABLE identity (name TEXT NOT NULL);
CREATE TABLE incarnations (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT    NOT NULL UNIQUE,
    position  INTEGER NOT NULL,   -- of the newest answer, when it began
    seq       INTEGER NOT NULL,   -- of the newest entry
    at        INTEGER NOT NULL
);
CREATE VIEW streams AS
    SELECT seq AS id, subject AS iri, at AS created, payload, payload_sum FROM log AS made INDEXED BY log_registry
    WHERE kind NOT IN ('chunk', 'tick') AND kind = 'stream' AND NOT EXISTS (
        SELECT 1 FROM log AS gone INDEXED BY log_registry WHERE gone.kind NOT IN ('chunk', 'tick')
        AND gone.kind = 'drop' AND gone.subject = made.subject AND gone.seq > made.seq);
CREATE VIEW queries AS
    SELECT seq AS id, subject AS name, at AS registered, payload, payload_sum, (
        SELECT turn.kind FROM log AS turn INDEXED BY log_registry WHERE turn.kind NOT IN ('chunk', 'tick')
        AND turn.kind IN ('pause', 'resume') AND turn.subject = made.subject AND turn.seq > made.seq
        ORDER BY turn.seq DESC LIMIT 1) AS turned
    FROM log AS made INDEXED BY log_registry
    WHERE kind NOT IN ('chunk', 'tick') AND kind = 'register' AND NOT EXISTS (
        SELECT 1 FROM log AS gone INDEXED BY log_registry WHERE gone.kind NOT IN ('chunk', 'tick')
        AND gone.kind = 'unregister' AND gone.subject = made.subject AND gone.seq > made.seq);
CREATE TABLE damages (
    what      TEXT    NOT NULL,   -- "entry" of the log, or "answer"
    place     INTEGER NOT NULL,   -- its seq, or its position
    kind      TEXT,               -- of the entry, and its subject; of an answer its query; NULL: nobody knows
    subject   TEXT,
    at        INTEGER NOT NULL,
    noticed   INTEGER NOT NULL,   -- epoch ms
    reason    TEXT    NOT NULL,
    skipped   INTEGER,            -- when it was decided to be passed over, if it was
    PRIMARY KEY (what, place)
) WITHOUT ROWID
;
CREATE TABLE engine_progress (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    read      INTEGER NOT NULL,   -- the last entry that Spark has noted as read
    batch_end INTEGER NOT NULL    -- the last entry of which everything is answered
);
CREATE TABLE relayed (
    query     INTEGER PRIMARY KEY,
    instant   INTEGER NOT NULL    -- the newest that is in the log
);
CREATE TABLE forgotten (
    query     INTEGER PRIMARY KEY,
    position  INTEGER NOT NULL,   -- of the last answer that is gone, and its instant
    instant   INTEGER NOT NULL
);
CREATE TABLE batch_ends (
    after     INTEGER NOT NULL,   -- the entry that it takes all that comes after, up to a tick
    tick      INTEGER NOT NULL,
    seq       INTEGER NOT NULL,   -- its last entry
    PRIMARY KEY (after, tick)
) WITHOUT ROWID
;
PRAGMA user_version = 7;
