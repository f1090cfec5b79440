-- Leases: what an attempt reserves before its append, and what it gives up.
--
-- A call takes its locks in one order, whatever its arguments: namespaces, requests, rows of commits, rows of
-- reservations. Within each of them the caller has sorted the arguments: by lock number, by (id, aggregate, context,
-- tenant), by (key, namespace, scope, context). So nothing can wait in a circle, within a process or between two.

-- What every write begins with: a new snapshot for each statement, and no waiting without end.
create function begin_write_1(wait_ms int) returns void language plpgsql as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception using errcode = 'FH002', message = 'the isolation level is not read committed';
    end if;
    perform set_config('lock_timeout', wait_ms::text, true);
end $$;

-- A write that is not reported before it is on the disk, whatever the database's default is.
create function begin_durable_1(wait_ms int) returns void language plpgsql
    set search_path from current
as $$
begin
    perform begin_write_1(wait_ms);
    if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'on', true);
    end if;
end $$;

-- Makes a transaction that has only read wait, at its end, for what it has read: until the disk has it, and the
-- synchronous standby. A commit can be seen before the standby has it; it must not be reported then.
create function wait_for_what_is_seen_1() returns void language sql as $$
    select pg_logical_emit_message(true, 'freehold', '')
$$;

-- Keeps the namespaces from being rekeyed until the end of the transaction, and says which ones have another epoch than
-- the caller was built with: their places in the arguments, or null for none.
create function stale_namespaces_1(n_lock bigint[], n_context text[], n_name text[], n_epoch bigint[])
returns int[] language plpgsql as $$
declare
    stale int[];
