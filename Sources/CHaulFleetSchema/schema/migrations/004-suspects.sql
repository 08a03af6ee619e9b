-- A suspect is an item that was lost with several workers. It waits in `later` until a worker without leases takes it.
ALTER TABLE later ADD COLUMN alone boolean NOT NULL DEFAULT false;
ALTER TABLE lease ADD COLUMN alone boolean NOT NULL DEFAULT false;
DROP INDEX later_due;
CREATE INDEX later_due ON later (due_at) WHERE NOT alone;
CREATE INDEX later_alone ON later (due_at, item_id) WHERE alone;
-- Whether the worker claims nothing until its leases have ended, to take suspects then.
ALTER TABLE worker ADD COLUMN makes_room boolean NOT NULL DEFAULT false;
CREATE INDEX worker_makes_room ON worker (worker_id) WHERE makes_room;
