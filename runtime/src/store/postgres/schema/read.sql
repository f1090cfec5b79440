-- Reading, with plans that do not change with the data: what these ask for is always found by an index.

-- A stream: its snapshot, when there is one of the wanted shape, and the commits after that. A snapshot that is ahead of
-- its stream, as a log that was restored by hand may leave it, counts as none.
create function load_1(p_id text, p_aggregate text, p_context text, p_tenant text, after_version bigint, shape bigint)
returns table ("position" bigint, version bigint, kind text, command text, request_id text, fingerprint bytea, token uuid,
               events text, keys text, metadata text, at_ms bigint, is_created boolean, is_deleted boolean, state text)
language plpgsql
    set search_path from current
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with kept as (
        select n.version, n.is_created, n.is_deleted, n.state::text as state from snapshots n
         where n.id = p_id and n.aggregate = p_aggregate and n.context = p_context and n.tenant = p_tenant
           and n.state_version = shape and n.version > after_version
           and (select true from commits c where c.id = p_id and c.aggregate = p_aggregate and c.context = p_context
                   and c.tenant = p_tenant and c.version = n.version))
    select null::bigint, kept.version, null, null, null, null::bytea, null::uuid, null, null, null, null::bigint,
           kept.is_created, kept.is_deleted, kept.state
      from kept
     union all
    (select c.position, c.version, c.kind, c.command, c.request_id, c.fingerprint, c.token, c.events::text, c.keys::text,
            c.metadata::text, c.at_ms, null, null, null
       from commits c
      where c.id = p_id and c.aggregate = p_aggregate and c.context = p_context and c.tenant = p_tenant
        and c.version > coalesce((select kept.version from kept), after_version) order by c.version);
end $$;

-- The newest version of a stream; null when it has no commit.
create function version_1(p_id text, p_aggregate text, p_context text, p_tenant text) returns bigint language plpgsql
    set search_path from current
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
    return (select c.version from commits c where c.id = p_id and c.aggregate = p_aggregate and c.context = p_context
               and c.tenant = p_tenant order by c.version desc limit 1);
end $$;

-- The first commit of a request.
create function first_1(p_request text, p_aggregate text, p_context text, p_tenant text) returns setof commits language plpgsql
    set search_path from current
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
    return query select c.* from commits c where c.request_id = p_request and c.aggregate = p_aggregate
        and c.context = p_context and c.tenant = p_tenant;
end $$;

