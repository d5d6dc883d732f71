"""`weft platform`."""
