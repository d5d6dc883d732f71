"""Work under way: how far it is, and the signals that end it."""
