"""The remedy of a container: files, devices and variables of the host that a launch adds."""
