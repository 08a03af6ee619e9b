-- The phases of a lease: 0 with the worker, 2 about to be published, 3 complete and waiting for its shard.
UPDATE lease SET phase = 3 WHERE phase = 2 AND (SELECT shard_format IS NOT NULL FROM setting);

-- A worker may have thousands of leases that wait for their shard, and has no suspect beside them almost always.
CREATE INDEX lease_alone ON lease (worker_id) WHERE alone;
