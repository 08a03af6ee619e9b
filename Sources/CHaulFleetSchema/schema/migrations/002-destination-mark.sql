ALTER TABLE setting ADD COLUMN destination_mark text;
