-- A reader reads everything and changes nothing: status, lists, export.
GRANT USAGE ON SCHEMA :"queue" TO :"role";
GRANT SELECT ON ALL TABLES IN SCHEMA :"queue" TO :"role";
