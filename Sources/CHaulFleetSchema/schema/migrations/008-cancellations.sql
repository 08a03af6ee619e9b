-- The leases that somebody cancelled. The beats of a worker name them, so that it ends their transfers.
CREATE TABLE cancelled_lease (
    worker_id bigint NOT NULL,
    item_id bigint NOT NULL,
    epoch integer NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (worker_id, item_id, epoch)
);
-- The number of cancelled items. They have a result with the failure `cancelled`, and `failed` does not count them.
ALTER TABLE progress ADD COLUMN cancelled bigint NOT NULL DEFAULT 0;
