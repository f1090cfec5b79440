-- Settling what is unknown, and looking after a decision without append: durable writes under the request's own lock.

-- Finds the commit of an append whose outcome is unknown, or makes sure that it never lands and gives its leases up. The
-- append takes the same lock: it is over before this looks, or it finds the tombstone.
create function settle_1(
    wait_ms int, p_lock bigint, p_context text, p_aggregate text, p_tenant text, p_id text, p_version bigint, p_token uuid,
    k_key text[], k_namespace text[], k_scope text[], k_context text[],
    k_aggregate text[], k_tenant text[], k_id text[], k_token uuid[],
    out written bigint, out at_ms bigint)
language plpgsql
    set search_path from current
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
    perform begin_durable_1(wait_ms);
    perform pg_advisory_xact_lock(p_lock # 'commits'::regclass::oid::bigint);
    select c.position, c.at_ms into settle_1.written, settle_1.at_ms from commits c
     where c.id = p_id and c.aggregate = p_aggregate and c.context = p_context and c.tenant = p_tenant
       and c.version = p_version and c.token = p_token;
    if found then
        perform wait_for_what_is_seen_1();
        return;
    end if;
    insert into tombstones (token, at_ms) values (p_token, now_ms()) on conflict do nothing;
    if cardinality(k_key) > 0 then
        perform give_up_keys_1(k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id, k_token);
    end if;
end $$;

-- For each request: the version of the stream, and the position of the request's first commit, or the mark that is left
-- because there is none. The locks are sorted, and each once.
create function check_1(
    wait_ms int, p_lock bigint[], p_context text[], p_aggregate text[], p_tenant text[], p_id text[], p_request text[],
    out version bigint[], out first bigint[], out mark bigint[])
language plpgsql
    set search_path from current
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
    perform begin_durable_1(wait_ms);
    perform pg_advisory_xact_lock(l.lock # 'commits'::regclass::oid::bigint) from unnest(p_lock) l(lock);
    first := first_positions_1(p_context, p_aggregate, p_tenant, p_request);
    insert into marks as m (request_id, aggregate, context, tenant, mark)
    select distinct p.request, p.aggregate, p.context, p.tenant, greatest(now_ms(), 1)
      from unnest(p_request, p_aggregate, p_context, p_tenant, first) p(request, aggregate, context, tenant, first)
     where p.first is null
        on conflict on constraint marks_pkey do update set mark = greatest(excluded.mark, m.mark + 1);
    select array_agg(case when p.first is null then m.mark end order by p.place),
           array_agg((select c.version from commits c where c.id = p.id and c.aggregate = p.aggregate and c.context = p.context
                         and c.tenant = p.tenant order by c.version desc limit 1) order by p.place)
      into mark, version
      from unnest(p_context, p_aggregate, p_tenant, p_id, p_request, first)
           with ordinality p(context, aggregate, tenant, id, request, first, place)
      left join marks m on m.request_id = p.request and m.aggregate = p.aggregate and m.context = p.context
                       and m.tenant = p.tenant;
    perform wait_for_what_is_seen_1();
end $$;

-- The positions of the first commits of requests, each null where there is none.
create function first_positions_1(p_context text[], p_aggregate text[], p_tenant text[], p_request text[])
returns bigint[] language sql as $$
    select array_agg((select c.position from commits c where c.request_id = p.request and c.aggregate = p.aggregate
                         and c.context = p.context and c.tenant = p.tenant) order by p.place)
      from unnest(p_context, p_aggregate, p_tenant, p_request) with ordinality p(context, aggregate, tenant, request, place)
$$;

-- Records namespaces, or says how they are recorded: all that are new, or, when one differs, none of them.
create function register_1(
    n_lock bigint[], n_context text[], n_name text[], n_tenancy text[], n_normalizer text[],
    out tenancy text[], out normalizer text[], out epoch bigint[])
language plpgsql
    set search_path from current
as $$
declare
    known int;
    same int;
begin
    for attempt in 1 .. 2 loop
        select array_agg(s.tenancy order by n.place), array_agg(s.normalizer order by n.place),
               array_agg(s.epoch order by n.place), count(s.epoch),
               count(*) filter (where (s.tenancy, s.normalizer) = (n.tenancy, n.normalizer))
          into tenancy, normalizer, epoch, known, same
          from unnest(n_context, n_name, n_tenancy, n_normalizer) with ordinality n(context, name, tenancy, normalizer, place)
          left join namespaces s on s.name = n.name and s.context = n.context;
        if same < known or known = cardinality(n_name) then
            return;
        end if;
        if attempt = 1 then
            -- Nobody else records or rekeys one of them until the end, and a new statement sees who did.
            perform begin_durable_1(5000);
            perform pg_advisory_xact_lock(l.lock # 'namespaces'::regclass::oid::bigint) from unnest(n_lock) l(lock);
        end if;
    end loop;
    insert into namespaces (context, name, tenancy, normalizer, epoch)
    select n.context, n.name, n.tenancy, n.normalizer, 1
      from unnest(n_context, n_name, n_tenancy, n_normalizer) n(context, name, tenancy, normalizer)
        on conflict do nothing;
    select array_agg(s.tenancy order by n.place), array_agg(s.normalizer order by n.place), array_agg(s.epoch order by n.place)
      into tenancy, normalizer, epoch
      from unnest(n_context, n_name) with ordinality n(context, name, place)
      join namespaces s on s.name = n.name and s.context = n.context;
end $$;

-- How far the log can be read: nothing at or before `drawn` is under way any more once every transaction before `xmax` is
-- over. The position is read first: who drew it, or one before, has had a transaction id since. `until` is null while
-- they are not over, and otherwise as `settled_1` says.
--
-- The xmax of a snapshot is not the next id: it follows the newest transaction that has ended, and one after it may be
-- under way. The next id to be given out is its age more. A standby knows neither who is under way nor what is drawn.
create function horizon_1(out drawn bigint, out xmax text, out until bigint) language plpgsql
    set search_path from current
as $$
declare
    ended xid8;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception using errcode = 'FH002', message = 'the isolation level is not read committed';
    end if;
    if pg_is_in_recovery() then
        raise exception using errcode = 'read_only_sql_transaction', message = 'the log is followed on the primary';
    end if;
    select case when s.is_called then s.last_value else 0 end into horizon_1.drawn from commits_position s;
    ended := pg_snapshot_xmax(pg_current_snapshot());
    horizon_1.xmax := (ended::text::numeric + greatest(age(ended::xid), 0))::text;
    until := settled_1(horizon_1.drawn, horizon_1.xmax);
end $$;

-- The newest commit at or before `drawn`, or 0 for none, once every transaction before `xmax` is over; null while one is
-- not. Not `drawn` itself: a crash may take back what was drawn and not committed, and what is drawn again may be under
-- way. A commit that can be seen is on the disk, and so is all that was drawn before it.
create function settled_1(drawn bigint, xmax text) returns bigint language plpgsql
    set search_path from current
as $$
begin
    if pg_snapshot_xmin(pg_current_snapshot()) < xmax::xid8 then
        return null;
    end if;
    return coalesce((select max(c.position) from commits c where c.position <= drawn), 0);
end $$;
