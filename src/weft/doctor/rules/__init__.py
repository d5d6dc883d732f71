"""Rules: what may be wrong with the settings of a job, a family a file."""
