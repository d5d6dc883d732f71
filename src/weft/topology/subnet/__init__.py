"""A real subnet: cables, levels, names, loads, routing."""
