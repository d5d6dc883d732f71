"""Which components explain the readings, and how they stand being measured again."""
