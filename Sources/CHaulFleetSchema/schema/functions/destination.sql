-- Returns the destination, the only setting that a worker needs before it registers. A function returns it, because
-- workers may read no table.
CREATE FUNCTION destination() RETURNS text
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN RETURN (SELECT destination FROM setting); END
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
