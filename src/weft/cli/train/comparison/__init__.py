"""`weft train compare`: its options and its text."""
