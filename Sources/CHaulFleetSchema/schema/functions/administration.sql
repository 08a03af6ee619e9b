-- Makes failed items due again. Removes their results, keeps their epochs, and resets attempts and losses to zero.
-- Leaves cancelled items alone unless `p_kind` or `p_item` names them.
CREATE FUNCTION retry_failed(p_kind text, p_host text, p_item bigint, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_items bigint[];
    v_kinds text[];
    v_host integer;
    v_cancelled bigint;
BEGIN
    IF p_host IS NOT NULL THEN
        SELECT host_id INTO v_host FROM host WHERE name = p_host;
        IF NOT FOUND THEN RETURN 0; END IF;
    END IF;
    WITH pick AS MATERIALIZED (
        SELECT d.item_id FROM done d
        WHERE d.outcome = 1 AND (p_kind IS NULL OR d.failure_kind = p_kind)
            AND (p_item IS NULL OR d.item_id = p_item)
            AND (p_kind IS NOT NULL OR p_item IS NOT NULL OR d.failure_kind IS DISTINCT FROM 'cancelled')
            AND (v_host IS NULL
                OR v_host = (SELECT i.host_id FROM item i WHERE i.item_id = d.item_id))
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS MATERIALIZED (
        DELETE FROM done d USING pick p WHERE d.item_id = p.item_id AND d.outcome = 1
        RETURNING d.item_id, d.epoch, d.failure_kind
    ), put AS (
        INSERT INTO later (item_id, host_id, prio, attempt, losses, epoch, due_at, failure_kind)
        SELECT g.item_id, i.host_id, i.prio, 0, 0, g.epoch, clock_timestamp(), g.failure_kind
        FROM gone g JOIN item i ON i.item_id = g.item_id
    )
    SELECT array_agg(item_id), array_agg(failure_kind), count(*) FILTER (WHERE failure_kind = 'cancelled')
    INTO v_items, v_kinds, v_cancelled FROM gone;
    IF v_items IS NULL THEN RETURN 0; END IF;
    PERFORM count_progress((-1)::smallint, 0, v_cancelled - cardinality(v_items), 0, 0);
    IF v_cancelled > 0 THEN PERFORM count_cancelled(-v_cancelled); END IF;
    INSERT INTO failure_count AS c (kind, slot, failed, item_id, message, at)
    SELECT kind, -1, -count(*), max(item_id), '', '-infinity'
    FROM unnest(v_items, v_kinds) AS f (item_id, kind) WHERE kind <> 'cancelled' GROUP BY kind ORDER BY kind
    ON CONFLICT (kind, slot) DO UPDATE SET failed = c.failed + excluded.failed;
    RETURN cardinality(v_items);
END
$$;

-- Returns the number of failed items. A worker calls it, which may read no table.
CREATE FUNCTION failed_items() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN RETURN (SELECT coalesce(sum(failed), 0) FROM progress); END
$$;
