"""`weft train`."""
