"""Errors, units, node sets, JSON Lines, clocks: what every layer shares."""
