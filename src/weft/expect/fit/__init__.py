"""A platform fitted to measured tables."""
