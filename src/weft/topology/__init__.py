"""Fabrics as Python sees them: cables, and the paths of packets."""
