"""The machine a file came from, and the value each row should have reached."""
