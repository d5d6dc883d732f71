"""What is known beside the readings: the platform's expectation, the fabric's own files."""
