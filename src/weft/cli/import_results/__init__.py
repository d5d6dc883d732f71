"""`weft import`."""
