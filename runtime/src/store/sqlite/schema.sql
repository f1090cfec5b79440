-- The tables of a Freehold store, version 1. They are for people too: plain columns, JSON payloads (S7).
-- Text is compared byte for byte (BINARY, the default). What is unique has its most selective column first.

-- The log: one row a commit, one version of its stream each. Never updated, never deleted.
CREATE TABLE commits (
    position    INTEGER PRIMARY KEY,    -- global order; a single writer hands it out, so nothing appears behind a reader
    context     TEXT NOT NULL,          -- of the aggregate's type
    aggregate   TEXT NOT NULL,          -- the type's name
    tenant      TEXT NOT NULL,
    id          TEXT NOT NULL,
    version     INTEGER NOT NULL,       -- from 1, without gaps
    kind        TEXT NOT NULL,          -- command, release, import or rekey
    command     TEXT NOT NULL,          -- the command's name, or who made the commit and why
    request_id  TEXT NOT NULL,
    fingerprint TEXT NOT NULL,          -- SHA-256 of the request, hexadecimal
    token       TEXT NOT NULL,          -- the attempt that wrote it
    events      TEXT NOT NULL,          -- [{"type":..,"v":..,"data":..}]
    keys        TEXT,                   -- [{"ns":..,"scope":..,"key":..,"taken":..}], or NULL for none
    metadata    TEXT,                   -- the caller's own, an object
    at_ms       INTEGER NOT NULL,       -- Unix milliseconds
    UNIQUE (id, aggregate, context, tenant, version),
    UNIQUE (request_id, aggregate, context, tenant)
) STRICT;

-- Who has which key. Pending: position is NULL, and the attempts' leases say until when. Confirmed: position is the
-- commit that took it, and nothing expires. A pending row whose time is over counts as none.
CREATE TABLE reservations (
    key              TEXT NOT NULL,     -- normalised
    namespace        TEXT NOT NULL,
    scope            TEXT NOT NULL,     -- the tenant within which it is unique; empty: the whole context
    context          TEXT NOT NULL,     -- also the holder's
    holder_aggregate TEXT NOT NULL,
    holder_tenant    TEXT NOT NULL,
    holder_id        TEXT NOT NULL,
    position         INTEGER,
    leases           TEXT,              -- [{"token":..,"expires_at_ms":..,"request":..}]
    expires_at_ms    INTEGER,           -- when the last lease ends
    PRIMARY KEY (key, namespace, scope, context)
) STRICT, WITHOUT ROWID;

-- For the sweep, and for nothing else. It holds the pending rows only, so it stays small.
CREATE INDEX reservations_pending ON reservations (expires_at_ms) WHERE position IS NULL;

-- How the keys of a namespace are normalised, and within what they are unique. A rekey raises the epoch.
CREATE TABLE namespaces (
    context    TEXT NOT NULL,
    name       TEXT NOT NULL,
    tenancy    TEXT NOT NULL,           -- tenant or system
    normalizer TEXT NOT NULL,           -- name@version
    epoch      INTEGER NOT NULL,
    PRIMARY KEY (name, context)
) STRICT, WITHOUT ROWID;

-- The newest state of a stream, one for each version of the state's shape. Can be deleted at any time.
CREATE TABLE snapshots (
    context       TEXT NOT NULL,
    aggregate     TEXT NOT NULL,
    tenant        TEXT NOT NULL,
    id            TEXT NOT NULL,
    state_version INTEGER NOT NULL,
    version       INTEGER NOT NULL,     -- of the stream
    is_created    INTEGER NOT NULL,     -- 1 when the aggregate has a domain event
    is_deleted    INTEGER NOT NULL,     -- 1 when it is deleted
    state         TEXT NOT NULL,
    PRIMARY KEY (id, aggregate, context, tenant, state_version)
) STRICT, WITHOUT ROWID;

-- Appends that were settled as not written: should one arrive late, it is refused.
CREATE TABLE tombstones (
    token TEXT NOT NULL PRIMARY KEY,
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The same rows with readable times, and the state of a reservation in a word.
CREATE VIEW commits_readable AS
    SELECT *, strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS at FROM commits;
CREATE VIEW reservations_readable AS
    SELECT *, CASE WHEN position IS NULL THEN 'pending' ELSE 'confirmed' END AS state,
           strftime('%Y-%m-%dT%H:%M:%fZ', expires_at_ms / 1000.0, 'unixepoch') AS expires_at
    FROM reservations;
