"""Rounds of pairs that measure at the same time."""
