"""`weft judge`."""
