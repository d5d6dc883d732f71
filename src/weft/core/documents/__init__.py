"""Files and documents that a user names: read whole, or refused."""
