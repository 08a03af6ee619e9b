-- A queue with a format writes the files of items into shards: archives of many files. Null for files of their own.
ALTER TABLE setting ADD COLUMN shard_format text CHECK (shard_format IN ('tar', 'warc'));
ALTER TABLE setting ADD COLUMN shard_bytes bigint NOT NULL DEFAULT 268435456 CHECK (shard_bytes > 0);

-- A row exists before its shard gets its name at the destination. States: 0 open, 1 complete, 2 abandoned. The results
-- of the items and state 1 are written in one transaction, so an item is in exactly one complete shard. Whatever an
-- abandoned shard has at the destination is removed, and then its row.
CREATE TABLE shard (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    worker_id bigint NOT NULL,
    state smallint NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2),
    format text NOT NULL,
    -- Path below the destination.
    name text NOT NULL GENERATED ALWAYS AS (
        'shard-' || lpad(number::text, greatest(6, length(number::text)), '0') || '.' || format) STORED,
    -- Path of the file without a name, below the destination's folder `.haul-fleet`.
    staged text NOT NULL,
    items integer,
    bytes bigint NOT NULL,
    sha256 bytea NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT '-infinity',
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX shard_incomplete ON shard (number) WHERE state <> 1;

-- The shard that has the file of a completed item, and the place of the file's first byte in it.
ALTER TABLE done ADD COLUMN shard bigint;
ALTER TABLE done ADD COLUMN shard_offset bigint;

-- Whether no item waits: all are leased or have ended.
ALTER TYPE granted ADD ATTRIBUTE is_exhausted boolean;
