"""The study document and its expansion into launches."""
