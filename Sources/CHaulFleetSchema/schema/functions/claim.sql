-- Returns the server's timeline, which changes when a standby takes over. A takeover may lose commits, and with them
-- results that the queue had accepted. Workers of another timeline must therefore register again.
CREATE FUNCTION current_timeline() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    RETURN ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::integer;
END
$$;

-- Locks the worker's row, so that no other transaction declares the worker dead during the caller's transaction.
CREATE FUNCTION require_alive(p_worker bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM 1 FROM worker
        WHERE worker_id = p_worker AND state = 'live' AND timeline = current_timeline() FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'worker % is not alive', p_worker USING ERRCODE = 'HF001';
    END IF;
END
$$;

-- Returns the leases of one claim of a worker, or of all claims if `p_claim` is null. A start time in the past gives a
-- negative delay, so that the requests of a repeated answer do not all start now.
CREATE FUNCTION held(p_worker bigint, p_claim integer) RETURNS SETOF granted
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY SELECT l.item_id, l.epoch, i.url, i.path, i.checksum, i.size, i.metadata, l.host_id,
        l.attempt::integer, l.connections, h.gap_ms::bigint,
        ceil(extract(epoch FROM l.starts_at - v_now) * 1000)::bigint,
        l.upload_id, false, false, NULL::bigint, false, i.mirrors, i.validator
    FROM lease l
        JOIN item i ON i.item_id = l.item_id
        JOIN host h ON h.host_id = l.host_id
    WHERE l.worker_id = p_worker AND (p_claim IS NULL OR l.claim_number = p_claim)
    ORDER BY l.starts_at NULLS FIRST, l.prio, l.item_id;
END
$$;

-- Leases at most `p_limit` items of a host. The leases share `p_room` connections if no further items wait; otherwise
-- each gets one connection. A null `p_room` means that the host has no limit.
--
-- The pick is materialized, because a nested loop would otherwise run it again and lease more than the limit.
CREATE FUNCTION take_from_host(
    p_worker bigint, p_claim integer, p_host integer, p_limit integer, p_room integer, p_start timestamptz,
    p_gap_ms integer
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_taken integer;
    v_waiting integer;
    v_room integer := p_room;
BEGIN
    IF p_room IS NOT NULL THEN
        SELECT count(*) INTO v_waiting FROM (
            SELECT 1 FROM ready WHERE host_id = p_host LIMIT p_limit + 1) w;
        -- Gives each leased item one connection if more items wait than are taken.
        IF v_waiting > p_limit THEN v_waiting := p_limit; v_room := p_limit; END IF;
    END IF;
    WITH pick AS MATERIALIZED (
        SELECT item_id FROM ready WHERE host_id = p_host
        ORDER BY prio, item_id LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM ready r USING pick p WHERE r.item_id = p.item_id RETURNING r.*
    ), numbered AS (
        SELECT g.*, (row_number() OVER (ORDER BY g.prio, g.item_id) - 1)::integer AS place FROM gone g
    ), leased AS (
        INSERT INTO lease (item_id, host_id, prio, attempt, losses, epoch, worker_id, claim_number, connections,
            upload_id, starts_at)
        SELECT item_id, host_id, prio, attempt + 1, losses, epoch + 1, p_worker, p_claim,
            v_room / v_waiting + (place < v_room % v_waiting)::integer,
            upload_id, p_start + place * p_gap_ms * interval '1 ms'
        FROM numbered
        RETURNING 1
    )
    SELECT count(*) INTO v_taken FROM leased;
    RETURN v_taken;
END
$$;

-- Leases the first suspect that is due and whose host may get a request. The lease gets all connections that the host
-- has left.
CREATE FUNCTION take_suspect(p_worker bigint, p_claim integer, p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_item record;
    v_room integer;
    v_start timestamptz;
BEGIN
    FOR v_item IN SELECT l.item_id, h.host_id, h.gap_ms > 0 OR h.max_connections IS NOT NULL AS is_limited
        FROM later l JOIN host h ON h.host_id = l.host_id
        WHERE l.alone AND l.due_at <= p_now AND NOT h.is_paused AND h.blocked_until <= p_now
            AND (h.next_at <= p_now OR h.gap_ms = 0 AND h.max_connections IS NULL)
        ORDER BY l.due_at, l.item_id LIMIT 16
    LOOP
        v_room := NULL;
        v_start := NULL;
        IF v_item.is_limited THEN
            SELECT h.max_connections, CASE WHEN h.gap_ms > 0 THEN greatest(h.next_at, p_now) END INTO v_room, v_start
                FROM host h
                WHERE h.host_id = v_item.host_id AND NOT h.is_paused AND h.next_at <= p_now
                    AND h.blocked_until <= p_now
                FOR NO KEY UPDATE SKIP LOCKED;
            CONTINUE WHEN NOT FOUND;
            IF v_room IS NOT NULL THEN
                SELECT v_room - coalesce(sum(coalesce(connections, 1)), 0) INTO v_room
                    FROM lease WHERE host_id = v_item.host_id;
                CONTINUE WHEN v_room <= 0;
            END IF;
        END IF;
        PERFORM 1 FROM later WHERE item_id = v_item.item_id AND alone FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        WITH gone AS (
            DELETE FROM later WHERE item_id = v_item.item_id AND alone RETURNING *
        )
        INSERT INTO lease (item_id, host_id, prio, attempt, losses, epoch, worker_id, claim_number, connections,
            upload_id, starts_at, alone)
        SELECT item_id, host_id, prio, attempt + 1, losses, epoch + 1, p_worker, p_claim, v_room, upload_id, v_start,
            true
        FROM gone;
        IF v_start IS NOT NULL THEN
            UPDATE host SET next_at = v_start + gap_ms * interval '1 ms' WHERE host_id = v_item.host_id;
        END IF;
        RETURN true;
    END LOOP;
    RETURN false;
END
$$;

-- Decides about a claim of a worker while there are suspects. A suspect is the only lease of its worker, except for
-- items that wait for their shard. If one has been due for a minute and every worker has always had leases, one worker
-- claims nothing until its leases have ended.
--
-- Returns null if the worker may claim as usual, otherwise whether it got a suspect.
CREATE FUNCTION claim_suspect(p_worker bigint, p_claim integer, p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_due timestamptz;
    v_makes_room boolean;
BEGIN
    IF EXISTS (SELECT 1 FROM lease WHERE worker_id = p_worker AND alone) THEN RETURN false; END IF;
    SELECT l.due_at INTO v_due FROM later l JOIN host h ON h.host_id = l.host_id
        WHERE l.alone AND l.due_at <= p_now AND NOT h.is_paused ORDER BY l.due_at LIMIT 1;
    SELECT makes_room INTO v_makes_room FROM worker WHERE worker_id = p_worker;
    -- Comes before the look at the leases, because thousands of them may wait for their shard.
    IF v_due IS NULL AND NOT v_makes_room THEN RETURN NULL; END IF;
    IF NOT EXISTS (SELECT 1 FROM lease WHERE worker_id = p_worker AND phase < 3) THEN
        IF v_due IS NOT NULL AND take_suspect(p_worker, p_claim, p_now) THEN RETURN true; END IF;
        IF v_makes_room THEN UPDATE worker SET makes_room = false WHERE worker_id = p_worker; END IF;
        RETURN NULL;
    END IF;
    IF v_makes_room THEN RETURN false; END IF;
    IF v_due < p_now - interval '1 minute'
        AND NOT EXISTS (SELECT 1 FROM worker WHERE makes_room AND state = 'live')
    THEN
        UPDATE worker SET makes_room = true WHERE worker_id = p_worker;
        RETURN false;
    END IF;
    RETURN NULL;
END
$$;

-- Leases items: first those of hosts with a limit (a minimum gap or a number of connections), then those of the other
-- hosts. Only one claim at a time takes items of a host with a limit; the claim locks the host, and other claims pass
-- over it. Any number of claims take items of the other hosts at once.
--
-- In rare cases, PostgreSQL makes a claim wait for another claim in spite of SKIP LOCKED: a transaction ends while the
-- claim tests its lock, and another transaction locks the new version of the row before the claim does. An advisory
-- lock for each host would prevent that, but the lock table of the server is too small for many claims of 256 hosts.
--
-- `p_claim` numbers the claims of a worker. A used number belongs to a claim whose answer was lost, or to a claim that
-- arrives late. Such a claim gets its former leases and no new leases, because the worker might never learn of new
-- leases.
CREATE FUNCTION claim(p_worker bigint, p_claim integer, p_limit integer) RETURNS SETOF granted
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_left integer := least(greatest(p_limit, 0), 10000);
    v_pause boolean;
    v_got_suspect boolean;
    v_seen integer := 0;
    v_taken integer := 0;
    v_all integer := 0;
    v_room integer;
    v_limit integer;
    v_share integer;
    v_start timestamptz;
    v_more boolean;
    v_host host%ROWTYPE;
    v_id integer;
    v_pivot integer;
    v_hosts integer[];
    v_rest integer[];
BEGIN
    PERFORM require_alive(p_worker);
    UPDATE worker SET claim_number = p_claim WHERE worker_id = p_worker AND claim_number < p_claim;
    IF NOT FOUND THEN RETURN QUERY SELECT * FROM held(p_worker, p_claim); RETURN; END IF;
    SELECT is_paused OR is_draining INTO v_pause FROM setting;
    IF v_pause THEN RETURN QUERY SELECT * FROM empty_claim(v_now, true); RETURN; END IF;
    v_got_suspect := claim_suspect(p_worker, p_claim, v_now);
    IF v_got_suspect THEN RETURN QUERY SELECT * FROM held(p_worker, p_claim); RETURN; END IF;
    IF NOT v_got_suspect THEN RETURN QUERY SELECT * FROM empty_claim(v_now, false); RETURN; END IF;

    FOR v_id IN SELECT host_id FROM host
        WHERE has_ready AND NOT is_paused AND (gap_ms > 0 OR max_connections IS NOT NULL)
            AND next_at <= v_now AND blocked_until <= v_now
        ORDER BY next_at, host_id LIMIT 256
    LOOP
        EXIT WHEN v_left <= 0;
        v_seen := v_seen + 1;
        SELECT * INTO v_host FROM host
            WHERE host_id = v_id AND has_ready AND NOT is_paused AND (gap_ms > 0 OR max_connections IS NOT NULL)
                AND next_at <= v_now AND blocked_until <= v_now
            FOR NO KEY UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        v_limit := v_left;
        v_room := NULL;
        IF v_host.max_connections IS NOT NULL THEN
            -- The lock is held, so this statement's snapshot has every lease of the host.
            SELECT v_host.max_connections - coalesce(sum(coalesce(connections, 1)), 0) INTO v_room
                FROM lease WHERE host_id = v_id;
            IF v_room <= 0 THEN
                -- Postpones full hosts after the first 32 hosts, because full hosts must not fill the 256 places of the
                -- query.
                IF v_seen > 32 THEN
                    UPDATE host SET next_at = v_now + (0.2 + 0.8 * random()) * interval '1 s'
                        WHERE host_id = v_id;
                END IF;
                CONTINUE;
            END IF;
            v_limit := least(v_limit, v_room);
        END IF;
        v_start := NULL;
        IF v_host.gap_ms > 0 THEN
            v_start := greatest(v_host.next_at, v_now);
            v_limit := least(v_limit, greatest(1, 2000 / v_host.gap_ms));
        END IF;
        v_taken := take_from_host(p_worker, p_claim, v_id, v_limit, v_room, v_start, v_host.gap_ms);
        v_more := EXISTS (SELECT 1 FROM ready WHERE host_id = v_id);
        IF NOT v_more OR (v_taken > 0 AND v_host.gap_ms > 0) THEN
            UPDATE host SET has_ready = v_more,
                next_at = CASE WHEN gap_ms > 0
                    THEN v_start + v_taken * gap_ms * interval '1 ms' ELSE next_at END
                WHERE host_id = v_id;
        END IF;
        v_left := v_left - v_taken;
        v_all := v_all + v_taken;
    END LOOP;

    IF v_left > 0 THEN
        -- Begins at a random host, so that the workers spread over the hosts. Each round takes at most an equal share
        -- from each host.
        v_pivot := floor(random() * (SELECT coalesce(max(host_id), 0) + 1 FROM host));
        SELECT array_agg(f.host_id) INTO v_hosts FROM (
            (SELECT host_id FROM host WHERE has_ready AND NOT is_paused AND gap_ms = 0 AND max_connections IS NULL
                AND blocked_until <= v_now AND host_id >= v_pivot ORDER BY host_id LIMIT 16)
            UNION ALL
            (SELECT host_id FROM host WHERE has_ready AND NOT is_paused AND gap_ms = 0 AND max_connections IS NULL
                AND blocked_until <= v_now AND host_id < v_pivot ORDER BY host_id LIMIT 16)
            LIMIT 16) f;
        WHILE v_left > 0 AND v_hosts IS NOT NULL LOOP
            v_rest := NULL;
            v_share := ceil(v_left::numeric / cardinality(v_hosts));
            FOREACH v_id IN ARRAY v_hosts LOOP
                EXIT WHEN v_left <= 0;
                v_limit := least(v_left, v_share);
                v_taken := take_from_host(p_worker, p_claim, v_id, v_limit, NULL, NULL, 0);
                v_left := v_left - v_taken;
                v_all := v_all + v_taken;
                IF v_taken = v_limit THEN
                    v_rest := v_rest || v_id;
                ELSE
                    -- The query under the lock sees every added item, because a transaction that adds items takes the
                    -- same lock afterwards and holds it until its commit (`mark_hosts`).
                    PERFORM 1 FROM host WHERE host_id = v_id FOR NO KEY UPDATE SKIP LOCKED;
                    IF FOUND AND NOT EXISTS (SELECT 1 FROM ready WHERE host_id = v_id) THEN
                        UPDATE host SET has_ready = false WHERE host_id = v_id;
                    END IF;
                END IF;
            END LOOP;
            v_hosts := v_rest;
        END LOOP;
    END IF;

    IF v_left > 0 THEN
        -- Lets `feed` make more items ready than usual.
        IF EXISTS (SELECT 1 FROM batch WHERE fed_to < last_id) THEN
            PERFORM 1 FROM starvation WHERE at < v_now - interval '1 s' FOR NO KEY UPDATE SKIP LOCKED;
            IF FOUND THEN UPDATE starvation SET at = v_now; END IF;
        END IF;
        IF v_all = 0 THEN RETURN QUERY SELECT * FROM empty_claim(v_now, false); RETURN; END IF;
    END IF;
    RETURN QUERY SELECT * FROM held(p_worker, p_claim);
END
$$;

-- Returns the single row of a claim without leases.
CREATE FUNCTION empty_claim(p_now timestamptz, p_paused boolean) RETURNS SETOF granted
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_due timestamptz;
    v_soon boolean;
    v_exhausted boolean;
    v_drained boolean;
BEGIN
    v_soon := EXISTS (SELECT 1 FROM batch WHERE fed_to < last_id)
        OR EXISTS (SELECT 1 FROM host WHERE has_passed AND NOT has_ready);
    v_exhausted := NOT v_soon AND NOT EXISTS (SELECT 1 FROM host WHERE has_passed)
        AND NOT EXISTS (SELECT 1 FROM ready) AND NOT EXISTS (SELECT 1 FROM later);
    v_drained := v_exhausted AND NOT EXISTS (SELECT 1 FROM lease);
    IF NOT v_drained AND NOT p_paused THEN
        SELECT least(
            (SELECT min(due_at) FROM later WHERE NOT alone),
            (SELECT min(s.due_at) FROM (
                SELECT greatest(l.due_at, h.blocked_until, h.next_at) AS due_at
                FROM later l JOIN host h ON h.host_id = l.host_id WHERE l.alone AND NOT h.is_paused
                ORDER BY l.due_at LIMIT 16) s),
            (SELECT min(next_at) FROM host
                WHERE has_ready AND NOT is_paused AND (gap_ms > 0 OR max_connections IS NOT NULL) AND next_at > p_now),
            (SELECT min(blocked_until) FROM host
                WHERE has_ready AND NOT is_paused AND gap_ms = 0 AND max_connections IS NULL AND blocked_until > p_now)
        ) INTO v_due;
        -- Items of lists count as due now; the next call of `feed` makes them ready.
        IF v_soon THEN v_due := least(v_due, p_now); END IF;
    END IF;
    RETURN QUERY SELECT NULL::bigint, NULL::integer, NULL::text, NULL::text, NULL::text, NULL::bigint,
        NULL::text, NULL::integer, NULL::integer, NULL::integer, NULL::bigint, NULL::bigint, NULL::text,
        v_drained, p_paused,
        CASE WHEN v_due IS NOT NULL
            THEN least(ceil(greatest(extract(epoch FROM v_due - p_now) * 1000, 100)), 1e12)::bigint END,
        v_exhausted, NULL::text, NULL::text;
END
$$;
