-- Makes items ready whose next attempt is due. Suspects stay; `take_suspect` takes them.
CREATE FUNCTION promote(p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_hosts integer[];
    v_count integer;
BEGIN
    WITH due AS MATERIALIZED (
        SELECT item_id FROM later WHERE NOT alone AND due_at <= clock_timestamp()
        ORDER BY due_at LIMIT least(p_limit, 10000) FOR UPDATE SKIP LOCKED
    ), gone AS MATERIALIZED (
        DELETE FROM later l USING due d WHERE l.item_id = d.item_id RETURNING l.*
    ), put AS (
        INSERT INTO ready (item_id, host_id, prio, attempt, losses, epoch, returned_by, upload_id)
        SELECT item_id, host_id, prio, attempt, losses, epoch, returned_by, upload_id FROM gone
    )
    SELECT count(*), array_agg(DISTINCT host_id) INTO v_count, v_hosts FROM gone;
    IF v_hosts IS NOT NULL THEN PERFORM mark_hosts(v_hosts); END IF;
    RETURN v_count;
END
$$;

-- Removes the rows of workers that ended a week ago and of leases that were cancelled a day ago. Sums up old slices of
-- the counters.
CREATE FUNCTION tidy() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE v_sums record;
BEGIN
    DELETE FROM worker w WHERE worker_id IN (
        SELECT o.worker_id FROM worker o
        WHERE o.state <> 'live' AND o.beat_at < clock_timestamp() - interval '7 days'
            AND NOT EXISTS (SELECT 1 FROM lease l WHERE l.worker_id = o.worker_id)
        LIMIT 100 FOR UPDATE SKIP LOCKED);
    DELETE FROM cancelled_lease WHERE at < clock_timestamp() - interval '1 day';
    PERFORM 1 FROM progress WHERE bucket < clock_timestamp() - interval '20 minutes' AND bucket > '-infinity'
        LIMIT 1;
    IF NOT FOUND THEN RETURN; END IF;
    WITH old AS MATERIALIZED (
        SELECT bucket, slot FROM progress
        WHERE bucket < clock_timestamp() - interval '10 minutes' AND bucket > '-infinity'
        LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), gone AS MATERIALIZED (
        DELETE FROM progress p USING old o WHERE p.bucket = o.bucket AND p.slot = o.slot RETURNING p.*
    )
    SELECT coalesce(sum(completed), 0)::bigint AS completed, coalesce(sum(failed), 0)::bigint AS failed,
        coalesce(sum(retried), 0)::bigint AS retried, coalesce(sum(bytes), 0)::bigint AS bytes,
        coalesce(sum(cancelled), 0)::bigint AS cancelled
        INTO v_sums FROM gone;
    INSERT INTO progress AS p (bucket, slot, completed, failed, retried, bytes, cancelled)
    VALUES ('-infinity', 0, v_sums.completed, v_sums.failed, v_sums.retried, v_sums.bytes, v_sums.cancelled)
    ON CONFLICT (bucket, slot) DO UPDATE SET completed = p.completed + excluded.completed,
        failed = p.failed + excluded.failed, retried = p.retried + excluded.retried,
        bytes = p.bytes + excluded.bytes, cancelled = p.cancelled + excluded.cancelled;
END
$$;

CREATE FUNCTION finished(p_items bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN RETURN QUERY SELECT item_id FROM done WHERE item_id = ANY (p_items); END
$$;

-- Returns uploads to abort. A taken upload is returned again after ten minutes unless a worker has removed it with
-- `forget_orphans`.
CREATE FUNCTION take_orphans(p_limit integer) RETURNS TABLE (item_id bigint, path text, upload_id text)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY UPDATE orphan_upload o SET taken_at = clock_timestamp()
        FROM (SELECT item_id, upload_id FROM orphan_upload
            WHERE taken_at < clock_timestamp() - interval '10 minutes'
            LIMIT p_limit FOR UPDATE SKIP LOCKED) t
        WHERE o.item_id = t.item_id AND o.upload_id = t.upload_id
        RETURNING o.item_id, o.path, o.upload_id;
END
$$;

CREATE FUNCTION forget_orphans(p_items bigint[], p_uploads text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM orphan_upload o USING unnest(p_items, p_uploads) AS g (item_id, upload_id)
        WHERE o.item_id = g.item_id AND o.upload_id = g.upload_id;
END
$$;
