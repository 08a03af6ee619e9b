"""What the trials of the fleet share: a PostgreSQL of their own, an origin, workers, and what a list must become."""
