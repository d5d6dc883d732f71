"""Findings of a check as sentences a person can act on."""
