-- Makes items of lists ready while few are, so that `ready` stays in memory however long the lists are. One caller
-- feeds at a time; others return at once.
--
-- Each host has a share of the ready items. `feed` passes over its further items, and makes them ready when its share
-- is half used up. A host with a long list and few requests so keeps no other host waiting. If claims find too little,
-- feeding continues although 50,000 items are ready.
--
-- Returns the number of items that became ready or were passed over; 0 if there was nothing to do.
CREATE FUNCTION feed() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_feed feed%ROWTYPE;
    v_batch batch%ROWTYPE;
    v_count bigint;
    v_share integer;
    v_fed integer := 0;
    v_put_off integer := 0;
    v_step integer;
    v_step_off integer;
    v_to bigint;
    v_starved boolean;
    v_new integer[];
    v_new_passed integer[];
    v_hosts integer[] := '{}';
    v_passed integer[] := '{}';
BEGIN
    IF NOT EXISTS (SELECT 1 FROM batch WHERE fed_to < last_id) AND NOT EXISTS (SELECT 1 FROM host WHERE has_passed)
    THEN
        RETURN 0;
    END IF;
    SELECT * INTO v_feed FROM feed FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 0; END IF;
    -- Skips the count for 1 s after a high count, and for 10 s after a very high one, because counting many rows is
    -- slow.
    SELECT at > v_now - interval '30 s' INTO v_starved FROM starvation;
    IF v_feed.counted >= 50000 AND v_feed.checked_at > v_now - interval '1 s' AND NOT v_starved THEN RETURN 0; END IF;
    IF v_feed.counted >= 500000 AND v_feed.checked_at > v_now - interval '10 s' THEN RETURN 0; END IF;
    SELECT count(*) INTO v_count FROM (
        SELECT 1 FROM ready LIMIT CASE WHEN v_starved THEN 5000000 ELSE 50000 END) r;
    v_share := host_share();

    SELECT f.items, f.hosts INTO v_fed, v_hosts FROM feed_passed(v_share) f;
    FOR v_batch IN SELECT * FROM batch WHERE fed_to < last_id
        ORDER BY best_prio, batch_id LIMIT 1000 FOR NO KEY UPDATE
    LOOP
        WHILE v_batch.fed_to < v_batch.last_id LOOP
            EXIT WHEN v_fed >= 50000 OR v_count + v_fed >= CASE WHEN v_starved THEN 5000000 ELSE 50000 END
                OR clock_timestamp() > v_now + interval '0.5 s';
            v_to := least(v_batch.last_id, v_batch.fed_to + 50000);
            SELECT s.items, s.hosts, s.put_off, s.passed INTO v_step, v_new, v_step_off, v_new_passed
                FROM feed_part(v_batch.batch_id, v_batch.fed_to, v_to, v_share, v_passed, false) s;
            v_batch.fed_to := v_to;
            v_fed := v_fed + v_step;
            v_put_off := v_put_off + v_step_off;
            v_hosts := v_hosts || v_new;
            v_passed := v_passed || v_new_passed;
            UPDATE batch SET fed_to = v_to, fed_items = fed_items + v_step WHERE batch_id = v_batch.batch_id;
        END LOOP;
        EXIT WHEN v_batch.fed_to < v_batch.last_id;
    END LOOP;
    UPDATE feed SET checked_at = v_now, counted = v_count + v_fed;
    PERFORM mark_fed(v_hosts, v_passed);
    RETURN v_fed + v_put_off;
END
$$;

