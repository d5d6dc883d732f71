"""Readers of modulefiles, one a language."""
