"""Causes of the catalogue that fit the judged rows."""
