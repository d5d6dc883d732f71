"""Readers of ClusterKit (HPC-X)."""
