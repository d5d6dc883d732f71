"""`weft check`."""
