-- Marks hosts as having ready items. A caller must call this function last in its transaction, after its inserts into
-- `ready`. A claim clears the mark only under the same row lock, after a new look at `ready`. All callers lock the
-- hosts in the order of their numbers.
CREATE FUNCTION mark_hosts(p_hosts integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM 1 FROM host WHERE host_id = ANY (p_hosts) ORDER BY host_id FOR NO KEY UPDATE;
    UPDATE host SET has_ready = true WHERE host_id = ANY (p_hosts) AND NOT has_ready;
END
$$;

-- Returns until when a host gets no request. A worker that asks about a paused host asks again a minute later.
CREATE FUNCTION closed_until(p_host host, p_now timestamptz) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    RETURN greatest(p_host.blocked_until, CASE WHEN p_host.is_paused THEN p_now + interval '1 minute' END);
END
$$;

-- Reserves start times for further requests to a host with a minimum gap. Returns the delay until the first start time,
-- and the gap.
CREATE FUNCTION reserve(p_host integer, p_requests integer) RETURNS TABLE (starts_after_ms bigint, gap_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    v_host host%ROWTYPE;
    v_now timestamptz;
    v_start timestamptz;
    v_requests integer := least(greatest(p_requests, 1), 10000);
BEGIN
    SELECT * INTO v_host FROM host WHERE host_id = p_host FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
    v_now := clock_timestamp();
    v_start := greatest(v_now, closed_until(v_host, v_now));
    IF v_host.gap_ms > 0 THEN
        v_start := greatest(v_start, v_host.next_at);
        UPDATE host SET next_at = v_start + v_requests * v_host.gap_ms * interval '1 ms' WHERE host_id = p_host;
    END IF;
    RETURN QUERY SELECT least(ceil(extract(epoch FROM v_start - v_now) * 1000), 1e12)::bigint,
        v_host.gap_ms::bigint;
END
$$;

CREATE FUNCTION host_limits(p_name text)
RETURNS TABLE (host_id integer, gap_ms bigint, is_limited boolean, blocked_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY SELECT h.host_id, h.gap_ms::bigint, h.max_connections IS NOT NULL,
        least(ceil(extract(epoch FROM greatest(closed_until(h, v_now), v_now) - v_now) * 1000), 1e12)::bigint
        FROM host h WHERE h.name = p_name;
END
$$;

CREATE FUNCTION block(p_host integer, p_ms bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE v_until timestamptz :=
    clock_timestamp() + least(greatest(p_ms, 0), 86400000) * interval '1 ms';
BEGIN
    UPDATE host SET blocked_until = v_until, next_at = greatest(next_at, v_until), strikes = strikes + 1
    WHERE host_id = p_host AND blocked_until < v_until;
END
$$;
