"""Readers of training logs: step times, and what a log states of the job."""
