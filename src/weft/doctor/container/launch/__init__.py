"""The launch of a container: what its runtime mounts, sets and passes on."""
