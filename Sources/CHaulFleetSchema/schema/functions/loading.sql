-- Makes partitions up to an item number. The caller must use a transaction of its own. Creates each partition as a
-- separate table and attaches it, because creating it in place would lock out every claim.
CREATE FUNCTION make_partitions(p_to bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    -- Number of items in a partition of `item` and of `done`.
    v_size CONSTANT bigint := 10000000;
    v_from bigint;
    v_name text;
    v_parent text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('haul-fleet ' || current_schema(), 2));
    SELECT partitioned_to INTO v_from FROM numbering;
    WHILE v_from < p_to LOOP
        FOREACH v_parent IN ARRAY ARRAY['item', 'done'] LOOP
            v_name := v_parent || '_' || (v_from / v_size);
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', v_name, v_parent);
            EXECUTE format('ALTER TABLE %I ADD CONSTRAINT bounds CHECK (item_id >= %s AND item_id < %s)', v_name,
                v_from, v_from + v_size);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', v_parent, v_name,
                v_from, v_from + v_size);
            EXECUTE format('ALTER TABLE %I DROP CONSTRAINT bounds', v_name);
        END LOOP;
        v_from := v_from + v_size;
    END LOOP;
    UPDATE numbering SET partitioned_to = v_from WHERE partitioned_to < v_from;
END
$$;

-- Adds the rows of the temporary table `staged`, which the loader filled by COPY, unless the queue has their keys
-- already. Inserts hosts and keys in sorted order, so that concurrent loaders wait for each other without a deadlock.
--
-- With `p_chunk`, a digest of the keys, looks for the whole chunk instead, and neither reads nor writes the keys. Their
-- random order costs a page of `url_seen` for each row once the table is larger than the memory of the server.
CREATE FUNCTION load(p_chunk uuid DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_count bigint;
    v_first bigint;
    v_batch bigint;
    v_added bigint;
    v_best smallint;
BEGIN
    IF p_chunk IS NOT NULL THEN
        INSERT INTO chunk_seen (digest) VALUES (p_chunk) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN RETURN 0; END IF;
    END IF;
    INSERT INTO host (name, gap_ms, max_connections)
    SELECT s.host, d.default_gap_ms, d.default_max_connections
    FROM (SELECT DISTINCT host FROM pg_temp.staged) s, setting d
    WHERE NOT EXISTS (SELECT 1 FROM host h WHERE h.name = s.host)
    ORDER BY s.host
    ON CONFLICT DO NOTHING;

    CREATE TEMPORARY TABLE fresh ON COMMIT DROP AS
    SELECT (row_number() OVER (ORDER BY k.place) - 1)::bigint AS number, k.url_key, k.place FROM (
        SELECT DISTINCT ON (url_key) url_key, place FROM pg_temp.staged ORDER BY url_key, place) k
    WHERE p_chunk IS NOT NULL OR NOT EXISTS (SELECT 1 FROM url_seen u WHERE u.url_key = k.url_key);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count = 0 THEN RETURN 0; END IF;

    -- Locks the row until the commit, so that the numbers of another loader come after these and become visible after
    -- these.
    UPDATE numbering SET next_item = next_item + v_count, next_batch = next_batch + 1
        RETURNING next_item - v_count, next_batch - 1 INTO v_first, v_batch;
    IF v_first + v_count > (SELECT partitioned_to FROM numbering) THEN
        RAISE EXCEPTION 'no partition for item %', v_first + v_count USING ERRCODE = '40001';
    END IF;

    v_added := v_count;
    IF p_chunk IS NULL THEN
        INSERT INTO url_seen (url_key, item_id)
        SELECT url_key, v_first + number FROM pg_temp.fresh ORDER BY url_key
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS v_added = ROW_COUNT;
        IF v_added = 0 THEN RETURN 0; END IF;
    END IF;

    SET LOCAL enable_hashjoin = on;
    SET LOCAL enable_mergejoin = on;
    SET LOCAL enable_seqscan = on;
    INSERT INTO item (item_id, host_id, prio, size, key, url, path, checksum, metadata, mirrors, validator)
    SELECT v_first + f.number, h.host_id, s.prio, s.size, s.key, s.url, s.path, s.checksum, s.metadata, s.mirrors,
        s.validator
    FROM pg_temp.fresh f
        JOIN pg_temp.staged s ON s.place = f.place
        JOIN host h ON h.name = s.host
    -- Leaves out keys that another loader has added since `fresh` was filled.
    WHERE v_added = v_count OR EXISTS (
        SELECT 1 FROM url_seen u WHERE u.url_key = f.url_key AND u.item_id = v_first + f.number)
    ORDER BY f.number;

    SELECT min(prio) INTO v_best FROM pg_temp.staged;
    INSERT INTO batch (batch_id, first_id, last_id, items, fed_to, best_prio)
    VALUES (v_batch, v_first, v_first + v_count - 1, v_added, v_first - 1, v_best);
    RETURN v_added;
END
$$;
