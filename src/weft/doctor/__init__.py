"""What is set on a machine and in a job, whether it does what it should, and what it did."""
