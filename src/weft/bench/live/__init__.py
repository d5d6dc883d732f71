"""The live backend: MPI processes on real hosts."""
