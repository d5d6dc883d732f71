"""Logs of communication libraries: what they say, by whom, and what of it is evidence."""
