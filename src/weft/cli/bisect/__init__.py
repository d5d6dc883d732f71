"""`weft bisect`."""
