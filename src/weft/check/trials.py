"""The trials of a check, by name."""

SURVEY = "t001-survey"
ALONE = "t002-suspects-alone"
TOGETHER = "t003-suspects-together"
"""Trials of a check: the schedule; then suspects with nothing beside them; then the rounds of the
schedule in which they were slow, once more."""
