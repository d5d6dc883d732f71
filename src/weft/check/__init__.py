"""`weft check`: which pairs to measure, what they crossed, and the components that explain them."""
