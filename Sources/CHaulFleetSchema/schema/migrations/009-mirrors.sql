-- Other URLs of the item's file, separated by blanks; null for none.
ALTER TABLE item ADD COLUMN mirrors text;
ALTER TYPE granted ADD ATTRIBUTE mirrors text;
