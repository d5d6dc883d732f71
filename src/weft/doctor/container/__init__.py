"""`weft doctor container`: how the programs of an image reach the fast network of a host."""
