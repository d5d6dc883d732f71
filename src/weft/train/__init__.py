"""Training: what logs say of a job's steps, and what a step should cost."""
