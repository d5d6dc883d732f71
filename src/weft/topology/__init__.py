"""Fabrics as Python sees them: who is cabled to whom, and which way packets go."""