begin
    perform pg_advisory_xact_lock_shared(l.lock # 'namespaces'::regclass::oid::bigint) from unnest(n_lock) l(lock);
    select array_agg(n.place) into stale
      from unnest(n_context, n_name, n_epoch) with ordinality n(context, name, epoch, place)
     where (select s.epoch from namespaces s where s.name = n.name and s.context = n.context) is distinct from n.epoch;
    return stale;
end $$;

-- Reserves keys, each once. With a stale namespace nothing is done, and its place is in `stale`. Otherwise `status` is
-- null when all are newly reserved, or says for each key: 0 newly, 1 held already by its holder, 2 held by another,
-- 3 pending for another, until when, and whether under the same request.
create function reserve_1(
    wait_ms int, n_lock bigint[], n_context text[], n_name text[], n_epoch bigint[],
    k_key text[], k_namespace text[], k_scope text[], k_context text[],
    k_aggregate text[], k_tenant text[], k_id text[], k_token uuid[], k_request bigint[], k_pending_ms bigint[],
    out stale int[], out status smallint[], out until_ms bigint[], out same_request boolean[], out now bigint)
language plpgsql
    set search_path from current
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    reserved int;
begin
    perform begin_write_1(wait_ms);
    -- A lease that is lost in a crash is as one that has expired: the append looks at it again.
    perform set_config('synchronous_commit', 'off', true);
    stale := stale_namespaces_1(n_lock, n_context, n_name, n_epoch);
    now := now_ms();
    if stale is not null then
        return;
    end if;
    insert into reservations as r (key, namespace, scope, context,
           holder_aggregate, holder_tenant, holder_id, tokens, expires_at_ms, requests)
    select k.key, k.namespace, k.scope, k.context, k.aggregate, k.tenant, k.id,
           array[k.token], array[now + least(k.pending_ms, 9223372036854775807 - now)], array[k.request]
      from unnest(k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id, k_token, k_request, k_pending_ms)
           with ordinality k(key, namespace, scope, context, aggregate, tenant, id, token, request, pending_ms, place)
     order by k.place
        on conflict on constraint reservations_pkey do update
       set holder_aggregate = excluded.holder_aggregate, holder_tenant = excluded.holder_tenant,
           holder_id = excluded.holder_id,
           -- Other live attempts of the same holder keep theirs; one that asks again gets a new end.
           (tokens, expires_at_ms, requests) = (
               select coalesce(array_agg(l.token order by l.place), '{}') || excluded.tokens,
                      coalesce(array_agg(l.expires order by l.place), '{}') || excluded.expires_at_ms,
                      coalesce(array_agg(l.request order by l.place), '{}') || excluded.requests
                 from unnest(r.tokens, r.expires_at_ms, r.requests) with ordinality l(token, expires, request, place)
                where now < l.expires and l.token <> excluded.tokens[1]
                  and (r.holder_id, r.holder_aggregate, r.holder_tenant)
                    = (excluded.holder_id, excluded.holder_aggregate, excluded.holder_tenant))
     where r.position is null
       and (now >= all (r.expires_at_ms)
            or (r.holder_id, r.holder_aggregate, r.holder_tenant)
             = (excluded.holder_id, excluded.holder_aggregate, excluded.holder_tenant));
    get diagnostics reserved = row_count;
    if reserved = cardinality(k_key) then
        return;
    end if;
    -- The rows that were in the way are locked by the statement above: what is read here is what it met.
    select array_agg((case when k.token = any (r.tokens) then 0
                           when r.position is null then 3
                           when (r.holder_id, r.holder_aggregate, r.holder_tenant) = (k.id, k.aggregate, k.tenant) then 1
                           else 2 end)::smallint order by k.place),
           array_agg((select max(e) from unnest(r.expires_at_ms) e) order by k.place),
           array_agg((select coalesce(bool_or(l.request = k.request), false)
                        from unnest(r.expires_at_ms, r.requests) l(expires, request) where now < l.expires)
                     order by k.place)
      into status, until_ms, same_request
      from unnest(k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id, k_token, k_request)
           with ordinality k(key, namespace, scope, context, aggregate, tenant, id, token, request, place)
      join reservations r on r.key = k.key and r.namespace = k.namespace and r.scope = k.scope and r.context = k.context;
end $$;

-- Takes the leases of the given attempts out of rows that the caller has locked, and removes the rows that are pending
-- for nobody then.
create function drop_leases_1(
    k_key text[], k_namespace text[], k_scope text[], k_context text[],
    k_aggregate text[], k_tenant text[], k_id text[], k_token uuid[])
returns void language plpgsql as $$
declare
    removed int;
begin
    delete from reservations r
     using unnest(k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id, k_token)
           k(key, namespace, scope, context, aggregate, tenant, id, token)
     where r.key = k.key and r.namespace = k.namespace and r.scope = k.scope and r.context = k.context
       and r.position is null and r.tokens = array[k.token]
       and (r.holder_id, r.holder_aggregate, r.holder_tenant) = (k.id, k.aggregate, k.tenant);
    get diagnostics removed = row_count;
    if removed = cardinality(k_key) then
        return;
    end if;
    update reservations r
       set tokens = array_remove(r.tokens, k.token),
           expires_at_ms = r.expires_at_ms[:array_position(r.tokens, k.token) - 1]
                        || r.expires_at_ms[array_position(r.tokens, k.token) + 1:],
           requests = r.requests[:array_position(r.tokens, k.token) - 1]
                   || r.requests[array_position(r.tokens, k.token) + 1:]
      from unnest(k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id, k_token)
           k(key, namespace, scope, context, aggregate, tenant, id, token)
     where r.key = k.key and r.namespace = k.namespace and r.scope = k.scope and r.context = k.context
       and r.position is null and k.token = any (r.tokens)
       and (r.holder_id, r.holder_aggregate, r.holder_tenant) = (k.id, k.aggregate, k.tenant);
end $$;

-- Gives up the leases of attempts: their own, and only those.
create function give_up_1(
    wait_ms int, k_key text[], k_namespace text[], k_scope text[], k_context text[],
    k_aggregate text[], k_tenant text[], k_id text[], k_token uuid[])
returns void language plpgsql
    set search_path from current
as $$
begin
    perform begin_write_1(wait_ms);
    perform set_config('synchronous_commit', 'off', true);
    perform give_up_keys_1(k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id, k_token);
end $$;

-- The same within a transaction that has begun, as durable as that is.
create function give_up_keys_1(
    k_key text[], k_namespace text[], k_scope text[], k_context text[],
    k_aggregate text[], k_tenant text[], k_id text[], k_token uuid[])
returns void language plpgsql
    set search_path from current
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
    perform 1
       from unnest(k_key, k_namespace, k_scope, k_context) with ordinality k(key, namespace, scope, context, place)
       join reservations r on r.key = k.key and r.namespace = k.namespace and r.scope = k.scope and r.context = k.context
      where r.position is null
      order by k.place
        for update of r;
    perform drop_leases_1(k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id, k_token);
end $$;

-- Removes what has expired, at most so many rows of the given part of the table, and says how many. Rows that somebody
-- works with are left to the next one.
create function sweep_1(first_page bigint, end_page bigint, most bigint) returns bigint language plpgsql
    set search_path from current
as $$
declare
    now bigint := now_ms();
    removed bigint;
begin
    perform begin_write_1(1000);
    perform set_config('synchronous_commit', 'off', true);
    with expired as (
        select key, namespace, scope, context from reservations
         where position is null and now >= all (expires_at_ms)
           and ctid >= format('(%s,0)', first_page)::tid and ctid < format('(%s,0)', end_page)::tid
         limit most for update skip locked)
    delete from reservations r using expired e
     where r.key = e.key and r.namespace = e.namespace and r.scope = e.scope and r.context = e.context
       and r.position is null and now >= all (r.expires_at_ms);
    get diagnostics removed = row_count;
    return removed;
end $$;

-- Forgets tombstones and marks of before the given time, at most so many of each, and says how many: no append of then can
-- be on its way any more.
create function forget_late_appends_1(before_ms bigint, most bigint) returns bigint language plpgsql
    set search_path from current
as $$
declare
    tombs bigint;
    forgotten bigint;
begin
    perform begin_write_1(1000);
    delete from tombstones where token in
        (select token from tombstones where at_ms <= before_ms limit most for update skip locked);
    get diagnostics tombs = row_count;
    delete from marks where (request_id, aggregate, context, tenant) in
        (select request_id, aggregate, context, tenant from marks where mark <= before_ms limit most for update skip locked);
    get diagnostics forgotten = row_count;
    return tombs + forgotten;
end $$;
