"""Which of the variables that differ between two environments makes a command slow."""
