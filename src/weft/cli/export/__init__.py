"""`weft export`."""
