"""Rounds of pairs: who measures with whom at the same time."""
