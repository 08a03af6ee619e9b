-- A worker calls the functions that take and report items, and reads no table.
GRANT USAGE ON SCHEMA :"queue" TO :"role";
GRANT EXECUTE ON FUNCTION
    :"queue".beat,
    :"queue".block,
    :"queue".claim,
    :"queue".destination,
    :"queue".destination_mark,
    :"queue".feed,
    :"queue".finished,
    :"queue".forget_orphans,
    :"queue".gate,
    :"queue".held,
    :"queue".host_limits,
    :"queue".leave,
    :"queue".promote,
    :"queue".reap,
    :"queue".record_upload,
    :"queue".register,
    :"queue".report,
    :"queue".reserve,
    :"queue".take_orphans,
    :"queue".tidy
TO :"role";
