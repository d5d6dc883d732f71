"""Slurm: its queue, allocations, batch scripts and leaf switches."""
