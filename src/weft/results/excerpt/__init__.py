"""The telling sweeps of a result file that is too long to keep every row as an object."""
