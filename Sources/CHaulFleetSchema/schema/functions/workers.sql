-- Registers a worker and gives it the leases of its predecessor, except for suspects. The worker also gets the leases
-- of other successors of the predecessor, because an earlier call whose answer was lost may have registered such a
-- successor.
CREATE FUNCTION register(p_version integer, p_label text, p_predecessor bigint)
RETURNS TABLE (worker_id bigint, lease_s integer)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_id bigint;
    v_version integer;
    v_lease_s integer;
    v_sources bigint[];
    v_lost bigint[];
BEGIN
    SELECT max(number) INTO v_version FROM version;
    IF v_version IS DISTINCT FROM p_version THEN
        RAISE EXCEPTION USING ERRCODE = 'HF002', MESSAGE = format(
            'The queue has version %s and this program needs version %s: run haul-fleet init of the newer one',
            v_version, p_version);
    END IF;
    SELECT lease_s INTO v_lease_s FROM setting;
    WITH RECURSIVE chain AS (
        SELECT w.worker_id FROM worker w WHERE w.worker_id = p_predecessor
        UNION
        SELECT w.worker_id FROM chain c JOIN worker w ON w.predecessor = c.worker_id
    )
    SELECT array_agg(worker_id ORDER BY worker_id) INTO v_sources FROM chain;
    PERFORM 1 FROM worker WHERE worker_id = ANY (v_sources) ORDER BY worker_id FOR UPDATE;
    LOOP
        INSERT INTO worker (worker_id, label, predecessor, timeline, lease_s)
        VALUES (1 + floor(random() * 9007199254740990)::bigint, p_label, p_predecessor, current_timeline(),
            v_lease_s)
        ON CONFLICT DO NOTHING RETURNING worker_id INTO v_id;
        EXIT WHEN v_id IS NOT NULL;
    END LOOP;
    IF v_sources IS NOT NULL THEN
        -- Counts no loss for a successor that has never sent a beat: the answer to its registration was lost, so it
        -- never worked.
        SELECT array_agg(worker_id) INTO v_lost FROM worker
            WHERE worker_id = ANY (v_sources) AND (has_beaten OR worker_id = p_predecessor);
        PERFORM end_lost(v_lost);
        PERFORM postpone_lost(v_lost, true);
        UPDATE lease SET worker_id = v_id, epoch = epoch + 1, phase = 0, claim_number = 0, starts_at = NULL,
            losses = losses + (worker_id = ANY (v_lost) AND phase < 3)::integer,
            connections = CASE WHEN phase = 3 THEN 1 ELSE connections END, leased_at = clock_timestamp()
            WHERE worker_id = ANY (v_sources);
        UPDATE worker SET state = 'dead' WHERE worker_id = ANY (v_sources) AND state = 'live';
    END IF;
    RETURN QUERY SELECT v_id, v_lease_s;
END
$$;

-- Returns a first row with the settings. Each further row is a blocked host of the worker's leases, or a cancelled
-- lease, which is named until the worker has had two lease times to learn of it.
CREATE FUNCTION beat(p_worker bigint) RETURNS TABLE (
    lease_s integer, is_paused boolean, is_draining boolean, flushed bigint, host_id integer, blocked_ms bigint,
    cancelled_item bigint, cancelled_epoch integer
)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz;
    v_lease_s integer;
BEGIN
    UPDATE worker w SET beat_at = clock_timestamp(), has_beaten = true, lease_s = s.lease_s
        FROM setting s
        WHERE w.worker_id = p_worker AND w.state = 'live' AND w.timeline = current_timeline()
        RETURNING w.lease_s INTO v_lease_s;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'worker % is not alive', p_worker USING ERRCODE = 'HF001';
    END IF;
    RETURN QUERY SELECT s.lease_s, s.is_paused, s.is_draining, (pg_current_wal_flush_lsn() - '0/0')::bigint,
        NULL::integer, NULL::bigint, NULL::bigint, NULL::integer FROM setting s;
    v_now := clock_timestamp();
    RETURN QUERY SELECT NULL::integer, NULL::boolean, NULL::boolean, NULL::bigint, h.host_id,
        least(ceil(extract(epoch FROM closed_until(h, v_now) - v_now) * 1000), 1e12)::bigint,
        NULL::bigint, NULL::integer
        FROM host h
        WHERE (h.is_paused OR h.blocked_until > v_now)
            AND h.host_id IN (SELECT l.host_id FROM lease l WHERE l.worker_id = p_worker);
    RETURN QUERY SELECT NULL::integer, NULL::boolean, NULL::boolean, NULL::bigint, NULL::integer, NULL::bigint,
        c.item_id, c.epoch
        FROM cancelled_lease c
        WHERE c.worker_id = p_worker AND c.at > v_now - 2 * v_lease_s * interval '1 s';
END
$$;

CREATE FUNCTION leave(p_worker bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM 1 FROM worker WHERE worker_id = p_worker AND state = 'live' FOR UPDATE;
    IF NOT FOUND THEN RETURN 0; END IF;
    UPDATE worker SET state = 'left' WHERE worker_id = p_worker;
    RETURN give_back(ARRAY[p_worker], false);
END
$$;
