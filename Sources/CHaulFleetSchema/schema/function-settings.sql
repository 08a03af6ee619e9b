-- Gives every function of the queue's schema the same settings and revokes the rights of PUBLIC on it. Runs after the
-- files of the functions, in their transaction.
--
-- The search path keeps a function that runs with its owner's rights from finding a table or function of the caller.
-- The other settings force the same plan for every call. They make PostgreSQL read a table through its indexes whatever
-- the statistics say, because a table that is empty now may hold 100,000 rows a second later.
DO $$
DECLARE
    v_function regprocedure;
BEGIN
    FOR v_function IN
        SELECT p.oid FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = current_schema()
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_catalog, pg_temp
            SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
            SET jit = off SET plan_cache_mode = force_generic_plan SET work_mem = ''64MB''',
            v_function, current_schema());
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', v_function);
    END LOOP;
END
$$;
