"""SVG as text: elements with escaped attributes and texts, numbers without needless figures."""

from collections.abc import Iterable
from html import escape

from markupsafe import Markup

from weft.report.model import LegendKey

LETTER, LONGEST = 6.3, 26
"""Pixels of a letter of a name, and its most letters."""


def cut(name: str) -> str:
    """A name with at most LONGEST letters."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def number(value: float) -> str:
    """At most two decimals, none where there are none to show."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def element(name: str, *children: str, text: str | None = None, **attributes: object) -> str:
    """An element; underscores in names of attributes stand for hyphens, a last one for nothing."""
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is not None:
            shown = number(value) if isinstance(value, float) else str(value)
            parts.append(f' {key.rstrip("_").replace("_", "-")}="{escape(shown)}"')
    inside = "".join(children) if text is None else escape(text)
    parts.append(f">{inside}</{name}>" if inside else "/>")
    return "".join(parts)


def picture(
    children: Iterable[str],
    *,
    width: float,
    height: float,
    title: str,
    class_: str,
    id_: str | None = None,
) -> Markup:
    """A whole drawing, described by its title, as wide as its place allows and no wider."""
    svg = element(
        "svg",
        element("title", text=title),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        id=id_,
        class_=class_,
        role="img",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=float(width),
        height=float(height),
        preserveAspectRatio="xMidYMin meet",
    )
    return Markup(svg)  # noqa: S704 - every text and attribute is escaped above


def legend_key(words: str, *marks: str, title: str, width: int = 16) -> LegendKey:
    """A line of a legend: a small drawing of these marks, and their meaning."""
    drawing = picture(marks, width=width, height=16, title=title, class_="key")
    return LegendKey(drawing, words)


def rectangles(places: Iterable[tuple[float, float, float, float]]) -> str:
    """The path of rectangles given as x, y, width, height."""
    return "".join(
        f"M{number(x)} {number(y)}h{number(w)}v{number(h)}h{number(-w)}z" for x, y, w, h in places
    )
