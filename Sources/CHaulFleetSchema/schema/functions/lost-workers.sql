-- Returns the time since which workers could send beats: the start of the server or, if the role may see it, of the WAL
-- writer process. The WAL writer starts after each recovery and when a standby takes over.
CREATE FUNCTION writable_since() RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    RETURN greatest(pg_postmaster_start_time(),
        (SELECT max(backend_start) FROM pg_stat_activity WHERE backend_type = 'walwriter'));
END
$$;

-- Declares workers dead whose leases have expired by the database's clock, and returns their items to the queue.
-- Declares no worker dead before the server has been up for a lease time, because workers could not send beats earlier.
-- The lease time of a worker is the `setting.lease_s` of its last beat or, before that, of its registration;
-- `haul-fleet init --lease-time` sets it.
CREATE FUNCTION reap() RETURNS TABLE (worker_id bigint, items integer)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_since timestamptz;
    v_dead bigint[];
    v_items integer;
BEGIN
    PERFORM 1 FROM worker WHERE state = 'live' AND beat_at < v_now - lease_s * interval '1 s' LIMIT 1;
    IF NOT FOUND THEN RETURN; END IF;
    v_since := writable_since();
    SELECT array_agg(d.worker_id) INTO v_dead FROM (
        SELECT worker_id FROM worker
        WHERE state = 'live' AND beat_at < v_now - lease_s * interval '1 s'
            AND v_since < v_now - lease_s * interval '1 s'
        ORDER BY beat_at LIMIT 20 FOR UPDATE SKIP LOCKED) d;
    IF v_dead IS NULL THEN RETURN; END IF;
    UPDATE worker SET state = 'dead' WHERE worker_id = ANY (v_dead);
    v_items := give_back(v_dead, true);
    RETURN QUERY SELECT d.id, CASE WHEN d.place = 1 THEN v_items ELSE 0 END
        FROM unnest(v_dead) WITH ORDINALITY AS d (id, place);
END
$$;

-- Fails the leased items of `p_workers` that were twice the only item of a lost worker, because such a file may be the
-- reason why its workers end. No other item fails, because the worker may never have begun it. The caller must hold
-- locks on the workers' rows.
CREATE FUNCTION end_lost(p_workers bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_items bigint[];
    v_count bigint;
BEGIN
    WITH gone AS MATERIALIZED (
        DELETE FROM lease l WHERE l.worker_id = ANY (p_workers)
            AND l.alone AND l.losses >= (SELECT max_losses FROM setting)
        RETURNING l.*
    ), ended AS (
        INSERT INTO done (item_id, epoch, worker_id, outcome, attempt, failure_kind, failure_message)
        SELECT item_id, epoch, worker_id, 1, attempt, 'worker_lost',
            format('%s workers ended without a report while they had this item, the last one while it had no other.',
                losses + 1)
        FROM gone
    ), orphaned AS (
        INSERT INTO orphan_upload (item_id, upload_id, path)
        SELECT g.item_id, g.upload_id, i.path FROM gone g JOIN item i ON i.item_id = g.item_id
        WHERE g.upload_id IS NOT NULL
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(item_id), count(*) INTO v_items, v_count FROM gone;
    IF v_count = 0 THEN RETURN; END IF;
    PERFORM count_progress(0::smallint, 0, v_count, 0, 0);
    PERFORM count_failures(0::smallint, v_items, array_fill('worker_lost'::text, ARRAY[v_count::integer]),
        array_fill('Workers ended without a report while they had this item.'::text, ARRAY[v_count::integer]),
        array_fill(true, ARRAY[v_count::integer]));
END
$$;

-- Postpones the leases of lost workers and counts the loss, unless the item waits for its shard; their attempts do not
-- count. Items that were lost `setting.max_losses - 1` times become suspects. With `p_suspects`, postpones only these.
CREATE FUNCTION postpone_lost(p_workers bigint[], p_suspects boolean) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_count integer;
BEGIN
    WITH gone AS MATERIALIZED (
        DELETE FROM lease l USING setting s
        WHERE l.worker_id = ANY (p_workers)
            AND (NOT p_suspects OR l.losses + 2 >= s.max_losses AND l.phase < 3)
        RETURNING l.*, l.phase = 3 AS is_packed,
            l.losses + 2 >= s.max_losses AND l.phase < 3 AS is_suspect
    ), put AS (
        INSERT INTO later (item_id, host_id, prio, attempt, losses, epoch, upload_id, alone, due_at, failure_kind,
            failure_message)
        SELECT item_id, host_id, prio, greatest(attempt - 1, 0), losses + (NOT is_packed)::integer, epoch, upload_id,
            is_suspect,
            clock_timestamp() + least(900, power(2, losses)) * (0.5 + random() / 2) * interval '1 s',
            'worker_lost', 'The worker ended without a report.'
        FROM gone
    )
    SELECT count(*) INTO v_count FROM gone;
    RETURN v_count;
END
$$;

-- Returns the leases of workers to the queue; their attempts do not count. With `p_lost`, the items wait before their
-- next lease and the loss is counted. Otherwise the items are due at once.
CREATE FUNCTION give_back(p_workers bigint[], p_lost boolean) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_hosts integer[];
    v_count integer;
BEGIN
    IF p_lost THEN
        PERFORM end_lost(p_workers);
        RETURN postpone_lost(p_workers, false);
    END IF;
    WITH gone AS MATERIALIZED (
        DELETE FROM lease l WHERE l.worker_id = ANY (p_workers) RETURNING l.*
    ), put AS (
        INSERT INTO ready (item_id, host_id, prio, attempt, losses, epoch, returned_by, upload_id)
        SELECT item_id, host_id, prio, greatest(attempt - 1, 0), losses, epoch, worker_id, upload_id
        FROM gone WHERE NOT alone
    ), put_suspect AS (
        INSERT INTO later (item_id, host_id, prio, attempt, losses, epoch, returned_by, upload_id, alone, due_at,
            failure_kind)
        SELECT item_id, host_id, prio, greatest(attempt - 1, 0), losses, epoch, worker_id, upload_id, true,
            clock_timestamp(), 'worker_lost'
        FROM gone WHERE alone
    )
    SELECT count(*), array_agg(DISTINCT host_id) FILTER (WHERE NOT alone) INTO v_count, v_hosts FROM gone;
    IF v_hosts IS NOT NULL THEN PERFORM mark_hosts(v_hosts); END IF;
    RETURN v_count;
END
$$;
