"""`weft fabric`."""
