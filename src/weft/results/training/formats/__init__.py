"""Formats of training logs, a file each."""
