"""Sources of facts of a node: lspci, hwloc, /sys."""
