"""Traces of MPI programs: read, summed up, and told again as calls that a twin repeats."""
