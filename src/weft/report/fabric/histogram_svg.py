"""How full the cables of each level and direction are: a histogram a tier, one above the other."""

from collections import Counter
from math import ceil

from markupsafe import Markup

from weft.report.fabric.matrix_svg import load_colour
from weft.report.fabric.svg import element, picture
from weft.report.model import ReportTable, TableColumn, cut_table
from weft.topology.subnet.link_load import Load, TierLoad
from weft.topology.subnet.tiers import Tiers

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP = 900.0, 110.0, 70.0, 24.0, 40.0, 34.0
MOST_BINS = 60


def draw(tiers: Tiers, load: Load, *, title: str) -> Markup:
    """All tiers on the same axis of multiples of the fair share."""
    most = max(tier.most for tier in load.tiers)
    step = next(
        s for s in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1e9) if most / s < MOST_BINS
    )
    n_bins = max(ceil(most / step) + 1, ceil(1.5 / step))
    parts: list[str] = []
    for at, tier in enumerate(load.tiers):
        top = TOP + at * (HEIGHT + GAP)
        parts += _tier(tiers, tier, top, step, n_bins)
    bottom = TOP + len(load.tiers) * (HEIGHT + GAP) - GAP
    parts += _axis(bottom, step, n_bins)
    return picture(
        parts, width=WIDTH, height=bottom + BOTTOM, title=title, class_="histogram", id_="load-svg"
    )


def table(tiers: Tiers, load: Load) -> ReportTable:
    """Each tier in figures."""
    columns = (
        TableColumn("direction", is_figure=False),
        TableColumn("ports"),
        TableColumn("least (x fair share)"),
        TableColumn("most (x fair share)"),
        TableColumn(f"most ({load.unit})"),
        TableColumn("the fullest port", is_figure=False),
    )
    rows = [
        (
            tier.words,
            f"{len(tier.shares):,}",
            f"{min(tier.shares):.2f}",
            f"{tier.most:.2f}",
            f"{load.amount[tier.fullest]:,}",
            f"{tiers.labels[tier.fullest[0]].name}[{tier.fullest[1]}]",
        )
        for tier in load.tiers
    ]
    return cut_table(f"Load of {load.title} by direction", columns, rows)


def _x(value: float, step: float, n_bins: int) -> float:
    return LEFT + value / (step * n_bins) * (WIDTH - LEFT - 20)


def _tier(tiers: Tiers, tier: TierLoad, top: float, step: float, n_bins: int) -> list[str]:
    bins = Counter(int(share / step + 1e-9) for share in tier.shares)
    tallest = max(bins.values())
    floor = top + HEIGHT
    node, port = tier.fullest
    words = (
        f"{tier.words}: {len(tier.shares):,} ports, the fullest {tier.most:.2f} x "
        f"({tiers.labels[node].name}[{port}])"
    )
    parts = [element("text", text=words, x=LEFT, y=top - 6, class_="name")]
    for at, n in sorted(bins.items()):
        x, w = _x(at * step, step, n_bins), _x(step, step, n_bins) - LEFT
        h = max(1.5, n / tallest * (HEIGHT - 14))
        said = f"{n:,} ports from {at * step:.2f} to {(at + 1) * step:.2f} times the fair share"
        parts.append(
            element(
                "rect",
                element("title", text=said),
                x=x + 0.5,
                y=floor - h,
                width=w - 1,
                height=h,
                fill=load_colour((at + 0.5) * step),
                stroke="#456",
            )
        )
    fair = _x(1.0, step, n_bins)
    parts += [
        element("path", d=f"M{LEFT:g} {floor:g}H{WIDTH - 20:g}", stroke="#222"),
        element("path", d=f"M{fair:.1f} {top:g}V{floor:g}", stroke="#222", stroke_dasharray="4 3"),
        element("text", text=f"{tallest:,}", x=LEFT - 8, y=top + 20, class_="count"),
        element("text", text="ports", x=LEFT - 8, y=top + 34, class_="count"),
    ]
    return parts


def _axis(bottom: float, step: float, n_bins: int) -> list[str]:
    every = max(1, round(n_bins / 12))
    ticks = range(0, n_bins + 1, every)
    parts = [
        element(
            "text", text=f"{at * step:g}", x=_x(at * step, step, n_bins), y=bottom + 15, class_="n"
        )
        for at in ticks
    ]
    middle = (LEFT + WIDTH - 20) / 2
    words = "load of a port as a multiple of its fair share (dashed: 1)"
    return [*parts, element("text", text=words, x=middle, y=bottom + 32, class_="n")]
