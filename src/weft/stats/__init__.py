"""Honest statistics over arrays: summaries, ratio intervals, drift, spread, multiplicity."""
