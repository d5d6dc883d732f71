"""Laws of any subnet's page: no cable is lost, every drawing is well-formed, names stay inside."""

import re
import xml.etree.ElementTree as ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.topology.hand_subnet import Ends, HandSubnet, described

from weft.cli.fabric.picture import picture
from weft.report.fabric.page import fabric_page
from weft.report.html import render_fabric
from weft.topology.subnet.anomalies import cable_anomalies, title_of
from weft.topology.subnet.cable_matrix import CableState, matrices_of, square_of
from weft.topology.subnet.tiers import tiers_of

NAMES = st.text(alphabet="<>&\"'/;:\x1b\u202eaB1 -", min_size=1, max_size=12)


@st.composite
def subnets(draw: st.DrawFn) -> HandSubnet:
    """Up to 12 switches of up to 3 levels, cabled anyhow, some cables slow or down."""
    names = draw(st.lists(NAMES, min_size=1, max_size=12, unique=True))
    switches = {name: draw(st.sampled_from([None, 1, 1, 2, 3])) for name in names}
    ports = dict.fromkeys(names, 0)
    cables: list[Ends] = []
    for _ in range(draw(st.integers(0, 40))):
        a, b = draw(st.sampled_from(names)), draw(st.sampled_from([*names, "a host"]))
        if a == b or (b == "a host" and "a host" in ports):
            continue
        for end in (a, b):
            ports[end] = ports.get(end, 0) + 1
        cables.append((a, ports[a], b, ports[b]))
    some = st.lists(st.sampled_from(cables), max_size=4) if cables else st.just([])
    rates = dict.fromkeys(draw(some), 100.0)
    return described(switches, cables, rates=rates, down=draw(some))


@given(subnets())
@settings(max_examples=150, deadline=None)
def test_every_cable_between_switches_stands_in_one_cell_or_next_to_the_levels(
    subnet: HandSubnet,
) -> None:
    tiers = tiers_of(subnet)
    matrices = [matrix for matrix in matrices_of(tiers) if not matrix.by_director]
    drawn = sum(matrix.n_cables for matrix in matrices)
    between = [c for c in subnet.cables if all(subnet.nodes[e.node].is_switch for e in c.ends)]
    assert drawn + len(tiers.sideways) == len(between)
    assert square_of(tiers).n_cables == len(between)
    for matrix in matrices_of(tiers):
        for cell in matrix.cells:
            assert (cell.state is CableState.MISSING) == (not cell.cables)
            assert cell.n_missing == max(0, (cell.n_expected or 0) - len(cell.cables))
            assert matrix.rows[cell.row].block == matrix.columns[cell.column].block
        assert len(cable_anomalies(subnet, tiers, matrix)) >= len(matrix.unexpected)
        assert title_of(matrix)


@given(subnets())
@settings(max_examples=60, deadline=None)
def test_any_page_is_well_formed_and_keeps_names_in_their_places(subnet: HandSubnet) -> None:
    page = render_fabric(fabric_page(subnet, name="net", headline="A headline."))
    assert page.count("<script") == page.count("</script>") == 2
    for svg in re.findall(r"<svg .*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)
    assert "\x1b" not in page


@given(subnets(), st.integers(30, 120))
@settings(max_examples=60, deadline=None)
def test_no_name_steers_the_terminal(subnet: HandSubnet, width: int) -> None:
    assert "\x1b" not in "\n".join(picture(subnet, width))
