"""`weft compare`."""
