"""Where a verb measures: options, and the backend that they name."""
