"""Studies submitted to Slurm as blocks."""
