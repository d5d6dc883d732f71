"""Where facts of a node come from: lspci, hwloc, /sys."""
