"""`weft history`."""
