"""Rules of the settings of a job, a family a file."""
