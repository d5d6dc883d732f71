"""The trials of a check, by name."""

SURVEY = "t001-survey"
ALONE = "t002-suspects-alone"
TOGETHER = "t003-suspects-together"
"""Trials of a check: the schedule; suspects alone; the rounds in which they were slow, again."""
