"""`weft report`."""
