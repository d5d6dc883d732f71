"""GPUs on a simulated fabric."""
