-- A reader reads everything and changes nothing: status, lists, export, wait.
GRANT USAGE ON SCHEMA :"queue" TO :"role";
GRANT SELECT ON ALL TABLES IN SCHEMA :"queue" TO :"role";
GRANT EXECUTE ON FUNCTION :"queue".failed_items TO :"role";
