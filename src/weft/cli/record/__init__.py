"""`weft record`."""
