"""What was measured: readings, what each crossed, what is normal."""
