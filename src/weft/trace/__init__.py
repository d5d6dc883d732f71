"""Traces of MPI programs: read, summed up, and written as calls that a twin repeats."""
