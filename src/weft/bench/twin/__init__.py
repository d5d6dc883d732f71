"""The twin backend: a simulated fabric."""
