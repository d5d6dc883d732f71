"""What a change of a fabric would do: tables, losses, jobs, and a safe order of work."""
