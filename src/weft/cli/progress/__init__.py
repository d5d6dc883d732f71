"""How far a command is, on standard error: a bar on a terminal, a line a minute elsewhere."""
