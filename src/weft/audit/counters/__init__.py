"""Rules over error counters of ports."""
