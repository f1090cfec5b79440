-- Appends: commits, and what becomes of their keys, a whole group in one transaction. The order of locks is in `leases.sql`.

-- Appends commits, at most one a stream, and each key once in the group. The arguments are one array a column: p_ for the
-- commits, n_ for the namespaces, k_ for the keys. A key says to which commit it belongs (k_commit), of which namespace of
-- n_ it is (k_of), and what becomes of it (k_use: 0 it is taken, 1 it was held and must be still, 2 it is released).
--
-- `status` is null when all are written, or says for each: 0 written, 1 another version, 2 the request has a commit, 3 a
-- key is another's, 4 it came too late (`fences` has the request's mark), 5 a namespace was rekeyed (`stale_contexts` and
-- `stale_names`). What is not written has left nothing, and has given its leases up.
create function append_1(
    wait_ms int, p_lock bigint[], p_context text[], p_aggregate text[], p_tenant text[], p_id text[], p_version bigint[], p_kind text[],
    p_command text[], p_request text[], p_fingerprint bytea[], p_token uuid[], p_mark bigint[],
    p_events text[], p_keys text[], p_metadata text[],
    n_lock bigint[], n_context text[], n_name text[], n_epoch bigint[],
    k_commit int[], k_of int[], k_place int[], k_use smallint[], k_takes_only boolean,
    k_key text[], k_namespace text[], k_scope text[], k_context text[],
    k_aggregate text[], k_tenant text[], k_id text[], k_token uuid[],
    out status smallint[], out positions bigint[], out fences bigint[], out at_ms bigint,
    out stale_contexts text[], out stale_names text[])
language plpgsql
    set search_path from current
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    asked int := cardinality(p_id);
    keys int := cardinality(k_key);
    late int[];         -- commits that came too late
    stale int[];        -- commits with a key of a namespace that was rekeyed
    stale_places int[];
    written int;
    there bigint[];
    confirmed int;
