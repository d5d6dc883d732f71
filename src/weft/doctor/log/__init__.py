"""Logs of a job: the networks that ranks used, and the settings that libraries read."""
