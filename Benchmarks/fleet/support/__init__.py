"""Code that the trials of the fleet share: a PostgreSQL server, an origin, workers, and checks of the result."""