-- Marks the hosts whose items became ready, and those whose items were passed over. A caller must call this function
-- last in its transaction.
CREATE FUNCTION mark_fed(p_hosts integer[], p_passed integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    -- Locks all hosts in one order before `mark_hosts` does, so that it waits for no other transaction.
    PERFORM 1 FROM host WHERE host_id = ANY (p_hosts || p_passed) ORDER BY host_id FOR NO KEY UPDATE;
    UPDATE host SET has_passed = true WHERE host_id = ANY (p_passed) AND NOT has_passed;
    UPDATE host SET has_passed = false
        WHERE host_id = ANY (p_hosts) AND has_passed AND NOT EXISTS (SELECT 1 FROM passed p WHERE p.host_id = host.host_id);
    IF cardinality(p_hosts) > 0 THEN PERFORM mark_hosts(p_hosts); END IF;
END
$$;

-- Returns the number of ready items of one host at which `feed` passes over the others: an equal share of 50,000, but
-- 1,000 at least while no more than 5,000 hosts have ready items.
CREATE FUNCTION host_share() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE v_hosts bigint;
BEGIN
    SELECT count(*) INTO v_hosts FROM (
        (SELECT 1 FROM host WHERE has_ready AND (gap_ms > 0 OR max_connections IS NOT NULL) LIMIT 100000)
        UNION ALL
        (SELECT 1 FROM host WHERE has_ready AND gap_ms = 0 AND max_connections IS NULL LIMIT 100000)) h;
    RETURN greatest(50000 / greatest(v_hosts, 1), least(1000, 5000000 / greatest(v_hosts, 1)));
END
$$;

-- Makes the items of a part of a list ready, except for those beyond the share of their host, and those whose host has
-- earlier items that were passed over.
--
-- `p_passed` are the hosts with items passed over in the caller's transaction. `p_has_ended` says whether some of the
-- items have a result already, because they were cancelled.
CREATE FUNCTION feed_part(
    p_batch bigint, p_after bigint, p_to bigint, p_share integer, p_passed integer[], p_has_ended boolean
) RETURNS TABLE (items integer, hosts integer[], put_off integer, passed integer[])
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    SET LOCAL enable_hashjoin = on;
    RETURN QUERY WITH part AS MATERIALIZED (
        SELECT item_id, host_id, prio FROM item WHERE item_id > p_after AND item_id <= p_to
            AND (NOT p_has_ended OR NOT EXISTS (SELECT 1 FROM done d WHERE d.item_id = item.item_id))
    ), space AS MATERIALIZED (
        SELECT h.host_id, CASE WHEN h.has_passed OR h.host_id = ANY (p_passed) THEN 0 ELSE p_share - (
            SELECT count(*) FROM (SELECT 1 FROM ready r WHERE r.host_id = h.host_id LIMIT p_share) n) END AS room
        FROM (SELECT DISTINCT host_id FROM part) d JOIN host h ON h.host_id = d.host_id
    ), placed AS MATERIALIZED (
        SELECT t.item_id, t.host_id, t.prio,
            row_number() OVER (PARTITION BY t.host_id ORDER BY t.prio, t.item_id) <= s.room AS fits
        FROM part t JOIN space s ON s.host_id = t.host_id
    ), put AS (
        INSERT INTO ready (item_id, host_id, prio)
        SELECT item_id, host_id, prio FROM placed WHERE fits ORDER BY item_id
        RETURNING host_id
    ), rest AS MATERIALIZED (
        SELECT host_id, min(prio) FILTER (WHERE NOT fits) AS prio, min(item_id) FILTER (WHERE NOT fits) AS first_id,
            max(item_id) FILTER (WHERE NOT fits) AS last_id, count(*) FILTER (WHERE NOT fits) AS items,
            coalesce(max(item_id) FILTER (WHERE fits), 0) AS last_put,
            array_agg(item_id ORDER BY item_id) FILTER (WHERE NOT fits) AS ids
        FROM placed GROUP BY host_id HAVING NOT bool_and(fits)
    ), kept AS (
        INSERT INTO passed (host_id, prio, first_id, last_id, batch_id, items, ids)
        SELECT host_id, prio, first_id, last_id, p_batch, items,
            -- A range without numbers is short, but reading it again reads the items of all hosts.
            CASE WHEN last_put > first_id OR items * 16 < last_id - first_id THEN ids END
        FROM rest
        RETURNING host_id, items
    )
    SELECT (SELECT count(*) FROM put)::integer,
        coalesce((SELECT array_agg(DISTINCT host_id) FROM put), '{}'),
        coalesce((SELECT sum(items) FROM kept), 0)::integer,
        coalesce((SELECT array_agg(host_id) FROM kept), '{}');
END
$$;

-- Makes items ready that were passed over: first those of hosts without ready items, then those of some other hosts
-- whose share is half used up.
CREATE FUNCTION feed_passed(p_share integer) RETURNS TABLE (items integer, hosts integer[])
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_host integer;
    v_there integer;
    v_step integer;
    v_pivot integer;
BEGIN
    items := 0;
    hosts := '{}';
    v_pivot := floor(random() * (SELECT coalesce(max(host_id), 0) + 1 FROM host));
    FOR v_host IN
        (SELECT host_id FROM host WHERE has_passed AND NOT has_ready LIMIT 1000)
        UNION ALL
        (SELECT host_id FROM host WHERE has_passed AND has_ready AND host_id >= v_pivot ORDER BY host_id LIMIT 32)
        UNION ALL
        (SELECT host_id FROM host WHERE has_passed AND has_ready AND host_id < v_pivot ORDER BY host_id LIMIT 32)
    LOOP
        SELECT count(*) INTO v_there FROM (SELECT 1 FROM ready WHERE host_id = v_host LIMIT p_share) r;
        CONTINUE WHEN v_there > p_share / 2;
        v_step := feed_host(v_host, p_share - v_there);
        items := items + v_step;
        hosts := hosts || v_host;
        EXIT WHEN items >= 50000;
    END LOOP;
    RETURN NEXT;
END
$$;

-- Makes at most `p_room` items of a host ready that were passed over, the most urgent first.
CREATE FUNCTION feed_host(p_host integer, p_room integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_row record;
    v_left integer := p_room;
    v_step integer;
    v_last bigint;
BEGIN
    FOR v_row IN SELECT * FROM passed WHERE host_id = p_host ORDER BY prio, first_id LOOP
        EXIT WHEN v_left <= 0;
        IF v_row.ids IS NULL THEN
            WITH put AS (
                INSERT INTO ready (item_id, host_id, prio)
                SELECT item_id, host_id, prio FROM item
                WHERE item_id >= v_row.first_id AND item_id <= v_row.last_id AND host_id = p_host
                ORDER BY item_id LIMIT v_left
                RETURNING item_id
            )
            SELECT count(*), max(item_id) INTO v_step, v_last FROM put;
        ELSE
            WITH put AS (
                INSERT INTO ready (item_id, host_id, prio)
                SELECT item_id, host_id, prio FROM item WHERE item_id = ANY (v_row.ids[1:v_left])
                RETURNING item_id
            )
            SELECT count(*), max(item_id) INTO v_step, v_last FROM put;
        END IF;
        IF v_step >= v_row.items OR v_step < v_left THEN
            DELETE FROM passed WHERE host_id = p_host AND prio = v_row.prio AND first_id = v_row.first_id;
        ELSE
            UPDATE passed SET first_id = v_last + 1, items = items - v_step, ids = ids[v_step + 1:]
                WHERE host_id = p_host AND prio = v_row.prio AND first_id = v_row.first_id;
        END IF;
        UPDATE batch SET fed_items = fed_items + v_step WHERE batch_id = v_row.batch_id;
        v_left := v_left - v_step;
    END LOOP;
    RETURN p_room - v_left;
END
$$;
