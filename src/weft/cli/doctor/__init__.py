"""`weft doctor`."""
