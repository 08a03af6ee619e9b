-- The entity tag or the date of the version that somebody has already; null to fetch any version.
ALTER TABLE item ADD COLUMN validator text;
-- The entity tag, or else the date, of the version that was fetched. A completed item without a digest has none: the
-- server still had the version of `item.validator`.
ALTER TABLE done ADD COLUMN validator text;
ALTER TYPE granted ADD ATTRIBUTE validator text;
