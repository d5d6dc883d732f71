"""The scheduler of a cluster, as far as it tells what runs beside a test."""
