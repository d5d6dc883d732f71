"""Settings of a machine and of a job, their faults, and their effects in logs."""
