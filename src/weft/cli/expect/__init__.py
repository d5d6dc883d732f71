"""`weft expect`."""
