"""From an MPI on this machine to the exact command that starts the kernel, and what it ran on."""
