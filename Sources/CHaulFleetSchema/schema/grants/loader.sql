-- A loader adds items. `load` runs with the loader's rights, because it reads temporary tables of the loader.
GRANT USAGE ON SCHEMA :"queue" TO :"role";
GRANT EXECUTE ON FUNCTION
    :"queue".load,
    :"queue".make_partitions
TO :"role";
GRANT SELECT, INSERT ON :"queue".host, :"queue".url_seen, :"queue".item, :"queue".batch, :"queue".chunk_seen TO :"role";
GRANT SELECT, UPDATE ON :"queue".numbering TO :"role";
GRANT SELECT ON :"queue".setting, :"queue".version TO :"role";
