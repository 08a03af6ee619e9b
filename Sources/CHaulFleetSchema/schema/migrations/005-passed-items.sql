-- Items that `feed` passed over, because many items of their host were ready. Each row stands for the items of one host
-- in a part of a list: those whose numbers are in `ids`, or all from `first_id` to `last_id` if `ids` is null.
CREATE TABLE passed (
    host_id integer NOT NULL,
    prio smallint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    batch_id bigint NOT NULL,
    items integer NOT NULL,
    ids bigint[],
    PRIMARY KEY (host_id, prio, first_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE host ADD COLUMN has_passed boolean NOT NULL DEFAULT false;
CREATE INDEX host_passed ON host (host_id) WHERE has_passed;
