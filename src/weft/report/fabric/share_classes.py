"""Shares of the norm in classes: darker means less."""

CLASSES: tuple[tuple[float, str, str], ...] = (
    (0.97, "#d6e3f0", "97 % and more of what is normal"),
    (0.90, "#bcd3e8", "90 to 97 %"),
    (0.75, "#7fadd3", "75 to 90 %"),
    (0.50, "#2f74b0", "50 to 75 %"),
    (0.0, "#08284d", "below 50 %"),
)
"""From which share on, in which colour, in which words."""
