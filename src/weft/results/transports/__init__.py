"""Readers of tools below MPI that measure one transport: libfabric, UCX, verbs."""
