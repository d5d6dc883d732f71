"""Errors, units, node sets, JSON Lines and clocks: what every layer shares; imports nothing of ours."""
