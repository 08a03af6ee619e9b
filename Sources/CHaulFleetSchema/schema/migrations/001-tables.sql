-- The tables of a queue. The search path is the queue's schema.
--
-- `item` holds the facts of an item, written once. A small row per item moves between tables: an item is in exactly
-- one of `ready`, `later`, `lease` and `done`, or has not been fed from its batch yet. Small rows reduce the work of
-- vacuum.
--
-- The storage parameters that several tables share make vacuum run after ten thousand dead rows, whatever the table
-- size, and without pauses, because each claim scans dead rows.

CREATE TABLE setting (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    destination text,
    lease_s integer NOT NULL DEFAULT 60 CHECK (lease_s BETWEEN 1 AND 86400),
    max_attempts smallint NOT NULL DEFAULT 5 CHECK (max_attempts > 0),
    max_losses smallint NOT NULL DEFAULT 3 CHECK (max_losses > 0),
    is_paused boolean NOT NULL DEFAULT false,
    is_draining boolean NOT NULL DEFAULT false,
    default_gap_ms integer NOT NULL DEFAULT 0 CHECK (default_gap_ms >= 0),
    default_max_connections integer CHECK (default_max_connections > 0)
);
INSERT INTO setting DEFAULT VALUES;

-- A loader locks the row from taking numbers until its commit, so that numbers become visible in order.
CREATE TABLE numbering (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    next_item bigint NOT NULL DEFAULT 1,
    next_batch bigint NOT NULL DEFAULT 1,
    partitioned_to bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO numbering DEFAULT VALUES;

CREATE TABLE feed (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    checked_at timestamptz NOT NULL DEFAULT '-infinity',
    counted bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO feed DEFAULT VALUES;

-- Time of the last claim that found less than it asked for. Not a column of `feed`, because a feeder locks that row for
-- long.
CREATE TABLE starvation (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    at timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);
INSERT INTO starvation DEFAULT VALUES;

CREATE TABLE host (
    host_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    gap_ms integer NOT NULL DEFAULT 0 CHECK (gap_ms >= 0),
    max_connections integer CHECK (max_connections > 0),
    has_ready boolean NOT NULL DEFAULT false,
    next_at timestamptz NOT NULL DEFAULT '-infinity',
    blocked_until timestamptz NOT NULL DEFAULT '-infinity',
    strikes integer NOT NULL DEFAULT 0
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX host_limited ON host (next_at, host_id)
    WHERE has_ready AND (gap_ms > 0 OR max_connections IS NOT NULL);
CREATE INDEX host_free ON host (host_id) WHERE has_ready AND gap_ms = 0 AND max_connections IS NULL;

-- The number is random, so that a server that lost commits does not give a number twice.
CREATE TABLE worker (
    worker_id bigint PRIMARY KEY,
    label text NOT NULL,
    state text NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'left', 'dead')),
    predecessor bigint,
    timeline integer NOT NULL,
    lease_s integer NOT NULL,
    has_beaten boolean NOT NULL DEFAULT false,
    claim_number integer NOT NULL DEFAULT 0,
    registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    beat_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX worker_predecessor ON worker (predecessor) WHERE predecessor IS NOT NULL;

CREATE TABLE batch (
    batch_id bigint PRIMARY KEY,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    items bigint NOT NULL,
    fed_to bigint NOT NULL,
    fed_items bigint NOT NULL DEFAULT 0,
    best_prio smallint NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX batch_unfed ON batch (best_prio, batch_id) WHERE fed_to < last_id;

CREATE TABLE item (
    item_id bigint PRIMARY KEY,
    host_id integer NOT NULL,
    prio smallint NOT NULL,
    size bigint,
    key text,
    url text NOT NULL,
    path text NOT NULL,
    checksum text,
    metadata text
) PARTITION BY RANGE (item_id);

CREATE TABLE url_seen (url_key uuid PRIMARY KEY, item_id bigint NOT NULL) PARTITION BY HASH (url_key);
DO $$ BEGIN
    FOR i IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE url_seen_%s PARTITION OF url_seen FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i, i);
    END LOOP;
END $$;

CREATE TABLE ready (
    item_id bigint PRIMARY KEY,
    host_id integer NOT NULL,
    prio smallint NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    losses smallint NOT NULL DEFAULT 0,
    epoch integer NOT NULL DEFAULT 0,
    returned_by bigint,
    upload_id text
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX ready_pick ON ready (host_id, prio, item_id);

CREATE TABLE later (
    item_id bigint PRIMARY KEY,
    host_id integer NOT NULL,
    prio smallint NOT NULL,
    attempt smallint NOT NULL,
    losses smallint NOT NULL,
    epoch integer NOT NULL,
    returned_by bigint,
    upload_id text,
    due_at timestamptz NOT NULL,
    failure_kind text,
    failure_message text
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX later_due ON later (due_at);

CREATE TABLE lease (
    item_id bigint PRIMARY KEY,
    host_id integer NOT NULL,
    prio smallint NOT NULL,
    attempt smallint NOT NULL,
    losses smallint NOT NULL,
    epoch integer NOT NULL,
    worker_id bigint NOT NULL,
    claim_number integer NOT NULL,
    phase smallint NOT NULL DEFAULT 0,
    connections integer,
    upload_id text,
    starts_at timestamptz,
    leased_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX lease_worker ON lease (worker_id, claim_number);
CREATE INDEX lease_host ON lease (host_id);

CREATE TABLE done (
    item_id bigint PRIMARY KEY,
    epoch integer NOT NULL,
    worker_id bigint NOT NULL,
    outcome smallint NOT NULL,
    attempt smallint NOT NULL,
    bytes bigint,
    sha256 bytea,
    tag text,
    failure_kind text,
    failure_message text,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
) PARTITION BY RANGE (item_id);
CREATE INDEX done_failed ON done (failure_kind, item_id) WHERE outcome = 1;

CREATE TABLE orphan_upload (
    item_id bigint NOT NULL,
    upload_id text NOT NULL,
    path text NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (item_id, upload_id)
);

-- Counters per slice of time, so that totals and the rate of the last minute need no scan of the items. Each slice has
-- several rows, so that workers seldom wait for each other's locks.
CREATE TABLE progress (
    bucket timestamptz NOT NULL,
    slot smallint NOT NULL,
    completed bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    retried bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, slot)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE TABLE failure_count (
    kind text NOT NULL,
    slot smallint NOT NULL,
    failed bigint NOT NULL DEFAULT 0,
    retried bigint NOT NULL DEFAULT 0,
    item_id bigint NOT NULL,
    message text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (kind, slot)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE TYPE granted AS (
    item_id bigint, epoch integer, url text, path text, checksum text, size bigint, metadata text,
    host_id integer, attempt integer, connections integer, gap_ms bigint, starts_after_ms bigint, upload_id text,
    is_drained boolean, is_paused boolean, next_due_ms bigint
);
