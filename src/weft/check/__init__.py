"""`weft check`: pairs to measure, paths they crossed, components that explain the slow ones."""
