"""`weft recipe`."""
