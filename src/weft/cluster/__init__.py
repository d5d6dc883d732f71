"""Clusters: bring-up over ssh, virtual ones, Slurm, cloud templates."""
