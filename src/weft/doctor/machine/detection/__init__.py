"""The hardware of a machine as a platform document, each figure with the file it was read from."""
