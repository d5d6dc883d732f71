"""Rules over forwarding tables and the routing engine."""
