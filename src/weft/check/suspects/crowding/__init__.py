"""Paths that deliver less than others of their kind under adaptive routing."""
