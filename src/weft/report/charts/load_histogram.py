"""How full the cables of each level and direction are: a histogram a tier, one above the other.

vl-convert draws it when the page is written, so the page needs no script and no chart library.
"""

import re
from collections.abc import Mapping

import altair as alt
from markupsafe import Markup

from weft.report.charts.axes import INK, chart_of, finished, layered
from weft.report.fabric.matrix_svg import LOAD_CLASSES
from weft.topology.subnet.link_load import Load, Port, TierLoad

WIDTH, HEIGHT, MOST_BINS = 800, 96, 40
AMOUNT = "times the fair share"
_BAR = re.compile(r'<path aria-label="([^"]*)"([^>]*)/>')


def draw(load: Load, fullest: Mapping[Port, str], *, title: str) -> Markup:
    """All tiers on the same axis of multiples of the fair share. `fullest`: names of the fullest
    ports."""
    import vl_convert

    bins = alt.Bin(extent=[0, max(1.5, *(tier.most for tier in load.tiers))], maxbins=MOST_BINS)
    last = load.tiers[-1]
    charts = [_tier(tier, fullest[tier.fullest], bins, is_last=tier is last) for tier in load.tiers]
    svg = vl_convert.vegalite_to_svg(finished(alt.vconcat(*charts, spacing=8), title))
    # A pointer shows an element's <title>, not its label.
    return Markup(_BAR.sub(r'<path aria-label="\1"\2><title>\1</title></path>', svg))  # noqa: S704


def _tier(tier: TierLoad, fullest: str, bins: alt.Bin, *, is_last: bool) -> alt.LayerChart:
    words = f"{tier.words}: {len(tier.shares):,} ports, the fullest {tier.most:.2f} x ({fullest})"
    axis_title = "load of a port as a multiple of its fair share (dashed: 1)" if is_last else None
    axis = alt.Axis(title=axis_title, grid=False, labels=is_last, format="~g")
    limits, colours = zip(*((limit, colour) for limit, colour, _ in LOAD_CLASSES), strict=True)
    classes = alt.Scale(type="threshold", domain=limits[:-1], range=colours)
    bars = (
        chart_of([{"share": share} for share in tier.shares])
        .mark_bar(stroke="#445566", strokeWidth=1)
        .encode(
            x=alt.X("share:Q", bin=bins, axis=axis, title=AMOUNT),
            y=alt.Y("count()", title="ports", axis=alt.Axis(tickCount=3, tickMinStep=1)),
            color=alt.Color("share:Q", bin=bins, scale=classes, legend=None, title=AMOUNT),
        )
    )
    fair_share = chart_of([{"one": 1}]).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="one:Q")
    heading = alt.Title(words, anchor="start", fontSize=12.5, fontWeight="normal", color=INK)
    return layered(bars, fair_share).properties(width=WIDTH, height=HEIGHT, title=heading)
