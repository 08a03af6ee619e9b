-- Gives items the result `cancelled`, which `retry_failed` takes back. A worker never has this kind of failure. The
-- epoch grows as with a lease, so that a worker which repeats a report of the former epoch learns that the item is no
-- longer its.
--
-- Items that no worker ever had need no epochs and attempts.
CREATE FUNCTION end_cancelled(p_items bigint[], p_epochs integer[] DEFAULT NULL, p_attempts smallint[] DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO done (item_id, epoch, worker_id, outcome, attempt, failure_kind, failure_message)
    SELECT item_id, coalesce(epoch, 0) + 1, 0, 1, coalesce(attempt, 0), 'cancelled', 'Cancelled on request.'
    FROM unnest(p_items, p_epochs, p_attempts) AS c (item_id, epoch, attempt);
    PERFORM count_cancelled(cardinality(p_items));
END
$$;

CREATE FUNCTION count_cancelled(p_count bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO progress AS p (bucket, slot, cancelled)
    VALUES (date_bin('10 s', clock_timestamp(), 'epoch'), -1, p_count)
    ON CONFLICT (bucket, slot) DO UPDATE SET cancelled = p.cancelled + excluded.cancelled;
END
$$;

-- Cancels items that wait or run: those of a host, one item, or all if both are null. Passes over items that are about
-- to be published, and returns how many of them there are in `publishing`.
--
-- A call cancels a part of the items, about `p_limit`; the caller repeats it while `is_more`. It waits for no claim and
-- no report: the rows that these have locked are left to the next call.
CREATE FUNCTION cancel(p_host text, p_item bigint, p_limit integer)
RETURNS TABLE (cancelled integer, publishing bigint, is_more boolean)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE v_host integer;
BEGIN
    cancelled := 0;
    publishing := 0;
    is_more := false;
    IF p_host IS NOT NULL THEN
        SELECT host_id INTO v_host FROM host WHERE name = p_host;
        IF NOT FOUND THEN RETURN NEXT; RETURN; END IF;
    END IF;
    -- Items that are not fed come first, because `feed` moves them to the tables of the others.
    cancelled := cancel_unfed(v_host, p_item);
    IF cancelled IS NOT NULL THEN is_more := true; RETURN NEXT; RETURN; END IF;
    cancelled := cancel_fed(v_host, p_item, p_limit);
    -- One statement, so that an item that moves from one table to another is seen in one of them.
    SELECT EXISTS (SELECT 1 FROM ready WHERE (v_host IS NULL OR host_id = v_host) AND (p_item IS NULL OR item_id = p_item))
        OR EXISTS (SELECT 1 FROM later WHERE (v_host IS NULL OR host_id = v_host) AND (p_item IS NULL OR item_id = p_item))
        OR EXISTS (SELECT 1 FROM lease
            WHERE phase < 2 AND (v_host IS NULL OR host_id = v_host) AND (p_item IS NULL OR item_id = p_item)),
        (SELECT count(*) FROM lease
            WHERE phase >= 2 AND (v_host IS NULL OR host_id = v_host) AND (p_item IS NULL OR item_id = p_item))
    INTO is_more, publishing;
    RETURN NEXT;
END
$$;

-- Cancels items that wait in `ready` or `later`, or that a worker has.
CREATE FUNCTION cancel_fed(p_host integer, p_item bigint, p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_items bigint[];
    v_epochs integer[];
    v_attempts smallint[];
BEGIN
    WITH some_ready AS MATERIALIZED (
        SELECT item_id FROM ready
        WHERE (p_host IS NULL OR host_id = p_host) AND (p_item IS NULL OR item_id = p_item)
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), some_later AS MATERIALIZED (
        SELECT item_id FROM later
        WHERE (p_host IS NULL OR host_id = p_host) AND (p_item IS NULL OR item_id = p_item)
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), some_leased AS MATERIALIZED (
        SELECT item_id FROM lease
        WHERE phase < 2 AND (p_host IS NULL OR host_id = p_host) AND (p_item IS NULL OR item_id = p_item)
        LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), from_ready AS (
        DELETE FROM ready r USING some_ready s WHERE r.item_id = s.item_id
        RETURNING r.item_id, r.epoch, r.attempt, r.upload_id
    ), from_later AS (
        DELETE FROM later l USING some_later s WHERE l.item_id = s.item_id
        RETURNING l.item_id, l.epoch, l.attempt, l.upload_id
    ), from_lease AS (
        DELETE FROM lease l USING some_leased s WHERE l.item_id = s.item_id
        RETURNING l.item_id, l.epoch, l.attempt, l.upload_id, l.worker_id
    ), told AS (
        INSERT INTO cancelled_lease (worker_id, item_id, epoch) SELECT worker_id, item_id, epoch FROM from_lease
    ), gone AS MATERIALIZED (
        SELECT item_id, epoch, attempt, upload_id FROM from_ready
        UNION ALL SELECT item_id, epoch, attempt, upload_id FROM from_later
        UNION ALL SELECT item_id, epoch, attempt, upload_id FROM from_lease
    ), orphaned AS (
        INSERT INTO orphan_upload (item_id, upload_id, path)
        SELECT g.item_id, g.upload_id, i.path FROM gone g JOIN item i ON i.item_id = g.item_id
        WHERE g.upload_id IS NOT NULL
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(item_id), array_agg(epoch), array_agg(attempt) INTO v_items, v_epochs, v_attempts FROM gone;
    IF v_items IS NULL THEN RETURN 0; END IF;
    PERFORM end_cancelled(v_items, v_epochs, v_attempts);
    RETURN cardinality(v_items);
END
$$;

-- Cancels a part of the items that are not fed: first those that were passed over, then those of lists. The other items
-- of the same part of a list are fed. Returns null if nothing is left that may hold such items.
CREATE FUNCTION cancel_unfed(p_host integer, p_item bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_count integer;
    v_batch batch%ROWTYPE;
    v_to bigint;
    v_hosts integer[];
    v_passed integer[];
    v_step integer;
    v_gone bigint[];
BEGIN
    -- Waits for a feeder, which takes less than a second.
    PERFORM 1 FROM feed FOR UPDATE;
    v_count := cancel_passed(p_host, p_item);
    IF v_count IS NOT NULL THEN RETURN v_count; END IF;
    SELECT * INTO v_batch FROM batch WHERE fed_to < last_id AND (p_item IS NULL OR p_item > fed_to AND p_item <= last_id)
        ORDER BY batch_id LIMIT 1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    v_to := least(v_batch.last_id, v_batch.fed_to + 50000);
    SELECT array_agg(item_id) INTO v_gone FROM item
        WHERE item_id > v_batch.fed_to AND item_id <= v_to
            AND (p_host IS NULL OR host_id = p_host) AND (p_item IS NULL OR item_id = p_item);
    v_count := coalesce(cardinality(v_gone), 0);
    IF v_count > 0 THEN PERFORM end_cancelled(v_gone); END IF;
    SELECT s.items, s.hosts, s.passed INTO v_step, v_hosts, v_passed
        FROM feed_part(v_batch.batch_id, v_batch.fed_to, v_to, host_share(), '{}', true) s;
    UPDATE batch SET fed_to = v_to, fed_items = fed_items + v_step + v_count WHERE batch_id = v_batch.batch_id;
    PERFORM mark_fed(v_hosts, v_passed);
    RETURN v_count;
END
$$;

-- Cancels items that `feed` has passed over, those of a few rows. Returns null if there is none.
CREATE FUNCTION cancel_passed(p_host integer, p_item bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_row record;
    v_ids bigint[];
    v_gone bigint[];
    v_all bigint[] := '{}';
    v_hosts integer[] := '{}';
    v_count integer;
BEGIN
    FOR v_row IN SELECT * FROM passed
        WHERE (p_host IS NULL OR host_id = p_host) AND (p_item IS NULL OR p_item >= first_id AND p_item <= last_id)
        ORDER BY first_id LIMIT CASE WHEN p_item IS NULL THEN 16 END
    LOOP
        v_ids := coalesce(v_row.ids, (SELECT array_agg(item_id ORDER BY item_id) FROM item
            WHERE item_id >= v_row.first_id AND item_id <= v_row.last_id AND host_id = v_row.host_id));
        v_gone := CASE WHEN p_item IS NULL THEN v_ids WHEN p_item = ANY (v_ids) THEN ARRAY[p_item] END;
        CONTINUE WHEN v_gone IS NULL;
        IF cardinality(v_gone) = cardinality(v_ids) THEN
            DELETE FROM passed WHERE host_id = v_row.host_id AND prio = v_row.prio AND first_id = v_row.first_id;
        ELSE
            UPDATE passed SET ids = array_remove(v_ids, p_item), items = cardinality(v_ids) - 1
                WHERE host_id = v_row.host_id AND prio = v_row.prio AND first_id = v_row.first_id;
        END IF;
        UPDATE batch SET fed_items = fed_items + cardinality(v_gone) WHERE batch_id = v_row.batch_id;
        v_all := v_all || v_gone;
        v_hosts := v_hosts || v_row.host_id;
    END LOOP;
    v_count := cardinality(v_all);
    IF v_count = 0 THEN RETURN NULL; END IF;
    PERFORM end_cancelled(v_all);
    PERFORM mark_fed(v_hosts, '{}');
    RETURN v_count;
END
$$;
