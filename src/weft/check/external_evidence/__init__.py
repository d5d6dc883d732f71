"""External evidence: the expectation of a platform, and the fabric's own files."""
