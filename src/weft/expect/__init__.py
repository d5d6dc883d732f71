"""Expectations: what a path or a collective should deliver, and what limits it."""
