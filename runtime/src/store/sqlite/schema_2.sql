-- Version 2 of the tables: marks, and tombstones that are swept.

-- Requests that were answered without a commit: an append of before the answer, should it arrive late, is refused (C4).
CREATE TABLE marks (
    request_id TEXT NOT NULL,
    aggregate  TEXT NOT NULL,
    context    TEXT NOT NULL,
    tenant     TEXT NOT NULL,
    mark       INTEGER NOT NULL,        -- rises with every answer; Unix milliseconds, or a little more
    PRIMARY KEY (request_id, aggregate, context, tenant)
) STRICT, WITHOUT ROWID;

-- For the sweep, which removes what no append can be on its way for any more.
CREATE INDEX marks_by_age ON marks (mark);
CREATE INDEX tombstones_by_age ON tombstones (at_ms);
