-- The chunks of lists that were added without a look at `url_seen`, by a digest of their keys.
CREATE TABLE chunk_seen (
    digest uuid PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
