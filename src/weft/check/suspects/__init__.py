"""Components that explain the slow readings, and the result of measuring them again."""
