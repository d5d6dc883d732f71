"""Shares of the norm in classes: darker means less."""

from weft.report.fabric.svg import element, legend_key
from weft.report.model import LegendKey

CLASSES: tuple[tuple[float, str, str], ...] = (
    (0.97, "#d6e3f0", "97 % and more of normal"),
    (0.90, "#bcd3e8", "90 to 97 %"),
    (0.75, "#7fadd3", "75 to 90 %"),
    (0.50, "#2f74b0", "50 to 75 %"),
    (0.0, "#08284d", "below 50 %"),
)
"""From which share on, in which colour, in which words."""


def share_legend() -> tuple[LegendKey, ...]:
    """The classes, each with its square."""
    return tuple(share_key(words, colour) for _, colour, words in CLASSES)


def share_key(words: str, fill: str, edge: str | None = None) -> LegendKey:
    """A square with its meaning; with a thick edge of another colour where one is given."""
    square = element(
        "rect", x=2, y=2, width=12, height=12, fill=fill, stroke=edge or "#999",
        stroke_width=3 if edge else None,
    )  # fmt: skip
    return legend_key(words, square, title="share")
