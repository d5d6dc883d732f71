"""The run loop and the run directory."""
