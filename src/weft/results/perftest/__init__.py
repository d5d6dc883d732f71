"""Readers of perftest."""
