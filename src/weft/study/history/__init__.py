"""Runs in time: where their figures stepped, and which recorded setting changed there."""
