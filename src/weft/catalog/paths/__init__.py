"""Classes of paths, and GPUs by product: what a result shows without a platform."""
