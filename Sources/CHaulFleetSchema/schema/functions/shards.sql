CREATE FUNCTION shards(OUT format text, OUT bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN SELECT shard_format, shard_bytes INTO format, bytes FROM setting; END
$$;

-- Whether an item in phase 2 has a complete file that waits for the other files of its shard. The loss of its worker
-- says nothing about such an item.
CREATE FUNCTION has_shards() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN RETURN (SELECT shard_format IS NOT NULL FROM setting); END
$$;

-- Returns number and name of a new shard. The worker gives the shard its name only afterwards.
CREATE FUNCTION open_shard(p_worker bigint, p_format text, p_staged text, p_bytes bigint, p_sha256 bytea)
RETURNS TABLE (number bigint, name text)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM require_alive(p_worker);
    RETURN QUERY INSERT INTO shard (worker_id, format, staged, bytes, sha256)
        VALUES (p_worker, p_format, p_staged, p_bytes, p_sha256) RETURNING shard.number, shard.name;
END
$$;

-- Ends the leases of all items of a shard that has its name. Returns false, and abandons the shard, if the worker has
-- lost any of them. A repeated call gets the same answer.
CREATE FUNCTION complete_shard(
    p_worker bigint, p_number bigint, p_items bigint[], p_epochs integer[], p_bytes bigint[], p_sha256 bytea[],
    p_offsets bigint[]
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_state smallint;
    v_held bigint;
BEGIN
    PERFORM 1 FROM worker WHERE worker_id = p_worker FOR KEY SHARE;
    SELECT state INTO v_state FROM shard WHERE number = p_number AND worker_id = p_worker FOR UPDATE;
    IF v_state IS DISTINCT FROM 0 THEN RETURN coalesce(v_state = 1, false); END IF;
    SELECT count(*) INTO v_held FROM (
        SELECT 1 FROM lease l JOIN unnest(p_items, p_epochs) AS g (item_id, epoch)
            ON l.item_id = g.item_id AND l.epoch = g.epoch
        WHERE l.worker_id = p_worker FOR UPDATE OF l) h;
    IF v_held <> cardinality(p_items) THEN
        UPDATE shard SET state = 2 WHERE number = p_number;
        RETURN false;
    END IF;
    WITH given AS MATERIALIZED (
        SELECT * FROM unnest(p_items, p_bytes, p_sha256, p_offsets) AS g (item_id, bytes, sha256, place)
    ), mine AS MATERIALIZED (
        DELETE FROM lease l USING given g WHERE l.item_id = g.item_id
        RETURNING l.item_id, l.epoch, l.attempt, g.bytes, g.sha256, g.place
    )
    INSERT INTO done (item_id, epoch, worker_id, outcome, attempt, bytes, sha256, shard, shard_offset)
    SELECT item_id, epoch, p_worker, 0, attempt, bytes, sha256, p_number, place FROM mine;
    UPDATE shard SET state = 1, items = cardinality(p_items), at = clock_timestamp() WHERE number = p_number;
    PERFORM count_progress((p_worker % 64)::smallint, v_held, 0, 0, (SELECT sum(b) FROM unnest(p_bytes) b)::bigint);
    RETURN true;
END
$$;

-- Abandons a shard of the worker. Returns false if it is complete.
CREATE FUNCTION abandon_shard(p_worker bigint, p_number bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    UPDATE shard SET state = 2 WHERE number = p_number AND worker_id = p_worker AND state = 0;
    RETURN NOT EXISTS (SELECT 1 FROM shard WHERE number = p_number AND state = 1);
END
$$;

-- Takes shards that will never be complete, because their workers have ended or have given them up. The caller removes
-- what they have at the destination. A caller has a minute for that, then another one takes them.
CREATE FUNCTION take_abandoned_shards(p_limit integer)
RETURNS TABLE (number bigint, name text, staged text, bytes bigint, sha256 bytea)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM 1 FROM shard WHERE state <> 1 LIMIT 1;
    IF NOT FOUND THEN RETURN; END IF;
    RETURN QUERY UPDATE shard s SET state = 2, taken_at = clock_timestamp()
        FROM (
            SELECT o.number FROM shard o
            WHERE o.state <> 1 AND o.taken_at < clock_timestamp() - interval '1 minute'
                AND (o.state = 2
                    OR NOT EXISTS (SELECT 1 FROM worker w WHERE w.worker_id = o.worker_id AND w.state = 'live'))
            ORDER BY o.number LIMIT least(p_limit, 100) FOR UPDATE SKIP LOCKED) t
        WHERE s.number = t.number
        RETURNING s.number, s.name, s.staged, s.bytes, s.sha256;
END
$$;

CREATE FUNCTION forget_shards(p_numbers bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN DELETE FROM shard WHERE number = ANY (p_numbers) AND state = 2; END
$$;
