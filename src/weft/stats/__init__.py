"""Honest statistics over arrays: summaries, ratio intervals, drift, outliers, multiplicity."""
