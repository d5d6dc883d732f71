"""`weft --limits`."""
