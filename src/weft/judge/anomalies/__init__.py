"""Rows and columns of a file that contradict each other or stand out."""
