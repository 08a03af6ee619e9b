-- Returns the settings that a worker needs before it registers: the destination, how the queue writes shards, and the
-- number of the destination if the queue writes each content once. One call returns all of them, so that an `init`
-- cannot pair a destination with the number of another one. A function returns them, because workers may read no table.
CREATE FUNCTION destination(OUT destination text, OUT shard_format text, OUT shard_bytes bigint, OUT contents integer)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    SELECT s.destination, s.shard_format, s.shard_bytes, CASE WHEN s.deduplicates THEN s.destination_number END
        INTO destination, shard_format, shard_bytes, contents FROM setting s;
END
$$;

-- Returns the mark of the destination. If there is none yet, stores `p_new` first, unless `p_new` is null.
CREATE FUNCTION destination_mark(p_new text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    UPDATE setting SET destination_mark = p_new
        WHERE destination_mark IS NULL AND p_new ~ '^[0-9a-z]{1,32}$';
    RETURN (SELECT destination_mark FROM setting);
END
$$;