begin
    perform begin_durable_1(wait_ms);
    if keys > 0 then
        stale_places := stale_namespaces_1(n_lock, n_context, n_name, n_epoch);
        if stale_places is not null then
            stale := array(select distinct k.commit from unnest(k_commit, k_of) k(commit, of) where k.of = any (stale_places));
            select array_agg(n_context[s.place]), array_agg(n_name[s.place]) into stale_contexts, stale_names
              from unnest(stale_places) s(place);
        end if;
    end if;
    perform pg_advisory_xact_lock(l.lock # 'commits'::regclass::oid::bigint) from unnest(p_lock) l(lock);
    at_ms := now_ms();
    -- The transaction has its number before it draws a position: that is what readers of the log go by.
    perform pg_current_xact_id();
    if exists (select 1 from tombstones t where t.token = any (p_token))
       or (select true from unnest(p_request, p_aggregate, p_context, p_tenant, p_mark) p(request, aggregate, context, tenant, mark)
             join marks m on m.request_id = p.request and m.aggregate = p.aggregate and m.context = p.context
                         and m.tenant = p.tenant
            where m.mark > p.mark limit 1) then
        select array_agg(f.mark order by f.place), array_agg(f.place) filter (where f.is_late) into fences, late
          from (select p.place, coalesce(m.mark, 0) as mark,
                       coalesce(m.mark, 0) > p.mark or t.token is not null as is_late
                  from unnest(p_request, p_aggregate, p_context, p_tenant, p_mark, p_token)
                       with ordinality p(request, aggregate, context, tenant, mark, token, place)
                  left join marks m on m.request_id = p.request and m.aggregate = p.aggregate and m.context = p.context
                                   and m.tenant = p.tenant
                  left join tombstones t on t.token = p.token) f;
    end if;
    positions := array(select nextval('commits_position') from generate_series(1, asked));
    insert into commits (position, context, aggregate, tenant, id, version, kind, command, request_id, fingerprint, token,
                         events, keys, metadata, at_ms)
    select positions[p.place], p.context, p.aggregate, p.tenant, p.id, p.version, p.kind, p.command, p.request,
           p.fingerprint, p.token, p.events::json, p.keys::json, p.metadata::json, append_1.at_ms
      from unnest(p_context, p_aggregate, p_tenant, p_id, p_version, p_kind, p_command, p_request, p_fingerprint, p_token,
                  p_events, p_keys, p_metadata)
           with ordinality p(context, aggregate, tenant, id, version, kind, command, request, fingerprint, token,
                             events, keys, metadata, place)
     where (late is null or p.place <> all (late)) and (stale is null or p.place <> all (stale))
       -- Version 1 needs no look: the insert conflicts when it is there, and no stream begins later.
       and (p.version = 1 or (select true from commits c where c.id = p.id and c.aggregate = p.aggregate
                                 and c.context = p.context and c.tenant = p.tenant and c.version = p.version - 1 limit 1))
     order by p.place
        on conflict do nothing;
    get diagnostics written = row_count;
    if written < asked then
        -- A new statement sees who was there first.
        there := array(select c.position from commits c where c.position = any (positions) and c.token = any (p_token));
        if (select true from commits c where c.position = any (positions) and c.token <> all (p_token) limit 1) then
            raise exception using errcode = 'FH003', message = 'commits_position is behind the log';
        end if;
        select array_agg((case
                   when positions[p.place] = any (there) then 0
                   when p.place = any (late) then 4
                   when (select true from commits c where c.request_id = p.request and c.aggregate = p.aggregate
                            and c.context = p.context and c.tenant = p.tenant limit 1) then 2
                   when p.place = any (stale)
                    and (select true from commits c where c.id = p.id and c.aggregate = p.aggregate
                            and c.context = p.context and c.tenant = p.tenant and c.version = p.version limit 1) is null
                    and (p.version = 1
                         or (select true from commits c where c.id = p.id and c.aggregate = p.aggregate
                                and c.context = p.context and c.tenant = p.tenant and c.version = p.version - 1 limit 1))
                   then 5
                   else 1 end)::smallint order by p.place)
          into status
          from unnest(p_context, p_aggregate, p_tenant, p_id, p_version, p_request)
               with ordinality p(context, aggregate, tenant, id, version, request, place);
        if 2 = any (status) then
            perform wait_for_what_is_seen_1();
        end if;
    end if;
    if keys = 0 then
        return;
    end if;
    if k_takes_only and (status is null or 0 = all (select status[k.commit] from unnest(k_commit) k(commit))) then
        begin
            insert into reservations as r (key, namespace, scope, context, holder_aggregate, holder_tenant, holder_id, position)
            select k.key, k.namespace, k.scope, k.context, k.aggregate, k.tenant, k.id, positions[k.commit]
              from unnest(k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id, k_commit)
                   with ordinality k(key, namespace, scope, context, aggregate, tenant, id, commit, place)
             order by k.place
                on conflict on constraint reservations_pkey do update
               set holder_aggregate = excluded.holder_aggregate, holder_tenant = excluded.holder_tenant,
                   holder_id = excluded.holder_id, tokens = null, expires_at_ms = null, requests = null,
                   position = coalesce(r.position, excluded.position)
             where (r.holder_id, r.holder_aggregate, r.holder_tenant)
                 = (excluded.holder_id, excluded.holder_aggregate, excluded.holder_tenant)
                or (r.position is null and append_1.at_ms >= all (r.expires_at_ms));
            get diagnostics confirmed = row_count;
            if confirmed = keys then
                return;
            end if;
            raise exception using errcode = 'FH001';
        exception when sqlstate 'FH001' then
            -- A key is another's: once more, and slowly, with all that the block did undone.
            null;
        end;
    end if;
    status := settle_keys_1(coalesce(status, array_fill(0::smallint, array[asked])), positions, append_1.at_ms,
        k_commit, k_place, k_use, k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id, k_token);
end $$;

-- Does to each key what its commit says, and says anew which commits are written: one of which a key is another's is
-- taken back. Keys of commits that were refused give up their leases.
create function settle_keys_1(
    status smallint[], positions bigint[], now bigint,
    k_commit int[], k_place int[], k_use smallint[], k_key text[], k_namespace text[], k_scope text[], k_context text[],
    k_aggregate text[], k_tenant text[], k_id text[], k_token uuid[])
returns smallint[] language plpgsql as $$
declare
    lost int[];
    freed int[];
    dropped int[];
begin
    -- After this every row is there, and locked, in the one order: the WHERE keeps it from being changed, not from being
    -- locked. What was not there is pending for nobody.
    insert into reservations as r (key, namespace, scope, context, holder_aggregate, holder_tenant, holder_id,
                                   tokens, expires_at_ms, requests)
    select k.key, k.namespace, k.scope, k.context, k.aggregate, k.tenant, k.id, '{}', '{}', '{}'
      from unnest(k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id)
           with ordinality k(key, namespace, scope, context, aggregate, tenant, id, place)
     order by k.place
        on conflict on constraint reservations_pkey do update set position = r.position where false;

    lost := array(
        select distinct k.commit
          from unnest(k_commit, k_use, k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id)
               k(commit, use, key, namespace, scope, context, aggregate, tenant, id)
          join reservations r on r.key = k.key and r.namespace = k.namespace and r.scope = k.scope and r.context = k.context
         where status[k.commit] = 0
           and case k.use
               when 0 then (r.holder_id, r.holder_aggregate, r.holder_tenant) <> (k.id, k.aggregate, k.tenant)
                       and (r.position is not null or now < any (r.expires_at_ms))
               when 1 then (r.holder_id, r.holder_aggregate, r.holder_tenant) <> (k.id, k.aggregate, k.tenant)
                        or r.position is null
               else false end);
    if lost <> '{}' then
        delete from commits where position in (select positions[l.commit] from unnest(lost) l(commit));
        status := array(select case when s.place = any (lost) then 3 else s.status end
                          from unnest(status) with ordinality s(status, place) order by s.place);
    end if;

    update reservations r
       set holder_aggregate = k.aggregate, holder_tenant = k.tenant, holder_id = k.id,
           position = coalesce(r.position, positions[k.commit]), tokens = null, expires_at_ms = null, requests = null
      from unnest(k_commit, k_use, k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id)
           k(commit, use, key, namespace, scope, context, aggregate, tenant, id)
     where r.key = k.key and r.namespace = k.namespace and r.scope = k.scope and r.context = k.context
       and status[k.commit] = 0 and k.use = 0;

    with gone as (
        delete from reservations r
         using unnest(k_commit, k_use, k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id)
               with ordinality k(commit, use, key, namespace, scope, context, aggregate, tenant, id, place)
         where r.key = k.key and r.namespace = k.namespace and r.scope = k.scope and r.context = k.context
           and status[k.commit] = 0 and k.use = 2 and r.position is not null
           and (r.holder_id, r.holder_aggregate, r.holder_tenant) = (k.id, k.aggregate, k.tenant)
        returning k.place)
    select coalesce(array_agg(gone.place), '{}') into freed from gone;

    -- What was reserved and released in one decision, and whatever a refused commit had reserved.
    dropped := array(select k.place from unnest(k_commit, k_use) with ordinality k(commit, use, place)
                      where status[k.commit] <> 0 or (k.use = 2 and k.place <> all (freed)));
    if dropped <> '{}' then
        perform drop_leases_1(array_agg(k.key), array_agg(k.namespace), array_agg(k.scope), array_agg(k.context),
                              array_agg(k.aggregate), array_agg(k.tenant), array_agg(k.id), array_agg(k.token))
           from unnest(k_key, k_namespace, k_scope, k_context, k_aggregate, k_tenant, k_id, k_token)
                with ordinality k(key, namespace, scope, context, aggregate, tenant, id, token, place)
          where k.place = any (dropped);
    end if;
    delete from reservations r
     using unnest(k_key, k_namespace, k_scope, k_context) k(key, namespace, scope, context)
     where r.key = k.key and r.namespace = k.namespace and r.scope = k.scope and r.context = k.context
       and r.position is null and r.tokens = '{}';

    -- A release that freed nothing is none: the registry follows from the log alone.
    update commits c
       set keys = (select json_agg(json_build_object('ns', k.namespace, 'scope', k.scope, 'key', k.key, 'taken', k.use = 0)
                                   order by k.as_given)
                     from unnest(k_commit, k_use, k_key, k_namespace, k_scope, k_place)
                          with ordinality k(commit, use, key, namespace, scope, as_given, place)
                    where k.commit = i.commit and (k.use = 0 or k.place = any (freed)))
      from (select distinct k.commit from unnest(k_commit, k_use) with ordinality k(commit, use, place)
             where status[k.commit] = 0 and k.use = 2 and k.place <> all (freed)) i
     where c.position = positions[i.commit];
    return status;
end $$;
