"""Readers of the Intel MPI Benchmarks."""
