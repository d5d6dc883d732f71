"""`weft cluster`."""
