"""Does a run prove anything? Findings about the run itself, before any about the fabric."""
