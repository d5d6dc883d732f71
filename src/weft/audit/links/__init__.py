"""Rules over rates and states of links."""
