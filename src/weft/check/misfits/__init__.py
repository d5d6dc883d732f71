"""Readings that do not fit the run that they are of: missing ones, strange names, a wrong clock."""
