"""Runs in the formats of other programs: what `weft export` writes."""
