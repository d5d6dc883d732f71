"""`weft replay`."""
