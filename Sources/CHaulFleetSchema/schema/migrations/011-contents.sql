-- A queue with shards may write each content once.
ALTER TABLE setting ADD COLUMN deduplicates boolean NOT NULL DEFAULT false;
-- Counts the destinations that the queue has had.
ALTER TABLE setting ADD COLUMN destination_number integer NOT NULL DEFAULT 1;

-- The item that has each content in a complete shard of a destination, by the first 16 bytes of the content's SHA-256.
CREATE TABLE content (
    digest bytea PRIMARY KEY,
    item_id bigint NOT NULL,
    destination integer NOT NULL
);

-- The item that had the same content first.
ALTER TABLE done ADD COLUMN duplicate_of bigint;
