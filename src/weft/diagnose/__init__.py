"""From the samples of all pairs to the one component that explains the slow ones."""
