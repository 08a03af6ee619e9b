-- Whether an administrator has paused the host: no item of it is given out.
ALTER TABLE host ADD COLUMN is_paused boolean NOT NULL DEFAULT false;
