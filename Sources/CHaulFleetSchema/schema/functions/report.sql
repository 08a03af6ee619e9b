CREATE FUNCTION count_progress(p_slot smallint, p_completed bigint, p_failed bigint, p_retried bigint, p_bytes bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    IF p_completed = 0 AND p_failed = 0 AND p_retried = 0 THEN RETURN; END IF;
    INSERT INTO progress AS p (bucket, slot, completed, failed, retried, bytes)
    VALUES (date_bin('10 s', clock_timestamp(), 'epoch'), p_slot, p_completed, p_failed, p_retried, p_bytes)
    ON CONFLICT (bucket, slot) DO UPDATE SET completed = p.completed + excluded.completed,
        failed = p.failed + excluded.failed, retried = p.retried + excluded.retried,
        bytes = p.bytes + excluded.bytes;
END
$$;

CREATE FUNCTION count_failures(p_slot smallint, p_items bigint[], p_kinds text[], p_messages text[], p_final boolean[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO failure_count AS c (kind, slot, failed, retried, item_id, message)
    SELECT kind, p_slot, count(*) FILTER (WHERE final), count(*) FILTER (WHERE NOT final), max(item_id),
        coalesce(max(message), '')
    FROM unnest(p_items, p_kinds, p_messages, p_final) AS f (item_id, kind, message, final)
    GROUP BY kind ORDER BY kind
    ON CONFLICT (kind, slot) DO UPDATE SET failed = c.failed + excluded.failed,
        retried = c.retried + excluded.retried, item_id = excluded.item_id, message = excluded.message,
        at = excluded.at;
END
$$;

-- Ends leases. Outcomes: 0 completed, 1 failed, 2 retry, 3 returned.
--
-- A report counts if the lease exists with the given epoch and worker. A repeated report counts as accepted too:
-- `done`, `later` or `ready` then has the item under that epoch and worker.
CREATE FUNCTION report(
    p_worker bigint, p_items bigint[], p_epochs integer[], p_outcomes smallint[], p_bytes bigint[], p_sha256 bytea[],
    p_tags text[], p_kinds text[], p_messages text[], p_delays bigint[], p_validators text[]
) RETURNS TABLE (item_id bigint, epoch integer)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_slot smallint := p_worker % 64;
    v_max smallint;
    v_hosts integer[];
    v_completed bigint;
    v_failed bigint;
    v_retried bigint;
    v_bytes bigint;
    v_items bigint[];
    v_kinds text[];
    v_messages text[];
    v_final boolean[];
BEGIN
    IF EXISTS (SELECT 1 FROM unnest(p_outcomes) o WHERE o IS NULL OR o NOT BETWEEN 0 AND 3) THEN
        RAISE EXCEPTION 'an outcome is 0, 1, 2 or 3' USING ERRCODE = '22023';
    END IF;
    PERFORM 1 FROM worker WHERE worker_id = p_worker FOR KEY SHARE;
    SELECT max_attempts INTO v_max FROM setting;
    WITH given AS MATERIALIZED (
        SELECT * FROM unnest(p_items, p_epochs, p_outcomes, p_bytes, p_sha256, p_tags, p_kinds, p_messages,
            p_delays, p_validators)
            AS g (item_id, epoch, outcome, bytes, sha256, tag, kind, message, delay_ms, validator)
    ), mine AS MATERIALIZED (
        DELETE FROM lease l USING given g
        WHERE l.item_id = g.item_id AND l.epoch = g.epoch AND l.worker_id = p_worker
        RETURNING l.item_id, l.epoch, l.host_id, l.prio, l.attempt, l.losses, l.upload_id, l.alone, g.bytes, g.sha256,
            g.tag, g.kind, g.message, g.delay_ms, g.validator,
            CASE WHEN g.outcome = 2 AND l.attempt >= v_max THEN 1 ELSE g.outcome END AS outcome
    ), ended AS (
        INSERT INTO done (item_id, epoch, worker_id, outcome, attempt, bytes, sha256, tag, failure_kind,
            failure_message, validator)
        SELECT item_id, epoch, p_worker, outcome, attempt, bytes, sha256, tag, kind, message, validator
        FROM mine WHERE outcome IN (0, 1)
    ), postponed AS (
        INSERT INTO later (item_id, host_id, prio, attempt, losses, epoch, returned_by, upload_id, due_at,
            failure_kind, failure_message)
        SELECT item_id, host_id, prio, attempt, losses, epoch, p_worker, upload_id,
            clock_timestamp() + least(greatest(coalesce(delay_ms, 0), 0), 86400000) * interval '1 ms', kind, message
        FROM mine WHERE outcome = 2
    ), returned AS (
        INSERT INTO ready (item_id, host_id, prio, attempt, losses, epoch, returned_by, upload_id)
        SELECT item_id, host_id, prio, greatest(attempt - 1, 0), losses, epoch, p_worker, upload_id
        FROM mine WHERE outcome = 3 AND NOT alone
    ), returned_suspect AS (
        INSERT INTO later (item_id, host_id, prio, attempt, losses, epoch, returned_by, upload_id, alone, due_at,
            failure_kind)
        SELECT item_id, host_id, prio, greatest(attempt - 1, 0), losses, epoch, p_worker, upload_id, true,
            clock_timestamp(), 'worker_lost'
        FROM mine WHERE outcome = 3 AND alone
    ), orphaned AS (
        INSERT INTO orphan_upload (item_id, upload_id, path)
        SELECT m.item_id, m.upload_id, i.path FROM mine m JOIN item i ON i.item_id = m.item_id
        WHERE m.outcome = 1 AND m.upload_id IS NOT NULL
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(DISTINCT host_id) FILTER (WHERE outcome = 3 AND NOT alone),
        count(*) FILTER (WHERE outcome = 0), count(*) FILTER (WHERE outcome = 1),
        count(*) FILTER (WHERE outcome = 2), coalesce(sum(bytes) FILTER (WHERE outcome = 0), 0),
        array_agg(item_id) FILTER (WHERE kind IS NOT NULL), array_agg(kind) FILTER (WHERE kind IS NOT NULL),
        array_agg(message) FILTER (WHERE kind IS NOT NULL),
        array_agg(outcome = 1) FILTER (WHERE kind IS NOT NULL)
    INTO v_hosts, v_completed, v_failed, v_retried, v_bytes, v_items, v_kinds, v_messages, v_final
    FROM mine;

    PERFORM count_progress(v_slot, v_completed, v_failed, v_retried, v_bytes);
    IF v_items IS NOT NULL THEN
        PERFORM count_failures(v_slot, v_items, v_kinds, v_messages, v_final);
    END IF;
    IF v_hosts IS NOT NULL THEN PERFORM mark_hosts(v_hosts); END IF;

    RETURN QUERY SELECT g.item_id, g.epoch FROM unnest(p_items, p_epochs) AS g (item_id, epoch)
    WHERE EXISTS (
            SELECT 1 FROM done d
            WHERE d.item_id = g.item_id AND d.epoch = g.epoch AND d.worker_id = p_worker)
        OR EXISTS (
            SELECT 1 FROM later a
            WHERE a.item_id = g.item_id AND a.epoch = g.epoch AND a.returned_by = p_worker)
        OR EXISTS (
            SELECT 1 FROM ready r
            WHERE r.item_id = g.item_id AND r.epoch = g.epoch AND r.returned_by = p_worker);
END
$$;

-- Marks leases as about to be published, or as waiting for their shard. Returns the leases that the worker still holds.
-- The files are complete, so while they wait for their shard, their hosts have the connections back and none of them is
-- a suspect any more.
CREATE FUNCTION gate(p_worker bigint, p_items bigint[], p_epochs integer[])
RETURNS TABLE (item_id bigint, epoch integer)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE v_shards boolean;
BEGIN
    PERFORM 1 FROM worker WHERE worker_id = p_worker AND state = 'live' FOR KEY SHARE;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT shard_format IS NOT NULL INTO v_shards FROM setting;
    RETURN QUERY UPDATE lease l SET phase = CASE WHEN v_shards THEN 3 ELSE 2 END,
            connections = CASE WHEN v_shards THEN 0 ELSE connections END, alone = alone AND NOT v_shards
        FROM unnest(p_items, p_epochs) AS g (item_id, epoch)
        WHERE l.item_id = g.item_id AND l.epoch = g.epoch AND l.worker_id = p_worker
        RETURNING l.item_id, l.epoch;
END
$$;

-- Records the multipart upload of an item. A replaced upload becomes an orphan, which a worker aborts later.
CREATE FUNCTION record_upload(p_worker bigint, p_item bigint, p_epoch integer, p_upload text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE v_old text;
BEGIN
    SELECT upload_id INTO v_old FROM lease
        WHERE item_id = p_item AND epoch = p_epoch AND worker_id = p_worker FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    IF v_old IS DISTINCT FROM p_upload THEN
        UPDATE lease SET upload_id = p_upload WHERE item_id = p_item;
        INSERT INTO orphan_upload (item_id, upload_id, path)
        SELECT item_id, v_old, path FROM item WHERE item_id = p_item AND v_old IS NOT NULL
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN true;
END
$$;
