-- The tables of a Freehold store, version 1. They are for people too: plain columns, JSON payloads (S7).
-- Text is compared byte for byte (COLLATE "C"). What is unique has its most selective column first: a planner that knows
-- nothing of the data yet takes the right index then.

-- The log: one row a commit, one version of its stream each. Never updated, never deleted.
create table commits (
    position    bigint not null primary key,        -- global order; gaps are allowed
    context     text collate "C" not null,          -- of the aggregate's type
    aggregate   text collate "C" not null,          -- the type's name
    tenant      text collate "C" not null,
    id          text collate "C" not null,
    version     bigint not null,                    -- from 1, without gaps
    kind        text collate "C" not null,          -- command, release, import or rekey
    command     text collate "C" not null,          -- the command's name, or who made the commit and why
    request_id  text collate "C" not null,
    fingerprint bytea not null,                     -- SHA-256 of the request
    token       uuid not null,                      -- the attempt that wrote it
    events      json not null,                      -- [{"type":..,"v":..,"data":..}]; json, not jsonb: kept as it was written
    keys        json,                               -- [{"ns":..,"scope":..,"key":..,"taken":..}], or null for none
    metadata    json,                               -- the caller's own, an object
    at_ms       bigint not null,                    -- Unix milliseconds
    unique (id, aggregate, context, tenant, version),
    unique (request_id, aggregate, context, tenant)
);

create sequence commits_position as bigint;

-- Who has which key. Pending: position is null, and the attempts' leases say until when, as three arrays of one length.
-- Confirmed: position is the commit that took it, and nothing expires. A pending row whose time is over counts as none.
create table reservations (
    key              text collate "C" not null,     -- normalised
    namespace        text collate "C" not null,
    scope            text collate "C" not null,     -- the tenant within which it is unique; empty: the whole context
    context          text collate "C" not null,     -- also the holder's
    holder_aggregate text collate "C" not null,
    holder_tenant    text collate "C" not null,
    holder_id        text collate "C" not null,
    position         bigint,
    tokens           uuid[],
    expires_at_ms    bigint[],
    requests         bigint[],                      -- the hash of the request under which each attempt runs
    primary key (key, namespace, scope, context)
) with (fillfactor = 80);                           -- room for the confirmation on the same page

-- How the keys of a namespace are normalised, and within what they are unique. A rekey raises the epoch.
create table namespaces (
    context    text collate "C" not null,
    name       text collate "C" not null,
    tenancy    text collate "C" not null,           -- tenant or system
    normalizer text collate "C" not null,           -- name@version
    epoch      bigint not null,
    primary key (name, context)
);

-- The newest state of a stream, one for each version of the state's shape. Can be deleted at any time.
create table snapshots (
    context       text collate "C" not null,
    aggregate     text collate "C" not null,
    tenant        text collate "C" not null,
    id            text collate "C" not null,
    state_version bigint not null,
    version       bigint not null,                  -- of the stream
    is_created    boolean not null,                 -- whether the aggregate has a domain event
    is_deleted    boolean not null,
    state         json not null,
    primary key (id, aggregate, context, tenant, state_version)
);

-- Appends that were settled as not written: should one arrive late, it is refused.
create table tombstones (
    token uuid not null primary key,
    at_ms bigint not null
);
create index tombstones_by_age on tombstones (at_ms);

-- Requests that were answered without a commit: an append of before the answer, should it arrive late, is refused.
create table marks (
    request_id text collate "C" not null,
    aggregate  text collate "C" not null,
    context    text collate "C" not null,
    tenant     text collate "C" not null,
    mark       bigint not null,                     -- rises with every answer; Unix milliseconds, or a little more
    primary key (request_id, aggregate, context, tenant)
);
create index marks_by_age on marks (mark);

-- The same rows with readable times, and the state of a reservation in a word.
create view commits_readable as
    select *, to_timestamp(at_ms / 1000.0) as at from commits;
create view reservations_readable as
    select *, case when position is null then 'pending' else 'confirmed' end as state,
           (select to_timestamp(max(e) / 1000.0) from unnest(expires_at_ms) e where e < 253402300800000) as expires_at
      from reservations;

-- The store's present, in Unix milliseconds. Everything that judges expiry asks here and nowhere else.
create function now_ms() returns bigint language sql volatile as $$
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;
