"""Readers: text of a file -> the settings in it, and where each one stands."""
