"""A virtual cluster on one Linux machine: hosts that are namespaces, joined by a bridge."""
