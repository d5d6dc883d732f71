"""Readings, the paths that they crossed, and their normal figures."""
