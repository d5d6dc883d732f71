"""`weft study`."""
