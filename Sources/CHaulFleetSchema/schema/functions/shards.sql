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

-- Completes those of the given items whose content is in a complete shard of the worker's destination. Returns them. A
-- repeated call gets the same answer.
CREATE FUNCTION complete_duplicates(
    p_worker bigint, p_items bigint[], p_epochs integer[], p_sha256 bytea[], p_validators text[], p_contents integer
) RETURNS TABLE (item_id bigint, epoch integer)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_completed bigint;
    v_bytes bigint;
BEGIN
    PERFORM 1 FROM worker WHERE worker_id = p_worker FOR KEY SHARE;
    WITH known AS MATERIALIZED (
        SELECT g.item_id, g.epoch, d.item_id AS first_item, d.bytes, d.sha256, d.shard, d.shard_offset, g.validator
        FROM unnest(p_items, p_epochs, p_sha256, p_validators) AS g (item_id, epoch, sha256, validator)
            JOIN content c ON c.digest = substr(g.sha256, 1, 16)
            JOIN done d ON d.item_id = c.item_id
        WHERE d.sha256 = g.sha256 AND c.destination = p_contents
    ), mine AS MATERIALIZED (
        DELETE FROM lease l USING known k
        WHERE l.item_id = k.item_id AND l.epoch = k.epoch AND l.worker_id = p_worker
        RETURNING l.item_id, l.epoch, l.attempt, k.first_item, k.bytes, k.sha256, k.shard, k.shard_offset,
            k.validator
    ), ended AS (
        INSERT INTO done (item_id, epoch, worker_id, outcome, attempt, bytes, sha256, shard, shard_offset, duplicate_of,
            validator)
        SELECT item_id, epoch, p_worker, 0, attempt, bytes, sha256, shard, shard_offset, first_item, validator
        FROM mine
    )
    SELECT count(*), coalesce(sum(bytes), 0) INTO v_completed, v_bytes FROM mine;
    PERFORM count_progress((p_worker % 64)::smallint, v_completed, 0, 0, v_bytes);
    RETURN QUERY SELECT g.item_id, g.epoch FROM unnest(p_items, p_epochs) AS g (item_id, epoch)
        JOIN done d ON d.item_id = g.item_id
        WHERE d.epoch = g.epoch AND d.worker_id = p_worker AND d.duplicate_of IS NOT NULL;
END
$$;

-- Ends the leases of all items of a shard that has its name. Returns false, and abandons the shard, if the worker has
-- lost any of them. A repeated call gets the same answer.
--
-- A worker that writes each content once gives the number of its destination as `p_contents`. If an item shares the bytes
-- of another item in the shard, `p_firsts` has the other one. Two workers may complete the same content at the same
-- time. The second result names the first item then, although both shards have the content.
CREATE FUNCTION complete_shard(
    p_worker bigint, p_number bigint, p_items bigint[], p_epochs integer[], p_bytes bigint[], p_sha256 bytea[],
    p_offsets bigint[], p_firsts bigint[], p_validators text[], p_contents integer
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
    IF p_contents IS NOT NULL THEN
        -- In the order of the keys, so that two shards with the same contents do not wait for each other.
        INSERT INTO content AS c (digest, item_id, destination)
        SELECT substr(g.sha256, 1, 16), g.item_id, p_contents
        FROM unnest(p_items, p_sha256, p_firsts) AS g (item_id, sha256, first_item)
        WHERE g.first_item IS NULL ORDER BY 1
        ON CONFLICT (digest) DO UPDATE SET item_id = excluded.item_id, destination = excluded.destination
            WHERE c.destination < excluded.destination;
    END IF;
    WITH given AS MATERIALIZED (
        SELECT g.item_id, g.bytes, g.sha256, g.place, g.validator,
            (SELECT nullif(c.item_id, g.item_id) FROM content c
                WHERE c.destination = p_contents AND c.digest = substr(g.sha256, 1, 16)) AS first_item
        FROM unnest(p_items, p_bytes, p_sha256, p_offsets, p_validators)
            AS g (item_id, bytes, sha256, place, validator)
    ), mine AS MATERIALIZED (
        DELETE FROM lease l USING given g WHERE l.item_id = g.item_id
        RETURNING l.item_id, l.epoch, l.attempt, g.bytes, g.sha256, g.place, g.first_item, g.validator
    )
    INSERT INTO done (item_id, epoch, worker_id, outcome, attempt, bytes, sha256, shard, shard_offset, duplicate_of,
        validator)
    SELECT item_id, epoch, p_worker, 0, attempt, bytes, sha256, p_number, place, first_item, validator FROM mine;
    UPDATE shard SET state = 1, items = cardinality(p_items) - cardinality(array_remove(p_firsts, NULL)),
        at = clock_timestamp() WHERE number = p_number;
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
